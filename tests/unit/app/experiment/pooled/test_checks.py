"""What inspect said of the pooled cluster, against what is true."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from inspections import cause, inspection
from plimsoll.model.cause import CauseKind
from plimsoll_lab.experiments.pooled_cluster.ground import PooledPlan
from plimsoll_lab.experiments.pooled_cluster.story import Expected, fleet_of, phases_of
from plimsoll_lab.judges.pooled.checks import checks_of, named
from plimsoll_lab.judges.pooled.cluster import PooledJudge, pooler_words, sizing_of, void_reason
from pooled_reports import FIGURES, run

STORM = cause(
    kind=CauseKind.CONNECTIONS,
    code="ConnectionStorm",
    severity="critical",
    title="Connections rose",
    read_bytes_per_s=None,
    written_bytes_per_s=None,
)
OUTLIVE = replace(STORM, kind=CauseKind.POOLER, code="ServersOutliveLifeTime")
FULL = replace(STORM, code="ChildrenTaken", severity="warning")
NOTE = replace(STORM, severity="note")


@pytest.mark.parametrize(
    ("expected", "causes", "is_right"),
    [
        (Expected.CALM, (), True),
        (Expected.CALM, (NOTE,), True),
        (Expected.CALM, (STORM,), False),
        (Expected.STORM, (STORM,), True),
        (Expected.STORM, (NOTE,), False),
        (Expected.STORM, (FULL,), False),
        (Expected.PILE_UP, (FULL,), True),
        (Expected.PILE_UP, (OUTLIVE,), False),
        (Expected.NEVER_LET_GO, (OUTLIVE,), True),
        (Expected.NEVER_LET_GO, (STORM,), False),
        (Expected.LET_GO, (STORM,), True),
        (Expected.LET_GO, (OUTLIVE,), False),
        (Expected.SIZED, (), True),
        (Expected.SIZED, (STORM,), False),
    ],
)
def test_a_phase_is_right_only_with_its_own_cause(expected, causes, is_right):
    """A note names nothing, and a cause of another phase is none of this one."""
    first = next(checks_of(run(expected), inspection(causes=causes), None))

    assert is_right is first.is_right


@pytest.mark.parametrize("is_expected", [True, False])
def test_a_missing_inspection_is_wrong(is_expected: bool):
    """Also where nothing had to be named."""
    assert not named(None, ("ConnectionStorm",), is_expected=is_expected, words="x").is_right


@pytest.mark.parametrize("expected", [Expected.STORM, Expected.PILE_UP])
def test_a_storm_that_was_not_observed_says_nothing_about_the_disk(expected):
    """Then it is not right, whatever else was found."""
    found = tuple(checks_of(run(expected), inspection(causes=(STORM,)), None))

    assert [True, False] == [check.is_right for check in found]
    assert "not the disk" == found[1].expected


def test_sized_pools_must_do_more_useful_work_than_the_storm():
    """Useful queries count; without a storm to compare with, it is not right."""
    sized = run(Expected.SIZED, figures=replace(FIGURES, useful_per_s=300.0, queries_per_s=10.0))
    storm = run(Expected.STORM)
    better, worse, alone = (
        tuple(checks_of(one, inspection(causes=()), before))[1]
        for one, before in ((sized, storm), (run(Expected.SIZED), sized), (sized, None))
    )

    assert (True, False, False) == (better.is_right, worse.is_right, alone.is_right)
    assert "300 useful of 10 queries/s" in better.found


SLOW, DISTURBED = "business transactions per second were done", "other programs took"


@pytest.mark.parametrize(
    ("expected", "done_per_s", "others", "reason"),
    [
        # Less than four fifths of 15 per second; in a storm that is the story.
        (Expected.CALM, 15.0, 0.0, ""),
        (Expected.CALM, 12.1, 0.0, ""),
        (Expected.CALM, 11.9, 0.0, SLOW),
        (Expected.STORM, 1.0, 0.0, ""),
        # Only where its work is compared; what connections do is true on a slow machine, too.
        (Expected.CALM, 15.0, 0.6, ""),
        (Expected.STORM, 15.0, 0.6, DISTURBED),
        (Expected.SIZED, 15.0, 0.5, DISTURBED),
        (Expected.SIZED, 15.0, 0.4, ""),
        (Expected.LET_GO, 15.0, 0.9, ""),
    ],
)
def test_a_phase_is_void_on_a_machine_that_is_slow_or_taken(expected, done_per_s, others, reason):
    processors = {"PostgreSQL": 0.1, "other programs": others}
    figures = replace(FIGURES, arrivals_per_s=15.0, done_per_s=done_per_s, processors=processors)
    found = void_reason(run(expected, figures=figures))

    assert reason in found
    assert bool(reason) is bool(found)


def test_a_target_that_is_held_is_enough():
    """Nine tenths of what arrives at the end, even if more useful work was done in the storm."""
    storm = run(Expected.STORM, figures=replace(FIGURES, useful_per_s=300.0))
    sized = run(Expected.SIZED, figures=replace(FIGURES, useful_per_s=200.0, done_per_s=9.0))
    held, missed = (
        tuple(checks_of(replace(sized, phase=replace(sized.phase, rate=rate)), inspection(causes=()), storm))[1]
        for rate in (10.0, 11.0)
    )

    assert (True, False) == (held.is_right, missed.is_right)


@pytest.mark.parametrize(("done_per_s", "is_void"), [(14.0, False), (3.0, True)])
def test_a_void_phase_ends_the_play_with_its_reason(done_per_s: float, is_void: bool):
    """The user does not wait for phases that would prove nothing."""
    lines: list[str] = []
    plan = PooledPlan(phases=phases_of(is_quick=True), fleet=fleet_of(10.0), system=Path(), unmended=Path())
    judge = PooledJudge(plan, lines.append)
    figures = replace(FIGURES, arrivals_per_s=15.0, done_per_s=done_per_s)

    goes_on = judge.add(run(Expected.CALM, figures=figures))

    report = judge.report("")
    assert is_void is not goes_on
    assert is_void is report.is_void
    assert is_void is not report.is_interrupted
    assert is_void is any("Calm is void: 3.0 of 15.0" in note for note in report.notes)
    assert is_void is any("Calm is void" in line for line in lines)


def test_pools_are_sized_for_the_pooler_and_the_machine():
    """Without a measured curve it is the rule of thumb; the words say which and how many."""
    fleet = fleet_of(10.0)
    sizing = sizing_of(fleet, None, connection_max=400)
    words = pooler_words(run(Expected.SIZED, sizing=sizing))

    assert fleet.connections == sizing.connections
    assert 399 == sizing.room.usable
    assert f"by pool-size (rule of thumb, target {sizing.target})" in words
    assert "with the fix, connection_life_time 3 s; 28 pools of 25" in words
