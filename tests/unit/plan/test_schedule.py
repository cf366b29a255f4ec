"""Work that would pass if it were spread over the day."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.kernel import Stage
from plimsoll.plan.demand import Demand, recover
from plimsoll.plan.schedule import spread_of

DAY = 24 * builders.HOUR
CEILING = 100e6


def nightly(*, hours: int = 4, rest: float = 10e6) -> Demand:
    """A simulated day that stands at 100 MB/s for some hours from six on, and idles otherwise."""
    rng = np.random.default_rng(9)
    asked = np.full(DAY, rest) * builders.wander(rng, DAY, 0.02)
    asked[6 * builders.HOUR : (6 + hours) * builders.HOUR] = 180e6
    snapshot = builders.snapshot(builders.held_at(asked, CEILING, rng=rng))
    return recover(snapshot, diagnose(snapshot, catalog()))


def stage(baseline: float, burst: float | None = None, capacity: float = 0.0) -> Stage:
    return Stage(
        name="instance_ebs_throughput",
        baseline=baseline,
        burst=burst or baseline,
        capacity=capacity,
        counts="bytes",
    )


def test_four_hours_at_twice_the_baseline_fit_into_eight():
    """
    Four hours of 90 MB/s above the rest are 45 MB/s over eight; with 10 of the rest that is below 56.
    """
    found = spread_of(nightly(), [stage(56e6)])

    assert found is not None
    assert found.hours == 8
    assert found.start_s == 6 * 3600
    assert "8 h from 06:00 UTC" in found.text


def test_spreading_over_seven_hours_would_not_do():
    """
    Over seven hours the same work is 51 MB/s, with the rest 61: a baseline of 60 needs eight too.
    """
    tight, wide = spread_of(nightly(), [stage(60e6)]), spread_of(nightly(), [stage(64e6)])

    assert tight is not None
    assert wide is not None
    assert (tight.hours, wide.hours) == (8, 7)


def test_a_mean_above_the_baseline_cannot_be_spread():
    """
    Four hours of 100 and twenty of 10 MB/s are 25 on average: 24 are never enough.
    """
    assert spread_of(nightly(), [stage(24e6)]) is None
    assert spread_of(nightly(), [stage(31e6)]) is not None


def test_credits_shorten_the_window():
    """
    A bucket that starts full pays for a part of the work.
    """
    bucket = stage(40e6, 120e6, 4 * 3600 * 40e6)
    plain = spread_of(nightly(), [stage(40e6)])
    demand = nightly()
    with_credits = spread_of(
        demand, [Stage(**{f: getattr(bucket, f) for f in _FIELDS}, start_balance=bucket.capacity)]
    )

    assert plain is not None
    assert with_credits is not None
    assert with_credits.hours < plain.hours


_FIELDS = ("name", "baseline", "burst", "capacity", "counts")


@pytest.mark.parametrize("hours", [0])
def test_nothing_is_moved_where_nothing_was_held_back(hours: int):
    """
    A day without a ceiling has no work to spread.
    """
    assert spread_of(nightly(hours=hours), [stage(56e6)]) is None


def test_what_was_served_while_credits_lasted_is_moved_with_the_rest():
    """
    An hour at 300 MB/s before three at 100 are 2,016 GB above the rest: at 35 MB/s, sixteen hours.
    """
    asked = np.full(DAY, 10e6)
    asked[6 * builders.HOUR : 10 * builders.HOUR] = 300e6
    served = asked.copy()
    served[7 * builders.HOUR : 10 * builders.HOUR] = CEILING
    latency = np.where(served < asked, 0.02, 0.0008)
    made = builders.snapshot(builders.storage(served, latency_s=latency))
    demand = recover(made, diagnose(made, catalog()))
    found = spread_of(demand, [stage(45e6)])

    assert found is not None
    assert found.hours == 16


def test_a_night_whose_work_comes_in_pieces_is_moved_whole():
    """
    Four hours at 100 MB/s, broken twice, are 90 MB/s above the rest: not one hour of it is lost.
    """
    asked = np.full(2 * DAY, 10e6)
    for begin, minutes in ((6 * 60, 100), (8 * 60, 60), (9 * 60 + 20, 80)):
        asked[begin : begin + minutes] = 180e6
    served = np.minimum(asked, CEILING)
    latency = np.where(served < asked, 0.02, 0.0008)
    made = builders.snapshot(builders.storage(served, latency_s=latency))
    demand = recover(made, diagnose(made, catalog()))

    # 90 MB/s over four hours are 45 over eight: with the rest 55, below 56 and not over seven.
    (enough, tight) = (spread_of(demand, [stage(rate)]) for rate in (56e6, 60e6))

    assert (8, 8) == (enough.hours, tight.hours)
    assert 6 * 3600 == enough.start_s
