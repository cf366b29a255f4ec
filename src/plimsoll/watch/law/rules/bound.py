"""
Rule `bound`: a ceiling binds now.

At the burst rate of a bucket the state is nearing: credits pay for that rate, and it ends by itself. At
a baseline, a fixed limit, a legacy limit, a limit that nobody documents, or the maximum of a resource that is no
storage rate the state is bound. What binds is what the diagnosis of the window says.
"""

from typing import Literal

from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Interval
from plimsoll.model.family import FAMILIES, RATE_FAMILIES, unit_at
from plimsoll.model.now import reaches_end
from plimsoll.units import format_ratio
from plimsoll.watch.law.amounts import format_amount
from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.days import HIGH_RATIO
from plimsoll.watch.law.rules.settings import Ratio, RuleSettings
from plimsoll.watch.law.situation import CeilingUse, Situation

# Two pieces of evidence fit on a phone; the page of the instance has the rest.
_EVIDENCE_MAX = 2
RESOURCES = frozenset(f.value for f, facts in FAMILIES.items() if facts.is_resource and f not in RATE_FAMILIES)
"""Ceilings that are no storage rate: what is not measured of them leaves no verdict open, as in a diagnosis."""


class BoundSettings(RuleSettings, frozen=True, kw_only=True):
    """Settings of the rule."""

    notify: Literal["nearing", "bound"] = "nearing"
    near_ratio: Ratio = HIGH_RATIO
    """Use of a ceiling from which it is near."""
    spent_ratio: Ratio = 0.5
    """Credits left below which a burst counts as near: half of the bucket is gone, and a night's refill with it."""


def conditions(situation: Situation, settings: BoundSettings) -> tuple[Condition, ...]:
    """Return one condition for each ceiling of the instance, and for each unknown limit."""
    found = [
        _of_family(situation, situation.uses[family], settings) for family in RATE_FAMILIES if family in situation.uses
    ]
    found = _only_first_near(found, situation)
    found += [
        _of_unknown_limit(situation, interval) for interval in _open(situation) if interval.family is Family.UNKNOWN
    ]
    if not found:
        text = "has no known storage limit: its class or storage is not known"
        found = [Condition(at_s=situation.at_s, is_known=False, text=text)]
    found += _maxima(situation)
    return tuple({c.ceiling: c for c in found}.values())


def _open(situation: Situation) -> list[Interval]:
    diagnosis = situation.diagnosis
    return [i for i in diagnosis.intervals if reaches_end(diagnosis, i.end_s)]


def _of_family(situation: Situation, use: CeilingUse, settings: BoundSettings) -> Condition:
    at_s, family = situation.at_s, use.family
    mine = [i for i in _open(situation) if i.family is family]
    lasting = [i for i in mine if (i.former_phase or i.phase) is not Phase.BURST]
    if lasting:
        return _bound(situation, lasting[-1])
    if mine:
        return _at_burst(situation, use, mine[-1])
    near = _near(use, at_s, settings)
    if near is not None:
        return near
    ratio = use.ratio_now(at_s)
    if ratio is None or not situation.is_storage_judged or _is_balance_needed(use, ratio, settings):
        what = "its credits are" if ratio is not None and ratio >= settings.near_ratio else "it is"
        return Condition(
            ceiling=family.value,
            name=use.name,
            at_s=at_s,
            is_known=False,
            text=f"cannot be compared with its {use.name}: {what} not measured",
        )
    assert use.sustained is not None
    value = ratio * use.sustained.value
    return Condition(
        ceiling=family.value,
        name=use.name,
        at_s=at_s,
        value=value,
        limit=use.sustained.value,
        unit=use.unit,
        text=(
            f"serves {format_amount(value, use.unit)}, {format_ratio(ratio)} of its {use.name} "
            f"{_phase_name(use.sustained.phase)} of {format_amount(use.sustained.value, use.unit)}"
        ),
    )


def _maxima(situation: Situation) -> list[Condition]:
    """
    Return the conditions of what is no storage rate: of each resource, and of CPU credits that are spent.

    Of storage credits that are spent the rule `balance-empty` tells: one message for one cause.
    """
    bound = {i.family: i for i in _open(situation) if i.dimension is Dimension.AMOUNT}
    found = [_of_maximum(situation, bound[family]) for family in (Family.CPU_CREDITS,) if family in bound]
    for resource in situation.diagnosis.resources:
        if resource.family in bound:
            found.append(_of_maximum(situation, bound[resource.family]))
        elif resource.family not in RATE_FAMILIES and resource.ceiling is not None and resource.peak is not None:
            is_known = resource.family in situation.measured
            verb = "is below" if is_known else "cannot be compared with"
            found.append(
                Condition(
                    ceiling=resource.family.value,
                    name=resource.name,
                    at_s=situation.at_s,
                    is_known=is_known,
                    text=f"{verb} the maximum of its {resource.name}",
                )
            )
    return found


def _of_maximum(situation: Situation, interval: Interval) -> Condition:
    name, unit = FAMILIES[interval.family].name, unit_at(interval.family, interval.dimension)
    assert interval.ceiling is not None
    most = format_amount(interval.ceiling.value, unit)
    text = f"is at the maximum of its {name}, {most}"
    if interval.family is Family.CPU_CREDITS:
        text = f"has no {name} left; without them its baseline of {most} applies"
    return Condition(
        ceiling=interval.family.value,
        name=name,
        at_s=situation.at_s,
        bound_since_s=interval.start_s,
        value=interval.level,
        limit=interval.ceiling.value,
        unit=unit,
        text=text,
        facts=_facts(situation, interval),
    )


def _is_balance_needed(use: CeilingUse, ratio: float, settings: BoundSettings) -> bool:
    """Return whether only the missing balance could tell what a use above the baseline means."""
    return use.has_bucket and use.balance is None and ratio >= settings.near_ratio


def _bound(situation: Situation, interval: Interval) -> Condition:
    unit = unit_at(interval.family, interval.dimension)
    name = FAMILIES[interval.family].name
    limit = interval.ceiling.value if interval.ceiling is not None else None
    served = format_amount(interval.level, unit)
    phase = _phase_name(interval.phase)
    what = f"{name} {phase} of {format_amount(limit, unit)}" if limit is not None else name
    return Condition(
        ceiling=interval.family.value,
        name=name,
        at_s=situation.at_s,
        bound_since_s=interval.start_s,
        value=interval.level,
        limit=limit,
        unit=unit,
        text=f"is at its {what}: {served} served",
        facts=_facts(situation, interval),
    )


def _of_unknown_limit(situation: Situation, interval: Interval) -> Condition:
    unit = unit_at(interval.family, interval.dimension)
    return Condition(
        ceiling=f"{Family.UNKNOWN.value}_{interval.dimension.value}",
        name=FAMILIES[Family.UNKNOWN].name,
        at_s=situation.at_s,
        bound_since_s=interval.start_s,
        value=interval.level,
        unit=unit,
        text=f"is at a limit that is not documented: {format_amount(interval.level, unit)} served",
        facts=_facts(situation, interval),
    )


def _at_burst(situation: Situation, use: CeilingUse, interval: Interval) -> Condition:
    return Condition(
        ceiling=use.family.value,
        name=use.name,
        at_s=situation.at_s,
        nearing_since_s=interval.start_s,
        value=interval.level,
        limit=interval.ceiling.value if interval.ceiling is not None else None,
        unit=use.unit,
        text=_spending(use, interval.level, situation.at_s),
        facts=_forecast(situation, use.family),
    )


def _near(use: CeilingUse, at_s: int, settings: BoundSettings) -> Condition | None:
    """Return the condition of a use that is near without binding; None where it is not near."""
    if use.used is None or use.sustained is None or use.sustained.value <= 0:
        return None
    is_high = use.used.value >= settings.near_ratio * use.sustained.value
    since_s = use.used.held_since(is_high, at_s)
    now = use.used.newest(at_s)
    if since_s is None or now is None:
        return None
    text = (
        f"is near its {use.name} {_phase_name(use.sustained.phase)} of "
        f"{format_amount(use.sustained.value, use.unit)}: {format_amount(now, use.unit)} served"
    )
    if use.has_bucket:
        left = use.balance.newest(at_s) if use.balance is not None else None
        if left is None or use.balance is None or left > settings.spent_ratio:
            return None
        spent_since_s = use.balance.held_since(use.balance.value <= settings.spent_ratio, at_s)
        since_s = max(since_s, spent_since_s or at_s)
        text = _spending(use, now, at_s)
    return Condition(
        ceiling=use.family.value,
        name=use.name,
        at_s=at_s,
        nearing_since_s=since_s,
        value=now,
        limit=use.sustained.value,
        unit=use.unit,
        text=text,
    )


def _spending(use: CeilingUse, now: float, at_s: int) -> str:
    left = use.balance.newest(at_s) if use.balance is not None else None
    remaining = f", {format_ratio(left)} left" if left is not None else ""
    baseline = (
        f", above its baseline of {format_amount(use.sustained.value, use.unit)}"
        if use.sustained is not None and now > use.sustained.value
        else ""
    )
    credits_name = FAMILIES[use.family].credits_name or f"{use.name} credits"
    return f"spends its {credits_name}: {format_amount(now, use.unit)} served{baseline}{remaining}"


def _only_first_near(found: list[Condition], situation: Situation) -> list[Condition]:
    """
    Return the conditions with at most one that is near, and none while a ceiling binds.

    The same requests meet all storage ceilings. While one binds, what is served cannot come closer to another;
    of several that are near, the one with the highest use is the one to act on.
    """
    near = [c for c in found if c.nearing_since_s is not None and c.bound_since_s is None]
    if not near:
        return found
    is_bound = any(c.bound_since_s is not None for c in found)
    first = None if is_bound else max(near, key=lambda c: (_share(c), c.ceiling))
    return [_quiet(c, situation.uses[Family(c.ceiling)]) if c in near and c is not first else c for c in found]


def _share(condition: Condition) -> float:
    return (condition.value or 0.0) / condition.limit if condition.limit else 0.0


def _quiet(condition: Condition, use: CeilingUse) -> Condition:
    value = format_amount(condition.value or 0.0, use.unit)
    return Condition(
        ceiling=condition.ceiling,
        name=condition.name,
        at_s=condition.at_s,
        value=condition.value,
        limit=condition.limit,
        unit=condition.unit,
        text=f"serves {value}, and another storage ceiling is closer than its {use.name}",
    )


def _facts(situation: Situation, interval: Interval) -> tuple[str, ...]:
    found = [e.text for e in sorted(interval.evidence, key=lambda e: -e.weight) if e.weight > 0]
    found = [_sentence(text) for text in found[:_EVIDENCE_MAX]]
    found += _forecast(situation, interval.family)
    return tuple(found)


def _forecast(situation: Situation, family: Family) -> tuple[str, ...]:
    return tuple(_sentence(forecast.text) for forecast in situation.diagnosis.forecasts if forecast.family is family)


def _sentence(clause: str) -> str:
    return f"{clause[:1].upper()}{clause[1:]}"


def _phase_name(phase: Phase) -> str:
    """Return the word for a phase after the name of a ceiling: `baseline`, `legacy limit`, `limit`."""
    return {Phase.FIXED: "limit", Phase.LEGACY: "legacy limit"}.get(phase, phase.value)
