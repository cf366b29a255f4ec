"""When to read what, and what it costs."""

import numpy as np
import pytest
from msgspec.structs import replace

import watched
from plimsoll.model.diagnosis import Verdict
from plimsoll.watch.law.days import DAY_S
from plimsoll.watch.law.machine import LevelRun, Standing
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.schedule import (
    MONTH_S,
    PollDemand,
    PollPlan,
    PollSettings,
    Urgency,
    far_since,
    planned,
    urgency_of,
)
from watched import END_S, INSTANCE, START_S, SUBJECT

PRICE = 0.01 / 1000
CALM = Standing(subject=SUBJECT)


def plan(usd: float | None, **urgencies: Urgency) -> PollPlan:
    """The intervals of instances with 14 metrics each, with so many dollars for 30 days."""
    demands = [PollDemand(name=n, urgency=u, metric_count=14) for n, u in urgencies.items()]
    return planned(demands, PollSettings(), usd_per_metric=PRICE, usd_left=usd, left_s=float(MONTH_S))


HEADROOM = replace(CALM, subject=INSTANCE.subject("headroom"), state=WatchState.BOUND)


@pytest.mark.parametrize(
    ("standing", "at_s", "far_since_s", "urgency"),
    [
        (CALM, END_S, 0, Urgency.NORMAL),
        (replace(CALM, state=WatchState.NEARING), END_S, 0, Urgency.URGENT),
        # Even before its time is up.
        (replace(CALM, nearing=LevelRun(since_s=1)), END_S, 0, Urgency.URGENT),
        # Alerts that last for days do not need it.
        (HEADROOM, END_S, 0, Urgency.NORMAL),
        # Far for a day, and not a second less.
        (CALM, DAY_S + 1, 1, Urgency.FAR),
        (CALM, DAY_S, 1, Urgency.NORMAL),
    ],
)
def test_what_nears_is_read_more_often(standing: Standing, at_s: int, far_since_s: int, urgency: Urgency):
    """And what is far from everything for a day less often."""
    assert urgency_of([CALM, standing], at_s=at_s, far_since_s=far_since_s) is urgency


def test_far_means_below_half_of_everything_with_full_credits():
    """One high minute, credits that were spent, a missing metric or an open verdict end it."""
    spike = np.full(watched.MINUTES, 1e6)
    spike[7] = 0.51 * watched.BASELINE
    near = [
        watched.situation(served=spike),
        watched.situation(balance=0.9),
        watched.situation(served=np.nan),
        watched.situation(watched.diagnosis(verdict=Verdict.UNKNOWN)),
    ]

    assert far_since(watched.situation(), 0) == START_S
    assert far_since(watched.situation(), 123) == 123
    assert [far_since(one, 123) for one in near] == [0, 0, 0, 0]


def test_without_a_budget_intervals_are_those_of_the_settings():
    """And the cost is the sum: b has 14 metrics every 300 s for 30 days, 14 × 8,640 ÷ 1,000 × $0.01."""
    found = plan(None, a=Urgency.URGENT, b=Urgency.NORMAL, c=Urgency.FAR)

    assert found.intervals_s == {"a": 60, "b": 300, "c": 900}
    assert found.usd_per_month == pytest.approx(6.048 + 1.2096 + 0.4032)
    assert not found.is_stretched


def test_a_budget_stretches_calm_instances_first():
    """With $7 the urgent one keeps its interval, and the others share what is left."""
    found = plan(7.0, a=Urgency.URGENT, b=Urgency.NORMAL, c=Urgency.FAR)

    assert found.intervals_s["a"] == 60
    assert 300 < found.intervals_s["b"] <= 1800
    assert found.usd_per_month == pytest.approx(7.0, rel=1e-6)
    assert (found.is_stretched, found.is_blind) == (True, False)


def test_a_small_budget_stretches_urgent_instances_too():
    """The calm ones are at the longest interval then."""
    found = plan(2.0, a=Urgency.URGENT, b=Urgency.NORMAL, c=Urgency.FAR)

    assert (found.intervals_s["b"], found.intervals_s["c"]) == (1800, 1800)
    assert 60 < found.intervals_s["a"] < 1800
    assert found.usd_per_month == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize("usd", [0.3, 0.0, -1.0])
def test_a_budget_holds_even_if_that_means_to_be_blind(usd: float):
    """Beyond the longest interval it says so."""
    found = plan(usd, a=Urgency.URGENT, b=Urgency.NORMAL)

    assert found.is_blind
    assert min(found.intervals_s.values()) > 1800
    assert found.usd_per_month is not None
    assert found.usd_per_month <= max(usd, 0.03)


def test_what_is_free_has_no_budget():
    """Files and Prometheus cost nothing, so their intervals stay."""
    demand = PollDemand(name="a", urgency=Urgency.NORMAL, metric_count=0)
    settings = PollSettings()

    found = planned([demand], settings, usd_per_metric=PRICE, usd_left=1.0, left_s=1.0)
    unknown = planned([demand], settings, usd_per_metric=None, usd_left=1.0, left_s=1.0)

    assert found.intervals_s == unknown.intervals_s == {"a": 300}
    assert unknown.usd_per_month is None
