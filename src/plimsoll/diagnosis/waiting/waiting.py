"""
Waiting that no ceiling explains: latency was high, and the served rates were at no known limit.

Rule 1: a stretch is reported if latency was much higher than on the same storage without waiting, for
        minutes, with at least one waiting request at every moment. Idle hours and single spikes do
        not count; spikes that recur are one stretch.
Rule 2: time that a ceiling explains is left out: its intervals, their edges, and samples at their levels.
Rule 3: a window that never shows this storage without waiting is compared with its own fastest tenth.
        Requests may have waited there too, so the reported waiting is a lower bound.
Rule 4: if even that is slower than any SSD, or all of the window may be at a ceiling, there is no
        reference and no result here; missing.py reports that the verdict is open.
"""

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of
from plimsoll.diagnosis.recognition.congestion import Congestion
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import Interval
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.model.waiting import CeilingShare, UnexplainedWaiting

# Without any limit, latency varies by a factor of two with mix, size and load; a request that takes
# three times as long has spent most of its time waiting.
TIMES_MIN = 3.0
# EBS SSD volumes are documented to answer in single-digit milliseconds (EBS user guide): 5 ms above
# the reference is half of that range, and a query that makes a hundred reads notices half a second.
EXTRA_MIN_S = 5e-3
# By Little's law, rate × extra latency is the mean number of requests that wait. Below one, storage is
# nearly idle, and a few slow requests (a log switch, a cold block) make the mean.
WAITING_REQUESTS_MIN = 1.0
# A checkpoint or a vacuum may load storage for a minute or two, and databases are built for that.
SUSTAINED_S = 300.0
# One long sample may hold one short spike.
SUSTAINED_SAMPLES = 3
# Pauses in one episode of waiting; work that comes in batches leaves minutes free between them.
PAUSE_MAX_S = 300.0
# An episode waits for at least half its time; less is a row of spikes.
DENSE_SHARE = 0.5
# A job every few minutes is a spike each time. So many of them, and half an hour of waiting in all, are no accident.
RECURRENT_SPIKES = 5
RECURRENT_S = 1800.0
RECURRENT_SHARE = 0.01
# Latency within twice the reference is the reference's own jitter. A tenth of the window like that, and
# the reference was measured, whatever the load did.
FREE_TIMES = 2.0
FREE_SHARE = 0.1
# Backlog drains, and a rate hovers, around an interval at a ceiling.
EDGE_S = 300.0
# Samples within this range of a level found elsewhere in the window are at the same ceiling: a mean
# over a minute lies a little below it when the minute began or ended free.
AT_LEVEL = (0.9, 1.05)


def waiting_of(
    frame: Frame,
    congestion: Congestion,
    intervals: tuple[Interval, ...],
    ceilings: tuple[Ceiling, ...],
    doubtful: tuple[Interval, ...] = (),
) -> tuple[UnexplainedWaiting, ...]:
    """
    Return the stretches in which requests waited and no ceiling bound, in order of time.

    Args:
        frame: what was measured, in one epoch of limits.
        congestion: latency of its samples and what it would be unpressed.
        intervals: time at a ceiling.
        ceilings: what is documented for that epoch, to compare the rates with.
        doubtful: time at levels that may be no ceilings: its requests waited, by whatever number of milliseconds.
    """
    waits = waits_of(frame, congestion) | samples_in(doubtful, frame)
    if not waits.any() or not is_reference_known(congestion):
        return ()
    waits &= ~_explained(frame, intervals)
    return tuple(_stretch(frame, congestion, waits, int(a), int(b), ceilings) for a, b in _episodes(waits, frame))


def reference_of(congestion: Congestion) -> FloatArray:
    """
    Return the reference latency of each sample: that without waiting, or that of the fastest tenth.

    The window's own reference wins over the general one: storage that usually takes 2.4 ms, and 9.6 ms
    for hours, was four times slower, whatever other storage takes.
    """
    own = congestion.quickest_s
    return np.where(np.isfinite(own), np.fmax(own, congestion.reference_s), congestion.reference_s)


def is_reference_known(congestion: Congestion) -> bool:
    """Return whether the window shows the latency of storage without waiting."""
    if not congestion.is_measured or congestion.is_reference_seen:
        return congestion.is_measured
    # Load that never falls has no light hours, but most of its requests may still not wait.
    reference_s = reference_of(congestion)
    known = np.isfinite(congestion.latency_s) & np.isfinite(reference_s)
    with np.errstate(all="ignore"):
        free = known & (congestion.latency_s <= FREE_TIMES * reference_s)
    return bool(free.sum() >= FREE_SHARE * max(known.sum(), 1))


def waits_of(frame: Frame, congestion: Congestion, *, extra_min_s: float = EXTRA_MIN_S) -> BoolArray:
    """
    Return for each sample whether its requests waited; False where that is not known.

    Args:
        frame, congestion: what was measured.
        extra_min_s: least latency above the reference.
    """
    reference_s = reference_of(congestion)
    with np.errstate(all="ignore"):
        extra_s = congestion.latency_s - reference_s
        found: BoolArray = (extra_s >= extra_min_s) & (congestion.latency_s >= TIMES_MIN * reference_s)
        if not found.any():
            return found
        # Latency and queue depth together: one of them alone may be a fault of its metric.
        excess = congestion.log_excess - np.log(reference_s / congestion.reference_s)
        is_agreed = excess >= np.log(TIMES_MIN)
        # Little's law: rate × extra latency is the mean number of waiting requests.
        is_many = frame.ops_per_s * extra_s >= WAITING_REQUESTS_MIN
        found &= is_agreed & is_many
    return found


def samples_in(intervals: tuple[Interval, ...], frame: Frame) -> BoolArray:
    """Return which samples begin in one of the intervals, shape (n,)."""
    found = np.zeros(frame.size, dtype=bool)
    for one in intervals:
        found |= (frame.time_s >= one.start_s) & (frame.time_s < one.end_s)
    return found


def _explained(frame: Frame, intervals: tuple[Interval, ...]) -> BoolArray:
    """Return which samples are at a ceiling, or just before or after it."""
    found = np.zeros(frame.size, dtype=bool)
    # With coarse samples, at least the two beside the interval.
    near_s = np.array([max(EDGE_S, 2.0 * interval.step_s) for interval in intervals])
    starts_s = np.array([interval.start_s for interval in intervals]) - near_s
    ends_s = np.array([interval.end_s for interval in intervals]) + near_s
    # Samples do not overlap, so their ends are in order as well. All intervals are looked up at once, because
    # each look-up of a fraction of a second would turn all times into fractions.
    firsts = np.searchsorted(frame.time_s + frame.width_s, starts_s, side="right")
    lasts = np.searchsorted(frame.time_s, ends_s, side="left")
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        found[first:last] = True
    # Many intervals are at one level.
    for dimension, level in {(interval.dimension, interval.level) for interval in intervals}:
        rate = frame.bytes_per_s if dimension == Dimension.THROUGHPUT else frame.ops_per_s
        with np.errstate(all="ignore"):
            share = rate / level
            found |= (share >= AT_LEVEL[0]) & (share <= AT_LEVEL[1])
    return found


def _episodes(waits: BoolArray, frame: Frame) -> list[tuple[int, int]]:
    """Return the first and one-past-last sample of every episode that is long and dense enough."""
    joined: list[list[int]] = []
    for a, b in runs_of(waits).tolist():
        if joined:
            pause_s = frame.time_s[a] - frame.time_s[joined[-1][1] - 1]
            pause_s -= frame.width_s[joined[-1][1] - 1]
            if pause_s <= PAUSE_MAX_S:
                joined[-1][1] = b
                continue
        joined.append([a, b])
    sustained = [(a, b) for a, b in joined if _is_sustained(waits, frame, a, b)]
    # Spikes are counted one by one: with short pauses between them a whole window is one sparse episode.
    spikes = [(a, b) for a, b in runs_of(waits).tolist() if not any(x <= a and b <= y for x, y in sustained)]
    return sorted(sustained + _recurrent(waits, frame, spikes))


def _recurrent(waits: BoolArray, frame: Frame, spikes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the span of spikes that are short one by one and come so often that they make up a part of the window."""
    waiting_s = sum(float(frame.width_s[a:b][waits[a:b]].sum()) for a, b in spikes)
    is_part = waiting_s >= max(RECURRENT_S, RECURRENT_SHARE * float(frame.width_s.sum()))
    if len(spikes) < RECURRENT_SPIKES or not is_part:
        return []
    return [(spikes[0][0], spikes[-1][1])]


def _is_sustained(waits: BoolArray, frame: Frame, start: int, end: int) -> bool:
    inside = waits[start:end]
    width_s = frame.width_s[start:end]
    waiting_s = float(width_s[inside].sum())
    is_dense = waiting_s >= DENSE_SHARE * float(width_s.sum())
    return is_dense and waiting_s >= SUSTAINED_S and int(inside.sum()) >= SUSTAINED_SAMPLES


def _stretch(
    frame: Frame, congestion: Congestion, waits: BoolArray, start: int, end: int, ceilings: tuple[Ceiling, ...]
) -> UnexplainedWaiting:
    at = start + np.flatnonzero(waits[start:end])
    latency_s, reference_s = congestion.latency_s[at], reference_of(congestion)[at]
    bytes_per_s, ops_per_s = known_median(frame.bytes_per_s[at]), known_median(frame.ops_per_s[at])
    is_sized = bytes_per_s is not None and ops_per_s is not None and ops_per_s > 0
    return UnexplainedWaiting(
        start_s=int(frame.time_s[start]),
        end_s=int(frame.time_s[end - 1] + frame.width_s[end - 1]),
        waiting_s=float(frame.width_s[at].sum()),
        times=float(np.median(latency_s / reference_s)),
        latency_s=float(np.median(latency_s)),
        latency_reference_s=float(np.median(reference_s)),
        queue_depth=known_median(frame.queue_depth[at]),
        bytes_per_s=bytes_per_s,
        ops_per_s=ops_per_s,
        io_size_bytes=bytes_per_s / ops_per_s if is_sized else None,  # type: ignore[operator]
        shares=shares_of(bytes_per_s, ops_per_s, ceilings),
    )


def shares_of(
    bytes_per_s: float | None, ops_per_s: float | None, ceilings: tuple[Ceiling, ...]
) -> tuple[CeilingShare, ...]:
    """Return the rates as shares of every present ceiling of a rate, the largest share first."""
    found = []
    for ceiling in ceilings:
        rate = bytes_per_s if ceiling.dimension == Dimension.THROUGHPUT else ops_per_s
        is_rate = ceiling.family in RATE_FAMILIES and ceiling.phase is not Phase.LEGACY
        if is_rate and rate is not None and ceiling.value > 0:
            found.append(
                CeilingShare(
                    family=ceiling.family, phase=ceiling.phase, value=ceiling.value, ratio=rate / ceiling.value
                )
            )
    return tuple(sorted(found, key=lambda s: (-s.ratio, s.family, s.phase)))


def known_median(values: FloatArray) -> float | None:
    """Return the median of the values that are known; None without any."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else None
