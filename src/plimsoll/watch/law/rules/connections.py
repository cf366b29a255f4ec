"""Rule `connections`: client connections are near max_connections, or grow towards it."""

import numpy as np

from plimsoll.model.ceiling import Family
from plimsoll.units import format_ratio
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import DAY_S, HIGH_RATIO, DaySummary, of_family
from plimsoll.watch.law.rules.settings import Ratio, RuleSettings
from plimsoll.watch.law.situation import CeilingUse, Situation

# Two points give a line through any two days; four give one that a single odd day does not decide.
_DAYS_MIN = 4


class ConnectionsSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule: bound above `high_ratio`, nearing where the trend of daily peaks reaches 100 %."""

    high_ratio: Ratio = HIGH_RATIO
    trend_days: int = 7
    """The trend reaches max_connections within this time."""


def conditions(situation: Situation, settings: ConnectionsSettings) -> tuple[Condition, ...]:
    """Return the condition of the instance."""
    use = situation.uses.get(Family.CONNECTIONS)
    ratio = use.ratio_now(situation.at_s) if use is not None else None
    if use is None or use.used is None or use.sustained is None or ratio is None:
        return (
            Condition(
                ceiling=Family.CONNECTIONS.value,
                at_s=situation.at_s,
                is_known=False,
                text="does not report its connections, or max_connections is not known",
            ),
        )
    limit = use.sustained.value
    since_s = use.used.held_since(use.used.value > settings.high_ratio * limit, situation.at_s)
    full_in_days = _full_in_days(of_family(situation.days, Family.CONNECTIONS))
    is_rising = full_in_days is not None and full_in_days <= settings.trend_days
    return (_condition(situation, use, ratio, since_s, full_in_days if is_rising else None),)


def _condition(
    situation: Situation, use: CeilingUse, ratio: float, since_s: int | None, full_in_days: float | None
) -> Condition:
    assert use.sustained is not None
    limit = use.sustained.value
    text = f"has {ratio * limit:,.0f} connections, {format_ratio(ratio)} of its {limit:,.0f}"
    facts: tuple[str, ...] = ()
    if full_in_days is not None:
        facts = (f"At the trend of the daily peaks it reaches max_connections in {full_in_days:.0f} days",)
    return Condition(
        ceiling=use.family.value,
        name=use.name,
        at_s=situation.at_s,
        bound_since_s=since_s,
        nearing_since_s=situation.at_s if full_in_days is not None else None,
        value=ratio * limit,
        limit=limit,
        unit="count",
        text=text,
        facts=facts,
    )


def _full_in_days(days: list[DaySummary]) -> float | None:
    """Return the days until the line through the daily peaks reaches 1; None where it does not rise."""
    # Today is not over, so its peak may still come.
    whole = [day for day in days[:-1] if day.measured_s >= DAY_S / 2]
    if len(whole) < _DAYS_MIN:
        return None
    day = np.array([d.day for d in whole], dtype=np.float64)
    peak = np.array([d.peak_ratio for d in whole])
    slope, _ = np.polyfit(day - day[-1], peak, 1)
    if slope <= 0 or peak[-1] >= 1:
        return None
    return float((1.0 - peak[-1]) / slope)
