"""
The comparison of two diagnoses and their snapshots: the differences, and the reasons to doubt them.

Rule 1: both sides are treated alike; exchanging them exchanges before and after, nothing else.
Rule 2: a quantity that one side lacks is unknown there, with the reason; it never comes from the other.
"""

from collections.abc import Iterable

import numpy as np

from plimsoll.diagnosis.comparison import alike
from plimsoll.diagnosis.comparison.measures import Measure, Weigh, by_time, measures_of, unit_of
from plimsoll.diagnosis.comparison.step import lighter_by, step_result_of
from plimsoll.diagnosis.frame import Frame, frame_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.comparison import (
    Caveat,
    CeilingPair,
    Comparison,
    LimitsOutcome,
    MeasuredQuantity,
    Quantity,
    ResourcePair,
    SetupChange,
    SharedHours,
    Side,
    TimePair,
    WindowStatistic,
)
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Verdict
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot

# Two days of the same work differ by some minutes at a ceiling: shares of the measured time that are
# within two percent of it, half an hour a day, are called the same.
SAME_SHARE = 0.02

_RANK = {Verdict.SLACK: 0, Verdict.NEAR: 1, Verdict.BINDS: 2}
_FIELDS = (
    "identifier",
    "db_class",
    "engine",
    "engine_version",
    "region",
    "multi_az",
    "launched_s",
    "connection_max",
    "vcpu_count",
    "memory_bytes",
    "capacity_acu_max",
)
_STORAGE_FIELDS = ("kind", "size_gib", "provisioned_ops_per_s", "provisioned_bytes_per_s", "volume_count")

_Frames = tuple[Frame | None, Frame | None]
_Key = tuple[Family, Phase, Phase | None, Dimension]


def compare(before: Diagnosis, before_snapshot: Snapshot, after: Diagnosis, after_snapshot: Snapshot) -> Comparison:
    """
    Return the comparison of two windows, side by side.

    Args:
        before: the diagnosis of `before_snapshot`; likewise `after`.
        before_snapshot: the window before the change, or the one that is compared with.
        after: the diagnosis of `after_snapshot`.
        after_snapshot: the other window, of the same instance or another.

    Returns:
        The comparison; equal inputs give equal values.
    """
    snapshots = (before_snapshot, after_snapshot)
    frames = (frame_of(before_snapshot), frame_of(after_snapshot))
    sides = (_side(before), _side(after))
    quantities = _quantities(snapshots, frames, (by_time, by_time))
    hours = alike.shared_hours(*(alike.measured_by_hour(frame) for frame in frames))
    shared = _shared_hours(hours, snapshots, frames, sides)
    return Comparison(
        before=sides[0],
        after=sides[1],
        outcome=outcome_of(*sides),
        step=step_result_of(*sides, quantities, shared=shared, is_like_with_like=hours is None),
        lighter_ratio=lighter_by(sides[0], shared.quantities if shared else quantities),
        bought=_bought(before.instance, after.instance),
        time_at=_time_at(before, after),
        quantities=quantities,
        ceilings=_ceilings(before, after),
        headroom=_headroom(before, after),
        shared_hours=shared,
        caveats=_caveats(sides, snapshots, frames, quantities, shared, hours),
    )


def outcome_of(before: Side, after: Side) -> LimitsOutcome:
    """
    Return whether after is better or worse: first by the verdict, then by the time at a ceiling.

    Binding is worse than near, near than slack. Where both bind, the share of the measured time
    spent at any ceiling decides; less than a fiftieth of that time makes no difference, nor does a
    change that the ends of the intervals do not show.
    """
    verdicts = (before.diagnosis.verdict, after.diagnosis.verdict)
    if Verdict.UNKNOWN in verdicts:
        return LimitsOutcome.UNKNOWN
    change: float = _RANK[verdicts[1]] - _RANK[verdicts[0]]
    shares = (before.at_ceiling_share, after.at_ceiling_share)
    if not change and shares[0] is not None and shares[1] is not None:
        change = shares[1] - shares[0]
        known_to = float(np.hypot(_share_error(before), _share_error(after)))
        change = 0.0 if abs(change) < max(SAME_SHARE, known_to) else change
    if not change:
        return LimitsOutcome.SAME
    return LimitsOutcome.WORSE if change > 0 else LimitsOutcome.BETTER


def _share_error(side: Side) -> float:
    """Return how far the share of time at a ceiling is known: each end of an interval to one sample."""
    intervals = side.diagnosis.intervals
    if not intervals:
        return 0.0
    # Errors of separate ends are independent, so their squares add up.
    error_s = float(np.sqrt(sum(2 * interval.step_s**2 for interval in intervals)))
    return side.share_of(error_s) or 0.0


def _side(diagnosis: Diagnosis) -> Side:
    is_judged = diagnosis.verdict is not Verdict.UNKNOWN
    return Side(diagnosis=diagnosis, at_ceiling_s=_at_ceiling_s(diagnosis) if is_judged else None)


def _at_ceiling_s(diagnosis: Diagnosis) -> float:
    """Return the seconds at any ceiling; intervals of throughput and of IOPS may overlap."""
    total, reached = 0, 0
    for interval in sorted(diagnosis.intervals, key=lambda i: i.start_s):
        # Throughput and IOPS can both be at a ceiling; such time counts once.
        start = max(interval.start_s, reached)
        total += max(interval.end_s - start, 0)
        reached = max(reached, interval.end_s)
    return float(total)


def _bought(before: Instance, after: Instance) -> tuple[SetupChange, ...]:
    found = []
    for name in _FIELDS:
        found.append((name, getattr(before, name), getattr(after, name)))
        if name == "multi_az":
            found += [
                (f"storage.{field}", getattr(before.storage, field), getattr(after.storage, field))
                for field in _STORAGE_FIELDS
            ]
    return tuple(SetupChange(name=n, before=a, after=b) for n, a, b in found if a != b)


def _quantities(
    snapshots: tuple[Snapshot, Snapshot], frames: _Frames, weigh: tuple[Weigh, Weigh]
) -> tuple[Quantity, ...]:
    before, after = (
        measures_of(snapshot, frame, one) for snapshot, frame, one in zip(snapshots, frames, weigh, strict=True)
    )
    return tuple(_quantity(*key, before[key], after[key]) for key in before)


def _quantity(subject: MeasuredQuantity, statistic: WindowStatistic, before: Measure, after: Measure) -> Quantity:
    return Quantity(
        subject=subject,
        statistic=statistic,
        unit=unit_of(subject, statistic),
        before=before.value,
        after=after.value,
        gaps_before=before.gaps,
        gaps_after=after.gaps,
    )


def _shared_hours(
    hours: tuple[int, ...] | None, snapshots: tuple[Snapshot, Snapshot], frames: _Frames, sides: tuple[Side, Side]
) -> SharedHours | None:
    if not hours:
        return None
    measured_s = [alike.measured_by_hour(frame) for frame in frames]
    weigh = (alike.by_hour(hours, measured_s[0]), alike.by_hour(hours, measured_s[1]))
    shares = [
        _share_at_ceiling(frame, side.diagnosis, one) for frame, side, one in zip(frames, sides, weigh, strict=True)
    ]
    return SharedHours(
        hours=hours,
        quantities=_quantities(snapshots, frames, weigh),
        at_ceiling_before=shares[0],
        at_ceiling_after=shares[1],
    )


def _share_at_ceiling(frame: Frame | None, diagnosis: Diagnosis, weigh: Weigh) -> float | None:
    """Return the weighted share at a ceiling; a sample belongs to the intervals in which it starts."""
    if frame is None or diagnosis.verdict is Verdict.UNKNOWN:
        return None
    weight = weigh(frame.time_s, frame.width_s)
    weight = weight * (np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s))
    at_ceiling = np.zeros(frame.size, dtype=np.bool_)
    for interval in diagnosis.intervals:
        first, last = np.searchsorted(frame.time_s, (interval.start_s, interval.end_s))
        at_ceiling[first:last] = True
    return float(weight[at_ceiling].sum() / weight.sum())


def _ceilings(before: Diagnosis, after: Diagnosis) -> tuple[CeilingPair, ...]:
    """Return the present ceilings of either side, and legacy ones that a side was at, family by family."""
    found = _paired_ceilings(_by_key(before), _by_key(after))
    return tuple(
        CeilingPair(
            family=key[0],
            phase=key[1],
            former_phase=key[2],
            dimension=key[3],
            unit=next(side[key].unit for side in found if key in side),
            before=found[0].get(key),
            after=found[1].get(key),
        )
        for key in _in_order([*found[0], *found[1]])
    )


def _paired_ceilings(
    before: dict[_Key, Ceiling], after: dict[_Key, Ceiling]
) -> tuple[dict[_Key, Ceiling], dict[_Key, Ceiling]]:
    """
    Return the ceilings with a fixed rate paired with the other side's baseline.

    Both are sustained rates: 3,600 IOPS of a gp2 volume are compared with the 12,000 of gp3.
    """

    def renamed(rows: dict[_Key, Ceiling], others: dict[_Key, Ceiling]) -> dict[_Key, Ceiling]:
        found = {}
        for key, ceiling in rows.items():
            family, phase, legacy, dimension = key
            baseline = (family, Phase.BASELINE, legacy, dimension)
            is_pair = phase is Phase.FIXED and key not in others and baseline in others
            found[baseline if is_pair and dimension is not Dimension.AMOUNT else key] = ceiling
        return found

    return renamed(before, after), renamed(after, before)


def _by_key(diagnosis: Diagnosis) -> dict[_Key, Ceiling]:
    reached = [at.ceiling for at in diagnosis.time_at if at.ceiling is not None]
    rows: dict[_Key, Ceiling] = {}
    # Reached ones first: a legacy ceiling that bound is the one that applies to this side.
    for ceiling in [*reached, *(c for c in diagnosis.ceilings if c.phase is not Phase.LEGACY)]:
        key = (ceiling.family, ceiling.phase, ceiling.former_phase, ceiling.dimension)
        rows.setdefault(key, ceiling)
    return rows


def _in_order(keys: Iterable[_Key]) -> list[_Key]:
    """Return each key once, in the order of the model's enumerations."""

    def place(key: _Key) -> tuple[int, int, int, int]:
        family, phase, legacy, dimension = key
        return (
            list(Family).index(family),
            list(Phase).index(phase),
            -1 if legacy is None else list(Phase).index(legacy),
            list(Dimension).index(dimension),
        )

    return sorted(set(keys), key=place)


def _time_at(before: Diagnosis, after: Diagnosis) -> tuple[TimePair, ...]:
    found = [_times(d) for d in (before, after)]
    pairs = [
        TimePair(
            family=key[0],
            phase=key[1],
            former_phase=key[2],
            dimension=key[3],
            before_s=_seconds(before, found[0].get(key)),
            after_s=_seconds(after, found[1].get(key)),
            level_before=_level(found[0].get(key)),
            level_after=_level(found[1].get(key)),
        )
        for key in _in_order([*found[0], *found[1]])
    ]
    return tuple(sorted(pairs, key=lambda p: -max(p.before_s or 0, p.after_s or 0)))


def _times(diagnosis: Diagnosis) -> dict[_Key, list[CeilingTime]]:
    """Return the times by limit, the longest first; unknown limits of one dimension share a key."""
    groups: dict[_Key, list[CeilingTime]] = {}
    for at in diagnosis.time_at:
        legacy = at.ceiling.former_phase if at.ceiling else None
        groups.setdefault((at.family, at.phase, legacy, at.dimension), []).append(at)
    return groups


def _seconds(diagnosis: Diagnosis, times: list[CeilingTime] | None) -> float | None:
    if diagnosis.verdict is Verdict.UNKNOWN:
        return None
    return sum(at.seconds for at in times) if times else 0.0


def _level(times: list[CeilingTime] | None) -> float | None:
    if not times:
        return None
    # An unknown limit may have several levels; the longest one represents them.
    longest = max(times, key=lambda at: at.seconds)
    return longest.ceiling.value if longest.ceiling else longest.level


def _headroom(before: Diagnosis, after: Diagnosis) -> tuple[ResourcePair, ...]:
    found = [{r.family: r for r in d.resources} for d in (before, after)]
    return tuple(
        ResourcePair(family=family, before=found[0].get(family), after=found[1].get(family))
        for family in Family
        if family in found[0] or family in found[1]
    )


def _caveats(
    sides: tuple[Side, Side],
    snapshots: tuple[Snapshot, Snapshot],
    frames: _Frames,
    quantities: tuple[Quantity, ...],
    shared: SharedHours | None,
    hours: tuple[int, ...] | None,
) -> tuple[Caveat, ...]:
    before, after = (side.diagnosis for side in sides)
    mean = next(
        q for q in quantities if q.subject is MeasuredQuantity.THROUGHPUT and q.statistic is WindowStatistic.MEAN
    )
    found = alike.demand_caveat(before, after, mean.difference)
    if before.instance.identifier != after.instance.identifier:
        text = "These are two instances: their work may differ, not only their limits."
        found.append(Caveat(kind="instances", text=text))
    found += _hours(hours, shared)
    found += alike.window_caveats(before, after, frames)
    found += alike.event_caveats(before, after, tuple(s.annotations for s in snapshots))
    return tuple(found)


def _hours(hours: tuple[int, ...] | None, shared: SharedHours | None) -> list[Caveat]:
    if hours is None:
        return []
    text = "The windows cover different hours of the day, so their means and percentiles differ anyway."
    if shared is None:
        return [Caveat(kind="hours", text=f"{text} They share no whole hour.")]
    ranges = alike.hour_ranges(shared.hours)
    return [Caveat(kind="hours", text=f"{text} Compare the shared hours: {ranges}.")]
