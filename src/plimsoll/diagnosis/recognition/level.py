"""
Levels at which served rates pile up, and the stretches of time spent there.

Theory. At a ceiling the served rate equals the ceiling, however high the demand is. So samples in which
requests waited concentrate at one number, and a level is a peak of the density of log(rate) among
them. Time is the second criterion: a level counts if the rate stayed there for minutes.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import runs_of
from plimsoll.diagnosis.order import median, quantile
from plimsoll.diagnosis.recognition.congestion import HOT_LOG
from plimsoll.model.series import BoolArray, FloatArray, IntArray

# Fewer samples at one number may be chance. Coarse samples need no more than eight minutes, and fine ones
# no less than half a minute, because requests come in bursts.
HELD_MIN_SAMPLES = 8
HELD_MIN_S = (30.0, 480.0)
# At a number that is known to be a ceiling, a shorter stretch counts as well: three samples in which
# requests waited, all within the level's own spread. Two may be neighbours by chance; of three, each
# within half a percent, a workload that varies by three percent makes one in two hundred.
SHORT_SAMPLES = 3
# Holes in a run that may be bridged: so many samples always, twice as many while requests waited.
BRIDGE_SAMPLES = 4
BRIDGE_MAX_S = 240.0
# Half-width of the density's bins in log(rate): finer than the error of any level, coarser than jitter.
BIN_LOG = 0.0025
# Bins to either side of a level: ±0.6 %, the jitter of an enforced limit over a minute. A limit that
# is enforced loosely, or sampled by the second, strays by three times as much.
JITTER_BINS = 2
LOOSE_BINS = 6
BAND_LOG_MIN = 0.005
BAND_LOG_MAX = 0.03
# A minute that was at the ceiling for four fifths, and lightly loaded for one, still averages above this.
PARTLY_LOG = -0.045
# The spread of a level is measured within this distance.
NEAR_LOG = 0.04
# Requests that complete late move bytes from one sample into the next, a quarter of a sample at most.
LATE_LOG = float(np.log(1.25))
LEVELS_MAX = 24
# A tenth above the level, in bins.
CLIFF_BINS = 40
# A level that is enforced falls off within its jitter to nothing much on both sides; a busy hour does not.
LONE_RATIO = 4.0


# Of so many samples the median is known far better than any level is enforced.
MIDDLE_SAMPLES = 4_000


def middle(values: FloatArray) -> float:
    """Return the median of known values; with very many samples, of an evenly spaced selection."""
    return median(values[:: max(1, values.size // MIDDLE_SAMPLES)])


def level_min_s(width_s: FloatArray) -> float:
    """Return the least time at a level for it to count, seconds, by the usual length of the samples."""
    return float(np.clip(HELD_MIN_SAMPLES * middle(width_s), *HELD_MIN_S))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A number at which the served rate stayed, and its stretches of time."""

    value: float
    """bytes/s or ops/s"""
    log_sd: float
    """Robust spread of log(rate) around it during its stretches."""
    band_log: float
    """Half-width of the band that counts as being at the level."""
    runs: IntArray
    """First and one-past-last sample of every stretch at the level, shape (k, 2), k ≥ 1."""

    @property
    def key(self) -> tuple[float, float, float, bytes]:
        """Return all of it in a form that can be compared; levels of one rate with equal keys are the same."""
        return self.value, self.log_sd, self.band_log, self.runs.tobytes()


def levels_of(
    rate: FloatArray,
    waited: BoolArray,
    excess: FloatArray,
    time_s: IntArray,
    width_s: FloatArray,
    *,
    jitter_bins: int = JITTER_BINS,
    short_samples: int = HELD_MIN_SAMPLES,
) -> list[Level]:
    """
    Return candidate levels of one rate, most time first. A candidate is not yet a ceiling.

    Args:
        rate: served bytes/s or ops/s, shape (n,); NaN in gaps.
        waited: whether requests waited in the sample (all True where waiting is not measured).
        excess: log of latency over its reference without waiting, NaN where not measured.
        time_s, width_s: the grid.
        jitter_bins: how far to either side of a level its samples may lie.
        short_samples: samples of a stretch that counts where such stretches together are long enough.
    """
    # Most instances come near no documented number, and half of all searches are for such samples.
    if not waited.any():
        return []
    positive = (rate > 0) & (rate < np.inf)
    usable = waited & positive
    at = np.flatnonzero(usable)
    if not at.size:
        return []
    usable_s = width_s[at]
    least_s = level_min_s(usable_s)
    # All usable samples together are too short for a level, so no number holds enough of them.
    if float(usable_s.sum()) < 0.999 * least_s:
        return []
    peaks = _density_peaks(np.log(rate[at]), usable_s, least_s, jitter_bins)
    if not peaks:
        return []
    log_rate = np.full(rate.size, np.nan)
    log_rate[positive] = np.log(rate[positive])
    found: list[Level] = []
    for peak, _ in peaks:
        # Half of the way to another level belongs to that one.
        apart = [abs(other - peak) / 2 for other, is_lone in peaks if is_lone and other != peak]
        reach = min([NEAR_LOG, *apart])
        level = _level_at(log_rate, peak, reach, usable, excess, time_s, width_s, short_samples)
        if level is not None and not any(abs(np.log(level.value / other.value)) < BAND_LOG_MIN for other in found):
            found.append(level)
    return found


def extended(
    level: Level, rate: FloatArray, eased: BoolArray, excess: FloatArray, time_s: IntArray, width_s: FloatArray
) -> Level:
    """
    Return the same level with all its stretches, also those in which requests waited little.

    Once a level is known to be a ceiling, being within its narrow spread is itself a sign.
    """
    with np.errstate(all="ignore"):
        distance = np.log(rate / level.value)
    # Three and a half spreads hold nearly all samples of the level; half a percent is the jitter of
    # an enforced rate.
    band = float(np.clip(3.5 * level.log_sd, 0.005, level.band_log))
    narrow = eased & (np.abs(distance) < band)
    held = np.zeros(rate.size, dtype=bool)
    for start, end in level.runs:
        held[start:end] = True
    typical = _typical_excess(excess, held & (np.abs(distance) < band))
    slack = _slack(eased, excess, typical, distance, band)
    held &= ~slack
    breaking = _breaking(slack, distance, level.band_log, excess, typical, width_s)
    runs = _joined(held | narrow, narrow | held, breaking, time_s, width_s)
    runs = _with_short(runs, narrow & (excess > HOT_LOG))
    if runs.size == 0:
        return level
    return Level(value=level.value, log_sd=level.log_sd, band_log=level.band_log, runs=runs)


def _with_short(runs: IntArray, hot: BoolArray) -> IntArray:
    """Return the runs, and short separate ones whose samples all waited; in order of time."""
    apart = hot.copy()
    for start, end in runs:
        apart[start:end] = False
    short = runs_of(apart)
    short = short[short[:, 1] - short[:, 0] >= SHORT_SAMPLES]
    every = np.concatenate((runs.reshape(-1, 2), short))
    ordered: IntArray = every[np.argsort(every[:, 0], kind="stable")]
    return ordered


def _density_peaks(
    log_rate: FloatArray, width_s: FloatArray, least_s: float, jitter_bins: int
) -> list[tuple[float, bool]]:
    """
    Return the peaks of the density of log(rate), each with at least `least_s`, the minimum time of a level.

    Each peak comes with a flag: whether there is next to nothing on both sides of it.
    """
    low = float(log_rate.min()) - 10 * BIN_LOG
    index = ((log_rate - low) / BIN_LOG).astype(np.int64)
    seconds = np.bincount(index, weights=width_s, minlength=int(index.max()) + 12)
    peaks: list[tuple[float, bool]] = []
    window = jitter_bins
    forgotten = window + 2
    mass = np.convolve(seconds, np.ones(2 * window + 1), mode="same")
    shoulders = seconds.copy()
    total = np.concatenate(([0.0], np.cumsum(shoulders)))
    every = mass
    for _ in range(LEVELS_MAX):
        top = int(np.argmax(mass))
        if mass[top] < least_s:
            break
        # At a ceiling hardly a waiting minute is above it. If more are above than at the peak, the peak
        # is the shoulder of a busy hour. Samples of other separate levels are not counted as shoulders.
        first, last = top + forgotten + 2, top + 1 + CLIFF_BINS
        above = total[min(last, total.size - 1)] - total[min(first, total.size - 1)]
        if above > mass[top]:
            seconds[max(top - forgotten, 0) : top + forgotten + 1] = 0
            mass = np.convolve(seconds, np.ones(2 * window + 1), mode="same")
            continue
        near = np.abs(index - top) <= window + 1
        centre = middle(log_rate[near]) if near.any() else low + (top + 0.5) * BIN_LOG
        apart = 2 * window + 1
        neighbours = (every[max(top - apart, 0)], every[min(top + apart, every.size - 1)])
        is_lone = bool(every[top] > LONE_RATIO * max(neighbours))
        # A shoulder of a peak holds samples of that peak, so both may have one centre: then they are one.
        if all(abs(centre - other) >= BAND_LOG_MIN for other, _ in peaks):
            peaks.append((centre, is_lone))
        if is_lone:
            shoulders[max(top - forgotten, 0) : top + forgotten + 1] = 0
            total = np.concatenate(([0.0], np.cumsum(shoulders)))
        # Remove its neighbourhood, usually within about ±1 %: that is the same level.
        seconds[max(top - forgotten, 0) : top + forgotten + 1] = 0
        mass = np.convolve(seconds, np.ones(2 * window + 1), mode="same")
    return peaks


def _level_at(
    log_rate: FloatArray,
    centre: float,
    reach: float,
    usable: BoolArray,
    excess: FloatArray,
    time_s: IntArray,
    width_s: FloatArray,
    short_samples: int,
) -> Level | None:
    distance = log_rate - centre
    near = usable & (np.abs(distance) < reach)
    # The centre may lie between two groups of samples: a number at which no sample lies is no level.
    if not near.any():
        return None
    # 1.4826 × the median deviation is the standard deviation of a normal error, and outliers do not
    # move it.
    spread = 1.4826 * middle(np.abs(distance[near]))
    # Just over three standard deviations: nearly all of a normal jitter.
    band = float(np.clip(3.2 * spread, BAND_LOG_MIN, max(min(BAND_LOG_MAX, reach), BAND_LOG_MIN)))
    core = usable & (np.abs(distance) < band)
    # Where another level is near, samples below belong to that one.
    partly = PARTLY_LOG if reach >= NEAR_LOG else -reach
    runs = _runs_at(distance, core, usable, (partly, band), excess, time_s, width_s, short_samples)
    if runs.size == 0:
        return None
    inside = np.zeros(log_rate.size, dtype=bool)
    for start, end in runs:
        # The first and last sample of a stretch are seldom at the ceiling all the time.
        inside[start + 1 : end - 1 if end - start > 3 else end] = True
    inside &= core
    if not inside.any():
        inside = core
    centre = middle(log_rate[inside])
    log_sd = 1.4826 * middle(np.abs(log_rate[inside] - centre))
    return Level(value=float(np.exp(centre)), log_sd=max(log_sd, 1e-5), band_log=band, runs=runs)


def _runs_at(
    distance: FloatArray,
    core: BoolArray,
    usable: BoolArray,
    bounds: tuple[float, float],
    excess: FloatArray,
    time_s: IntArray,
    width_s: FloatArray,
    short_samples: int,
) -> IntArray:
    """Return the stretches at the level: core samples, and those at it in part at and between their edges."""
    partly, band = bounds
    typical = _typical_excess(excess, core)
    # Samples at the ceiling in part are a little below the level, but waited like the others.
    pressed = usable & (np.isnan(excess) | ~(excess < 0.5 * typical))
    at_level = core | (pressed & (distance > partly) & (distance < band))
    slack = _slack(usable, excess, typical, distance, band)
    breaking = _breaking(slack, distance, band, excess, typical, width_s)
    return _joined(at_level, core, breaking, time_s, width_s, short_samples)


def _typical_excess(excess: FloatArray, core: BoolArray) -> float:
    """
    Return the typical log excess at the level: the upper quartile, NaN where it was not measured.

    With an empty balance, samples without waiting are among them, so the median would be too low.
    """
    known = excess[core & np.isfinite(excess)]
    if not known.size:
        return float("nan")
    return quantile(known[:: max(1, known.size // MIDDLE_SAMPLES)], 0.75)


def _slack(usable: BoolArray, excess: FloatArray, typical: float, distance: FloatArray, band: float) -> BoolArray:
    """Return samples that end a stretch: without waiting, or with low latency and off the level."""
    quick = (excess < 0.5 * typical) & (np.abs(distance) >= band)
    return (~usable & np.isfinite(distance)) | quick


def _joined(
    at_level: BoolArray,
    core: BoolArray,
    breaking: BoolArray,
    time_s: IntArray,
    width_s: FloatArray,
    short_samples: int = HELD_MIN_SAMPLES,
) -> IntArray:
    """Return the runs of `at_level` with short holes bridged that nothing breaks, if they are long enough."""
    runs = runs_of(at_level)
    if runs.size == 0:
        return runs
    ends_s = time_s[runs[:, 1] - 1] + width_s[runs[:, 1] - 1]
    gap_s = time_s[runs[1:, 0]] - ends_s[:-1]
    broken = np.concatenate(([0], np.cumsum(breaking)))
    clean = broken[runs[1:, 0]] == broken[runs[:-1, 1]]
    one_sample = runs[1:, 0] - runs[:-1, 1] <= 1
    bridge_s = min(BRIDGE_SAMPLES * middle(width_s), BRIDGE_MAX_S)
    join = (gap_s <= 2 * bridge_s) & clean | (gap_s <= bridge_s) & one_sample
    first = np.concatenate(([True], ~join))
    last = np.concatenate((~join, [True]))
    joined = np.column_stack((runs[first, 0], runs[last, 1]))
    seconds = np.concatenate(([0.0], np.cumsum(np.where(core, width_s, 0.0))))
    core_s = seconds[joined[:, 1]] - seconds[joined[:, 0]]
    span_s = time_s[joined[:, 1] - 1] + width_s[joined[:, 1] - 1] - time_s[joined[:, 0]]
    # At least half of a stretch at the level itself, or bridged holes would make most of it.
    held: IntArray = joined[_is_long(core_s, width_s, short_samples) & (core_s >= 0.5 * span_s)]
    return held


def _breaking(
    slack: BoolArray, distance: FloatArray, band: float, excess: FloatArray, typical: float, width_s: FloatArray
) -> BoolArray:
    """Return samples that end a stretch, shape (n,): those without waiting, and those clearly above the level."""
    # Nothing is served above a ceiling, but bytes of late requests may be counted there.
    breaking = slack | (np.isfinite(distance) & (distance > 2 * band))
    return breaking & ~_late(distance, excess >= 0.5 * typical, width_s)


def _late(distance: FloatArray, pressed: BoolArray, width_s: FloatArray) -> BoolArray:
    """
    Return samples of which one has bytes of the other: the first below the level, the next above, shape (n,).

    A sample counts requests when they complete. Where some complete late, one sample is as far below a
    ceiling as the next is above it. Bytes are conserved, so their mean is at the ceiling. Requests wait in
    both; without waiting in the first, credits that it left are spent in the second.

    Args:
        distance: log of the rate over the level, shape (n,); NaN in gaps.
        pressed: samples in which requests waited as they do at the level.
        width_s: the length of each sample.
    """
    late = np.zeros(distance.size, dtype=bool)
    below = pressed & (distance < 0) & (distance > -LATE_LOG)
    above = pressed & (distance > 0) & (distance < LATE_LOG)
    first = np.flatnonzero(below[:-1] & above[1:])
    second = first + 1
    bytes_ratio = np.exp(distance[first]) * width_s[first]
    bytes_ratio += np.exp(distance[second]) * width_s[second]
    together = np.log(bytes_ratio / (width_s[first] + width_s[second]))
    is_pair = np.abs(together) < BAND_LOG_MIN
    late[first[is_pair]] = late[second[is_pair]] = True
    return late


def _is_long(core_s: FloatArray, width_s: FloatArray, short_samples: int) -> BoolArray:
    """
    Return which stretches are long enough, by themselves or because they recur.

    Stretches at a known number are enough if together they last the least time, other short ones if they
    last twice as long.
    """
    least_s = level_min_s(width_s)
    short = core_s >= min(short_samples * middle(width_s), least_s)
    times = 1 if short_samples < HELD_MIN_SAMPLES else 2
    if core_s[short].sum() >= times * least_s:
        return short
    return core_s >= least_s
