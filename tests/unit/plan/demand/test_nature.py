"""Open or greedy: what storage metrics tell of a load's nature."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll.model.plan import DemandSummary, WorkloadKind
from plimsoll.model.prior import Prior
from plimsoll.plan.demand.nature import nature_of, weighed
from plimsoll.plan.demand.overload import Overflow
from plimsoll.plan.demand.throttled import ThrottledSteps
from unit.plan.demand import test_overload as overload
from unit.plan.demand.test_recovery import on_credits, recovered


def summary_of(busy: float, *, burst_hours: int = 0, prior: Prior | None = None) -> DemandSummary:
    """Of twelve hours whose middle four ask for `busy`, some of them on credits."""
    return recovered(on_credits(busy, burst_hours=burst_hours), prior=prior or Prior()).summary


def throttled(waiting: float) -> ThrottledSteps:
    """Return ten hours at a ceiling at which requests take `waiting` times as long as on idle storage."""
    stretch = replace(overload.stretch(1e3, hours=10), waiting=waiting)
    none = np.zeros(600)
    found = overload.throttled_of(stretch, rise=(0.0, 0.0))
    return replace(found, is_held=none == 0, ceiling_ops_per_s=none + 1e3)


def test_a_load_at_its_burst_ceiling_and_then_at_its_baseline_is_greedy():
    """It used all of 400 MB/s while credits lasted and all of 100 after: hours of work are compared."""
    found = summary_of(900e6, burst_hours=1)

    assert found.nature is WorkloadKind.GREEDY
    assert found.greedy_ratio >= 0.7
    assert "compare hours of work" in found.nature_reason


def test_a_load_that_was_seen_below_its_ceiling_is_open():
    """160 MB/s where 400 were allowed: it asks for so much and no more."""
    found = summary_of(160e6, burst_hours=1)

    assert (WorkloadKind.OPEN, 0.0) == (found.nature, found.greedy_ratio)
    assert "its demand is fixed" in found.nature_reason


@pytest.mark.parametrize(
    ("waiting", "expected"), [(2.0, "reaches at most 2 times this ceiling"), (8.0, "reaches any ceiling")]
)
def test_where_few_requests_wait_a_greedy_load_has_an_end(waiting: float, expected: str):
    """Twice as many requests in flight as fit are served at twice the ceiling; eight times are as good as no end."""
    nature, _, reason = nature_of(throttled(waiting), {Overflow.GREEDY: 1.0}, Prior())

    assert nature is WorkloadKind.GREEDY
    assert expected in reason


def test_many_requests_in_flight_are_seldom_a_greedy_load():
    """Eight times as many as the storage takes at once are more than most batches have; twice as many are not."""
    few, many = (weighed(Prior(), throttled(waiting))[Overflow.GREEDY] for waiting in (2.0, 8.0))

    assert many < 0.7 * few


def test_a_lone_plateau_does_not_tell():
    """Four hours at one ceiling may be either; the chance is reported. Without a ceiling nothing is."""
    found, free = summary_of(200e6), summary_of(60e6)

    assert found.nature is WorkloadKind.UNKNOWN
    assert f"{100 * found.greedy_ratio:.0f} %" in found.nature_reason
    assert (WorkloadKind.UNKNOWN, 0.0, "") == (free.nature, free.greedy_ratio, free.nature_reason)


@pytest.mark.parametrize(("prior", "expected"), [(Prior(job=0, greedy=0), 0.0), (Prior(lost=0, clients=0), 1.0)])
def test_the_user_may_know_the_nature(prior: Prior, expected: float):
    """Where nothing greedy is plausible the chance is none, and where nothing else is, it is one."""
    assert expected == summary_of(200e6, prior=prior).greedy_ratio
