"""Rule `time-to-empty`: at the present rate a balance will be empty, or a space full, soon."""

from typing import Annotated

from msgspec import Meta

from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Forecast, Resource
from plimsoll.model.family import FAMILIES
from plimsoll.units import format_duration, format_ratio
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.rules.balance_empty import EMPTY_RATIO
from plimsoll.watch.law.rules.settings import Minutes, RuleSettings
from plimsoll.watch.law.situation import Situation, balance_families

_SPACES = (Family.STORAGE_SPACE, Family.LOCAL_STORAGE)
Hours = Annotated[int, Meta(ge=1, le=24 * 31)]


class TimeToEmptySettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule."""

    for_minutes: Minutes = 0
    nearing_for_minutes: Minutes = 0
    empty_minutes: Minutes = 60
    """A balance that will be empty within this time is bound: such forecasts are right within minutes for an hour
    ahead (diagnosis/forecast.py)."""
    nearing_minutes: Minutes = 180
    space_hours: Hours = 24
    """The same for space. RDS may need hours to add storage, and a full database stops."""
    nearing_space_hours: Hours = 72


def conditions(situation: Situation, settings: TimeToEmptySettings) -> tuple[Condition, ...]:
    """Return one condition for each balance and space of the instance."""
    forecasts = {forecast.family: forecast for forecast in situation.diagnosis.forecasts}
    found = [
        _of_forecast(situation, forecast, settings)
        for family, forecast in forecasts.items()
        if forecast.empty_in_s is None or forecast.empty_in_s > 0 or family in _SPACES
    ]
    shown = {condition.ceiling for condition in found}
    for family in balance_families(situation):
        if family.value in shown:
            continue
        balance = situation.uses[family].balance
        left = balance.newest(situation.at_s) if balance is not None else None
        found.append(_without_forecast(situation, family, left))
    found += [
        _of_space(situation, resource)
        for resource in situation.diagnosis.resources
        if resource.family in _SPACES and resource.family.value not in shown
    ]
    return tuple(found)


def _of_space(situation: Situation, resource: Resource) -> Condition:
    """Return the condition of a space that does not fill, or that is not measured."""
    is_known = resource.peak is not None
    return Condition(
        ceiling=resource.family.value,
        name=resource.name,
        at_s=situation.at_s,
        is_known=is_known,
        unit="s",
        text=f"has {resource.name} that does not fill" if is_known else f"does not report its {resource.name}",
    )


def _without_forecast(situation: Situation, family: Family, left: float | None) -> Condition:
    """Return the condition of a balance that is full, empty or not measured."""
    name = FAMILIES[family].credits_name
    text = f"does not report its {name}"
    if left is not None:
        text = f"has {format_ratio(left)} of its {name} left"
    return Condition(
        ceiling=family.value,
        name=FAMILIES[family].name,
        at_s=situation.at_s,
        is_known=left is not None,
        value=left,
        unit="ratio",
        text=text,
        ended="ran out" if left is not None and left <= EMPTY_RATIO else "",
    )


def _of_forecast(situation: Situation, forecast: Forecast, settings: TimeToEmptySettings) -> Condition:
    is_space = forecast.family in _SPACES
    name = FAMILIES[forecast.family].credits_name or FAMILIES[forecast.family].name
    empty_in_s = forecast.empty_in_s
    soon_s, near_s = 60 * settings.empty_minutes, 60 * settings.nearing_minutes
    if is_space:
        soon_s, near_s = 3600 * settings.space_hours, 3600 * settings.nearing_space_hours
    left = format_ratio(forecast.balance_ratio)
    text = f"has {left} of its {name} left, and it is not falling"
    if empty_in_s is not None:
        ends = "full" if is_space else "empty"
        text = f"has {left} of its {name} left: {ends} in {format_duration(empty_in_s)} at the present rate"
    return Condition(
        ceiling=forecast.family.value,
        name=FAMILIES[forecast.family].name,
        at_s=situation.at_s,
        bound_since_s=situation.at_s if empty_in_s is not None and empty_in_s < soon_s else None,
        nearing_since_s=situation.at_s if empty_in_s is not None and empty_in_s < near_s else None,
        value=empty_in_s,
        limit=float(soon_s),
        unit="s",
        text=text,
        facts=(f"{forecast.text[:1].upper()}{forecast.text[1:]}",),
    )
