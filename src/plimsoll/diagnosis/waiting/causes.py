"""
Possible causes of waiting that no ceiling explains, each with a check.

Rule 1: a cause with measured evidence comes before one that is only possible.
Rule 2: every cause has a check that can disprove it.
"""

import numpy as np

from plimsoll.diagnosis.epochs import LAZY_S
from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.waiting.duty import duty_cycle, jitter_of
from plimsoll.diagnosis.waiting.waiting import known_median
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.model.waiting import CeilingShare, UnexplainedWaiting, WaitingCause
from plimsoll.units import (
    format_bytes_per_s,
    format_clock,
    format_duration,
    format_latency,
    format_ops_per_s,
    format_ratio,
)

# A mean of two fifths of a ceiling leaves room for bursts at it for two fifths of the time, long enough
# for a queue that the mean shows. Below that, latency would have to be worse still in the bursts.
BURST_SHARE_MIN = 0.4
# Samples of this length hide bursts of seconds.
HIDING_STEP_S = 5
# While requests wait, a limited rate stays within two percent; demand varies more.
STILL_LOG_SD = 0.02
STILL_SAMPLES = 8
# Within a quarter of what storage served without waiting, the load is the same.
SAME_LOAD = 1.25
# A load that jumps from sample to sample at most three times as much without waiting is as smooth as that with it.
SMOOTH = 3.0
# Processors that are busy all the time take up finished I/O late.
CPU_FULL_RATIO = 0.95
# A direction with three times the latency waited; one with less than half as much again did not.
SLOWED, NOT_SLOWED = 3.0, 1.5
# With more credits than this, the baseline of the bucket did not bind.
CREDITS_LEFT_RATIO = 0.05
# Backups and restarts act at once and for about an hour: a snapshot's start, a cold cache.
ACTS_S = 3600.0

_ACTING_S = {
    EventKind.RESTORE: LAZY_S,
    EventKind.CONVERSION: LAZY_S,
    # Optimisation may take a day (RDS User Guide, "Modifying storage").
    EventKind.STORAGE_CHANGE: 86_400,
    EventKind.OPTIMISATION: 86_400,
    EventKind.BACKUP: ACTS_S,
    EventKind.FAILOVER: ACTS_S,
    EventKind.RESTART: ACTS_S,
}
_EVENT_TEXTS = {
    EventKind.RESTORE: (
        "Data may still be loading after a restore",
        "Read every table once (pg_prewarm or a full scan). A second read should be fast",
    ),
    EventKind.CONVERSION: (
        "The standby's storage may still be loading after the conversion to Multi-AZ",
        "Latency should fall within a day at the same load",
    ),
    EventKind.STORAGE_CHANGE: (
        "Storage was modified and may still be optimising",
        "Latency should fall when the event reports that storage optimisation has finished",
    ),
    EventKind.OPTIMISATION: (
        "Storage was being optimised",
        "Latency should fall when the event reports that storage optimisation has finished",
    ),
    EventKind.BACKUP: (
        "A backup took a snapshot of the volumes",
        "Compare other days: latency should rise with each backup",
    ),
    EventKind.FAILOVER: (
        "A failover moved the database to a host with a cold cache and other volumes",
        "Latency should fall as the cache fills. If it does not, the new volumes are slower",
    ),
    EventKind.RESTART: ("A restart emptied the cache", "Latency should fall as the cache fills"),
}


def causes_of(
    waiting: tuple[UnexplainedWaiting, ...],
    frame: Frame,
    *,
    instance: Instance,
    ceilings: tuple[Ceiling, ...],
    annotations: tuple[Annotation, ...],
) -> tuple[WaitingCause, ...]:
    """
    Return the possible causes of unexplained waiting, the likeliest first.

    Args:
        waiting: at least one stretch; the longest is examined.
        frame: the measurements of the whole window.
        instance: the instance; with a class it is managed by AWS.
        ceilings: the present ones, to find those that could have been reached within a sample.
        annotations: events in and before the window.
    """
    # The longest has the most samples to compare; of equals the first, so that the result is the
    # same every time.
    longest = max(waiting, key=lambda w: (w.waiting_s, -w.start_s))
    inside = (frame.time_s >= longest.start_s) & (frame.time_s < longest.end_s)
    outside = _outside(waiting, frame)
    is_managed = instance.db_class is not None
    found = _by_events(longest, annotations) or _fresh(longest, frame, inside, outside, instance)
    still = _undocumented(frame, inside, outside, is_managed=is_managed)
    fault = _fault(longest, frame, outside, is_managed=is_managed)
    within = _within_samples(longest, frame, inside, outside, ceilings, is_managed=is_managed)
    others = _magnetic(instance) + _cpu(frame, inside) + _replication(frame, inside, outside, instance)
    # If the same load did not wait before, bursts within it are the less likely cause. With more load they come before
    # a limit that no document names.
    rest = [*still, *fault, *within] if fault[0].has_evidence else [*within, *still, *fault]
    return tuple(sorted((*found, *others, *rest), key=lambda cause: not cause.has_evidence))


def _outside(waiting: tuple[UnexplainedWaiting, ...], frame: Frame) -> BoolArray:
    found = np.ones(frame.size, dtype=bool)
    for one in waiting:
        found &= (frame.time_s >= one.end_s) | (frame.time_s < one.start_s)
    return found


def _by_events(at: UnexplainedWaiting, annotations: tuple[Annotation, ...]) -> list[WaitingCause]:
    """Return events that may still have an effect when the waiting began, or are in it; each kind once."""
    latest: dict[EventKind, Annotation] = {}
    for note in sorted(annotations, key=lambda a: a.time_s):
        acting_s = _ACTING_S.get(note.kind)
        if acting_s is not None and at.start_s - acting_s <= note.time_s < at.end_s:
            latest.setdefault(note.kind, note)
    return [
        WaitingCause(
            code="events",
            text=f"{_EVENT_TEXTS[kind][0]}: {note.text} ({format_clock(note.time_s)} UTC).",
            check=f"{_EVENT_TEXTS[kind][1]}.",
            has_evidence=True,
        )
        for kind, note in latest.items()
    ]


def _fresh(
    at: UnexplainedWaiting, frame: Frame, inside: BoolArray, outside: BoolArray, instance: Instance
) -> list[WaitingCause]:
    """Return the cause of a new instance whose data may still be loaded: its reads wait, and its writes do not."""
    launched_s = instance.launched_s
    # Aurora's storage is shared, and nothing is copied to it.
    if launched_s is None or is_aurora(instance) or not at.start_s < launched_s + LAZY_S or at.end_s <= launched_s:
        return []
    reads, writes = _slower(frame, inside, outside)
    if (reads is not None and reads < SLOWED) or (writes is not None and writes > NOT_SLOWED):
        return []
    is_shown = reads is not None and writes is not None
    seen = ", reads were slow and writes were not" if is_shown else ""
    age = format_duration(max(at.start_s - launched_s, 0))
    return [
        WaitingCause(
            code="loading",
            text=(f"Data may still be loading from a snapshot: the instance was created {age} before{seen}."),
            check="Read every table once (pg_prewarm or a full scan). A second read should be fast, and it ends by itself.",
            has_evidence=is_shown,
        )
    ]


def _undocumented(frame: Frame, inside: BoolArray, outside: BoolArray, *, is_managed: bool) -> list[WaitingCause]:
    """Return the cause of an undocumented limit if a rate was constant while requests waited, and varied otherwise."""
    best: tuple[float, str] | None = None
    for rate, shown in ((frame.bytes_per_s, format_bytes_per_s), (frame.ops_per_s, format_ops_per_s)):
        known = rate[inside & np.isfinite(rate) & (rate > 0)]
        if known.size >= STILL_SAMPLES:
            middle = float(np.median(known))
            spread = 1.4826 * float(np.median(np.abs(np.log(known / middle))))
            is_still = spread <= STILL_LOG_SD and not _is_smooth(rate, inside, outside)
            if is_still and (best is None or spread < best[0]):
                best = (spread, f"{shown(middle)} within ± {format_ratio(spread)}")
    if best is None:
        return []
    where = (
        "Ask AWS Support which limit of this instance or its volumes has that rate"
        if is_managed
        else "Look for a limit of that rate: device, controller, host or container"
    )
    return [
        WaitingCause(
            code="undocumented_limit",
            text=f"An undocumented limit: the rate stayed at {best[1]}.",
            check=f"{where}. More load at another time should give the same rate.",
            has_evidence=True,
        )
    ]


def _is_smooth(rate: FloatArray, inside: BoolArray, outside: BoolArray) -> bool:
    """Return whether the load varied as little without waiting, and as much was served then: no limit held it."""
    free = rate[outside & np.isfinite(rate)]
    if free.size < STILL_SAMPLES:
        return False
    served = float(np.quantile(free, 0.99))
    return jitter_of(rate, outside) <= SMOOTH * jitter_of(rate, inside) and served > float(np.nanmedian(rate[inside]))


def _within_samples(
    at: UnexplainedWaiting,
    frame: Frame,
    inside: BoolArray,
    outside: BoolArray,
    ceilings: tuple[Ceiling, ...],
    *,
    is_managed: bool,
) -> list[WaitingCause]:
    """Return the cause of short bursts at a ceiling that the mean of a sample hides."""
    if frame.step_s < HIDING_STEP_S:
        return []
    spendable = _with_credits(frame, inside, ceilings)
    shares = [s for s in at.shares if (s.family, s.phase) not in spendable]
    highest = next((s for s in shares if s.ratio < 1), None)
    if highest is None:
        return []
    quiet = known_median(frame.ops_per_s[outside & (frame.ops_per_s > 0)])
    is_more = _is_more(at.ops_per_s, quiet)
    if highest.ratio < BURST_SHARE_MIN and not is_more:
        return []
    cycle = None
    if at.ops_per_s is not None:
        cycle = duty_cycle(
            at.ops_per_s,
            at.latency_s,
            at.ops_per_s / highest.ratio,
            quiet_ops_per_s=quiet if is_more and quiet is not None else 0.0,
            quiet_latency_s=at.latency_reference_s,
        )
        if cycle is None:
            return []
    length = format_duration((highest.ratio if cycle is None else cycle.part) * frame.step_s)
    then = "" if cycle is None else f", with a latency of {format_latency(cycle.latency_s)}, as a regular job would be"
    finer = "Enhanced Monitoring at 1 s" if is_managed else "A recording at 1 s"
    return [
        WaitingCause(
            code="within_sample",
            text=(
                f"Short bursts at a ceiling: the mean of {format_duration(frame.step_s)} was "
                f"{format_ratio(highest.ratio)} of {_named(highest)}, which fits bursts at it for {length} of each "
                f"sample{then}."
            ),
            check=f"{finer} shows whether the rate was at {_named(highest)} for part of the time.",
            has_evidence=True,
        )
    ]


def _is_more(ops_per_s: float | None, quiet_ops_per_s: float | None) -> bool:
    """Return whether clearly more was served than without waiting."""
    load = _ratio(ops_per_s, quiet_ops_per_s)
    return load is not None and load > SAME_LOAD


def _with_credits(frame: Frame, inside: BoolArray, ceilings: tuple[Ceiling, ...]) -> set[tuple[object, Phase]]:
    """Return baselines that did not bind, because their bucket had credits left."""
    found: set[tuple[object, Phase]] = set()
    for ceiling in ceilings:
        balance = frame.balances.get(ceiling.balance_metric) if ceiling.balance_metric else None
        if balance is not None and ceiling.phase is Phase.BASELINE:
            known = balance[inside & np.isfinite(balance)]
            if known.size and float(np.median(known)) > CREDITS_LEFT_RATIO:
                found.add((ceiling.family, ceiling.phase))
    return found


def _named(share: CeilingShare) -> str:
    is_bytes = FAMILIES[share.family].dimension is Dimension.THROUGHPUT
    rate = format_bytes_per_s(share.value, 5) if is_bytes else format_ops_per_s(share.value)
    phase = "" if share.phase is Phase.FIXED else f" {share.phase.value}"
    return f"the {FAMILIES[share.family].name}{phase} of {rate}"


def _magnetic(instance: Instance) -> list[WaitingCause]:
    """
    Return the cause of magnetic storage.

    Source:
        EBS User Guide, "Magnetic (standard)": about 100 IOPS on average, bursts to hundreds.
    """
    if instance.storage.kind != "standard":
        return []
    return [
        WaitingCause(
            code="magnetic",
            text="Magnetic storage: such a volume serves about 100 IOPS on average, and some hundred in bursts.",
            check="Change the storage to gp3. Latency should fall to a few milliseconds or less.",
            has_evidence=True,
        )
    ]


def _cpu(frame: Frame, inside: BoolArray) -> list[WaitingCause]:
    cpu = known_median(frame.cpu_ratio[inside])
    if cpu is None or cpu < CPU_FULL_RATIO:
        return []
    return [
        WaitingCause(
            code="cpu",
            text=f"The CPU: it was at {format_ratio(cpu)}, and so processed finished I/O late.",
            check="Latency should fall with CPU use, at the same I/O rate.",
            has_evidence=True,
        )
    ]


def _replication(frame: Frame, inside: BoolArray, outside: BoolArray, instance: Instance) -> list[WaitingCause]:
    """Return the cause of a slow standby if writes alone waited on a Multi-AZ instance."""
    reads, writes = _slower(frame, inside, outside)
    # Aurora's instances share one cluster volume: no standby has to acknowledge a write.
    if not instance.multi_az or is_aurora(instance) or reads is None or writes is None:
        return []
    if writes < SLOWED or reads > NOT_SLOWED:
        return []
    return [
        WaitingCause(
            code="replication",
            text=(
                f"The Multi-AZ standby: write latency rose {writes:,.1f}-fold and read latency did "
                "not. A write is acknowledged only when both sides have it."
            ),
            check="Ask AWS Support for the standby's volumes, or fail over and compare the latency.",
            has_evidence=True,
        )
    ]


def _slower(frame: Frame, inside: BoolArray, outside: BoolArray) -> tuple[float | None, float | None]:
    """Return by how much reads and writes took longer than in the rest of the window."""
    reads, writes = (
        _ratio(known_median(latency[inside]), known_median(latency[outside]))
        for latency in (frame.read_latency_s, frame.write_latency_s)
    )
    return reads, writes


def _fault(at: UnexplainedWaiting, frame: Frame, outside: BoolArray, *, is_managed: bool) -> list[WaitingCause]:
    """Return the cause of slow storage at the same load: a neighbour, a host or a volume at fault."""
    free = known_median(frame.ops_per_s[outside & (frame.ops_per_s > 0)])
    is_same = _ratio(at.ops_per_s, free) is not None and not _is_more(at.ops_per_s, free)
    why = ""
    if is_same and free is not None and at.ops_per_s is not None:
        why = (
            f". {format_ops_per_s(at.ops_per_s)} waited here; {format_ops_per_s(free)} did not wait in "
            "the rest of the window"
        )
    if is_managed:
        text = f"Slow storage: a noisy neighbour, a fault of a volume or of the host{why}."
        check = (
            "Check the AWS Health Dashboard, and give AWS Support these times. A stop and "
            "start moves the instance to another host."
        )
    else:
        text = f"Slow storage: a fault or background work of the device, or other users of it{why}."
        check = "Check the device's log and counters, and what else the host did then."
    return [WaitingCause(code="storage_fault", text=text, check=check, has_evidence=is_same)]


def _ratio(value: float | None, reference: float | None) -> float | None:
    return value / reference if value is not None and reference else None
