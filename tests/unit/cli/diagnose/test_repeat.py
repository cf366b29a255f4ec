"""`diagnose --watch`: when it reads, what it shows, and what it refuses; on a clock that the test moves."""

import io
import sys
from collections.abc import Iterator
from decimal import Decimal

import pytest
from msgspec.structs import replace
from rich.console import Console

from plimsoll.app.targets import target_of
from plimsoll.cli.diagnose.repeat import (
    CLOUDWATCH_S,
    Printed,
    ReadingCost,
    Redrawn,
    RepeatClock,
    View,
    check_interval,
    repeat,
    rhythm,
    state_of,
    status_lines,
)
from plimsoll.cli.output import Output
from plimsoll.errors import AccessDenied, PlimsollError
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.overview import Usage
from unit.reports.fixture_diagnosis import pressed, quiet
from unit.reports.fixture_parts import DAY

START_S = 1_700_000_000.0
QUIET, (PAST, _) = quiet()[0], pressed()
NOW = replace(PAST, window_s=(PAST.window_s[0], DAY[1]))
DENIED = AccessDenied("access denied\nto rds:DescribeDBInstances", "Allow it.")


class Told:
    """A clock that only sleeping moves, and readings that a list names; after them comes Ctrl-C."""

    def __init__(self, *readings: Diagnosis | PlimsollError, takes_s: float = 2.0) -> None:
        self.at_s, self.takes_s = START_S, takes_s
        self.read_at: list[float] = []
        self.left: Iterator[Diagnosis | PlimsollError] = iter(readings)

    def clock(self) -> RepeatClock:
        """The clock."""
        return RepeatClock(now_s=lambda: self.at_s, sleep=self.sleep)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.at_s += seconds

    def read(self) -> Diagnosis:
        """The next reading."""
        self.read_at.append(self.at_s - START_S)
        self.at_s += self.takes_s
        found = next(self.left, None)
        if found is None:
            raise KeyboardInterrupt
        if isinstance(found, PlimsollError):
            raise found
        return found


class Kept:
    """A screen that keeps what it is shown."""

    def __init__(self) -> None:
        self.views: list[View] = []
        self.ticks = 0

    def show(self, view: View) -> None:
        """Keep it."""
        self.views.append(view)

    def wait(self, view: View, now_s: float) -> None:
        """Count it."""
        self.ticks += 1


def printed(*readings: Diagnosis | PlimsollError) -> tuple[str, str]:
    """What comes on standard output and on standard error."""
    told, out, remarks = Told(*readings), io.StringIO(), io.StringIO()
    original, sys.stdout = sys.stdout, out
    try:
        with pytest.raises(KeyboardInterrupt):
            repeat(
                told.read,
                Printed(Output(width=80), lambda: "Reads every 10 s", remarks),
                period_s=10,
                clock=told.clock(),
            )
    finally:
        sys.stdout = original
    return out.getvalue(), remarks.getvalue()


def test_readings_begin_at_the_interval_whatever_they_take():
    """From start to start it is ten seconds; a reading that takes longer is followed by the next at once."""
    quick, slow = Told(QUIET, QUIET, QUIET), Told(QUIET, QUIET, takes_s=25.0)
    for told in (quick, slow):
        with pytest.raises(KeyboardInterrupt):
            repeat(told.read, Kept(), period_s=10, clock=told.clock())

    assert [0, 10, 20, 30] == quick.read_at
    assert [0, 25, 50] == slow.read_at


def test_a_failed_reading_keeps_the_last_verdict_with_its_age():
    """The cause is one line, the verdict stays, and the next reading is tried."""
    told, kept = Told(NOW, DENIED, QUIET), Kept()
    with pytest.raises(KeyboardInterrupt):
        repeat(told.read, kept, period_s=10, clock=told.clock())
    first, failed, after = kept.views

    assert (NOW, NOW, QUIET) == tuple(v.diagnosis for v in (first, failed, after))
    assert ("", "access denied to rds:DescribeDBInstances", "") == tuple(v.failure for v in (first, failed, after))
    assert (START_S + 2, START_S + 12) == (failed.read_s, failed.failed_s)
    assert kept.ticks > 10


def test_the_first_reading_must_succeed():
    """A mistake in the command is an error, not a watch of nothing."""
    told = Told(DENIED)

    with pytest.raises(AccessDenied):
        repeat(told.read, Kept(), period_s=10, clock=told.clock())


def test_a_pipe_gets_a_report_when_the_verdict_changes():
    """Equal verdicts print nothing, not even where numbers moved; each report has its time."""
    longer = replace(NOW, source="another reading")
    out, remarks = printed(NOW, longer, QUIET, QUIET, NOW)

    assert 2 == out.count("▲ At a limit now")
    assert 1 == out.count("● Not at any limit")
    assert "2023-11-14 22:13 UTC" == out.splitlines()[0]
    assert remarks.count("printed when the verdict changes") == 1
    assert "Reads every 10 s" in remarks


def test_a_pipe_is_told_once_of_a_failure_and_of_its_end():
    """One line for a cause however often it repeats, one when readings succeed again."""
    out, remarks = printed(NOW, DENIED, DENIED, NOW)
    lines = remarks.splitlines()[2:]

    assert 1 == out.count("▲")
    assert [
        (
            "2023-11-14 22:13 UTC: reading failed, the last verdict is 10 s old: access denied to "
            "rds:DescribeDBInstances"
        ),
        "2023-11-14 22:13 UTC: reading succeeded again",
    ] == lines


def test_the_verdict_changes_with_its_words_or_its_limit():
    """That a limit no longer binds is a change; another number of the same limit is none."""
    assert len({state_of(found) for found in (NOW, PAST, QUIET)}) == 3
    assert state_of(NOW) == state_of(replace(NOW, note="other"))


def test_a_terminal_shows_age_staleness_and_the_next_reading():
    """Below the report: when it was read, why the newest reading failed, and how often it is read."""
    fine = View(diagnosis=NOW, read_s=START_S, next_s=START_S + 60)
    stale = replace(fine, failure="no answer", failed_s=START_S + 60, next_s=START_S + 120)

    assert ["Read at 2023-11-14 22:13 UTC, 12 s ago; next in 48 s; Ctrl-C ends", "Reads every 1 min"] == [
        text for text, _ in status_lines(fine, START_S + 12, "Reads every 1 min")
    ]
    assert ["STALE: Read at 2023-11-14 22:13 UTC, 1 min ago; next try in 50 s", "Reading failed: no answer"] == [
        text for text, _ in status_lines(stale, START_S + 70, "")
    ][:2]


def test_a_terminal_is_redrawn_in_place():
    """The second report goes over the first: the cursor goes up, nothing scrolls."""
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=True, width=80, height=24, _environ={})
    told = Told(NOW, QUIET)
    with pytest.raises(KeyboardInterrupt), Redrawn(None, lambda: "Reads every 2 s", console) as screen:
        repeat(told.read, screen, period_s=4, clock=told.clock())

    assert "At a limit now" in shown.getvalue()
    assert "\x1b[1A" in shown.getvalue()
    assert shown.getvalue().endswith("\x1b[?25h")  # the cursor is back


def test_the_interval_and_its_price_are_said():
    """CloudWatch has a sample a minute; what a day of readings costs is computed from the last one."""
    spending = ReadingCost()
    assert "Reads every 10 s" == rhythm("10s", 10, spending)
    spending.spent(Usage(calls=(("cloudwatch:GetMetricData", 4),), metrics_requested=24), Decimal("0.00024"))

    assert (
        "Reads every 1 min (CloudWatch has one sample a minute): about 5,760 requests to AWS a day "
        "for 34,560 metrics, $0.35 a day" == rhythm("10s", 60, spending)
    )


@pytest.mark.parametrize(
    ("target", "interval", "expected"),
    [("rds:orders", "10s", CLOUDWATCH_S), ("rds:orders", "5m", 300), ("prom:http://a", "10s", 10)],
)
def test_cloudwatch_is_never_read_more_often_than_it_changes(target, interval, expected):
    """Ten seconds for an instance of RDS are a minute; a Prometheus server is read as asked."""
    assert expected == check_interval(target_of(target), interval, other_options=False, until=None)
