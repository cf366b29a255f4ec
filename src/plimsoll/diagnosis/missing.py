"""The gaps of a diagnosis: what could not be judged, what that hides, and what would supply it."""

from collections.abc import Iterable

import numpy as np

from plimsoll.diagnosis.frame import GAP_SAMPLES, Frame, runs_of
from plimsoll.diagnosis.headroom import NEAR_RATIO
from plimsoll.diagnosis.maxima import NONE_LEFT_RATIO, SPENT_MIN_S
from plimsoll.diagnosis.order import median
from plimsoll.diagnosis.recognition.congestion import REFERENCE_MAX_S, Congestion
from plimsoll.limits.layout import is_aurora
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import LATE_SHARE, SHORT_WINDOW, VERDICT, Missing
from plimsoll.model.family import BALANCES, RATE_FAMILIES, VOLUME_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import BoolArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.units import format_clock, format_duration, format_ratio, number

# Wider than any ceiling's own jitter, narrower than what workloads do.
STILL_LOG_SD = 0.05
STILL_SAMPLES_MIN = 8
# A ceiling shows as samples at one number while requests wait, next to samples in which they do not. Ten
# samples are the fewest that can show both, and a minute the least time, because a database writes in
# bursts of some seconds. In less, a limit can bind without being found.
SHORTEST_SAMPLES = 10
SHORTEST_S = 60.0
# Ten requests under way at every moment are ten processes that wait for storage.
DEEP_QUEUE = 10.0
# Nearly all the time: up to a tenth may be the pause between two runs.
THROUGHOUT_SHARE = 0.9
# An enforced rate, and the rate of a limiter in the application, varies by less than this over a minute.
STOOD_RATIO = 0.03
# Twice the usual latency of SSD storage is beyond the error of that figure (score.py uses the same bound).
SLOW_TIMES = 2.0
# A limit that binds always has a request that waits for it; one client that pauses as long as it waits is
# the least load that still meets one.
IN_FLIGHT_MIN = 0.5
# With more than half of the time unmeasured, "nothing binds" is not a valid verdict.
UNSEEN_SHARE = 0.5
# As for waiting without a limit: several times the usual, for minutes.
WAITED_TIMES = 3.0
WAITED_MIN_S = 300.0
# EBS SSD volumes are documented to answer in single-digit milliseconds (EBS User Guide).
READ_MAX_S = 10e-3
LIGHT_LOAD = "a time of light load"
"""Name of the gap of a window in which requests always waited."""

_RATES = frozenset(
    m.value for m in (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
)

CLASS_GAP = "instance class"
STORAGE_GAP = "storage type and size"
"""Names of what a description of the instance would tell."""
_REMEDY = "Export what is missing, or allow cloudwatch:GetMetricData for the role that reads."


def missing_of(
    snapshot: Snapshot,
    frame: Frame | None,
    congestion: Congestion | None,
    ceilings: tuple[Ceiling, ...],
    *,
    unknown_class: str,
) -> tuple[Missing, ...]:
    """Return the gaps in the input, those that hide the verdict first."""
    found = []
    if unknown_class:
        found.append(Missing(name=CLASS_GAP, hides="the documented limit of a level", remedy=unknown_class))
    elif snapshot.instance.db_class is None:
        found.append(
            Missing(
                name=CLASS_GAP,
                hides="the instance's documented limits",
                remedy="Give --instance with a describe-db-instances answer, or --class.",
            )
        )
    is_storage_unknown = snapshot.instance.storage.kind is None
    # Aurora has no storage type to name, and an unknown class is the more important gap.
    if is_storage_unknown and snapshot.instance.db_class and not is_aurora(snapshot.instance):
        found.append(
            Missing(
                name=STORAGE_GAP,
                hides="the volume's documented limits",
                remedy="Give a describe-db-instances answer, or --storage and --size-gib.",
            )
        )
    found += _rates(frame)
    if congestion is not None and not congestion.is_measured:
        found.append(
            Missing(
                name="ReadLatency, WriteLatency and DiskQueueDepth",
                hides=VERDICT if _could_bind(frame, ceilings) else "whether requests waited",
                remedy=f"Without them, a steady load looks like a ceiling. {_REMEDY}",
            )
        )
    elif congestion is not None and not congestion.is_reference_seen:
        found += _no_light_load(frame, ceilings)
    if frame is not None:
        found += _balances(snapshot, ceilings)
    for gap in snapshot.gaps:
        found.append(
            Missing(
                name=_published_name(gap.metric),
                # The part that was refused or not delivered may have been at a ceiling.
                hides=VERDICT if gap.is_failed and gap.metric in _RATES else "",
                remedy=f"{gap.reason}. {gap.remedy}",
            )
        )
    return tuple(found)


def not_covered(snapshot: Snapshot, measured_s: float, window_s: tuple[int, int]) -> tuple[Missing, ...]:
    """
    Return the gap of a window without samples, where more than late ones are missing.

    Args:
        snapshot: with the window that was asked for, if one was.
        measured_s: how long storage was measured.
        window_s: what was read.
    """
    start_s, end_s = snapshot.asked_s or window_s
    if end_s <= start_s:
        return ()
    share = 1 - measured_s / (end_s - start_s)
    if share <= LATE_SHARE:
        return ()
    length = format_duration(end_s - start_s)
    asked = f"You asked for {length}; storage" if snapshot.asked_s else f"Of {length} storage"
    return (
        Missing(
            name=f"{format_ratio(share)} of the window",
            hides=VERDICT if share > UNSEEN_SHARE else "what happened in that time",
            remedy=(
                f"{asked} was measured for {format_duration(measured_s)}. The instance may have been stopped, or the "
                "metrics may have expired."
            ),
        ),
    )


def baselines_unknown(snapshot: Snapshot, ceilings: tuple[Ceiling, ...]) -> tuple[Missing, ...]:
    """Return the gap of each kind of EBS credits that were used up while the baseline that then applies is not known."""
    found = []
    for metric, family in BALANCES.items():
        series = snapshot.series.get(metric)
        # A class or a storage that is known has either a baseline or no credits, whatever a metric of old says.
        is_known = any(c.family is family for c in ceilings)
        spent_s = 0 if series is None else int(np.count_nonzero(series.value < NONE_LEFT_RATIO)) * series.step_s
        if is_known or spent_s < SPENT_MIN_S:
            continue
        name = METRICS[metric].cloudwatch
        is_volume = family in VOLUME_FAMILIES
        remedy = "Give --storage and --size-gib." if is_volume else "Give --class, or --instance with a description."
        found.append(
            Missing(
                name=f"the baseline that applied while {name} was 0 % ({format_duration(spent_s)})",
                hides=VERDICT,
                remedy=f"Without credits no more than the baseline is served. {remedy}",
            )
        )
    return tuple(found)


def not_measured_of(frame: Frame | None) -> tuple[Missing, ...]:
    """
    Return the metrics that have no samples for a while in which others have, and when.

    Where queue or latency show in that time that requests waited, no verdict is possible: it may be the very limit.
    """
    if frame is None:
        return ()
    rates = {
        Metric.READ_BYTES_PER_S: frame.read_bytes_per_s,
        Metric.WRITE_BYTES_PER_S: frame.write_bytes_per_s,
        Metric.READ_OPS_PER_S: frame.read_ops_per_s,
        Metric.WRITE_OPS_PER_S: frame.write_ops_per_s,
    }
    # A metric without any sample is another gap, and one that is read at a longer step is none.
    some = {metric: np.isfinite(values) for metric, values in rates.items() if np.isfinite(values).any()}
    absent = {metric: _long(~known) for metric, known in some.items()}
    absent = {metric: mask for metric, mask in absent.items() if mask.any()}
    if not absent:
        return ()
    either = np.logical_or.reduce(list(absent.values()))
    waits = either & _seems_to_wait(frame, ~either)
    first, last = int(np.flatnonzero(either)[0]), int(np.flatnonzero(either)[-1])
    span = f"{format_clock(int(frame.time_s[first]))} – {format_clock(int(frame.time_s[last] + frame.width_s[last]))}"
    length_s = float(frame.width_s[either].sum())
    waited_s = float(frame.width_s[waits].sum())
    waited = (
        f" Queue depth or latency were several times as high for {format_duration(waited_s)} of it." if waited_s else ""
    )
    return (
        Missing(
            name=f"{_listed(absent)} for {format_duration(length_s)}",
            hides=VERDICT if waited_s >= WAITED_MIN_S else "what happened in that time",
            remedy=f"There are no samples of them within {span}, while other metrics have some.{waited} {_REMEDY}",
        ),
    )


def _long(absent: BoolArray) -> BoolArray:
    """Return the samples of the holes that are longer than a scrape or two that failed."""
    found = np.zeros(absent.size, dtype=np.bool_)
    for a, b in runs_of(absent).tolist():
        found[a:b] = b - a > GAP_SAMPLES
    return found


def _seems_to_wait(frame: Frame, elsewhere: BoolArray) -> BoolArray:
    """Return the samples whose queue or latency is several times that of the time in which all was measured."""
    found = np.zeros(frame.size, dtype=np.bool_)
    for values, least in ((frame.queue_depth, 1.0), (frame.read_latency_s, 5e-3), (frame.write_latency_s, 5e-3)):
        usual = values[elsewhere & np.isfinite(values)]
        if usual.size:
            with np.errstate(invalid="ignore"):
                found |= (values >= WAITED_TIMES * float(np.median(usual))) & (values >= least)
    return found


def _listed(metrics: Iterable[Metric]) -> str:
    names = [METRICS[metric].cloudwatch or metric.value for metric in metrics]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else names[0]


def newer_class_of(instance: Instance) -> tuple[Missing, ...]:
    """Return the gap of a class that the account knows and the catalog does not."""
    limits = instance.ebs_limits
    if limits is None:
        return ()
    return (
        Missing(
            name=f"{instance.db_class} in the catalog",
            hides="legacy limits and prices of the class",
            remedy=(
                "The class is newer than this catalog. Its EBS limits are those that EC2 gives for the "
                f"same type ({limits.source}, read on {limits.read_on})."
            ),
        ),
    )


def _balances(snapshot: Snapshot, ceilings: tuple[Ceiling, ...]) -> list[Missing]:
    """Return the gaps of balances that exist, because class or volume can burst, but were not read."""
    expected = dict.fromkeys(
        c.balance_metric for c in ceilings if c.balance_metric is not None and c.phase is not Phase.LEGACY
    )
    there = ((m, snapshot.series.get(m)) for m in expected)
    read = {m for m, series in there if series is not None and np.isfinite(series.value).any()}
    return [
        Missing(
            name=_published_name(metric.value),
            hides="how many credits are left, and when they run out",
            remedy=f"This instance can burst, so CloudWatch has this metric. {_REMEDY}",
        )
        for metric in expected
        if metric not in read
    ]


def _published_name(metric: str) -> str:
    """Return CloudWatch's name for one of our metrics; any other name unchanged."""
    facts = {m.value: METRICS[m] for m in Metric}.get(metric)
    return (facts.cloudwatch if facts else None) or metric


def _no_light_load(frame: Frame | None, ceilings: tuple[Ceiling, ...]) -> list[Missing]:
    """Return the gap of a constant rate without a documented limit or a time of light load."""
    # A steady load and a ceiling look the same then: no latency to compare with, and no number.
    if any(c.family in RATE_FAMILIES for c in ceilings) or not _is_steady(frame):
        return []
    return [
        Missing(
            name=LIGHT_LOAD,
            hides=VERDICT,
            remedy=(
                "The window shows no latency of this storage under light load. "
                "Use a longer window, or give --class and --storage."
            ),
        )
    ]


def too_short(frame: Frame | None) -> tuple[Missing, ...]:
    """Return the gap of a window in which a ceiling could not have been recognised."""
    if frame is None:
        return ()
    known = np.isfinite(frame.bytes_per_s) | np.isfinite(frame.ops_per_s)
    count, length_s = int(known.sum()), float(frame.width_s[known].sum())
    if not count or (count >= SHORTEST_SAMPLES and length_s >= SHORTEST_S):
        return ()
    needed_s = max(SHORTEST_S, SHORTEST_SAMPLES * float(np.median(frame.width_s)))
    samples = "1 sample" if count == 1 else f"{count} samples"
    return (
        Missing(
            name=SHORT_WINDOW,
            hides=VERDICT,
            remedy=(
                f"{samples} of {format_duration(float(np.median(frame.width_s)))} cannot show a ceiling. "
                f"Measure for at least {format_duration(needed_s)}."
            ),
        ),
    )


def pressed_throughout(
    frame: Frame | None, congestion: Congestion | None, ceilings: tuple[Ceiling, ...]
) -> tuple[Missing, ...]:
    """Return the gap of a window with a deep queue, or slow requests, all the time."""
    if frame is None or congestion is None:
        return ()
    queue, latency_s = frame.queue_depth, congestion.latency_s
    # With documented limits far away, many requests at the documented latency are no sign of a limit.
    # Without documented limits the device may be at its own.
    has_limits = any(c.family in RATE_FAMILIES for c in ceilings)
    with np.errstate(all="ignore"):
        # Reads wait for no standby, so they take less than ten milliseconds on any SSD.
        is_slow = (latency_s > REFERENCE_MAX_S) | (frame.read_latency_s > READ_MAX_S)
    if has_limits and not is_slow.any():
        return ()
    is_deep = (queue >= DEEP_QUEUE) & (not has_limits)
    with np.errstate(all="ignore"):
        # At least one request in flight at every moment (Little's law): a lone slow one is no load.
        is_slow &= frame.ops_per_s * latency_s >= 1.0
    known = np.isfinite(queue) | np.isfinite(latency_s)
    pressed = (is_deep | is_slow) & known
    if not known.any() or pressed.sum() < THROUGHOUT_SHARE * known.sum():
        return ()
    depth = float(np.median(queue[np.isfinite(queue)])) if np.isfinite(queue).any() else None
    waited = f"Queue depth was {number(depth, 2)}" if depth else "Latency was high"
    length_s = float(frame.width_s[pressed].sum())
    return (
        Missing(
            name=LIGHT_LOAD,
            hides=VERDICT,
            remedy=(
                f"{waited} for {format_duration(length_s)}, and the window shows no latency of this "
                "storage under light load. Measure a quiet time too."
            ),
        ),
    )


def steady_throughout(frame: Frame | None, congestion: Congestion | None) -> tuple[Missing, ...]:
    """Return the gap of a window with a constant rate and slow requests all the time."""
    if frame is None or congestion is None or congestion.is_reference_seen:
        return ()
    with np.errstate(all="ignore"):
        # Little's law: where less than one request is in flight half of the time, nothing waits for a limit.
        in_flight = frame.ops_per_s * congestion.latency_s
    slow = (congestion.log_excess > np.log(SLOW_TIMES)) & ~(in_flight < IN_FLIGHT_MIN)
    known = np.isfinite(congestion.log_excess)
    for rate, unit in ((frame.bytes_per_s, "throughput"), (frame.ops_per_s, "IOPS")):
        measured = np.isfinite(rate) & (rate > 0) & known
        if measured.sum() < STILL_SAMPLES_MIN:
            continue
        middle = median(rate[measured])
        steady = measured & (np.abs(rate / middle - 1) < STOOD_RATIO)
        if steady.sum() < THROUGHOUT_SHARE * known.sum() or slow[steady].mean() < THROUGHOUT_SHARE:
            continue
        times = number(float(np.exp(np.median(congestion.log_excess[steady]))), 2)
        length = format_duration(float(frame.width_s[steady].sum()))
        return (
            Missing(
                name=LIGHT_LOAD,
                hides=VERDICT,
                remedy=(
                    f"The {unit} stayed constant for {length}, with {times} times the latency usual for "
                    "SSD storage. This may be an undocumented limit, or a steady load on slow storage. "
                    "Measure a quiet time too."
                ),
            ),
        )
    return ()


def _could_bind(frame: Frame | None, ceilings: tuple[Ceiling, ...]) -> bool:
    """Return whether a rate came near a documented number, or was constant at an undocumented one."""
    if frame is None or not any(c.family in RATE_FAMILIES for c in ceilings):
        return True
    for row in ceilings:
        # A total with one half missing is unknown, so any documented number may have been near.
        if row.family in RATE_FAMILIES:
            is_bytes = row.dimension == Dimension.THROUGHPUT
            rate = frame.bytes_per_s if is_bytes else frame.ops_per_s
            known = rate[np.isfinite(rate)]
            if not known.size or float(known.max()) > NEAR_RATIO * row.value:
                return True
    return _is_steady(frame)


def _is_steady(frame: Frame | None) -> bool:
    """Return whether either rate, while busy, varied by a few percent only, as it does at a ceiling."""
    if frame is None:
        return False
    for rate in (frame.bytes_per_s, frame.ops_per_s):
        known = rate[np.isfinite(rate) & (rate > 0)]
        # Idle minutes next to a steady load would count as variation.
        busy = known[known > 0.5 * median(known)] if known.size else known
        if busy.size >= STILL_SAMPLES_MIN:
            # 1.4826 × the median deviation is the standard deviation of a normal error; a few other
            # samples do not move it.
            spread = 1.4826 * median(np.abs(np.log(busy / median(busy))))
            if spread < STILL_LOG_SD:
                return True
    return False


def _rates(frame: Frame | None) -> list[Missing]:
    if frame is None:
        return [
            Missing(
                name="ReadIOPS, WriteIOPS, ReadThroughput and WriteThroughput",
                hides=VERDICT,
                remedy=f"Without them storage cannot be judged. {_REMEDY}",
            )
        ]
    found = []
    for metric, values, what in (
        (Metric.READ_BYTES_PER_S, frame.read_bytes_per_s, "total throughput"),
        (Metric.WRITE_BYTES_PER_S, frame.write_bytes_per_s, "total throughput"),
        (Metric.READ_OPS_PER_S, frame.read_ops_per_s, "total IOPS"),
        (Metric.WRITE_OPS_PER_S, frame.write_ops_per_s, "total IOPS"),
    ):
        if not np.isfinite(values).any():
            name = METRICS[metric].cloudwatch or metric.value
            found.append(
                Missing(name=name, hides=VERDICT, remedy=f"The {what} is the sum of reads and writes. {_REMEDY}")
            )
    return found
