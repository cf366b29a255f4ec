"""`plimsoll diagnose --dsn` and `plimsoll record --dsn`: causes in the same report; observed by hand."""

import json
from threading import Event

import jsonschema
import pytest
from msgspec.structs import replace

import databases
from contract.tree import ROOT
from plimsoll.app.inspect import inspect_for_diagnosis
from plimsoll.app.observing import Observing
from plimsoll.cli import database
from plimsoll.errors import Unreachable
from plimsoll.model.cause import CauseKind
from plimsoll.model.snapshot import CreditClock
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.reports.schema.forms import schemas
from plimsoll.sources.targets.one import read
from unit.reports.fixture_diagnosis import CASES

PRESSED = ROOT / "examples" / "search-service"
DSN = "host=db1 dbname=orders"


def busy():
    """A minute in which a server asked the system to write 6 GB."""
    rows = [databases.io_row("client backend", written_bytes=b) for b in (0.0, 6e9)]
    return databases.observation(
        databases.reading(io=(rows[0],)), databases.reading(databases.START_S + 60, io=(rows[1],))
    )


@pytest.fixture
def run(monkeypatch, run_program):
    """A command with an observation made by hand; its status and output, and what was to be observed."""

    def call(*arguments):
        asked = []

        def observed(dsn, seconds, poolers=()):
            asked.append((dsn, seconds))
            return busy()

        monkeypatch.setattr(database, "observed", observed)
        status, out, _ = run_program(*arguments)
        return status, out, asked

    return call


def test_without_a_dsn_nothing_is_watched(run):
    """The report has no section of causes, and its JSON form says null."""
    _, text, asked = run("diagnose", PRESSED)
    _, result, _ = run("diagnose", PRESSED, "--format", "json")

    assert [] == asked
    assert "CAUSES" not in text
    assert json.loads(result)["inspection"] is None


def test_causes_stand_after_the_findings(run):
    """In the same report, held against the ceiling that was diagnosed; the exit status is the diagnosis's."""
    status, text, asked = run("diagnose", PRESSED, "--dsn", DSN)
    places = [text.index(part) for part in ("WHY", "CAUSES", "HOW IT WAS MEASURED")]
    flat = " ".join(text.split())

    assert [(DSN, 60)] == asked
    assert sorted(places) == places
    assert "Watching the database cost this; asked: 0 statements, all of them read-only;" in flat
    assert "Ceiling 212.5 MB/s, instance EBS throughput, legacy baseline: 47 % of it is taken" in flat
    assert "The ceiling was found at another time than the database was watched" in flat
    assert 1 == status


def test_every_form_has_the_causes(run, tmp_path):
    """Markdown, JSON and the page; the JSON is a document of the form of inspections."""
    page = tmp_path / "page.html"
    _, marked, _ = run("diagnose", PRESSED, "--dsn", DSN, "--format", "markdown", "--html", page)
    _, result, asked = run("diagnose", PRESSED, "--dsn", DSN, "--for", "5m", "--format", "json")
    inspection = json.loads(result)["inspection"]

    assert "\n## Causes\n" in marked
    assert '<h2 id="causes">Causes</h2>' in page.read_text(encoding="utf-8")
    assert [(DSN, 300)] == asked
    jsonschema.Draft202012Validator(schemas()["inspection"]).validate(inspection)
    assert 1e8 == inspection["load"]["written_bytes_per_s"]


def test_a_recording_keeps_what_was_observed(run, tmp_path):
    """`record --dsn` watches once; `diagnose FILE` then has the causes without a server."""
    file = tmp_path / "search.json"
    _, _, recorded = run("record", PRESSED, "-o", file, "--dsn", DSN, "--for", "30s")
    _, text, asked = run("diagnose", file)

    assert [(DSN, 30)] == recorded
    assert [] == asked
    assert "CAUSES" in text


def test_a_snapshot_with_an_observation_round_trips():
    """Every field of what was observed comes back as it was; without one the file is as before."""
    bare = read(PRESSED)
    relations = databases.toast_of(databases.table(10, "public.a", options={"fillfactor": "70"}))
    found = databases.seen(
        relations,
        relations,
        glances=(databases.glance(1.0, sessions=(databases.session(),)),),
        missing=(("statements", "GRANT"),),
    )
    full = replace(bare, observation=found)

    assert full == decode_snapshot(encode_snapshot(full))
    assert full.observation == decode_snapshot(encode_snapshot(full)).observation
    assert b"observation" not in encode_snapshot(bare)


def test_what_is_watched_beside_something_ends_with_it(monkeypatch):
    """Observing goes on until it is told to end, then reads once more; its clock only grows."""
    begun, seen = Event(), []

    def observe(dsn, *, duration_s, poolers, clock, sleep):
        assert [] == poolers
        end_s = clock() + duration_s
        while clock() < end_s:
            seen.append(clock())
            begun.set()
            sleep(60.0)
        seen.append(clock())
        return busy()

    monkeypatch.setattr("plimsoll.sources.postgres.read.observe", observe)
    watched = Observing(DSN, print)
    assert begun.wait(10)

    assert busy() == watched.end() == watched.end()
    assert sorted(seen) == seen


def test_a_database_that_cannot_be_watched_ends_no_recording(monkeypatch):
    """What else is recorded stays; one line says why there are no causes."""

    def observe(dsn, **_):
        raise Unreachable("PostgreSQL did not answer", "Check it.")

    monkeypatch.setattr("plimsoll.sources.postgres.read.observe", observe)

    texts = []

    assert Observing(DSN, texts.append).end() is None
    assert ["the database was not inspected: PostgreSQL did not answer"] == texts


@pytest.mark.parametrize("has_clock", [False, True])
def test_a_vacuum_that_ended_at_the_ceiling_is_named(has_clock):
    """
    The intervals of the diagnosis reach the detectors: who was at work when it was pegged. On credit clock
    60 half an hour of the diagnosis is half a minute of the database.
    """
    diagnosis, _ = CASES["pressed"]()
    clock = CreditClock(ratio=60.0, emulated_s=float(diagnosis.window_s[0]), real_s=databases.START_S)
    longest = max(diagnosis.intervals, key=lambda i: i.end_s - i.start_s)
    middle_s = (longest.start_s + longest.end_s) / 2
    large = databases.table(
        10,
        "public.items",
        size_bytes=8 * 1024**3,
        autovacuum_count=1,
        last_autovacuum_s=clock.real_of(middle_s) if has_clock else middle_s,
    )
    seen = databases.seen([large], [large])
    beside = inspect_for_diagnosis(diagnosis, seen, *[clock] * has_clock)
    astray = inspect_for_diagnosis(diagnosis if has_clock else replace(diagnosis, intervals=()), seen)

    assert [c for c in beside.causes if c.kind is CauseKind.VACUUM]
    assert not [c for c in astray.causes if c.kind is CauseKind.VACUUM]
    assert has_clock is any("credit clock 60, where a minute lasts 1 s" in note for note in beside.notes)
    assert has_clock is not any("another time" in note for note in beside.notes)


def test_settings_are_changed_as_the_instance_takes_them():
    """Compared with an instance of RDS in its parameter group; with a borrowed class in the server itself."""
    diagnosis, _ = CASES["pressed"]()
    seen = databases.seen([], [], databases.with_settings(databases.server(), {"autovacuum": "off"}))
    clock = CreditClock(ratio=60.0, emulated_s=0.0, real_s=0.0)
    commands = [
        [c for cause in found.causes for remedy in cause.remedies for c in remedy.commands]
        for found in (inspect_for_diagnosis(diagnosis, seen), inspect_for_diagnosis(diagnosis, seen, clock))
    ]

    assert any("modify-db-parameter-group" in command for command in commands[0])
    assert not any("ALTER SYSTEM" in command for command in commands[0])
    assert "ALTER SYSTEM SET autovacuum = on;" in commands[1]
