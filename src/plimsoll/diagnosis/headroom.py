"""
The use of every resource compared with its ceiling, for binding and for unused resources alike.

A peak here is the highest mean over a step, and the report gives the step.
"""

import dataclasses
from dataclasses import dataclass
from functools import partial

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.frame import Frame, sample_widths
from plimsoll.limits.layout import is_aurora, is_serverless
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Origin, Phase
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import VERDICT, CeilingTime, Resource, Verdict
from plimsoll.model.family import CREDITS, FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray, IntArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio

# Near: use came within a fifth of the ceiling, for more than a single minute.
NEAR_RATIO = 0.8
NEAR_MIN_MINUTES = 5.0
# In a window of minutes, a twentieth of the window is enough.
NEAR_MIN_SHARE = 0.05
# An enforced baseline varies by about one percent; a higher rate used credits.
ABOVE_BASELINE = 1.02
# CloudWatch rounds ACUUtilization to whole percents: from here on the capacity is at its maximum.
_FULL_RATIO = 0.995
# Free space that varies by less than a percent gives no information about the size of the disk.
_USE_SEEN_RATIO = 0.01

_SEEN = Origin(source="the most that was free in the window", read_on="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How much of one resource was used, sample by sample; shape (n,) each, and empty if nothing was measured."""

    time_s: IntArray
    width_s: FloatArray
    value: FloatArray | None
    """In the unit of its ceiling; None if it was not measured."""
    gap: str = ""
    """The missing metric, if nothing is known."""


def resources_of(
    snapshot: Snapshot,
    frame: Frame | None,
    ceilings: tuple[Ceiling, ...],
    time_at: tuple[CeilingTime, ...],
    *,
    is_brief: bool = False,
) -> tuple[Resource, ...]:
    """
    Return every resource in a fixed order: the four of storage, then the rest of the machine.

    Aurora has none of the four; it has local storage and capacity instead.

    Args:
        snapshot: the window.
        frame: its frame; None where storage was not measured.
        ceilings: documented ceilings.
        time_at: time at each ceiling.
        is_brief: whether mean and percentile are left out.
    """
    return tuple(
        guarded(
            FAMILIES[family].name,
            partial(_resource_of, family, snapshot, frame, ceilings, time_at, is_brief=is_brief),
            _lost(family),
            hides=VERDICT,
        )
        for family in families_of(snapshot)
    )


def _lost(family: Family) -> Resource:
    """Return a resource that could not be evaluated."""
    return Resource(
        family=family,
        name=FAMILIES[family].name,
        verdict=Verdict.UNKNOWN,
        unit=FAMILIES[family].unit,
        ceiling=None,
        peak=None,
        p99=None,
        mean=None,
        minutes_above_80=None,
        headroom=None,
        note="it could not be evaluated (internal error)",
    )


def _resource_of(
    family: Family,
    snapshot: Snapshot,
    frame: Frame | None,
    ceilings: tuple[Ceiling, ...],
    time_at: tuple[CeilingTime, ...],
    *,
    is_brief: bool,
) -> Resource:
    bound = [t for t in time_at if t.family in (family, CREDITS.get(family))]
    if family == Family.LOCAL_STORAGE:
        return _local_storage(snapshot, _sustained_ceiling(family, ceilings), bound)
    use = use_of(family, snapshot, frame, ceilings)
    values, width_s, gap = use.value, use.width_s, use.gap
    ceiling = _judging_ceiling(family, values, ceilings, bound)
    resource = _resource(family, values, width_s, ceiling, bound, gap, is_brief=is_brief)
    if bound and ceiling is not None and ceiling.phase is Phase.LEGACY:
        resource = _at_legacy(resource, _sustained_ceiling(family, ceilings))
    if not bound and ceiling is not None and ceiling.phase is Phase.BURST:
        held = _sustained_ceiling(family, ceilings)
        resource = _on_credits(resource, (values, width_s), frame, held)
    return resource


def families_of(snapshot: Snapshot) -> list[Family]:
    """Return the resources that an instance has, in the order of reports."""
    instance = snapshot.instance
    has = {
        family: not facts.is_only_where_measured or any(metric in snapshot.series for metric in facts.metrics)
        for family, facts in FAMILIES.items()
        if facts.is_resource
    }
    # Aurora Serverless has a capacity and reports no local storage; provisioned Aurora has no capacity
    # and reports local storage.
    has[Family.CAPACITY] |= is_serverless(instance)
    has[Family.LOCAL_STORAGE] |= is_aurora(instance) and not is_serverless(instance)
    return [
        family
        for family, is_there in has.items()
        if is_there and (FAMILIES[family].is_on_aurora or not is_aurora(instance))
    ]


def _local_storage(snapshot: Snapshot, documented: Ceiling | None, bound: list[CeilingTime]) -> Resource:
    """
    Return the use of the local disk, if its size is documented or its free space changed.

    Without a documented size, the largest free space in the window is a lower bound of the size. Use
    near that bound is reported as near. Use far from it may still be near the size, and is unknown.
    """
    family, metric = Family.LOCAL_STORAGE, Metric.FREE_LOCAL_STORAGE_BYTES
    series = snapshot.series.get(metric)
    if series is None or not np.isfinite(series.value).any():
        gap = METRICS[metric].cloudwatch or metric.value
        return _resource(family, None, np.zeros(0), documented, [], gap)
    most, least = float(np.nanmax(series.value)), float(np.nanmin(series.value))
    widths = sample_widths(series.time_s, series.step_s)
    if documented is not None and most <= documented.value:
        return _resource(family, documented.value - series.value, widths, documented, bound, "")
    why = "no size is documented for this class"
    if documented is not None:
        why = f"more than the documented {format_bytes(documented.value)} was free"
    if most - least <= _USE_SEEN_RATIO * most:
        unknown = _resource(family, None, widths, None, [], "")
        return replace(unknown, note=f"{why}, and the window shows no use of it")
    seen = Ceiling(
        family=family,
        phase=Phase.FIXED,
        dimension=Dimension.AMOUNT,
        value=most,
        unit="bytes",
        origin=_SEEN,
        note="a lower bound of the size",
    )
    judged = _resource(family, most - series.value, widths, seen, [], "")
    use = f"{format_bytes(most - least)} of at least {format_bytes(most)} were in use at the peak"
    if judged.verdict != Verdict.NEAR:
        judged = replace(judged, verdict=Verdict.UNKNOWN, ceiling=None, minutes_above_80=None, headroom=None)
    return replace(judged, note=f"{why}: {use}")


def _sustained_ceiling(family: Family, ceilings: tuple[Ceiling, ...]) -> Ceiling | None:
    """Return the present sustained ceiling of a family: its baseline or its fixed number."""
    rows = [c for c in ceilings if c.family == family and c.phase in (Phase.BASELINE, Phase.FIXED)]
    # Several may be documented for a family; the lowest binds first.
    return min(rows, key=lambda c: c.value) if rows else None


def _judging_ceiling(
    family: Family, values: FloatArray | None, ceilings: tuple[Ceiling, ...], bound: list[CeilingTime]
) -> Ceiling | None:
    """
    Return the ceiling that a resource is compared with.

    That is the ceiling at which it stayed for the longest time. Otherwise it is the burst ceiling, if
    use exceeded the baseline on credits, and else the sustained ceiling.
    """
    reached = [t for t in bound if t.ceiling is not None]
    if reached:
        return max(reached, key=lambda t: t.seconds).ceiling
    held = _sustained_ceiling(family, ceilings)
    bursts = [c for c in ceilings if c.family == family and c.phase is Phase.BURST]
    if held is None or not bursts or values is None or not np.isfinite(values).any():
        return held
    is_on_credits = float(np.nanmax(values)) > ABOVE_BASELINE * held.value
    return min(bursts, key=lambda c: c.value) if is_on_credits else held


def _at_legacy(resource: Resource, held: Ceiling | None) -> Resource:
    """Return the resource with a note: its ceiling is a legacy one, and the present limit is given."""
    today = f"; the present limit is {_rate(held)}" if held is not None else ""
    return replace(resource, note=f"{resource.note}, a legacy limit{today}")


def _on_credits(
    resource: Resource, used: tuple[FloatArray | None, FloatArray], frame: Frame | None, held: Ceiling | None
) -> Resource:
    """
    Return the verdict on a resource above its baseline, by its burst ceiling and the credits left.

    Args:
        used: its use and its sample widths; the samples of the network differ from those of storage.
    """
    values, width_s = used
    assert held is not None
    assert values is not None
    above_s = float(width_s[values > ABOVE_BASELINE * held.value].sum())
    baseline = _rate(held)
    note = f"above its baseline of {baseline} for {format_duration(above_s)}, on credits"
    balance = held.balance_metric or FAMILIES[resource.family].balance
    left = frame.balances.get(balance) if frame and balance else None
    verdict = resource.verdict
    if left is None or not np.isfinite(left).any():
        note += "; the credits left were not measured"
        is_long = above_s / 60 >= _near_min_minutes(width_s)
        verdict = Verdict.NEAR if is_long else verdict
    else:
        least = float(np.nanmin(left))
        note += f"; at least {format_ratio(least)} of the credits were left"
        # The same margin as for rates: less than a fifth left.
        verdict = Verdict.NEAR if least < 1 - NEAR_RATIO else verdict
    return replace(resource, verdict=verdict, note=note)


def _rate(ceiling: Ceiling) -> str:
    is_ops = ceiling.dimension == Dimension.IOPS
    return format_ops_per_s(ceiling.value) if is_ops else format_bytes_per_s(ceiling.value, 5)


def use_of(family: Family, snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...]) -> Use:
    """Return the use of a resource; of memory and space, what is used up."""
    facts = FAMILIES[family]
    if facts.owner is not None:
        is_ops = facts.counts == "ops"
        gap = "ReadIOPS and WriteIOPS" if is_ops else "ReadThroughput and WriteThroughput"
        if frame is None:
            return _not_measured(gap)
        rate = frame.ops_per_s if is_ops else frame.bytes_per_s
        return Use(time_s=frame.time_s, width_s=frame.width_s, value=rate, gap=gap)
    gap = " and ".join(METRICS[metric].cloudwatch or metric.value for metric in facts.metrics)
    series = _busier([s for s in map(snapshot.series.get, facts.metrics) if s and np.isfinite(s.value).any()])
    if series is None:
        return _not_measured(gap)
    used = series.value
    if facts.is_free:
        total = _sustained_ceiling(family, ceilings)
        size = total.value if total else float("nan")
        # Serverless memory is documented as "about" 2 GiB a unit. More free space than the storage has is no use of
        # it: the size is another one (contradictions.py).
        used = np.maximum(size - used, 0.0) if family is Family.MEMORY else np.where(used > size, np.nan, size - used)
    return Use(time_s=series.time_s, width_s=_widths(series, frame), value=used, gap=gap)


def _not_measured(gap: str) -> Use:
    return Use(time_s=np.zeros(0, dtype=np.int64), width_s=np.zeros(0), value=None, gap=gap)


def _busier(series: list[Series]) -> Series | None:
    """Return the larger of several measures, sample by sample if they have the same times; None of none."""
    if len(series) < 2:
        return series[0] if series else None
    # Network bandwidth is full duplex, so each way has all of it.
    one, other = series
    if np.array_equal(one.time_s, other.time_s):
        return dataclasses.replace(one, value=np.fmax(one.value, other.value))
    return max(series, key=lambda s: float(np.nanmax(s.value)))


def _widths(series: Series, frame: Frame | None) -> FloatArray:
    """Return the widths of the samples; those of the frame if the series has its times."""
    if frame is not None and series.time_s is frame.time_s and series.step_s == frame.step_s:
        return frame.width_s
    return sample_widths(series.time_s, series.step_s)


def _resource(
    family: Family,
    values: FloatArray | None,
    width_s: FloatArray,
    ceiling: Ceiling | None,
    bound: list[CeilingTime],
    gap: str,
    *,
    is_brief: bool = False,
) -> Resource:
    unit = ceiling.unit if ceiling else FAMILIES[family].unit
    if values is None or not (known := np.isfinite(values)).any():
        return Resource(
            family=family, name=FAMILIES[family].name, verdict=Verdict.UNKNOWN, unit=unit,
            ceiling=ceiling, peak=None, p99=None, mean=None, minutes_above_80=None, headroom=None,
            note=_why_unknown(family, values, gap, ceiling),
        )  # fmt: skip
    used, width = (values, width_s) if known.all() else (values[known], width_s[known])
    peak = float(used.max())
    p99 = None if is_brief else float(np.quantile(used, 0.99))
    mean = None if is_brief else float(np.average(used, weights=width))
    above = headroom = None
    verdict, note = Verdict.UNKNOWN, "no documented limit"
    if ceiling is not None:
        # Time, not samples: windows may mix periods of one and five minutes.
        above = float(width[used > NEAR_RATIO * ceiling.value].sum()) / 60
        headroom = max(ceiling.value - peak, 0.0)
        verdict = Verdict.NEAR if above >= _near_min_minutes(width) else Verdict.SLACK
        note = ""
        if family == Family.MEMORY and verdict == Verdict.NEAR:
            verdict, note = _memory_verdict(used, width, ceiling.value)
        if family == Family.CAPACITY:
            note = _capacity_note(used, width)
    if bound:
        verdict = Verdict.BINDS
        note = _bound_note(family, bound)
    return Resource(
        family=family, name=FAMILIES[family].name, verdict=verdict, unit=unit, ceiling=ceiling,
        peak=peak, p99=p99, mean=mean, minutes_above_80=above, headroom=headroom, note=note,
    )  # fmt: skip


def _bound_note(family: Family, bound: list[CeilingTime]) -> str:
    where = "a ceiling" if family in RATE_FAMILIES else "its maximum"
    at_s = sum(t.seconds for t in bound if t.family is family)
    spent_s = sum(t.seconds for t in bound if t.family is not family)
    notes = [f"at {where} for {format_duration(at_s)}"] if at_s else []
    return "; ".join([*notes, f"without credits for {format_duration(spent_s)}"] if spent_s else notes)


def _why_unknown(family: Family, values: FloatArray | None, gap: str, ceiling: Ceiling | None) -> str:
    """Return why a resource could not be judged: the metric or the total size is missing."""
    # Free memory and space are measured without their size; then only the size is missing.
    if FAMILIES[family].is_free and values is not None:
        return (
            f"{gap} was measured, but the total size is unknown" if ceiling is None else f"{gap} is more than the size"
        )
    return f"not measured: {gap} is missing"


def _near_min_minutes(width_s: FloatArray) -> float:
    return min(NEAR_MIN_MINUTES, NEAR_MIN_SHARE * float(width_s.sum()) / 60)


def _capacity_note(used: FloatArray, width: FloatArray) -> str:
    full_s = float(width[used >= _FULL_RATIO].sum())
    if not full_s:
        return ""
    return f"at its largest capacity for {format_duration(full_s)}: no CPU and memory left to add"


def _memory_verdict(used: FloatArray, width: FloatArray, size: float) -> tuple[Verdict, str]:
    # A database fills memory on purpose: FreeableMemory counts only what the system could reclaim
    # at once. Less than a tenth reclaimable is where the page cache starts to suffer.
    tight = float(width[used > 0.9 * size].sum()) / 60
    if tight >= _near_min_minutes(width):
        return Verdict.NEAR, f"less than {format_ratio(0.1)} freeable for {tight:,.0f} min"
    return Verdict.SLACK, "a database fills its memory; at least 10 % was always freeable"
