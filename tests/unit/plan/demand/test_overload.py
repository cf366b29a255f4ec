"""What is believed of a stretch's demand, by what was seen of it and of others."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll.model.prior import Prior
from plimsoll.plan.demand.overload import (
    Overflow,
    is_bounded,
    is_same_work,
    middles,
    neighbours_of_greedy,
    overloads_of,
    reach_of,
)
from plimsoll.plan.demand.throttled import CeilingRun, Episode, ThrottledSteps

U = middles(20)


def stretch(
    ceiling: float, *, free: tuple[float, ...] = (), start: int = 0, hours: int = 1, size: float = 1e4
) -> Episode:
    end = start + 60 * hours
    run = CeilingRun(start=start, end=end, level_ops_per_s=ceiling, io_size_bytes=size)
    return Episode(
        runs=(run,),
        floor_ops_per_s=ceiling,
        bound_ops_per_s=ceiling,
        mean_ops_per_s=ceiling,
        free_ops_per_s=np.array(free),
        length_s=3600.0 * hours,
        pressed_count=0,
        waiting=2.0,
    )


def throttled_of(*stretches: Episode, rise: tuple[float, float] = (0.0, 1.0)) -> ThrottledSteps:
    none = np.zeros(600)
    return ThrottledSteps(
        is_held=none > 0,
        full_log_rise=rise,
        is_partly=none > 0,
        unexplained_ratio=0.0,
        ceiling_ops_per_s=none,
        stretches=stretches,
    )


def lost(*stretches: Episode) -> np.ndarray:
    return overloads_of(throttled_of(*stretches), Overflow.LOST, U, Prior())


def test_demand_does_not_grow_with_the_ceiling_it_meets():
    """
    1,600 asked of a baseline of 1,000 are no 4,800 asked of a limit of 3,000: that witness says that
    little more was wanted there, and the prior remains the other one.
    """
    seen, other = stretch(1000.0, free=(1600.0,) * 30), stretch(3000.0, start=200)
    alone, guided = lost(other)[:, 0], lost(seen, other)[:, 1]

    assert (guided <= alone).all()
    assert np.median(guided) < np.median(alone)
    assert 3000 == pytest.approx(guided[0])
    assert guided[-1] > 1.8 * 3000


def test_demand_seen_at_a_ceiling_guides_what_was_not_seen_there():
    """2,500 seen of 1,000 lift what is thought of another hour at 1,000, and leave the lower demands in."""
    seen, other = stretch(1000.0, free=(2500.0,) * 30), stretch(1000.0, start=200)
    alone, guided = lost(other)[:, 0], lost(seen, other)[:, 1]

    assert np.median(alone) < np.median(guided) < 2500
    assert guided[0] < 1.3 * 1000


def test_demand_that_was_seen_is_less_certain_the_longer_it_is_hidden():
    """After an hour at a ceiling it is known to a fifth; after twelve, to a third or so."""
    rates = (2000.0,) * 30
    brief, long = (np.std(np.log(lost(stretch(1000.0, free=rates, hours=h))[:, 0])) for h in (1, 12))

    assert brief < 0.2
    assert 0.25 < long < 0.5


def test_the_same_work_at_the_same_hour_of_another_day_was_seen():
    """
    2,000 asked of 1,000 on Monday from 0:00 to 4:00 are Tuesday's demand from 0:30 on; of other hours the
    prior is one witness among others.
    """
    monday = stretch(1000.0, free=(2000.0,) * 30, hours=4)
    tuesday = stretch(1000.0, start=1440 + 30, hours=4)
    noon = stretch(1000.0, start=1440 + 12 * 60, hours=4)

    assert [True, False] == [is_same_work(monday, other) for other in (tuesday, noon)]
    same, other = (lost(monday, later)[:, 1] for later in (tuesday, noon))
    assert 2000 == pytest.approx(np.median(same), rel=0.02)
    assert np.std(np.log(same)) < np.std(np.log(other))


def test_work_that_meets_both_ceilings_next_to_a_load_that_was_seen_may_be_greedy():
    """
    A vacuum with large requests that runs at the burst ceiling and at the baseline is distinguished from
    the load of the day; without a load that was seen, or with requests of one size, nothing
    distinguishes it.
    """
    seen = stretch(1000.0, free=(1600.0,) * 30)
    vacuum = replace(stretch(1000.0, start=200, size=2e4), bound_ops_per_s=2000.0)
    later = replace(stretch(1000.0, start=200), bound_ops_per_s=2000.0)

    assert (1,) == neighbours_of_greedy(throttled_of(seen, vacuum))
    assert () == neighbours_of_greedy(throttled_of(vacuum))
    assert () == neighbours_of_greedy(throttled_of(seen, stretch(1000.0, start=200, size=2e4)))
    assert () == neighbours_of_greedy(throttled_of(seen, later))


def test_a_rate_that_was_seen_does_not_tell_that_all_work_was_there_by_then():
    """
    A job was taken up at 3,000 a second while credits lasted and served 1,000 after: it may have come all at
    once or bit by bit. Users who were seen to ask for 3,000 go on asking for about as much.
    """
    seen = throttled_of(stretch(1000.0, free=(3000.0,) * 30, hours=4))
    job, users = (overloads_of(seen, habit, U, Prior())[:, 0] for habit in (Overflow.JOB, Overflow.LOST))

    assert 1000 == pytest.approx(job[0], rel=0.05)
    assert job[-1] > 3000
    assert (np.diff(job) > 0).all()
    assert users[0] > 1500


@pytest.mark.parametrize(("waiting", "expected"), [(2.0, True), (8.0, False), (np.nan, False)])
def test_few_requests_in_flight_end_a_greedy_load(waiting: float, *, expected: bool):
    """
    Twice as many in flight as fit are served at twice the ceiling: an open load may ask for as much. Eight
    times is more than that, and without latency nothing is known.
    """
    greedy = replace(stretch(1000.0), waiting=waiting)

    assert expected == is_bounded(throttled_of(greedy), Prior())


@pytest.mark.parametrize("habit", [Overflow.GREEDY, Overflow.CLIENTS])
def test_requests_in_flight_reach_no_further_than_fully_loaded_storage_serves_them(habit: Overflow):
    """
    Four times the latency of idle storage is twice that of fully loaded storage which takes twice as long: N
    requests in flight, each of which takes that time, are served at twice the ceiling.
    """
    slow = replace(stretch(1000.0, hours=6), waiting=4.0)
    doubled = throttled_of(slow, rise=(np.log(2.0), np.log(2.0)))

    demand = overloads_of(doubled, habit, U, Prior())[:, 0]

    assert 2000 == pytest.approx(demand[-1])
    assert (demand <= 2000.1).all()


def test_where_the_rise_at_full_load_is_unknown_the_reach_is_a_range():
    """Storage whose latency rises by nothing or up to 2.7 times: the same requests reach between 1.5 and 4 times."""
    slow = replace(stretch(1000.0), waiting=4.0)

    reach = reach_of(throttled_of(slow), slow, np.array([0.0, 0.5, 1.0]))

    assert [4 / np.e, 4.0] == pytest.approx([reach[0], reach[2]])
    assert reach[0] < reach[1] < reach[2]
