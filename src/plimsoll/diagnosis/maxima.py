"""
Times at a maximum that nothing infers: all vCPUs busy, no byte free, no connection or capacity unit left, no credit.

The limits of storage rates are recognised from the shape of the load (recognition/). The numbers here are counted by
the server or by AWS against a documented or configured maximum, so a sample at the maximum is at the limit.

Rule 1: less than five minutes in all is no time at a limit; it is a peak.
Rule 2: a maximum that is only an upper bound (the default formula of max_connections, whose memory term is not
        published) is reached where the use stays flat closely below it.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
from msgspec.structs import replace

from plimsoll.diagnosis.frame import Frame, on_grid, runs_of
from plimsoll.diagnosis.headroom import Use, families_of, use_of
from plimsoll.limits.layout import READ_FROM_INSTANCE
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import CeilingTime, Evidence, Finding, Interval
from plimsoll.model.family import BALANCES, CREDITS, FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import (
    format_bytes,
    format_bytes_per_s,
    format_clock,
    format_duration,
    format_ops_per_s,
    format_ratio,
    number,
)

# From here on a resource is at its maximum: CloudWatch gives means over a minute, in which a moment may be free.
FULL_RATIO = 0.99
# Between two samples at the maximum a stretch goes on while the use stays above this.
_STAYS_RATIO = 0.95
FULL_MIN_S = 300.0
_REFUTED_RATIO = 1.01
# DBInstanceClassMemory, from which max_connections follows, is a tenth or so less than the memory of the class.
_BELOW_FORMULA = 0.85
_ROSE_FROM = 0.9
_TOP_TIMES = 3.0
# A pool or a server that accepts no more stays within this; use that only passes by does not stay for so long.
_FLAT_RATIO = 0.01
_FLAT_MIN_SAMPLES = 10
_FLAT_MIN_S = 600.0
# An enforced baseline lies within these of its number, and what is held there varies by little.
_AT_BASELINE = (0.95, 1.05)
_HELD_RATIO = 0.02
# CPUUtilization at a baseline varies by some percent, because credits are earned by the millisecond.
_CPU_HELD_MAX = 1.15
# A balance is given in whole percents; none is less than half of one.
NONE_LEFT_RATIO = 0.005
# Two readings of a balance, which come every five minutes.
SPENT_MIN_S = 600.0
_SAID_SHARE = 0.1
# Below this share of the baseline credits come back within hours.
_BELOW_BASELINE = 0.9
# Fewer CPU credits than this pay for less than a minute of one vCPU.
_NONE_LEFT_CREDITS = 1.0

_REFUTED = {
    Family.CPU: "CPUUtilization counts what the instance does not run",
    Family.MEMORY: "FreeableMemory leaves out memory that the server could get back",
    Family.CONNECTIONS: "max_connections is set to another number",
    Family.NETWORK: "the bandwidth of the class is another one",
    Family.STORAGE_SPACE: "the storage was enlarged in this time",
    Family.LOCAL_STORAGE: "the local storage of the class has another size",
    Family.CAPACITY: "the largest capacity was raised in this time",
    Family.CPU_CREDITS: "the load itself asks for exactly that much CPU",
    **dict.fromkeys(CREDITS.values(), "the metric of the balance is of another instance, or no longer written"),
}

# What an experienced engineer does first; what costs nothing before what is bought. Storage grows by 10 % at least (RDS
# User Guide, "Increasing DB instance storage capacity"), a largest capacity without a restart (Aurora User Guide,
# "Managing Aurora Serverless v2 capacity").
_MOVES: dict[Family, tuple[str, ...]] = {
    Family.STORAGE_SPACE: (
        "Enlarge the storage now, by 10 % or more: without space the server accepts no writes.",
        "Find what fills it: tables and indexes that grew, WAL that an inactive replication slot keeps, temporary files.",
        "Turn on storage autoscaling, so that RDS enlarges it next time.",
    ),
    Family.CONNECTIONS: (
        "Limit the pools of the clients so that together they stay below max_connections: see `plimsoll pool-size`.",
        "Put a pooler in transaction mode in front. A higher max_connections takes memory for each connection.",
    ),
    Family.CPU: (
        "Find the statements that take the CPU: the top SQL by CPU in Database Insights, or pg_stat_statements.",
        "Change to a class with more vCPUs. More storage IOPS or throughput would not help.",
    ),
    Family.MEMORY: (
        "Lower what each session may take (work_mem, the number of connections), and look for swapping.",
        "Change to a class with more memory.",
    ),
    Family.NETWORK: (
        "Send less over the network at once: fewer columns and rows, fewer replicas and exports from this instance.",
        "Change to a class with more network bandwidth. More storage would not help.",
    ),
    Family.CAPACITY: ("Raise the largest capacity (MaxCapacity): it takes effect without a restart.",),
    Family.LOCAL_STORAGE: (
        "Find the statements that write temporary files: sorts and hashes above work_mem, index builds.",
        "Change to a larger class: local storage grows with it.",
    ),
    Family.CPU_CREDITS: (
        "Change to a class that is not held at a CPU baseline: t3 or t4g in unlimited mode, or one that does not burst.",
        "Find the statements that take the CPU: pg_stat_statements, the top SQL by CPU.",
    ),
    **dict.fromkeys(
        CREDITS.values(),
        (
            "Keep the mean rate below the baseline until the credits are back: spread batches, vacuum and backups.",
            "If they do not come back at this rate, check class, storage type and size: are they what this instance has?",
            "Change to a class, or storage, with a higher baseline.",
        ),
    ),
}


def maximum_finding(at: CeilingTime, intervals: Sequence[Interval], who: str, measured_s: float) -> Finding:
    """
    Return the finding about the time at a maximum: what, for how long, since when, and the first step.

    Args:
        at: the time at it.
        intervals: its intervals, at least one.
        who: class or name of the instance.
        measured_s: the time measured, seconds.
    """
    assert at.ceiling is not None
    facts = FAMILIES[at.family]
    most = _amount(at.ceiling.value, at.ceiling.unit)
    first = format_clock(min(i.start_s for i in intervals))
    spell = f"for {format_duration(at.seconds)} of the {format_duration(measured_s)} measured, first at {first}"
    title = f"{who} was at the maximum of its {facts.name}, {most}, {spell}"
    text = at.ceiling.note
    if at.family in CREDITS.values():
        title = f"{who} had no {facts.name} left {spell}; without them its baseline of {most} applies"
        text = _contradiction(at, intervals)
    if at.family is Family.CPU_CREDITS:
        title = f"{who} had no CPU credits left, and its CPU stayed at the baseline of {most}, {spell}"
    return Finding(code=facts.code, severity="critical", title=title, text=text, moves=_MOVES[at.family])


def _contradiction(at: CeilingTime, intervals: Sequence[Interval]) -> str:
    """Return what a rate clearly below the baseline means, which the law says refills the credits."""
    assert at.ceiling is not None
    share = max(i.level for i in intervals) / at.ceiling.value
    if share >= _BELOW_BASELINE:
        return ""
    return (
        f"Only {format_ratio(share)} of the baseline was served then, which should refill them: balance and rate "
        "contradict each other. Bursts shorter than a sample, or I/O that these metrics leave out, may spend the "
        "credits; or class or storage are not what was given."
    )


def maxima_of(
    snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...], intervals: tuple[Interval, ...]
) -> tuple[Interval, ...]:
    """
    Return the intervals at the maximum of a resource that is no storage rate, in order of time.

    Args:
        snapshot: the window, or its last part in which nothing was changed.
        frame: its storage metrics; None where storage was not measured.
        ceilings: documented ceilings of that part.
        intervals: time at ceilings of storage rates, which say more than an empty balance.
    """
    found: list[Interval] = []
    for family in families_of(snapshot):
        if family not in RATE_FAMILIES:
            find = partial(_of, family, snapshot, frame, ceilings)
            found += guarded(f"the maximum of {FAMILIES[family].name}", find, [])
    found += guarded("CPU credits", lambda: list(_without_cpu_credits(snapshot, frame, ceilings)), [])
    found += guarded("EBS credits", lambda: list(_without_credits(frame, ceilings, intervals)), [])
    return tuple(sorted(found, key=lambda i: (i.start_s, i.end_s)))


def _of(family: Family, snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...]) -> list[Interval]:
    use = use_of(family, snapshot, frame, ceilings)
    rows = sorted((c for c in ceilings if c.family is family and c.value > 0), key=lambda c: c.value)
    if use.value is None or not rows:
        return []
    highest, lowest = rows[-1], rows[0]
    with np.errstate(all="ignore"):
        share = use.value / highest.value
    is_formula = family is Family.CONNECTIONS and highest.origin is not READ_FROM_INSTANCE
    if is_formula and float(np.nanmax(share, initial=0.0)) > _REFUTED_RATIO:
        # More connections than the default formula allows: max_connections was set to another number.
        return []
    at, ceiling = _full(share, use), highest
    if not at.any() and is_formula:
        at = _saturated(use, share)
    elif not at.any() and lowest.phase is Phase.BASELINE:
        # Credits for the network have no metric: where none are left, the use stays at the baseline.
        share, ceiling = use.value / lowest.value, lowest
        at = _flat(use, (share >= _AT_BASELINE[0]) & (share <= _AT_BASELINE[1]), _HELD_RATIO)
    return [_interval(use, a, b, ceiling) for a, b in runs_of(at).tolist()]


def _full(share: FloatArray, use: Use) -> BoolArray:
    """Return the samples of the stretches at the maximum; none if they last less than five minutes in all."""
    is_full = np.nan_to_num(share, nan=0.0) >= FULL_RATIO
    if float(use.width_s[is_full].sum()) < FULL_MIN_S:
        return np.zeros(share.size, dtype=np.bool_)
    at = np.zeros(share.size, dtype=np.bool_)
    for a, b in _stretches(np.nan_to_num(share, nan=0.0) >= _STAYS_RATIO, use):
        full = a + np.flatnonzero(is_full[a:b])
        # Between two samples at the maximum, not before the first: a disk that fills is not full yet.
        if full.size:
            at[full[0] : full[-1] + 1] = True
    return at


def _saturated(use: Use, share: FloatArray) -> BoolArray:
    """Return the samples in which a use that has risen stays closely below an upper bound of its maximum."""
    assert use.value is not None
    top = float(np.nanmax(use.value))
    # A count that never changes is a pool; one that rises and then stays has met something.
    if float(np.nanmin(use.value)) >= _ROSE_FROM * top:
        return np.zeros(share.size, dtype=np.bool_)
    at_top = use.value >= (1 - _FLAT_RATIO) * top
    # What only passes its highest value is as long just below it as at it.
    below = (use.value >= (1 - 2 * _FLAT_RATIO) * top) & ~at_top
    if at_top.sum() < _TOP_TIMES * below.sum():
        return np.zeros(share.size, dtype=np.bool_)
    return _flat(use, (share >= _BELOW_FORMULA) & at_top, _FLAT_RATIO)


def _flat(use: Use, near: BoolArray, spread_max: float) -> BoolArray:
    """Return the samples of the stretches near a number in which the use varies by little, for minutes."""
    assert use.value is not None
    at = np.zeros(near.size, dtype=np.bool_)
    for a, b in _stretches(near, use):
        is_flat = float(np.std(use.value[a:b])) <= spread_max * float(np.mean(use.value[a:b]))
        at[a:b] = is_flat and _is_long(use, a, b)
    return at


def _is_long(use: Use, start: int, end: int) -> bool:
    return end - start >= _FLAT_MIN_SAMPLES and float(use.width_s[start:end].sum()) >= _FLAT_MIN_S


def _stretches(mask: BoolArray, use: Use) -> Iterator[tuple[int, int]]:
    """Yield the first and one-past-last sample of each run without a gap in time."""
    for a, b in runs_of(mask).tolist():
        ends = use.time_s[a:b] + use.width_s[a:b]
        breaks = np.flatnonzero(use.time_s[a + 1 : b] > ends[:-1] + 2 * use.width_s[a : b - 1]) + 1 + a
        edges = [a, *breaks.tolist(), b]
        yield from pairwise(edges)


def _interval(use: Use, start: int, end: int, ceiling: Ceiling) -> Interval:
    assert use.value is not None
    part = use.value[start:end]
    part = part[np.isfinite(part)]
    level = float(np.median(part))
    return Interval(
        start_s=int(use.time_s[start]),
        end_s=int(use.time_s[end - 1] + use.width_s[end - 1]),
        dimension=Dimension.AMOUNT,
        level=level,
        level_low=float(part.min()),
        level_high=float(part.max()),
        family=ceiling.family,
        phase=ceiling.phase,
        former_phase=None,
        ceiling=ceiling,
        confidence=1.0,
        attribution=1.0,
        io_size_bytes=None,
        latency_s=None,
        latency_reference_s=None,
        queue_depth=None,
        evidence=(
            Evidence(kind="maximum", text=_seen(level, ceiling), value=level, reference=ceiling.value, weight=5.0),
        ),
        ruled_out=(),
        refuted_by=_REFUTED[ceiling.family],
        step_s=int(np.median(use.width_s[start:end])),
    )


def _seen(level: float, ceiling: Ceiling) -> str:
    """Return what was counted, in a clause."""
    name, most = FAMILIES[ceiling.family].name, _amount(ceiling.value, ceiling.unit)
    served = _amount(level, ceiling.unit)
    if ceiling.family in CREDITS.values():
        metric = METRICS[FAMILIES[ceiling.family].metrics[0]].cloudwatch
        return f"{metric} was 0 %; served: {served}, at a baseline of {most}"
    if ceiling.family is Family.CPU_CREDITS:
        return f"CPUCreditBalance was 0, and the CPU stayed at {served}, its baseline of {most}"
    return f"{name}: {served} of {most} in use"


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return format_bytes(value)
    if unit == "bytes/s":
        return format_bytes_per_s(value, 5)
    if unit == "ops/s":
        return format_ops_per_s(value)
    return format_ratio(value) if unit == "ratio" else number(value, 4)


def _without_credits(
    frame: Frame | None, ceilings: tuple[Ceiling, ...], intervals: tuple[Interval, ...]
) -> Iterator[Interval]:
    """
    Yield the stretches in which no EBS credits were left, where no interval at that baseline says it already.

    Args:
        frame: storage metrics with the balances.
        ceilings: documented ceilings; only a family with a baseline has credits.
        intervals: time at ceilings of rates.
    """
    for metric, left in (frame.balances if frame else {}).items():
        family = BALANCES[metric]
        baselines = [c for c in ceilings if c.family is family and c.phase is Phase.BASELINE]
        if frame is None or not baselines:
            continue
        baseline = min(baselines, key=lambda c: c.value)
        rate = frame.bytes_per_s if FAMILIES[family].counts == "bytes" else frame.ops_per_s
        use = Use(time_s=frame.time_s, width_s=frame.width_s, value=rate)
        credits_of = replace(baseline, family=CREDITS[family], dimension=Dimension.AMOUNT)
        for a, b in _stretches(left < NONE_LEFT_RATIO, use):
            start_s, end_s = int(use.time_s[a]), int(use.time_s[b - 1] + use.width_s[b - 1])
            at_s = sum(max(min(i.end_s, end_s) - max(i.start_s, start_s), 0) for i in intervals)
            length_s = float(use.width_s[a:b].sum())
            # Credits that are spent while a limit binds are its evidence, and not something else that was found.
            is_said = at_s > _SAID_SHARE * length_s
            if length_s >= SPENT_MIN_S and not is_said and np.isfinite(rate[a:b]).any():
                yield _interval(use, a, b, credits_of)


def _without_cpu_credits(snapshot: Snapshot, frame: Frame | None, ceilings: tuple[Ceiling, ...]) -> Iterator[Interval]:
    """
    Yield the stretches of a burstable class whose CPU stays at its baseline while it has no CPU credits.

    A class in unlimited mode is billed and does not stop there, so its CPU is seen above its baseline.
    """
    baseline = next((c for c in ceilings if c.family is Family.CPU_CREDITS and c.phase is Phase.BASELINE), None)
    left = snapshot.series.get(Metric.CPU_CREDITS)
    cpu = use_of(Family.CPU, snapshot, frame, ceilings)
    if baseline is None or left is None or cpu.value is None or not left.time_s.size:
        return
    with np.errstate(all="ignore"):
        is_spent = on_grid(left, cpu.time_s, cpu.width_s) < _NONE_LEFT_CREDITS
        share = cpu.value / baseline.value
    for a, b in _stretches(is_spent & np.isfinite(share), cpu):
        part = share[a:b]
        is_held = _AT_BASELINE[0] <= float(np.median(part)) <= _AT_BASELINE[1]
        if is_held and float(np.quantile(part, 0.95)) <= _CPU_HELD_MAX and _is_long(cpu, a, b):
            yield _interval(cpu, a, b, baseline)
