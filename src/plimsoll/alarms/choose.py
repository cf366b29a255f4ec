"""
Choose the alarms for the ceilings and balances of an instance.

Rule 1: the numbers are those of the rules of `plimsoll watch` (watch/law/rules); this file has none of its own.
Rule 2: no alarm on what cannot happen: a limit above what the others let through, a balance that cannot move. What
        can is decided by the functions of the limit sheet (limits/).
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage
from plimsoll.limits import ceilings_of, chain_of
from plimsoll.limits.balances import balances_of
from plimsoll.limits.chain import most_of
from plimsoll.model.alarm import Alarm, AlarmKind, LeftOutAlarm
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.family import BALANCES, FAMILIES, RATE_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.sheet import BalanceNote
from plimsoll.units import format_bytes_per_s, format_ops_per_s, format_ratio
from plimsoll.watch.law.rulebook import RuleTables
from plimsoll.watch.law.rules.balance_empty import EMPTY_RATIO

# EC2 sends the balances of an instance every five minutes (basic monitoring), and CPU credits come every
# five minutes; one period for all alarms compares values of the same time.
PERIOD_S = 300


class _LowestNumber(Struct, frozen=True, kw_only=True):
    """The lowest number of one phase of a family."""

    lowest: Ceiling
    present: float | None
    """Today's number."""


class _RateLimit(Struct, frozen=True, kw_only=True):
    """The numbers of one storage rate family."""

    family: Family
    sustained: _LowestNumber
    burst: _LowestNumber | None


def choose_alarms(
    instance: Instance, catalog: Catalog, tables: RuleTables | None = None
) -> tuple[tuple[Alarm, ...], tuple[LeftOutAlarm, ...]]:
    """
    Return the alarms for an instance, and those left out with the reason.

    Args:
        instance: what was bought.
        catalog: the documented limits.
        tables: settings of the rules of `plimsoll watch`; None for its defaults.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    ceilings = ceilings_of(instance, catalog)
    tables = tables or RuleTables()
    limits = [limit for family in RATE_FAMILIES if (limit := _limit_of(family, ceilings))]
    alarms: list[Alarm] = []
    left_out: list[LeftOutAlarm] = []
    chain = chain_of(instance, catalog)
    notes = {note.metric: note for note in balances_of(instance, chain, catalog)}
    for limit in limits:
        others = [stage for stage in chain if stage.name != limit.family.value]
        _of_limit(limit, others, notes, tables, alarms, left_out)
    missing = [f for f in RATE_FAMILIES if f not in {limit.family for limit in limits}]
    left_out += [LeftOutAlarm(name=FAMILIES[f].name, why="no documented number is known") for f in missing]
    for balance, family in BALANCES.items():
        if family not in missing and not any(c.balance_metric is balance for c in ceilings):
            why = f"it cannot move, because this {FAMILIES[family].owner} does not burst"
            left_out.append(LeftOutAlarm(name=_cloudwatch(balance), why=why))
    _of_cpu_credits(ceilings, tables, alarms, left_out)
    _of_connections(ceilings, tables, alarms, left_out)
    return tuple(alarms), tuple(left_out)


def _limit_of(family: Family, ceilings: Sequence[Ceiling]) -> _RateLimit | None:
    mine = [c for c in ceilings if c.family is family]
    sustained = _level(mine, (Phase.BASELINE, Phase.FIXED))
    # Without a burst today there is no balance that could end it.
    has_burst = any(c.phase is Phase.BURST for c in mine)
    if sustained is None:
        return None
    return _RateLimit(family=family, sustained=sustained, burst=_level(mine, (Phase.BURST,)) if has_burst else None)


def _level(ceilings: Sequence[Ceiling], phases: tuple[Phase, ...]) -> _LowestNumber | None:
    """Return the lowest number of these phases, legacy limits among them; None without one."""
    mine = [c for c in ceilings if c.bucket_phase in phases]
    if not mine:
        return None
    present = [c.value for c in mine if c.phase is not Phase.LEGACY]
    return _LowestNumber(lowest=min(mine, key=lambda c: c.value), present=min(present) if present else None)


def _of_limit(
    limit: _RateLimit,
    others: Sequence[Stage],
    notes: Mapping[Metric, BalanceNote],
    tables: RuleTables,
    alarms: list[Alarm],
    left_out: list[LeftOutAlarm],
) -> None:
    facts = FAMILIES[limit.family]
    most = most_of(others, is_bytes=facts.counts == "bytes")

    def is_hidden(level: _LowestNumber, name: str) -> bool:
        if most is None or level.lowest.value <= most[0]:
            return False
        why = (
            f"{_amount(level.lowest.value, facts.unit)} cannot be reached, because "
            f"{FAMILIES[most[1]].name} ends at {_amount(most[0], facts.unit)}"
        )
        left_out.append(LeftOutAlarm(name=name, why=why))
        return True

    if limit.burst is None:
        name = facts.name
        if not is_hidden(limit.sustained, name):
            alarms.append(_rate(limit.family, limit.sustained, "limit", tables))
        return
    assert facts.balance is not None
    note = notes[facts.balance]
    if note.can_move is False:
        is_hidden(limit.sustained, f"{facts.name} baseline")
        left_out.append(LeftOutAlarm(name=_cloudwatch(facts.balance), why=f"it cannot move: {note.reason}"))
        return
    alarms.append(_baseline(limit.family, limit.sustained, tables))
    if not is_hidden(limit.burst, f"{facts.name} burst"):
        alarms.append(_rate(limit.family, limit.burst, "burst", tables))
    alarms.extend(_balances(limit, tables))


def _rate(family: Family, level: _LowestNumber, phase: str, tables: RuleTables) -> Alarm:
    facts = FAMILIES[family]
    ratio = tables.bound.near_ratio
    value = level.lowest.value
    name = facts.name if phase == "limit" else f"{facts.name} {phase}"
    return Alarm(
        key=_key(name),
        name=name,
        kind=AlarmKind.RATE,
        family=family,
        metrics=facts.metrics,
        threshold=ratio * value,
        ceiling=value,
        unit=_rate_unit(facts.unit),
        why=f"Requests wait once reads and writes together reach {_amount(value, facts.unit)}.",
        note=_legacy_note(level, facts.unit),
        **_lasting(tables.bound.nearing_for_minutes),
    )


def _baseline(family: Family, level: _LowestNumber, tables: RuleTables) -> Alarm:
    facts = FAMILIES[family]
    alarm = _rate(family, level, "baseline", tables)
    spent = tables.bound.spent_ratio
    value = _amount(level.lowest.value, facts.unit)
    return replace(
        alarm,
        kind=AlarmKind.BASELINE,
        balance=facts.balance,
        balance_at_most=spent,
        why=f"{format_ratio(spent)} of the credits or less are left; without credits no more than {value} is served.",
    )


def _balances(limit: _RateLimit, tables: RuleTables) -> tuple[Alarm, ...]:
    facts = FAMILIES[limit.family]
    assert facts.balance is not None
    baseline = _amount(limit.sustained.lowest.value, facts.unit)
    left = format_ratio(tables.bound.spent_ratio)

    def below(name: str, threshold: float, minutes: int, why: str) -> Alarm:
        assert facts.balance is not None
        return Alarm(
            key=_key(name),
            name=name,
            kind=AlarmKind.BALANCE,
            family=limit.family,
            metrics=(facts.balance,),
            threshold=threshold,
            ceiling=None,
            unit="ratio",
            why=why,
            **_lasting(minutes),
        )

    return (
        below(
            f"{facts.credits_name} low",
            tables.bound.spent_ratio,
            tables.bound.nearing_for_minutes,
            f"{left} of the credits are left; without them {baseline} is the most.",
        ),
        below(
            f"{facts.credits_name} empty",
            EMPTY_RATIO,
            tables.balance_empty.for_minutes,
            f"No credits are left: {baseline} is the most until use falls below it.",
        ),
    )


def _of_cpu_credits(
    ceilings: Sequence[Ceiling], tables: RuleTables, alarms: list[Alarm], left_out: list[LeftOutAlarm]
) -> None:
    most = next((c for c in ceilings if c.family is Family.CPU_CREDITS and c.unit == "credits"), None)
    if most is None:
        why = "it does not exist, because this class earns no CPU credits"
        left_out.append(LeftOutAlarm(name=_cloudwatch(Metric.CPU_CREDITS), why=why))
        return
    alarms.append(
        Alarm(
            key="cpu-credits-low",
            name="CPU credits low",
            kind=AlarmKind.BALANCE,
            family=Family.CPU_CREDITS,
            metrics=(Metric.CPU_CREDITS,),
            threshold=tables.bound.spent_ratio * most.value,
            ceiling=most.value,
            unit="credits",
            why=f"{format_ratio(tables.bound.spent_ratio)} of the CPU credits are left.",
            note=f"{most.note[:1].upper()}{most.note[1:]}.",
            **_lasting(tables.bound.nearing_for_minutes),
        )
    )


def _of_connections(
    ceilings: Sequence[Ceiling], tables: RuleTables, alarms: list[Alarm], left_out: list[LeftOutAlarm]
) -> None:
    most = next((c for c in ceilings if c.family is Family.CONNECTIONS), None)
    if most is None:
        why = "max_connections is not known; it needs the engine and the class"
        left_out.append(LeftOutAlarm(name=_cloudwatch(Metric.CONNECTION_COUNT), why=why))
        return
    alarms.append(
        Alarm(
            key="connections",
            name="connections",
            kind=AlarmKind.RATE,
            family=Family.CONNECTIONS,
            metrics=FAMILIES[Family.CONNECTIONS].metrics,
            threshold=tables.connections.high_ratio * most.value,
            ceiling=most.value,
            unit="count",
            why=f"At max_connections, {most.value:,.0f}, new clients are refused.",
            note=f"{most.note[:1].upper()}{most.note[1:]}.",
            **_lasting(tables.connections.for_minutes),
        )
    )


class _Lasting(TypedDict):
    """For how long a condition must hold, as fields of an alarm."""

    period_s: int
    datapoints_to_alarm: int
    evaluation_periods: int


def _lasting(minutes: int) -> _Lasting:
    """
    Return M of K periods for a condition that must hold for some minutes.

    M periods last that long; a third of K may be quiet, so that a pause between two jobs does not reset an alarm.
    """
    needed = max(1, -(-60 * minutes // PERIOD_S))
    return _Lasting(period_s=PERIOD_S, datapoints_to_alarm=needed, evaluation_periods=needed + needed // 2)


def _legacy_note(level: _LowestNumber, unit: str) -> str:
    lowest = level.lowest
    if lowest.phase is not Phase.LEGACY:
        return ""
    until = f" until {lowest.origin.valid_to}" if lowest.origin.valid_to else ""
    present = f"; today it is {_amount(level.present, unit)}" if level.present else ""
    return (
        f"{_amount(lowest.value, unit)} is a legacy limit that the class had{until}{present}. "
        "The instance may still have it, so the alarm uses the lower number."
    )


def _rate_unit(unit: str) -> Literal["bytes/s", "ops/s"]:
    assert unit in {"bytes/s", "ops/s"}
    return "bytes/s" if unit == "bytes/s" else "ops/s"


def _amount(value: float, unit: str) -> str:
    return format_bytes_per_s(value, 5) if unit == "bytes/s" else format_ops_per_s(value)


def _cloudwatch(metric: Metric) -> str:
    return METRICS[metric].cloudwatch or metric.value


def _key(name: str) -> str:
    return name.lower().replace(" ", "-")
