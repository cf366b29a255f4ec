"""
How near every resource came to its ceiling, so that what is ruled out is shown like what is found.

A mean over a step is not a peak: peaks here are of means over the step, and the report says the step.
"""

from collections.abc import Callable

import numpy as np

from plimsoll.diagnosis.frame import Frame, sample_widths
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Resource, Verdict
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_duration, format_ratio

# Near: demand came within a fifth of the ceiling, for more than a stray minute.
NEAR_RATIO = 0.8
NEAR_MIN_MINUTES = 5.0
# In a window of minutes, a twentieth of it counts as that.
NEAR_MIN_SHARE = 0.05

_NAMES = {
    Family.INSTANCE_EBS_THROUGHPUT: "instance EBS throughput",
    Family.INSTANCE_EBS_IOPS: "instance EBS IOPS",
    Family.VOLUME_THROUGHPUT: "volume throughput",
    Family.VOLUME_IOPS: "volume IOPS",
    Family.CPU: "CPU",
    Family.MEMORY: "memory",
    Family.CONNECTIONS: "connections",
    Family.NETWORK: "network",
    Family.STORAGE_SPACE: "storage space",
}


_UNITS = {
    Family.INSTANCE_EBS_THROUGHPUT: "bytes/s",
    Family.INSTANCE_EBS_IOPS: "ops/s",
    Family.VOLUME_THROUGHPUT: "bytes/s",
    Family.VOLUME_IOPS: "ops/s",
    Family.CPU: "ratio",
    Family.MEMORY: "bytes",
    Family.CONNECTIONS: "count",
    Family.NETWORK: "bytes/s",
    Family.STORAGE_SPACE: "bytes",
}


def name_of(family: Family) -> str:
    """What people call it: `instance EBS throughput`."""
    return _NAMES.get(family, family.value.replace("_", " "))


def resources_of(
    snapshot: Snapshot,
    frame: Frame | None,
    ceilings: tuple[Ceiling, ...],
    time_at: tuple[CeilingTime, ...],
) -> tuple[Resource, ...]:
    """Every resource in a fixed order: the four of storage, then the rest of the machine."""
    found = []
    for family in _NAMES:
        values, width_s, gap = _used(family, snapshot, frame, ceilings)
        ceiling = _held_ceiling(family, ceilings)
        bound = [t for t in time_at if t.family == family]
        found.append(_resource(family, values, width_s, ceiling, bound, gap))
    return tuple(found)


def _held_ceiling(family: Family, ceilings: tuple[Ceiling, ...]) -> Ceiling | None:
    """What can be held forever now: the present baseline or fixed number."""
    rows = [c for c in ceilings if c.family == family and c.phase in (Phase.BASELINE, Phase.FIXED)]
    return min(rows, key=lambda c: c.value) if rows else None


def _used(
    family: Family, snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...]
) -> tuple[FloatArray | None, FloatArray, str]:
    """What was used of a resource, its sample widths, and what is missing if nothing is known."""
    nothing = np.zeros(0)
    if family in (Family.INSTANCE_EBS_THROUGHPUT, Family.VOLUME_THROUGHPUT):
        gap = "ReadThroughput and WriteThroughput"
        return (frame.bytes_per_s if frame else None), (frame.width_s if frame else nothing), gap
    if family in (Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS):
        gap = "ReadIOPS and WriteIOPS"
        return (frame.ops_per_s if frame else None), (frame.width_s if frame else nothing), gap
    total = _held_ceiling(family, ceilings)
    size = total.value if total else float("nan")
    plain: dict[Family, tuple[Metric, Callable[[FloatArray], FloatArray]]] = {
        Family.CPU: (Metric.CPU_RATIO, lambda v: v),
        Family.MEMORY: (Metric.FREEABLE_MEMORY_BYTES, lambda v: size - v),
        Family.CONNECTIONS: (Metric.CONNECTION_COUNT, lambda v: v),
        Family.STORAGE_SPACE: (Metric.FREE_STORAGE_BYTES, lambda v: size - v),
    }
    if family == Family.NETWORK:
        return _network(snapshot)
    metric, used = plain[family]
    series = snapshot.series.get(metric)
    gap = METRICS[metric].cloudwatch or metric.value
    if series is None or not np.isfinite(series.value).any():
        return None, nothing, gap
    return used(series.value), sample_widths(series.time_s, series.step_s), gap


def _network(snapshot: Snapshot) -> tuple[FloatArray | None, FloatArray, str]:
    """The busier direction: network bandwidth is full duplex, each way has the whole of it."""
    gap = "NetworkReceiveThroughput and NetworkTransmitThroughput"
    both = [
        snapshot.series.get(Metric.NETWORK_RECEIVE_BYTES_PER_S),
        snapshot.series.get(Metric.NETWORK_TRANSMIT_BYTES_PER_S),
    ]
    known = [s for s in both if s is not None and np.isfinite(s.value).any()]
    if not known:
        return None, np.zeros(0), gap
    widths = sample_widths(known[0].time_s, known[0].step_s)
    if len(known) == 2 and np.array_equal(known[0].time_s, known[1].time_s):
        return np.fmax(known[0].value, known[1].value), widths, gap
    busier = max(known, key=lambda s: float(np.nanmax(s.value)))
    return busier.value, sample_widths(busier.time_s, busier.step_s), gap


def _resource(
    family: Family,
    values: FloatArray | None,
    width_s: FloatArray,
    ceiling: Ceiling | None,
    bound: list[CeilingTime],
    gap: str,
) -> Resource:
    unit = ceiling.unit if ceiling else _UNITS[family]
    if values is None or not np.isfinite(values).any():
        return Resource(
            family=family, name=name_of(family), verdict=Verdict.UNKNOWN, unit=unit,
            ceiling=ceiling, peak=None, p99=None, mean=None, minutes_above_80=None, headroom=None,
            note=f"not measured: {gap} missing",
        )  # fmt: skip
    known = np.isfinite(values)
    used, width = values[known], width_s[known]
    peak, p99 = float(used.max()), float(np.quantile(used, 0.99))
    mean = float(np.average(used, weights=width))
    above = headroom = None
    verdict, note = Verdict.UNKNOWN, "no documented ceiling known"
    if ceiling is not None:
        above = float(width[used > NEAR_RATIO * ceiling.value].sum()) / 60
        headroom = max(ceiling.value - peak, 0.0)
        verdict = Verdict.NEAR if above >= _near_min_minutes(width) else Verdict.SLACK
        note = ""
        if family == Family.MEMORY and verdict == Verdict.NEAR:
            verdict, note = _memory_verdict(used, width, ceiling.value)
    if bound:
        longest = max(bound, key=lambda t: t.seconds)
        verdict = Verdict.BINDS
        note = f"at a ceiling for {format_duration(sum(t.seconds for t in bound))}"
        if longest.ceiling is not None and longest.ceiling.phase == Phase.LEGACY:
            note += "; its former limit"
    return Resource(
        family=family, name=name_of(family), verdict=verdict, unit=unit, ceiling=ceiling,
        peak=peak, p99=p99, mean=mean, minutes_above_80=above, headroom=headroom, note=note,
    )  # fmt: skip


def _near_min_minutes(width_s: FloatArray) -> float:
    return min(NEAR_MIN_MINUTES, NEAR_MIN_SHARE * float(width_s.sum()) / 60)


def _memory_verdict(used: FloatArray, width: FloatArray, size: float) -> tuple[Verdict, str]:
    # A database fills memory on purpose: FreeableMemory counts only what the system could reclaim
    # at once. Less than a tenth reclaimable is where the page cache starts to suffer.
    tight = float(width[used > 0.9 * size].sum()) / 60
    if tight >= _near_min_minutes(width):
        return Verdict.NEAR, f"less than {format_ratio(0.1)} freeable for {tight:,.0f} min"
    return Verdict.SLACK, "most memory is in use, as a database does; a tenth was always freeable"
