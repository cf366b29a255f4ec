"""Rule `headroom`: a ceiling was nearly used up on several of the last days."""

from typing import Annotated

from msgspec import Meta

from plimsoll.units import format_duration
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import DAY_S, of_family
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings
from plimsoll.watch.law.situation import CeilingUse, Situation

Days = Annotated[int, Meta(ge=1, le=31)]


class HeadroomSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule. It counts days, so a day must pass before an alert is resolved."""

    for_minutes: Minutes = 0
    nearing_for_minutes: Minutes = 0
    clear_minutes: Minutes = 24 * 60
    days: Days = 3
    """So many days with high use are bound; one less is nearing."""
    of_days: Days = 7
    """A week has every weekday once."""
    high_minutes: Minutes = 60
    """A day counts from this time above 80 %: shorter peaks are what a ceiling is for."""


def conditions(situation: Situation, settings: HeadroomSettings) -> tuple[Condition, ...]:
    """Return one condition for each ceiling whose use is measured by the minute."""
    return tuple(_of_use(situation, use, settings) for use in situation.uses.values())


def _of_use(situation: Situation, use: CeilingUse, settings: HeadroomSettings) -> Condition:
    today = (situation.at_s - 1) // DAY_S
    days = [day for day in of_family(situation.days, use.family) if today - settings.of_days < day.day <= today]
    high = [day for day in days if day.high_s >= 60 * settings.high_minutes]
    # A day that was not watched for long enough to show it may have been high.
    seen = [d for d in days if d in high or d.measured_s >= DAY_S - 60 * settings.high_minutes]
    unseen = settings.of_days - len(seen)
    near = max(settings.days - 1, 1)
    since_s = high[0].day * DAY_S if high else situation.at_s
    return Condition(
        ceiling=use.family.value,
        name=use.name,
        at_s=situation.at_s,
        is_known=len(high) >= settings.days or len(high) + unseen < settings.days,
        bound_since_s=since_s if len(high) >= settings.days else None,
        nearing_since_s=since_s if len(high) >= near else None,
        value=float(len(high)),
        limit=float(settings.days),
        unit="count",
        text=(
            f"used more than 80 % of its {use.name} for at least "
            f"{format_duration(60 * settings.high_minutes)} on {len(high)} of the last "
            f"{settings.of_days} days"
        ),
        facts=(
            (f"Highest use on these days: {max(d.peak_ratio for d in high):.0%} of the ceiling".replace("%", " %"),)
            if high
            else ()
        ),
    )
