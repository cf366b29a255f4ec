"""
Numbers that cannot all be true: use above a limit that nothing exceeds, and metrics that contradict each other.

Rule 1: what is impossible is said, and no verdict rests on it. It is never called *near*.
Rule 2: each check is a law (Little's law, size = bytes ÷ operations, free ≤ size), so it holds for every source.
"""

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.headroom import use_of
from plimsoll.model.ceiling import Ceiling, Family
from plimsoll.model.diagnosis import FITTING, VERDICT, Interval, Missing, Resource, Verdict
from plimsoll.model.family import FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import (
    MIB,
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_ops_per_s,
    format_ratio,
    gib,
    number,
)

# Means over a minute and enforced limits lie within two percent of the documented number; a merged request counts
# twice where the system counts before the volume does. A fifth above for minutes is neither.
ABOVE_RATIO = 1.2
ABOVE_MIN_S = 300.0
# Little's law is exact; two metrics of one system differ by clocks and rounding, not by an order of magnitude.
LITTLE_TIMES = 30.0
QUEUE_MIN = 0.1
# A database reads and writes pages; no system sends requests of more than a few MiB to a disk.
SIZE_BYTES = (256.0, 4.0 * MIB)
# At less than both of these a rounding makes the size.
LOAD_MIN = (1000.0, 10e6)
SAMPLES_MIN = 10
SPACE_RATIO = 1.02


def contradictions_of(snapshot: Snapshot, frame: Frame | None, above: dict[Family, str]) -> tuple[Missing, ...]:
    """
    Return what contradicts itself, as gaps; those that leave the verdict open come first.

    Args:
        snapshot: the part of the window to which the ceilings apply.
        frame: its storage metrics.
        above: what was served above a limit, by family, as `above_of` returns it.
    """
    found = []
    if above:
        found.append(
            Missing(
                name=FITTING,
                hides=VERDICT,
                remedy=(
                    f"Served: {'; '.join(above.values())}. So class, storage type, size or a unit is not what was "
                    "given, for that time at least; or requests were counted before the storage merges them. Check "
                    "the description, and whether it was changed in the window."
                ),
            )
        )
    if frame is not None:
        found += _of_rates(frame)
    return (*found, *_of_space(snapshot))


def above_of(
    snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...], intervals: tuple[Interval, ...]
) -> dict[Family, str]:
    """
    Return a clause for each limit above which more was served for minutes than it gives.

    Args:
        snapshot: the part of the window to which the ceilings apply.
        frame: its storage metrics.
        ceilings: what is documented for it, with legacy limits.
        intervals: time at ceilings; a family that was at one of its own is not contradicted.
    """
    at = {i.family for i in intervals}
    found = {}
    for family in (*RATE_FAMILIES, Family.NETWORK):
        rows = [c.value for c in ceilings if c.family is family]
        use = use_of(family, snapshot, frame, ceilings)
        if not rows or use.value is None or family in at:
            continue
        above = np.nan_to_num(use.value, nan=0.0) > ABOVE_RATIO * max(rows)
        length_s = float(use.width_s[above].sum())
        # A short window has short proofs: half of it is enough.
        if above.any() and length_s >= min(ABOVE_MIN_S, 0.5 * float(use.width_s.sum())):
            most = float(np.median(use.value[above]))
            found[family] = (
                f"{_rate(most, family)} for {format_duration(length_s)}, where {_rate(max(rows), family)} is the most "
                f"that its {FAMILIES[family].name} gives ({format_ratio(most / max(rows))})"
            )
    return found


def without_judgement(resources: tuple[Resource, ...], above: dict[Family, str]) -> tuple[Resource, ...]:
    """Return the resources; those that served more than their limit gives are unknown, not near it."""
    note = "more was served than this limit gives: it is not the limit of this instance"
    return tuple(
        replace(r, verdict=Verdict.UNKNOWN, headroom=None, note=note) if r.family in above else r for r in resources
    )


def _rate(value: float, family: Family) -> str:
    return format_ops_per_s(value) if FAMILIES[family].unit == "ops/s" else format_bytes_per_s(value, 4)


def _of_rates(frame: Frame) -> Iterator[Missing]:
    with np.errstate(all="ignore"):
        in_flight = _sum(frame.read_ops_per_s * frame.read_latency_s, frame.write_ops_per_s * frame.write_latency_s)
        times = _usual((frame.queue_depth / in_flight)[(frame.queue_depth > QUEUE_MIN) & (in_flight > 0)])
        # As they were reported: the frame counts large requests in units.
        ops_per_s = frame.read_ops_per_s + frame.write_ops_per_s
        is_load = (ops_per_s >= LOAD_MIN[0]) | (frame.bytes_per_s >= LOAD_MIN[1])
        size_bytes = _usual((frame.bytes_per_s / ops_per_s)[is_load & (frame.bytes_per_s > 0) & (ops_per_s > 0)])
    if times is not None and not 1 / LITTLE_TIMES < times < LITTLE_TIMES:
        yield Missing(
            name="latency and queue depth that agree",
            hides="how long requests waited",
            remedy=(
                f"The queue depth is {number(times, 3)} times rate × latency, which it equals by Little's law: one of "
                "them is in another unit than was read."
            ),
        )
    if size_bytes is not None and not SIZE_BYTES[0] <= size_bytes <= SIZE_BYTES[1]:
        yield Missing(
            name="throughput and IOPS that agree",
            hides=VERDICT,
            remedy=(
                f"Throughput ÷ IOPS is {format_bytes(size_bytes)} for each request, which no database sends: one of "
                "them is in another unit than was read, or counts something else."
            ),
        )


def _sum(reads: FloatArray, writes: FloatArray) -> FloatArray:
    return np.where(np.isfinite(reads) & np.isfinite(writes), reads + writes, np.nan)


def _usual(values: FloatArray) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size >= SAMPLES_MIN else None


def _of_space(snapshot: Snapshot) -> Iterator[Missing]:
    free, size_gib = snapshot.series.get(Metric.FREE_STORAGE_BYTES), snapshot.instance.storage.total_gib
    if free is None or not size_gib or not np.isfinite(free.value).any():
        return
    size, least = gib(size_gib), float(np.nanmin(free.value))
    if least > SPACE_RATIO * size:
        yield Missing(
            name="a storage size that fits",
            hides="how full the storage is",
            remedy=(
                f"{METRICS[Metric.FREE_STORAGE_BYTES].cloudwatch} was {format_bytes(least)} at least, more than the "
                f"{format_bytes(size)} that were given. Give the size that the instance has."
            ),
        )
