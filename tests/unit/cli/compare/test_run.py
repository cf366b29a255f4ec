"""`plimsoll compare`, as it is called."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import START_S
from contract.tree import ROOT
from plimsoll.app.compare import interval_of, read_sides
from plimsoll.app.options import InstanceOptions, ReadOptions, Split
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Annotation, EventKind, Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.units import format_time

EXAMPLES = ROOT / "examples"
SEARCH, AFTER = EXAMPLES / "search-service", EXAMPLES / "search-service-after"
QUIET = EXAMPLES / "quiet"
BASELINE = 86.875e6
CHANGE_S = START_S + 12 * 3600
NOTHING = InstanceOptions()


def changed(*events: Annotation) -> Snapshot:
    """A day in whose middle the class was changed: held at the old baseline, then free."""
    rng = np.random.default_rng(5)
    demand = builders.working_day(rng, 0.3 * BASELINE, 2 * BASELINE, hours=12)
    before = builders.held_at(demand, BASELINE, rng=rng, waiting=20)
    after = builders.held_at(demand, 10 * BASELINE, rng=rng)
    values = {metric: np.concatenate((before[metric], after[metric])) for metric in before}
    held = np.where(demand > BASELINE, 0.0, 0.5)
    values[Metric.BYTE_BALANCE_RATIO] = np.concatenate((held, np.ones(demand.size)))
    instance = Instance(
        identifier="claims", db_class="db.m6g.xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=1200.0)
    )
    return replace(builders.snapshot(values, instance=instance), annotations=events)


def of_class(time_s: int) -> Annotation:
    """An event that tells of a change of class."""
    return Annotation(time_s=time_s, text="class changed", kind=EventKind.CLASS_CHANGE)


@pytest.fixture
def export(tmp_path: Path):
    """A file that holds both sides of a change of class."""

    def write(*events: Annotation) -> Path:
        file = tmp_path / "claims.json"
        file.write_bytes(encode_snapshot(changed(*events)))
        return file

    return write


@pytest.fixture
def blind(tmp_path: Path) -> Path:
    """A side without storage metrics."""
    file = tmp_path / "blind.json"
    file.write_bytes(encode_snapshot(builders.snapshot({Metric.CPU_RATIO: np.full(60, 0.3)})))
    return file


@pytest.mark.parametrize(
    ("before", "after", "status", "start"),
    [
        (SEARCH, AFTER, 0, "After the change to db.r5.4xlarge search-service spent 0 min"),
        # A target beside itself is no worse.
        (QUIET, QUIET, 0, "No difference: quiet"),
        (AFTER, SEARCH, 1, ""),
        # What is known is still compared.
        (QUIET, None, 2, "We cannot say whether"),
    ],
    ids=["better", "equal", "worse", "unknown"],
)
def test_the_status_says_whether_after_is_worse(run, blind, before, after, status, start):
    """Two targets: 0 or 1, or 2 where it cannot be told, and standard output only."""
    ran = run("compare", before, after or blind)

    assert (status, "") == (ran.status, ran.err)
    assert ran.out.startswith(start)
    assert "CPU" in ran.out


def test_one_target_is_split_at_the_change(run, export):
    """With what was bought on each side, the sentence names the change and both times."""
    ran = run(
        "compare", export(), "--at", format_time(CHANGE_S),
        "--class-a", "db.t3.xlarge", "--class-b", "m6g.xlarge", "--format", "json",
    )  # fmt: skip
    report = json.loads(ran.out)

    assert 0 == ran.status
    assert report["headline"].startswith("After the change to db.m6g.xlarge claims spent 0 min")
    assert ["db_class"] == [b["name"] for b in report["bought"]]
    assert ("baseline", BASELINE) == (report["before"]["binding"]["phase"], report["before"]["binding"]["ceiling"])
    assert format_time(CHANGE_S) == report["before"]["end"] == report["after"]["start"]


def test_an_earlier_class_that_nobody_said_is_unknown(run, export):
    """Where an event tells of a change of class, the present class is not taken for the earlier one."""
    target = export(of_class(CHANGE_S))
    ran = run("compare", target, "--at", format_time(CHANGE_S), "--format", "json")
    report = json.loads(ran.out)

    assert (None, "db.m6g.xlarge") == (report["before"]["db_class"], report["after"]["db_class"])
    assert "unknown" == report["before"]["binding"]["family"]
    assert any("--class-a" in caveat["text"] for caveat in report["caveats"])


def test_the_moment_of_the_change_is_offered(run, export):
    """One target without a moment is an error, whose hint names the last change of class or storage."""
    result = run("compare", export(of_class(CHANGE_S - 3600), of_class(CHANGE_S)))

    assert (2, "") == (result.status, result.out)
    assert f"hint: The class was changed at {format_time(CHANGE_S)}: add --at" in result.err


def test_two_windows_of_one_target(run):
    """Each window is cut from the target, its end not included."""
    ran = run(
        "compare", SEARCH, "--format", "json",
        "--window-a", "2021-03-09T02:00Z/2021-03-09T08:00Z", "--window-b", "2021-03-09T18:00Z/PT6H",
    )  # fmt: skip
    report = json.loads(ran.out)

    assert ("2021-03-09T02:00:00Z", 6 * 3600) == (report["before"]["start"], report["before"]["duration_s"])
    assert "2021-03-10T00:00:00Z" == report["after"]["end"]
    assert "better" == report["outcome"]


@pytest.fixture
def live(monkeypatch):
    """Stands for every target: keeps how it was asked, and answers with the day of a change."""
    asked: list[ReadOptions] = []

    def read(_target: str, _flags: InstanceOptions, read_options: ReadOptions, *_: object) -> Snapshot:
        asked.append(read_options)
        return changed()

    monkeypatch.setattr("plimsoll.app.compare.read_target", read)
    return asked


@pytest.mark.parametrize(
    ("asked", "read"),
    [
        (ReadOptions(), ReadOptions(since=format_time(CHANGE_S - 86_400), until=format_time(CHANGE_S + 86_400))),
        (ReadOptions(since="2021-03-01", until="2021-03-20", profile="shop"), None),
    ],
)
def test_a_live_target_is_read_once_around_the_change(live, asked, read):
    """Without a window of its own for a day to each side, otherwise as far as asked."""
    read_sides(("rds:claims", None), Split(at=format_time(CHANGE_S)), (NOTHING, NOTHING), asked)

    assert [read or asked] == live


def test_a_live_target_is_read_for_its_windows_only(live):
    """What lies between two windows is not asked for; a file is read once."""
    split = Split(window_a=f"{format_time(START_S)}/PT12H", window_b=f"{format_time(CHANGE_S)}/PT12H")
    read_sides(("prom:http://127.0.0.1:9090", None), split, (NOTHING, NOTHING), ReadOptions())
    windows = [(read_options.since, read_options.until) for read_options in live]
    live.clear()
    read_sides((str(QUIET), None), split, (NOTHING, NOTHING), ReadOptions())

    assert [
        (format_time(START_S), format_time(CHANGE_S)),
        (format_time(CHANGE_S), format_time(CHANGE_S + 12 * 3600)),
    ] == windows
    assert 1 == len(live)


@pytest.mark.parametrize(
    ("text", "length_s"),
    [
        ("2026-11-01/2026-11-08", 7 * 86_400),
        ("2026-11-01T08:00Z/PT12H", 12 * 3600),
        ("P1W/2026-11-08", 7 * 86_400),
        ("2026-11-01/P1DT6H30M", 86_400 + 6 * 3600 + 1800),
        ("2026-11-01T00:00+01:00/2026-11-01T00:00Z", 3600),
    ],
)
def test_intervals_are_read_as_iso_8601_has_them(text, length_s):
    """Start and end, start and duration, or duration and end; without an offset it is UTC."""
    start, end = interval_of(text, "--window-a")

    assert length_s == end - start


def test_what_it_prints_for_the_next_step_runs(run):
    """Where the ceiling is still reached, the command that plans from the window after is complete."""
    claims = ROOT / "examples" / "claims-pipeline"
    result = run("compare", claims, "--at", "2023-02-14T08:00Z")
    lines = result.out.splitlines()
    first = next(n for n, line in enumerate(lines) if line.lstrip().startswith("plimsoll plan "))
    ran = run(*shlex.split(" ".join(line.rstrip("\\") for line in lines[first : first + 2]))[1:])

    assert "The ceiling is still reached: 26 % of the time after" in result.out
    assert (1, "") == (ran.status, ran.err)
    assert "2023-02-14 08:00 – 2023-02-15 08:00 UTC" in ran.out


def test_a_short_window_after_is_planned_for_by_itself(run):
    """A plan needs a day, unless it is told that these hours are all there is."""
    claims = ROOT / "examples" / "claims-pipeline"
    result = run("compare", claims, "--at", "2023-02-14T12:00Z", "--format", "json")
    step = json.loads(result.out)["step"]

    assert "not_enough" == step["result"]
    assert step["next_command"].endswith("--allow short-window")
    assert 1 == run(*shlex.split(step["next_command"])[1:]).status
