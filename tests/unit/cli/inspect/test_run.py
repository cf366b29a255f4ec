"""`plimsoll inspect`, as it is called; what was observed is made by hand."""

import json
import sys
from types import SimpleNamespace

import pytest
from msgspec.structs import replace

import databases
import inspections
from contract.tree import ROOT
from plimsoll.app.reference_ceiling import reference_ceiling
from plimsoll.cli import database
from plimsoll.cli import inspect as command
from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import Verdict
from unit.reports.fixture_diagnosis import CASES

DSN = "host=db1 dbname=search"
PRESSED = ROOT / "examples" / "search-service"


@pytest.fixture
def run(monkeypatch, run_program):
    """The command with an observation made by hand in place of a server; `asked` is what was to be observed."""

    def call(*arguments, seen=None):
        asked = []

        def observed(dsn, seconds, poolers=()):
            asked.append((dsn, seconds, poolers))
            return seen or quiet()

        monkeypatch.setattr(command, "observed", observed)
        return SimpleNamespace(**run_program("inspect", *arguments)._asdict(), asked=asked)

    return call


def quiet():
    """A minute of a server that does nothing."""
    return databases.observation(databases.reading(io=()), databases.reading(databases.START_S + 60, io=()))


def test_the_exit_status_says_whether_something_is_to_be_done():
    """0 where nothing is above a note, 1 for a warning or worse, 2 where nothing could be told."""
    warning = inspections.inspection(causes=(inspections.vacuum(),))

    assert 1 == command.status_of(inspections.inspection())
    assert 1 == command.status_of(warning)
    assert 0 == command.status_of(inspections.quiet())
    assert 2 == command.status_of(inspections.blind())


def test_it_is_watched_for_a_minute_unless_asked_otherwise(run):
    """`--for` says how long, `--pooler` what stands in front."""
    assert [(DSN, 60, ())] == run(DSN).asked
    assert [(DSN, 600, ("pgbouncer://a@b:6432", "pgpool.conf"))] == run(
        DSN, "--for", "10m", "--pooler", "pgbouncer://a@b:6432", "--pooler", "pgpool.conf"
    ).asked


def test_the_database_may_be_named_by_a_variable(run, monkeypatch):
    """Other users cannot see a variable."""
    monkeypatch.setenv("PLIMSOLL_DSN", "dbname=secret")

    assert "dbname=secret" == run().asked[0][0]


def test_each_form_is_printed_or_written(run, tmp_path):
    """Text, Markdown and JSON go to standard output; with -o to a file, which is named."""
    file = tmp_path / "inspection.json"
    text = run(DSN, "--width", 60)
    marked = run(DSN, "--format", "markdown")
    result = run(DSN, "--format", "json", "-o", file)

    assert 60 >= max(len(line) for line in text.out.splitlines())
    assert marked.out.startswith("# No problem found in 127.0.0.1:5432/orders")
    assert "" == result.out
    assert f"inspection written to {file}" in result.err
    assert "plimsoll.inspection/1" == json.loads(file.read_text())["schema"]


def test_shares_are_of_the_ceiling_of_the_target(run):
    """`--against` diagnoses it; the ceiling that binds is the one that shares are of."""
    ran = run(DSN, "--against", PRESSED, "--format", "json")
    report = json.loads(ran.out)

    assert "instance EBS throughput, legacy baseline" == report["ceiling"]["name"]
    assert 212.5e6 == report["ceiling"]["bytes_per_s"]


def test_vcpus_are_of_the_target_unless_they_were_seen(run):
    """The class of `--against` tells how many sessions the machine runs; a server of ours shows it itself."""

    def room(*arguments, **known):
        glances = (databases.glance(0, sessions=(databases.session(),)),)
        seen = replace(quiet(), server=databases.server(**known), glances=glances)
        (held,) = [
            cause
            for cause in json.loads(run(DSN, "--format", "json", *arguments, seen=seen).out)["causes"]
            if cause["code"] == "ConnectionsHeld"
        ]
        return next(piece["text"] for piece in held["evidence"] if piece["kind"] == "rule")

    against_class = ("--against", PRESSED, "--class", "db.r5.2xlarge")

    assert room(*against_class).startswith("2 × 8 vCPUs = 16 active sessions")
    assert room(*against_class, vcpu_count=2).startswith("2 × 2 vCPUs = 4 active sessions")
    assert "number of vCPUs is unknown" in room()


def test_a_ceiling_of_operations_is_converted_and_said_so():
    """18,750 IOPS at 15.2 kB are 285 MB/s; the text names both numbers."""
    diagnosis = CASES["pressed"]()[0]
    longest = max(diagnosis.intervals, key=lambda i: i.end_s - i.start_s)
    at = replace(
        longest, family=Family.INSTANCE_EBS_IOPS, dimension=Dimension.IOPS, level=18_750.0, io_size_bytes=15_200.0
    )
    binding = replace(
        diagnosis.binding, family=Family.INSTANCE_EBS_IOPS, dimension=Dimension.IOPS, level=18_750.0, ceiling=None
    )
    held = reference_ceiling(replace(diagnosis, intervals=(at,), binding=binding))

    assert 285e6 == held.bytes_per_s
    assert "is 18,750 IOPS; operations averaged 14.8 KiB while it bound" in held.notes[0]
    assert "so it equals 285 MB/s" in held.notes[0]


def test_where_nothing_bound_the_lowest_ceiling_is_taken_and_said_so():
    """Of all ceilings of the storage, operations at their mean size."""
    diagnosis = CASES["pressed"]()[0]
    held = reference_ceiling(replace(diagnosis, binding=None, verdict=Verdict.SLACK))

    assert "none bound in its window" in held.notes[0]
    assert held.bytes_per_s is not None
    assert held.bytes_per_s <= min(r.ceiling.value for r in diagnosis.resources if r.unit == "bytes/s" and r.ceiling)


def test_no_ceiling_is_no_zero():
    """A diagnosis without any ceiling of storage leaves shares of it unknown."""
    held = reference_ceiling(replace(CASES["unknown"]()[0], resources=()))

    assert held.bytes_per_s is None
    assert "no ceiling of the storage" in held.notes[0]


def test_progress_is_for_terminals(monkeypatch, capsys):
    """On a terminal a line says for how long it has been watched; elsewhere nothing is written."""
    database._progress(60)(0.001)
    piped = capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    database._progress(60)(0.001)

    assert "" == piped
    assert "watched 0 of 60 s; Ctrl-C ends early and reports" in capsys.readouterr().err
