"""What the end of the pooled cluster reached, compared with the storm."""

import pytest
from msgspec.structs import replace

import pooled_reports
from plimsoll_lab.experiments.pooled_cluster.play import PooledRun
from plimsoll_lab.experiments.pooled_cluster.story import Expected
from plimsoll_lab.judges.pooled.outcome import outcome_of
from pooled_reports import FIGURES


def run(expected: Expected, **figures) -> PooledRun:
    """The phase of the story of which this is true."""
    return pooled_reports.run(expected, figures=replace(FIGURES, **figures))


CALM = run(Expected.CALM, done_per_s=15.0)
STORM = run(Expected.STORM, useful_per_s=600.0, seconds=20.0)
PILE_UP = run(Expected.PILE_UP, useful_per_s=0.0, seconds=10.0)
SIZED = run(Expected.SIZED, useful_per_s=4_000.0, queries_per_s=4_600.0)
OTHER = run(Expected.OTHER_POOLER, useful_per_s=4_400.0)


def test_the_storm_is_the_time_from_its_rise_to_its_height():
    """600 per second for 20 s and none for 10 s: 400 on average, a tenth of those at the end."""
    found = outcome_of([CALM, STORM, PILE_UP, SIZED, OTHER])

    assert found is not None
    assert (pytest.approx(400.0), pytest.approx(10.0)) == (found.storm_useful_per_s, found.ratio)
    assert (True, 4_400.0) == (found.is_reached, found.other_useful_per_s)
    assert found.carried_per_s is not None


@pytest.mark.parametrize("figures", [{"queries_per_s": 4_400.0}, {"useful_per_s": 1_900.0}])
def test_both_published_figures_are_needed(figures):
    """4,500 queries per second, and five times the useful ones of the storm."""
    sized = replace(SIZED, figures=replace(SIZED.figures, **figures))
    found = outcome_of([CALM, STORM, PILE_UP, sized])

    assert found is not None
    assert not found.is_reached
    assert found.other_useful_per_s is None


@pytest.mark.parametrize("runs", [[], [CALM, STORM, PILE_UP], [CALM, SIZED]])
def test_without_storm_or_end_there_is_no_outcome(runs):
    """An experiment that was interrupted has none."""
    assert outcome_of(runs) is None


def test_a_storm_without_useful_queries_has_no_ratio():
    """Then only the queries per second count."""
    found = outcome_of([replace(STORM, figures=replace(STORM.figures, useful_per_s=0.0)), SIZED])

    assert found is not None
    assert found.ratio is None
    assert found.is_reached
