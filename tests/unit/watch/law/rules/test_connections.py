"""The rule about connections."""

import numpy as np

import watched
from plimsoll.model.ceiling import Family, Phase
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import DAY_S, DaySummary
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.connections import ConnectionsSettings, conditions
from watched import MINUTE, START_S

MAX = 200.0
LIMIT = watched.ceiling(Family.CONNECTIONS, Phase.FIXED, MAX, unit="count")
KNOWN = watched.diagnosis(resources=(watched.resource(Family.CONNECTIONS, peak=1.0, bound=LIMIT),))
TODAY = (watched.END_S - 1) // DAY_S


def peaks(*ratios: float) -> tuple[DaySummary, ...]:
    """Daily peaks, the last of them of today."""
    return tuple(
        DaySummary(
            day=TODAY - len(ratios) + 1 + i,
            family=Family.CONNECTIONS,
            high_s=0.0,
            measured_s=float(DAY_S),
            peak_ratio=ratio,
        )
        for i, ratio in enumerate(ratios)
    )


def found(count: object, *days: float) -> Condition:
    """The condition of an instance with so many connections."""
    (one,) = conditions(
        watched.situation(KNOWN, connections=count, days=peaks(*days)),  # type: ignore[arg-type]
        ConnectionsSettings(),
    )
    return one


def test_more_than_80_percent_is_bound():
    """Since the first minute above it."""
    count = np.full(watched.MINUTES, 160.0)
    count[170:] = 161.0

    assert found(160.0).level is WatchState.OK
    assert found(count).bound_since_s == START_S + 170 * MINUTE
    assert found(count).text == "has 161 connections, 80 % of its 200"


def test_a_trend_that_reaches_the_limit_in_a_week_is_nearing():
    """The line through the peaks of whole days: 5 % a day from 70 % is full in 6 days, 4 % a day in 7.5."""
    fast, slow = (0.55, 0.6, 0.65, 0.7, 0.1), (0.58, 0.62, 0.66, 0.7, 0.1)
    # One odd day of three would decide.
    three = (0.3, 0.5, 0.7, 0.1)

    assert [found(20.0, *days).level for days in (fast, slow, three)] == [
        WatchState.NEARING,
        WatchState.OK,
        WatchState.OK,
    ]
    assert found(20.0, *fast).facts == ("At the trend of the daily peaks it reaches max_connections in 6 days",)


def test_without_the_metric_or_the_setting_it_is_unknown():
    """Neither no connections nor no limit is ok."""
    blind = [watched.situation(KNOWN), watched.situation(connections=5.0)]

    assert [conditions(s, ConnectionsSettings())[0].level for s in blind] == [WatchState.UNKNOWN, WatchState.UNKNOWN]
