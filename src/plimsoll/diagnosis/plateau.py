"""
Whether a level is a ceiling: the signs, what each is worth, and the sum.

Theory. Seven things hold behind a ceiling and are seldom all true elsewhere:
  waiting      requests wait (the necessary sign; steady demand alone does not make a queue);
  flatness     the served rate varies less than the workload's own noise;
  inelastic    waiting varies while the rate does not (a fault under closed-loop clients moves both);
  cliff        nothing is served above it without credits, and the level is never met without waiting;
  credits      a baseline binds with an empty balance, a burst while one falls;
  number       the level is one that AWS documents, now or formerly;
  persistence  it is held long, or again and again.
Each sign adds a log-likelihood ratio. The weights are judgements of how strong each sign is on
physical grounds, not a fit; what each can add or take is bounded, so that no single one decides.
"""

from dataclasses import dataclass, replace

import numpy as np

from plimsoll.diagnosis.binding import (
    EMPTY_RATIO,
    BalanceView,
    Match,
    balance_view,
    matches_of,
    near_documented,
)
from plimsoll.diagnosis.congestion import HOT_LOG, Congestion
from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.level import HELD_MIN_S, Level, extended, levels_of
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray

ACCEPT = 0.5
# The enforced level itself wanders by a third of a percent or so: no error bar is narrower.
LEVEL_LOG_FLOOR = 0.0015
CPU_BOUND_RATIO = 0.93
# What steadiness of any kind can add at most.
STEADY_MAX = 4.0
# Partly pegged samples lie up to a few percent below their level.
SHADOW_LOG = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What was observed of one level; ratios and logs, NaN where it could not be measured."""

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
    """Median log of waiting relative to unpressed."""
    waited_share: float
    """Share of the samples in the narrow band around the level that waited."""
    free_above_ratio: float
    """Time served above it without waiting and without credits, relative to the time at it."""
    above_ratio: float
    """Time served above it, waiting or not, relative to the time at it."""
    entered_from_above: float
    """Share of its stretches that began where more had just been served, as when credits run out."""
    left_upwards: float
    """Share of its stretches after which more was served at once, without a pause to save credits."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """A level judged: how probable it is a ceiling, and which."""

    dimension: Dimension
    level: float
    level_log_se: float
    runs: IntArray
    """Stretches held, first and one-past-last sample, shape (k, 2)."""
    signs: Signs
    balances: dict[Metric, BalanceView]
    matches: tuple[Match, ...]
    """Explanations of the level, most probable first."""
    score: float
    """Sum of log-likelihood ratios."""

    @property
    def probability(self) -> float:
        """0–1 that a ceiling bound here."""
        return float(1 / (1 + np.exp(-np.clip(self.score, -30, 30))))

    @property
    def documented(self) -> float:
        """0–1 that the level is a documented number."""
        return 1 - sum(m.probability for m in self.matches if m.ceiling is None)

    @property
    def best(self) -> Match:
        """The most probable explanation."""
        return self.matches[0]


def plateaus_of(
    frame: Frame, congestion: Congestion, ceilings: tuple[Ceiling, ...]
) -> list[Plateau]:
    """
    The levels that are ceilings, without overlaps, the most probable first.

    Args:
        frame: what was measured.
        congestion: waiting per sample.
        ceilings: documented ceilings of the instance; empty works too, every limit is then unknown.
    """
    judged = []
    pressed, eased = _pressed(frame, congestion)
    unslack = eased | (congestion.log_excess_smooth > 0.1 * HOT_LOG)
    for dimension, rate in (
        (Dimension.THROUGHPUT, frame.bytes_per_s),
        (Dimension.IOPS, frame.ops_per_s),
    ):
        numbered = eased & near_documented(rate, dimension, ceilings)
        for waited in (pressed, numbered):
            levels = levels_of(rate, waited, congestion.log_excess, frame.time_s, frame.width_s)
            for level in levels:
                plateau = judge(level, dimension, rate, frame, congestion, ceilings)
                if plateau.probability >= ACCEPT:
                    # At a documented number, to be within its narrow spread is nearly sign enough.
                    fill = unslack if plateau.documented > 0.5 else eased
                    wider = extended(level, rate, fill, frame.time_s, frame.width_s)
                    again = judge(wider, dimension, rate, frame, congestion, ceilings)
                    judged.append(again if again.probability >= ACCEPT else plateau)
    judged.sort(key=lambda p: (-p.score, p.level))
    return _without_overlap(judged, frame)


def _pressed(frame: Frame, congestion: Congestion) -> tuple[BoolArray, BoolArray]:
    """
    Samples that may lie at a ceiling: to find levels, and more leniently to fill known ones.

    Requests waited, or some balance was empty; all samples where neither latency nor queue is known.
    """
    if not congestion.is_measured:
        every = np.ones(frame.size, dtype=bool)
        return every, every
    empty = np.zeros(frame.size, dtype=bool)
    for values in frame.balances.values():
        empty |= values <= EMPTY_RATIO
    strict = (congestion.log_excess > HOT_LOG) | (congestion.log_excess_smooth > HOT_LOG) | empty
    lenient = strict | (congestion.log_excess_smooth > 0.3 * HOT_LOG)
    return strict, lenient


def judge(
    level: Level,
    dimension: Dimension,
    rate: FloatArray,
    frame: Frame,
    congestion: Congestion,
    ceilings: tuple[Ceiling, ...],
) -> Plateau:
    """All signs of one level, its explanations and its score."""
    inside = np.zeros(frame.size, dtype=bool)
    for start, end in level.runs:
        inside[start:end] = True
    balances = {}
    for metric, values in frame.balances.items():
        view = balance_view(values, frame.time_s, [(int(a), int(b)) for a, b in level.runs])
        if view is not None:
            balances[metric] = view
    log_se = _level_log_se(level, rate, inside)
    matches = matches_of(
        level.value, level_log_se=log_se, dimension=dimension, ceilings=ceilings, balances=balances
    )
    signs = _signs(level, rate, inside, frame, congestion, matches[0])
    return Plateau(
        dimension=dimension,
        level=level.value,
        level_log_se=log_se,
        runs=level.runs,
        signs=signs,
        balances=balances,
        matches=matches,
        score=score_of(signs, matches, balances, dimension, has_catalog=bool(ceilings)),
    )


def _level_log_se(level: Level, rate: FloatArray, inside: BoolArray) -> float:
    """Standard error of the median, with neighbouring samples counted as related."""
    values = np.log(rate[inside & (rate > 0)])
    values = values[np.abs(values - np.log(level.value)) < level.band_log]
    if values.size < 3:
        return level.band_log / 2
    centred = values - np.median(values)
    power = float(np.mean(centred**2))
    related = float(np.mean(centred[1:] * centred[:-1]) / power) if power > 0 else 0.0
    related = float(np.clip(related, 0.0, 0.9))
    effective = max(values.size * (1 - related) / (1 + related), 2.0)
    return float(np.hypot(1.253 * level.log_sd / np.sqrt(effective), LEVEL_LOG_FLOOR))


def _signs(
    level: Level,
    rate: FloatArray,
    inside: BoolArray,
    frame: Frame,
    congestion: Congestion,
    best: Match,
) -> Signs:
    excess = congestion.log_excess
    with np.errstate(invalid="ignore", divide="ignore"):
        distance = np.log(rate / level.value)
    narrow = np.abs(distance) < max(level.band_log / 2, 2 * level.log_sd)
    width_s = frame.width_s
    at_s = float(width_s[inside & np.isfinite(rate)].sum())
    known = congestion.is_measured & np.isfinite(excess)
    in_band_s = float(width_s[narrow & known].sum())
    waited_s = float(width_s[narrow & known & (excess > HOT_LOG / 2)].sum())
    free = np.isfinite(distance) & (distance > max(0.02, 2 * level.band_log))
    if congestion.is_measured:
        free &= excess <= HOT_LOG
    free &= ~_had_credits(frame, best)
    entered, left = _edges(level, distance)
    off = max(0.012, 1.5 * level.band_log)
    pressed_near = (np.abs(distance) > off) & (np.abs(distance) < 0.1)
    if congestion.is_measured:
        pressed_near &= excess > HOT_LOG
    pressed = excess[inside & np.isfinite(excess)]
    cpu = frame.cpu_ratio[inside & np.isfinite(frame.cpu_ratio)]
    return Signs(
        minutes=at_s / 60,
        samples=int((inside & np.isfinite(rate)).sum()),
        run_count=int(level.runs.shape[0]),
        log_sd=level.log_sd,
        log_sd_elsewhere=_short_term_spread(rate, ~inside),
        log_excess=float(np.median(pressed)) if pressed.size else float("nan"),
        waited_share=waited_s / in_band_s if in_band_s > 0 else float("nan"),
        free_above_ratio=float(width_s[free].sum()) / max(at_s, 1.0),
        above_ratio=float(width_s[distance > max(0.03, 2 * level.band_log)].sum()) / max(at_s, 1.0),
        entered_from_above=entered,
        left_upwards=left,
        pressed_above_ratio=float(width_s[pressed_near & (distance > 0)].sum()) / max(at_s, 1.0),
        pressed_below_ratio=float(width_s[pressed_near & (distance < 0)].sum()) / max(at_s, 1.0),
        is_reference_seen=congestion.is_reference_seen,
        elasticity=_elasticity(distance, excess, inside, level),
        cpu_ratio=float(np.median(cpu)) if cpu.size else float("nan"),
    )


def _edges(level: Level, distance: FloatArray) -> tuple[float, float]:
    """Shares of the stretches that began from above and that ended upwards."""
    above = np.isfinite(distance) & (distance > max(0.03, 2 * level.band_log))
    count = np.concatenate(([0], np.cumsum(above)))
    starts, ends = level.runs[:, 0], level.runs[:, 1]
    before = count[starts] - count[np.maximum(starts - 3, 0)]
    after = count[np.minimum(ends + 3, distance.size)] - count[ends]
    # A stretch that follows another after a short dip is the same visit: no credits were saved.
    again = np.concatenate(([False], starts[1:] - ends[:-1] < (ends - starts)[:-1] / 2))
    first = ~again
    return float(np.mean(before[first] > 0)), float(np.mean(after > 1))


def _had_credits(frame: Frame, best: Match) -> BoolArray:
    """Samples in which more than the level could be served because credits were left."""
    row = best.ceiling
    if row is not None and row.bucket_phase in (Phase.BASELINE, Phase.FIXED):
        metric = row.balance_metric
        if metric is None:
            return np.zeros(frame.size, dtype=bool)
        values = frame.balances.get(metric)
        # A documented baseline may be exceeded on credits; without the balance we cannot object.
        return np.ones(frame.size, dtype=bool) if values is None else ~(values <= 0.016)
    # An unknown limit may be a baseline too: then some balance is above zero while it is exceeded
    # and at zero while it holds.
    had = np.zeros(frame.size, dtype=bool)
    for values in frame.balances.values():
        had |= values > 0.016
    return had & _empties(frame)


def _empties(frame: Frame) -> bool:
    return any(bool(np.nanmin(v) <= 0.016) for v in frame.balances.values() if np.isfinite(v).any())


def _short_term_spread(rate: FloatArray, elsewhere: BoolArray) -> float:
    """Robust spread of log(rate) between neighbouring samples, away from the level."""
    both = elsewhere[1:] & elsewhere[:-1]
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.diff(np.log(rate))[both]
    steps = steps[np.isfinite(steps)]
    if steps.size < 20:
        return float("nan")
    return float(1.4826 * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2))


def _elasticity(distance: FloatArray, excess: FloatArray, inside: BoolArray, level: Level) -> float:
    held = inside & np.isfinite(excess) & (np.abs(distance) < level.band_log)
    if held.sum() < 8:
        return float("nan")
    spread = 1.4826 * float(np.median(np.abs(excess[held] - np.median(excess[held]))))
    return level.log_sd / spread if spread > 0.05 else float("nan")


def score_of(
    signs: Signs,
    matches: tuple[Match, ...],
    balances: dict[Metric, BalanceView],
    dimension: Dimension,
    *,
    has_catalog: bool,
) -> float:
    """
    The sum of what each sign is worth, in nats; 0 is even odds.

    Missing signs add nothing, except waiting: without latency and queue only an empty balance or a
    documented number carries the claim.
    """
    best = matches[0]
    documented = 1 - sum(m.probability for m in matches if m.ceiling is None)
    # Flatness: what an enforced rate shows is well under one percent. Of a few samples the spread
    # says little, so it is drawn towards what is usual, as if four more had been seen.
    spread = float(np.sqrt((signs.samples * signs.log_sd**2 + 4 * 0.006**2) / (signs.samples + 4)))
    steady = float(np.clip(2.0 * np.log(0.008 / spread), -4.0, 2.0))
    if np.isfinite(signs.log_sd_elsewhere):
        steady += float(np.clip(0.8 * np.log(signs.log_sd_elsewhere / spread), -1.5, 1.5))
    if np.isfinite(signs.elasticity):
        steady += float(np.clip(1.5 * np.log(0.06 / signs.elasticity), -3.0, 2.0))
    steady += float(np.clip(0.8 * np.log(signs.minutes / 20), -1.0, 1.6))
    steady += 0.3 * float(np.log(min(signs.run_count, 4)))
    if steady > 0:
        steady *= signs.samples / (signs.samples + 3)
    # However steady, a producer with a limit of its own is as steady as a ceiling.
    is_proven = _credits_prove(best, balances, dimension)
    score = min(steady, STEADY_MAX) - (2.0 if documented > 0.5 or is_proven else 3.5)
    # Cliff: pressed samples stand at the level, not around it.
    score -= float(np.clip(8.0 * signs.pressed_above_ratio, 0.0, 5.0))
    score -= float(np.clip(2.5 * (signs.pressed_below_ratio - 0.1), 0.0, 3.0))
    score -= _exceeded_score(signs, documented)
    score += _waiting_score(signs, documented, is_proven=is_proven)
    score += 2.5 * documented if has_catalog else 0.8
    score += _credit_score(best, balances, dimension)
    if signs.cpu_ratio >= CPU_BOUND_RATIO and documented < 0.5:
        score -= 3.0
    return score


def _exceeded_score(signs: Signs, documented: float) -> float:
    """
    What speaks against a level above which more was served.

    A limit without credits is never exceeded. With credits it is, but then the level is entered from
    above, when they run out, and left downwards: after hours at a baseline there is nothing to
    spend. A fault ends the other way, with the demand jumping back.
    """
    free = float(np.clip(3.0 * signs.free_above_ratio, 0.0, 5.0))
    if documented > 0.5:
        return 0.4 * free
    as_bucket = signs.entered_from_above * (1 - signs.left_upwards)
    exceeded = float(np.clip(3.0 * signs.above_ratio, 0.0, 5.0))
    return max(free, exceeded) * (1 - 0.6 * as_bucket)


def _credits_prove(best: Match, balances: dict[Metric, BalanceView], dimension: Dimension) -> bool:
    """Whether the balance that counts for the level was empty while it was held."""
    row = best.ceiling
    if row is None:
        view = balances.get(_instance_balance(dimension))
        return view is not None and view.is_empty and view.high <= EMPTY_RATIO
    if row is None or row.balance_metric is None or row.bucket_phase != Phase.BASELINE:
        return False
    view = balances.get(row.balance_metric)
    return view is not None and view.is_empty


def _waiting_score(signs: Signs, documented: float, *, is_proven: bool) -> float:
    """What waiting adds; its absence speaks against everything but an empty balance."""
    if not np.isfinite(signs.log_excess):
        return -1.5
    if documented > 0.5:
        # A third longer than unpressed is within the error of the reference; less is no waiting.
        over = signs.log_excess - 0.3
        excess, share_max = (4.0 if over > 0 else 12.0) * over, 1.0
    elif signs.is_reference_seen:
        # No number vouches for the level, so requests must clearly have waited.
        excess, share_max = 4.0 * (signs.log_excess - np.log(2.1)), 0.0
    else:
        # The storage was never seen unpressed: while it may simply be slow, nothing is shown by
        # less than what no SSD volume needs.
        excess, share_max = 4.0 * (signs.log_excess - np.log(8.0)), 0.0
    excess = float(np.clip(excess, -6.0, 2.5))
    waited = float(np.nan_to_num(signs.waited_share, nan=0.85))
    share = float(np.clip(8.0 * (waited - 0.85), -5.0, share_max))
    return max(excess + share, -1.0) if is_proven else excess + share


def _credit_score(best: Match, balances: dict[Metric, BalanceView], dimension: Dimension) -> float:
    row = best.ceiling
    if row is not None and row.balance_metric is not None:
        view = balances.get(row.balance_metric)
        if view is not None and row.bucket_phase == Phase.BASELINE:
            return 2.5 if view.is_empty else -1.0
        if view is not None and row.bucket_phase == Phase.BURST:
            return 0.8 if view.change_per_s < 0 else -0.5
        return 0.0
    view = balances.get(_instance_balance(dimension))
    return 2.0 if view is not None and view.is_empty else 0.0


def _instance_balance(dimension: Dimension) -> Metric:
    is_bytes = dimension == Dimension.THROUGHPUT
    return Metric.BYTE_BALANCE_RATIO if is_bytes else Metric.IO_BALANCE_RATIO


def _without_overlap(plateaus: list[Plateau], frame: Frame) -> list[Plateau]:
    """Each sample belongs to its most probable plateau; what is left of others must stand alone."""
    taken = np.zeros(frame.size, dtype=bool)
    kept: list[Plateau] = []
    for plateau in _flattest_first(plateaus):
        if _is_shadow(plateau, kept, taken):
            continue
        runs = []
        for start, end in plateau.runs:
            for a, b in _stretches(~taken[start:end]):
                first, last = int(start) + a, int(start) + b
                span_s = float(
                    frame.time_s[last - 1] + frame.width_s[last - 1] - frame.time_s[first]
                )
                if span_s >= HELD_MIN_S or (a == 0 and b == end - start):
                    runs.append((first, last))
        for a, b in runs:
            taken[a:b] = True
        if runs:
            kept.append(replace(plateau, runs=np.array(runs, dtype=np.int64)))
    return kept


def _flattest_first(plateaus: list[Plateau]) -> list[Plateau]:
    """By score; of two documented numbers in different dimensions at once, the flatter is the law."""
    order = list(plateaus)
    for i, one in enumerate(order):
        for j in range(i + 1, len(order)):
            other = order[j]
            if (
                min(one.documented, other.documented) > 0.5
                and one.dimension != other.dimension
                and one.score - other.score < 3
                and other.signs.log_sd < 0.7 * one.signs.log_sd
                and _overlap_ratio(one, other) > 0.5
            ):
                order[i], order[j] = other, one
                one = other
    return order


def _overlap_ratio(one: Plateau, other: Plateau) -> float:
    """Samples both hold, relative to the fewer of the two."""
    last = int(max(one.runs[-1, 1], other.runs[-1, 1]))
    masks = np.zeros((2, last), dtype=bool)
    for mask, plateau in zip(masks, (one, other), strict=True):
        for start, end in plateau.runs:
            mask[start:end] = True
    return float((masks[0] & masks[1]).sum()) / max(int(masks.sum(axis=1).min()), 1)


def _is_shadow(plateau: Plateau, kept: list[Plateau], taken: BoolArray) -> bool:
    """
    Whether a weaker plateau is another one seen again.

    With a steady I/O size both rates stand still when one is held; and the partly pegged samples
    beside a level pile up a little too.
    """
    for other in kept:
        near = abs(np.log(plateau.level / other.level)) < SHADOW_LOG
        if other.dimension == plateau.dimension and near and other.score > plateau.score + 1:
            return True
    if plateau.documented > 0.5:
        return False
    lengths = plateau.runs[:, 1] - plateau.runs[:, 0]
    held = sum(int(taken[a:b].sum()) for a, b in plateau.runs)
    return held > 0.3 * int(lengths.sum())


def _stretches(free: BoolArray) -> list[tuple[int, int]]:
    edges = np.diff(np.concatenate(([False], free, [False])).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
