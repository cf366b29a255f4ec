"""Work that would pass if it were spread over the day."""

from dataclasses import replace

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.kernel import Stage
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.judge.schedule import spread_of
from unit.plan.judge.test_work import at_a_ceiling

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
        name="instance_ebs_throughput", baseline=baseline, burst=burst or baseline, capacity=capacity, counts="bytes"
    )


OPS = replace(stage(56e6 / 16_384), name="instance_ebs_iops", counts="ops")
CREDITS = replace(stage(40e6, 120e6, 4 * 3600 * 40e6), start_balance=4 * 3600 * 40e6)


@pytest.mark.parametrize(
    ("work", "limit", "hours"),
    [
        # Four hours of 90 MB/s above the rest are 45 MB/s over eight, with 10 of the rest; over seven they are 61.
        ({}, stage(56e6), 8),
        ({}, OPS, 8),
        ({}, stage(60e6), 8),
        ({}, stage(64e6), 7),
        # Four hours of 100 and twenty of 10 MB/s are 25 on average: 24 are never enough.
        ({}, stage(24e6), None),
        ({}, stage(31e6), 18),
        # A bucket that starts full pays for a part of the work.
        ({}, stage(40e6), 13),
        ({}, CREDITS, 7),
        # A day without a ceiling has no work to spread.
        ({"hours": 0}, stage(56e6), None),
        # The job had that bucket and took eight hours: it is never spread over fewer.
        ({"hours": 8}, stage(100e6, 400e6, 24 * 3600 * 400e6), 8),
    ],
)
def test_a_night_is_spread_over_as_few_hours_as_pass(work: dict, limit: Stage, hours: int | None):
    """From the hour at which it began."""
    found = spread_of(nightly(**work), [limit])

    assert hours == (found and found.hours)
    assert found is None or (6 * 3600 == found.start_s and f"{hours} h from 06:00 UTC" in found.text)


def test_what_was_served_while_credits_lasted_is_moved_with_the_rest():
    """An hour at 300 MB/s before three at 100 are 2,016 GB above the rest: at 35 MB/s, sixteen hours."""
    asked = np.full(DAY, 10e6)
    asked[6 * builders.HOUR : 10 * builders.HOUR] = 300e6
    served = asked.copy()
    served[7 * builders.HOUR : 10 * builders.HOUR] = CEILING
    latency = np.where(served < asked, 0.02, 0.0008)
    made = builders.snapshot(builders.storage(served, latency_s=latency))
    demand = recover(made, diagnose(made, catalog()))
    found = spread_of(demand, [stage(45e6)])

    assert found.hours == 16


def test_a_night_whose_work_comes_in_pieces_is_moved_whole():
    """Four hours at 100 MB/s, broken twice, are 90 MB/s above the rest: not one hour of it is lost."""
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


def test_a_window_that_is_free_only_in_its_first_burst_is_not_spread():
    """Half an hour on credits, then the ceiling to the end: nothing was seen but the job itself."""
    is_held = np.ones(DAY, dtype=np.bool_)
    is_held[:30] = False
    served = np.where(is_held, CEILING, 3 * CEILING)

    assert spread_of(at_a_ceiling(served, is_held), [stage(CEILING)]) is None
    assert spread_of(at_a_ceiling(served, is_held), [stage(9 * CEILING)]) is not None


def test_all_bytes_of_the_job_are_moved_also_where_other_requests_are_small():
    """Eight hours of 64 KiB at 86.7 MB/s together with as many small requests are 2.27 TiB, none of them lost."""
    is_held = np.zeros(DAY, dtype=np.bool_)
    is_held[6 * builders.HOUR : 14 * builders.HOUR] = True
    served = np.where(is_held, 86.7e6, 5.4e6)
    calm = at_a_ceiling(served, is_held)
    small = replace(
        calm,
        io_size_bytes=np.where(is_held, 65_536.0, 4096.0),
        served_ops_per_s=served / np.where(is_held, 65_536.0, 4096.0),
    )
    found = spread_of(small, [stage(86.875e6)])

    # Below the baseline with the 5.4 MB/s of the rest: 81.3 MB/s over eight hours are 86.7 over 7.5.
    assert found.hours == 8
    assert "2.13 TiB of work" in found.text


def test_one_night_in_two_weeks_may_not_spend_its_hours_at_the_ceiling():
    """1 % of two weeks is more than three hours: the allowance is counted within the hours of the work."""
    is_held = np.zeros(14 * DAY, dtype=np.bool_)
    is_held[6 * builders.HOUR : 14 * builders.HOUR] = True
    demand = at_a_ceiling(np.where(is_held, 100e6, 1e6), is_held)
    found = spread_of(demand, [stage(64e6, 300e6, 1800 * 236e6)])

    # 2.85 TB less 0.42 TB of credits need 10.6 h at 64 MB/s, of which the rest takes one.
    assert found.hours == 11
