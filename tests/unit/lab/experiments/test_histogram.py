"""Percentiles of a histogram between two readings."""

from math import inf

import pytest

from plimsoll_lab.experiments.histogram import CountedBuckets

BEFORE = CountedBuckets.of([(1.0, 5), (2.0, 5), (inf, 5)])
AFTER = CountedBuckets.of([(2.0, 25), (1.0, 15), (inf, 30)])


def test_only_what_came_since_counts():
    """Counts are cumulative, in any order of bounds."""
    assert CountedBuckets((1.0, 2.0, inf), (10, 20, 25)) == AFTER.since(BEFORE)


@pytest.mark.parametrize(("share", "value"), [(0.2, 0.5), (0.4, 1.0), (0.6, 1.5), (0.8, 2.0), (0.99, 2.0)])
def test_observations_lie_evenly_in_their_bucket(share, value):
    """As Prometheus's histogram_quantile has it; above the last bound the bound is returned."""
    assert pytest.approx(value) == AFTER.since(BEFORE).quantile(share)


def test_nothing_observed_is_unknown():
    """Never zero."""
    assert BEFORE.since(BEFORE).quantile(0.5) is None
    assert CountedBuckets().quantile(0.5) is None


def test_a_program_that_began_anew_counts_from_zero():
    """Its counts are below those of before."""
    assert BEFORE == BEFORE.since(AFTER)
