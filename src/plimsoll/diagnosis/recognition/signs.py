"""
The signs of one level that distinguish a ceiling from a steady workload.

Their weights are in score.py, and their sentences in sign_words.py.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.recognition.binding import EMPTY_RATIO, BalanceView, Match
from plimsoll.diagnosis.recognition.congestion import HOT_LOG, INELASTIC, Congestion
from plimsoll.diagnosis.recognition.credits import SILENT, CreditAccount
from plimsoll.diagnosis.recognition.era import of_same_size
from plimsoll.diagnosis.recognition.level import HELD_MIN_SAMPLES, Level, middle
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray

# An enforced rate itself varies by 0.6 % (USUAL_LOG_SD in score.py), which is INELASTIC of this. Waiting
# that varies less can show that a rate is constant, but not that it varies with the waiting.
WAITING_LOG_SD = 0.1


# Rates a little below a level, to compare its latency with: further away than minutes that were at it in
# part, within a tenth if there are enough samples, else within a quarter; and within an hour of it, because
# at another time the work may be different.
STEP_OFF_LOG = 0.015
STEP_BELOW_LOG = (-0.1, -0.3)
STEP_SAMPLES = 10
STEP_WITHIN_S = 3600.0

# An enforced rate jitters by up to .6 % over a minute (level.py); no workload is as steady by itself.
ENFORCED_JITTER_LOG = 0.006


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """Measurements of one level; ratios and logs, NaN where not measured."""

    minutes: float
    """Time at the level."""
    samples: int
    """Samples at the level."""
    run_count: int
    log_sd: float
    """Robust spread of log(rate) at the level."""
    log_sd_elsewhere: float
    """Short-term spread of log(rate) away from it."""
    log_excess: float
    """Median log of latency over its reference without waiting."""
    least_log_excess: float
    """The least such log of a sample in the band at the level; NaN where one was not measured."""
    waited_share: float
    """Share of the samples in the narrow band around the level that waited."""
    free_above_ratio: float
    """Time served above it without waiting and without credits, relative to the time at it."""
    above_ratio: float
    """Time served above it, waiting or not, relative to the time at it."""
    entered_from_above: float
    """Share of its stretches that began just after a higher rate, as when credits run out."""
    left_upwards: float
    """Share of its stretches that were followed by a higher rate, without a pause to save credits."""
    pressed_above_ratio: float
    """Time a little above it (to a tenth) while requests waited, relative to the time at it."""
    pressed_below_ratio: float
    """Time a little below it (to a tenth) while requests waited, relative to the time at it."""
    is_reference_seen: bool
    """Whether the window shows the storage unpressed."""
    elasticity: float
    """Spread of log(rate) ÷ spread of log(waiting) at the level; NaN when waiting hardly varied."""
    cpu_ratio: float
    """Median CPU at the level."""
    step_log: float = float("nan")
    """Log of waiting at the level relative to rates a little below it in the same hours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Measurements of the requests during one stretch at a level; None where not measured."""

    latency_s: float | None = None
    reference_s: float | None = None
    """Latency of the same requests when nothing waits."""
    queue_depth: float | None = None
    io_size_bytes: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelCase:
    """All evidence for or against one level being a ceiling."""

    level: float
    """bytes/s or ops/s"""
    dimension: Dimension
    signs: Signs
    matches: tuple[Match, ...]
    """Explanations of the level, most probable first."""
    balances: dict[Metric, BalanceView]
    """Each balance metric during the level's stretches; absent where not measured."""
    refuted: tuple[tuple[Ceiling, str], ...] = ()
    """Documented numbers near the level that the credits exclude, each with the reason."""
    credits: CreditAccount = SILENT
    """The result of the arithmetic of credits for the best explanation."""
    has_catalog: bool
    """Whether any number of the instance is documented for this dimension."""
    stretch: Stretch = Stretch()
    """The interval that the sentences describe."""

    @property
    def best(self) -> Match:
        """Return the most probable explanation."""
        return self.matches[0]

    @property
    def documented(self) -> float:
        """Return the probability 0–1 that the level is a documented number."""
        return 1 - sum(m.probability for m in self.matches if m.ceiling is None)

    @property
    def is_numbered(self) -> bool:
        """Return whether a documented number is its likelier explanation."""
        return self.documented > 0.5

    @property
    def is_few(self) -> bool:
        """
        Return whether the level has so few samples that they may be there by chance.

        Among the four thousand five-minute samples of a fortnight, some three neighbours lie at one
        of a dozen documented numbers by chance. It is not by chance that all of them waited.
        """
        return self.signs.samples < HELD_MIN_SAMPLES


def signs_of(
    level: Level,
    rate: FloatArray,
    inside: BoolArray,
    frame: Frame,
    congestion: Congestion,
    best: Match,
    *,
    era: BoolArray | None = None,
) -> Signs:
    """
    Return the signs of one level.

    Args:
        level: the level and its stretches.
        rate: served bytes/s or ops/s, shape (n,).
        inside: samples of those stretches, shape (n,).
        frame: everything measured.
        congestion: waiting per sample.
        best: the most probable explanation; decides what may be served above the level on credits.
        era: samples of the time in which the level may have been the limit (era.py), shape (n,);
            None for all. Higher rates at another time are no evidence against it.
    """
    excess = congestion.log_excess
    with np.errstate(all="ignore"):
        distance = np.log(rate / level.value)
    narrow = np.abs(distance) < max(level.band_log / 2, 2 * level.log_sd)
    width_s = frame.width_s
    at_s = float(width_s[inside & np.isfinite(rate)].sum())
    known = congestion.is_measured & np.isfinite(excess)
    in_band_s = float(width_s[narrow & known].sum())
    waited_s = float(width_s[narrow & known & (excess > HOT_LOG / 2)].sum())
    # Clear of the level's own spread, so that its jitter is not counted as exceeding it.
    free = np.isfinite(distance) & (distance > max(0.02, 2 * level.band_log))
    if congestion.is_measured:
        free &= excess <= HOT_LOG
    free &= ~_had_credits(frame, best)
    entered, left = _edges(level, distance)
    if era is None:
        era = np.ones(rate.size, dtype=bool)
    # From clear of the level's own jitter to a tenth away.
    off = max(0.012, 1.5 * level.band_log)
    pressed_near = (np.abs(distance) > off) & (np.abs(distance) < 0.1)
    if congestion.is_measured:
        pressed_near &= excess > HOT_LOG
    pressed = excess[inside & np.isfinite(excess)]
    core = excess[inside & (np.abs(distance) < level.band_log)]
    cpu = frame.cpu_ratio[inside & np.isfinite(frame.cpu_ratio)]
    return Signs(
        minutes=at_s / 60,
        samples=int((inside & np.isfinite(rate)).sum()),
        run_count=int(level.runs.shape[0]),
        log_sd=level.log_sd,
        log_sd_elsewhere=_short_term_spread(rate, ~inside),
        log_excess=middle(pressed) if pressed.size else float("nan"),
        least_log_excess=float(core.min()) if core.size else float("nan"),
        waited_share=waited_s / in_band_s if in_band_s > 0 else float("nan"),
        free_above_ratio=float(width_s[free & era].sum()) / max(at_s, 1.0),
        above_ratio=float(width_s[era & (distance > max(0.03, 2 * level.band_log))].sum()) / max(at_s, 1.0),
        entered_from_above=entered,
        left_upwards=left,
        pressed_above_ratio=float(width_s[pressed_near & era & (distance > 0)].sum()) / max(at_s, 1.0),
        pressed_below_ratio=float(width_s[pressed_near & (distance < 0)].sum()) / max(at_s, 1.0),
        is_reference_seen=congestion.is_reference_seen,
        elasticity=_elasticity(distance, excess, inside, level),
        cpu_ratio=middle(cpu) if cpu.size else float("nan"),
        step_log=step_of(level, rate, inside, frame, congestion),
    )


def step_of(level: Level, rate: FloatArray, inside: BoolArray, frame: Frame, congestion: Congestion) -> float:
    """
    Return log(waiting at the level ÷ waiting at rates a little below it, within the same hours).

    The work, the storage and nearly the load are the same, so requests that take longer at the level
    wait because of the level.
    """
    excess = congestion.log_excess
    with np.errstate(all="ignore"):
        distance = np.log(rate / level.value)
    reach = max(1, round(STEP_WITHIN_S / middle(frame.width_s)))
    known = np.isfinite(excess) & _within_reach(inside, reach)
    # All samples at the level, not only its stretches: those were selected by their waiting.
    at = known & (np.abs(distance) < level.band_log)
    below = known & ~inside & (distance < -max(STEP_OFF_LOG, 1.5 * level.band_log))
    below &= of_same_size(frame, inside)
    for least in STEP_BELOW_LOG:
        compared = below & (distance > least)
        if compared.sum() >= STEP_SAMPLES:
            return middle(excess[at]) - middle(excess[compared]) if at.any() else float("nan")
    return float("nan")


def _within_reach(inside: BoolArray, reach: int) -> BoolArray:
    """Return samples that are no further than `reach` from one inside."""
    count = np.concatenate(([0], np.cumsum(inside)))
    index = np.arange(inside.size)
    first, last = np.maximum(index - reach, 0), np.minimum(index + reach + 1, inside.size)
    near: BoolArray = count[last] > count[first]
    return near


def _edges(level: Level, distance: FloatArray) -> tuple[float, float]:
    """Return the shares of the stretches that began from above and that ended upwards."""
    above = np.isfinite(distance) & (distance > max(0.03, 2 * level.band_log))
    count = np.concatenate(([0], np.cumsum(above)))
    starts, ends = level.runs[:, 0], level.runs[:, 1]
    # Three samples either side: balances lag, and the sample of the turn is half of each.
    before = count[starts] - count[np.maximum(starts - 3, 0)]
    after = count[np.minimum(ends + 3, distance.size)] - count[ends]
    # A stretch that follows another after a short dip is the same visit: no credits were earned.
    again = np.concatenate(([False], starts[1:] - ends[:-1] < (ends - starts)[:-1] / 2))
    first = ~again
    return float(np.mean(before[first] > 0)), float(np.mean(after > 1))


def _had_credits(frame: Frame, best: Match) -> BoolArray:
    """Return samples in which a higher rate than the level was possible because credits were left."""
    row = best.ceiling
    if row is not None and row.bucket_phase in (Phase.BASELINE, Phase.FIXED):
        metric = row.balance_metric
        if metric is None:
            return np.zeros(frame.size, dtype=bool)
        values = frame.balances.get(metric)
        # A documented baseline may be exceeded on credits; without the balance that is assumed.
        return np.ones(frame.size, dtype=bool) if values is None else ~(values <= EMPTY_RATIO)
    # An unknown limit may be a baseline too: then some balance is above zero while it is exceeded
    # and at zero while it binds.
    had = np.zeros(frame.size, dtype=bool)
    for values in frame.balances.values():
        had |= values > EMPTY_RATIO
    return had & _empties(frame)


def _empties(frame: Frame) -> bool:
    return any(bool(np.nanmin(v) <= EMPTY_RATIO) for v in frame.balances.values() if np.isfinite(v).any())


def _short_term_spread(rate: FloatArray, elsewhere: BoolArray) -> float:
    """Return the robust spread of log(rate) between neighbouring samples, away from the level."""
    # Only known samples are selected from: a gap at every second place would hide all of them.
    usable = elsewhere & np.isfinite(rate) & (rate > 0)
    both = np.flatnonzero(usable[1:] & usable[:-1])
    # The median of five thousand pairs is precise enough.
    both = both[:: max(1, both.size // 5_000)]
    with np.errstate(all="ignore"):
        steps = np.log(rate[both + 1] / rate[both])
    steps = steps[np.isfinite(steps)]
    # Judgement: fewer pairs show no spread.
    if steps.size < 20:
        return float("nan")
    # A step is the difference of two samples, so its spread is √2 times that of one.
    spread = float(1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2))
    # A rate that is constant elsewhere is at another ceiling and does not show the workload's own noise.
    return spread if spread >= ENFORCED_JITTER_LOG else float("nan")


def _elasticity(distance: FloatArray, excess: FloatArray, inside: BoolArray, level: Level) -> float:
    held = inside & np.isfinite(excess) & (np.abs(distance) < level.band_log)
    # As few as a level needs (HELD_MIN_SAMPLES).
    if held.sum() < 8:
        return float("nan")
    spread = 1.4826 * middle(np.abs(excess[held] - middle(excess[held])))
    # Waiting that varies by less than 5 % is no test: no response of the rate would be visible.
    if spread <= 0.05:
        return float("nan")
    ratio = level.log_sd / spread
    return ratio if spread > WAITING_LOG_SD or ratio < INELASTIC else float("nan")
