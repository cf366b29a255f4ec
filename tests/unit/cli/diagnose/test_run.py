"""`plimsoll diagnose`, as it is called."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import pytest

import builders
from contract.tree import ROOT
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.reports.diagnosis.headline import headline

PRESSED = ROOT / "examples" / "claims-pipeline"
QUIET = ROOT / "examples" / "quiet"
LOCAL = ROOT / "examples" / "own-events" / "local-times.csv"
SCHEMA = json.loads((files("plimsoll.reports") / "schema" / "report.schema.json").read_text(encoding="utf-8"))


def command(*arguments: object, **how) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "FORCE_COLOR")}
    return subprocess.run(
        [sys.executable, "-m", "plimsoll", *(str(a) for a in arguments)],
        check=False,
        capture_output=True,
        text=True,
        env=environment | how.pop("env", {}),
        **how,
    )


@pytest.fixture
def blind(tmp_path: Path) -> Path:
    """A snapshot in which nothing of storage was measured."""
    file = tmp_path / "blind.json"
    cpu = builders.snapshot({Metric.CPU_RATIO: np.full(60, 0.3)}, instance=Instance())
    file.write_bytes(encode_snapshot(cpu))
    return file


@pytest.mark.parametrize(
    ("target", "status", "text"),
    [(QUIET, 0, "quiet (db.m6g.large)"), (PRESSED, 1, "86.875 MB/s"), (None, 2, "ReadThroughput")],
)
def test_the_status_is_the_verdict(run, blind, target, status, text):
    """0 where nothing binds, 1 where something binds, 2 without the metrics it takes; on standard output only."""
    ran = run("diagnose", target or blind)

    assert (status, "") == (ran.status, ran.err)
    assert text in ran.out


def test_own_events_stand_in_the_json_report(run):
    """A local time in its zone is the moment in UTC; the exit status is that of the verdict."""
    zone = ("--events-zone", "Europe/Berlin", "--format", "json")
    ran = run("diagnose", PRESSED, "--events", LOCAL, *zone)
    report = json.loads(ran.out)
    (event,) = report["own_events"]["events"]

    jsonschema.validate(report, SCHEMA)
    assert 1 == ran.status
    assert ("2023-02-14T01:30:00Z", "2023-02-14T14:25:00Z") == (event["start"], event["end"])
    assert 43_320 == event["ceiling_s"]


@pytest.mark.parametrize("typed", ["DB.T3.XLARGE", "t3.xlarge", " db.T3.xlarge "])
def test_a_class_is_understood_however_it_is_written(run, typed):
    """Capital letters, spaces around it and a missing prefix do not make it another class."""
    ran = run("diagnose", PRESSED, "--class", typed, "--format", "json")

    assert "db.t3.xlarge" == json.loads(ran.out)["instance"]["db_class"]


def test_the_window_that_was_asked_for_is_the_denominator(run):
    """Of the last ten days of an export of two, eight were not measured: the shares say so."""
    report = json.loads(run("diagnose", QUIET, "--last", "10d", "--format", "json").out)
    text = run("diagnose", QUIET, "--last", "10d").out

    assert "unknown" == report["verdict"]
    assert 10 * 86_400 == report["window"]["asked_s"]
    assert report["window"]["measured_s"] < 2.1 * 86_400
    assert any("of the window" in gap["name"] for gap in report["missing"])
    assert "of 10 d asked for" in text


def test_flags_win_over_the_source(run):
    """What the command line says of the instance replaces what the snapshot says."""
    flags = ("--class", "r5.large", "--engine", "mysql", "--storage", "GP3", "--size-gib", "400")
    ran = run("diagnose", QUIET, *flags, "--launched", "2019-06-01", "--format", "json")
    instance = json.loads(ran.out)["instance"]

    assert "db.r5.large" == instance["db_class"]
    assert "mysql" == instance["engine"]
    assert "gp3" == instance["storage"]["kind"]
    assert 400 == instance["storage"]["size_gib"]


@pytest.mark.parametrize("width", [40, 80, 132])
def test_text_keeps_to_its_width(run, width):
    """No line is wider than asked for; only a command to copy is never broken."""
    ran = run("diagnose", PRESSED, "--width", width)
    *lines, command = ran.out.splitlines()

    assert max(len(line) for line in lines) <= width
    assert command.startswith("  plimsoll plan ")


def test_reports_are_written_beside_the_text(run, tmp_path):
    """--html and --png write files and say so on standard error; standard output stays the report."""
    page, picture = tmp_path / "report.html", tmp_path / "timeline.png"
    ran = run("diagnose", QUIET, "--html", page, "--png", picture)

    assert 0 == ran.status
    assert run("diagnose", QUIET).out == ran.out
    assert [f"report written to {page}", f"picture written to {picture}"] == ran.err.splitlines()
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert [page, picture] == sorted(tmp_path.iterdir())


def test_nothing_is_written_where_one_file_cannot_be(run, tmp_path):
    """A picture that cannot be written is refused before the work; the old page stays."""
    page = tmp_path / "report.html"
    page.write_text("old", encoding="utf-8")
    ran = run("diagnose", QUIET, "--html", page, "--png", tmp_path)

    assert 2 == ran.status
    assert "unable to write" in ran.err
    assert "old" == page.read_text(encoding="utf-8")
    assert [page] == list(tmp_path.iterdir())


def test_a_pipe_gets_80_columns_without_colour():
    """In a process of its own, into a pipe: 80 columns, no escape sequence, exit status as promised."""
    ran = command("diagnose", PRESSED)

    assert (1, "") == (ran.returncode, ran.stderr)
    assert "\x1b" not in ran.stdout
    assert max(len(line) for line in ran.stdout.splitlines()) <= 80


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch, run):
    """On a terminal there is colour; NO_COLOR takes it away, a pipe never has it."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("plimsoll.cli.output.sys.stdout.isatty", lambda: True, raising=False)
    coloured = run("diagnose", PRESSED, "--width", 80).out
    monkeypatch.setenv("NO_COLOR", "1")
    plain = run("diagnose", PRESSED, "--width", 80).out

    assert "\x1b[" in coloured
    assert "\x1b" not in plain


def test_no_limit_is_not_claimed_for_a_class_without_numbers():
    """Where the class is not in the catalog, the first sentence says that its limits are not known."""
    snapshot = read_target(str(QUIET), InstanceOptions())
    unknown = msgspec.structs.replace(snapshot.instance, db_class="db.zz.large")
    first = headline(diagnose_snapshot(msgspec.structs.replace(snapshot, instance=unknown)))

    assert "not up against any limit" not in first
    assert "some limits unknown: instance class missing" in first
