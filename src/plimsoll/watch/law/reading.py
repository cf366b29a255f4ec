"""What is shown of one instance between two readings: numbers, without samples and sentences."""

from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.diagnosis import Resource, Verdict
from plimsoll.model.family import FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules import bound
from plimsoll.watch.law.rules.bound import BoundSettings
from plimsoll.watch.law.situation import CeilingUse, Readings, Situation

# Resources without a use by the minute in a situation. Of these the metric counts what is free.
FREE_FAMILIES = (Family.MEMORY, Family.STORAGE_SPACE, Family.LOCAL_STORAGE)


class CeilingNumbers(Struct, frozen=True, kw_only=True):
    """One ceiling of an instance at the end of its data; None where unknown."""

    ceiling: str
    """Machine name of the ceiling: `instance_ebs_throughput`."""
    unit: str
    """`bytes/s`, `ops/s`, `bytes`, `count`, `ratio`"""
    limits: tuple[tuple[str, float], ...] = ()
    """Phase and value of what is known of it: `baseline`, `burst` or `fixed`."""
    served: float | None = None
    """Newest use; of memory and space, what is not free."""
    sustained: float | None = None
    """What can be used for ever."""
    balance_ratio: float | None = None
    """Credits left, 0–1."""
    empty_in_s: float | None = None
    """Time until credits are spent, or space is full; None while that is not coming closer too."""
    state: WatchState | None = None
    """What the rule `bound` finds, before any delay; None for a resource that is not measured now."""

    @property
    def used_ratio(self) -> float | None:
        """Return the newest use divided by what can be used for ever; above 1 on credits, None if not known."""
        return None if self.served is None or not self.sustained else self.served / self.sustained


class InstanceNumbers(Struct, frozen=True, kw_only=True):
    """One instance at the end of its data."""

    at_s: int
    """End of the data, epoch seconds."""
    verdict: Verdict
    facts: tuple[tuple[str, str], ...]
    """Name and value of what it is: class, engine, storage; never a number that changes."""
    catalog_s: int | None
    """Day on which the oldest number of a ceiling was read, epoch seconds; None without a ceiling."""
    ceilings: tuple[CeilingNumbers, ...]


def numbers_of(situation: Situation, snapshot: Snapshot, settings: BoundSettings) -> InstanceNumbers:
    """
    Return what is shown of an instance.

    Args:
        situation: what the rules judged.
        snapshot: of the same window.
        settings: of the rule `bound`, which says what nears and what binds.
    """
    diagnosis, instance = situation.diagnosis, situation.diagnosis.instance
    conditions = [c for c in bound.conditions(situation, settings) if c.ceiling]
    states = {c.ceiling: c.level for c in conditions if c.is_known or c.ceiling not in bound.RESOURCES}
    empty_in_s = {f.family.value: f.empty_in_s for f in diagnosis.forecasts}
    found = [_of_use(use, situation.at_s) for use in situation.uses.values()]
    shown = {one.ceiling for one in found}
    found += [
        _of_resource(resource, snapshot, situation.at_s)
        for resource in diagnosis.resources
        if resource.family.value not in shown
    ]
    known = {one.ceiling: one for one in found}
    # A limit that nobody documents has a state and no number.
    for name in states.keys() - known.keys():
        known[name] = CeilingNumbers(ceiling=name, unit="")
    facts = (
        ("instance_class", instance.db_class or ""),
        ("storage_type", instance.storage.kind or ""),
        ("engine", instance.engine or ""),
        ("simulated", "true" if diagnosis.is_simulated else ""),
    )
    read_on = [c.origin.read_on for c in diagnosis.ceilings if c.phase is not Phase.LEGACY]
    days = [day for day in map(_epoch_s, read_on) if day is not None]
    return InstanceNumbers(
        at_s=situation.at_s,
        verdict=diagnosis.verdict,
        facts=facts,
        catalog_s=min(days, default=None),
        ceilings=tuple(
            replace(one, state=states.get(name), empty_in_s=empty_in_s.get(name)) for name, one in known.items()
        ),
    )


def _of_use(use: CeilingUse, at_s: int) -> CeilingNumbers:
    ceilings = [c for c in (use.sustained, use.burst) if c is not None]
    return CeilingNumbers(
        ceiling=use.family.value,
        unit=use.unit,
        limits=tuple((c.phase.value, c.value) for c in ceilings),
        served=use.used.newest(at_s) if use.used is not None else None,
        sustained=use.sustained.value if use.sustained is not None else None,
        balance_ratio=use.balance.newest(at_s) if use.has_bucket and use.balance is not None else None,
    )


def _of_resource(resource: Resource, snapshot: Snapshot, at_s: int) -> CeilingNumbers:
    family, ceiling = resource.family, resource.ceiling
    measured = [_newest(snapshot, metric, at_s) for metric in FAMILIES[family].metrics]
    known = [value for value in measured if value is not None]
    # Each direction of the network has the whole ceiling.
    served = max(known) if known and len(known) == len(measured) else None
    if family in FREE_FAMILIES and served is not None:
        served = max(ceiling.value - served, 0.0) if ceiling is not None else None
    return CeilingNumbers(
        ceiling=family.value,
        unit=resource.unit,
        limits=((ceiling.phase.value, ceiling.value),) if ceiling is not None else (),
        served=served,
        sustained=ceiling.value if ceiling is not None else None,
    )


def _newest(snapshot: Snapshot, metric: Metric, at_s: int) -> float | None:
    series = snapshot.series.get(metric)
    if series is None or not series.time_s.size:
        return None
    readings = Readings(time_s=series.time_s, value=series.value, step_s=series.step_s)
    return readings.newest(at_s)


def _epoch_s(read_on: str) -> int | None:
    """Return the beginning of a day or a month; None for what was read from no document."""
    try:
        day = datetime.fromisoformat(f"{read_on}-01"[:10])
    except ValueError:
        return None
    return int(day.replace(tzinfo=UTC).timestamp())
