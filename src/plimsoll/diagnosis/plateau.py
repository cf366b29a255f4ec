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

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.binding import BalanceView, Match, balance_view, matches_of
from plimsoll.diagnosis.congestion import HOT_LOG, Congestion
from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.level import Level, levels_of
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray

ACCEPT = 0.5
# The enforced level itself wanders by a third of a percent or so: no error bar is narrower.
LEVEL_LOG_FLOOR = 0.0015
CPU_BOUND_RATIO = 0.93


@dataclass(frozen=True, slots=True, kw_only=True)
class Signs:
    """What was observed of one level; ratios and logs, NaN where it could not be measured."""

    minutes: float
    """Time at the level."""
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
    excess = congestion.log_excess
    waited = excess > HOT_LOG if congestion.is_measured else np.ones(frame.size, dtype=bool)
    judged = []
    for dimension, rate in (
        (Dimension.THROUGHPUT, frame.bytes_per_s),
        (Dimension.IOPS, frame.ops_per_s),
    ):
        for level in levels_of(rate, waited, excess, frame.time_s, frame.width_s):
            plateau = judge(level, dimension, rate, frame, congestion, ceilings)
            if plateau.probability >= ACCEPT:
                judged.append(plateau)
    judged.sort(key=lambda p: (-p.score, p.level))
    return _without_overlap(judged, frame)


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
    pressed = excess[inside & np.isfinite(excess)]
    cpu = frame.cpu_ratio[inside & np.isfinite(frame.cpu_ratio)]
    return Signs(
        minutes=at_s / 60,
        run_count=int(level.runs.shape[0]),
        log_sd=level.log_sd,
        log_sd_elsewhere=_short_term_spread(rate, ~inside),
        log_excess=float(np.median(pressed)) if pressed.size else float("nan"),
        waited_share=waited_s / in_band_s if in_band_s > 0 else float("nan"),
        free_above_ratio=float(width_s[free].sum()) / max(at_s, 1.0),
        elasticity=_elasticity(distance, excess, inside, level),
        cpu_ratio=float(np.median(cpu)) if cpu.size else float("nan"),
    )


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
    score = -1.0
    # Flatness: what an enforced rate shows is well under one percent.
    score += float(np.clip(1.5 * np.log(0.010 / signs.log_sd), -3.5, 1.8))
    if np.isfinite(signs.log_sd_elsewhere):
        score += float(np.clip(0.8 * np.log(signs.log_sd_elsewhere / signs.log_sd), -1.5, 1.5))
    if np.isfinite(signs.log_excess):
        score += float(np.clip(2.0 * (signs.log_excess - np.log(1.6)), -3.0, 2.5))
    else:
        score -= 1.5
    if np.isfinite(signs.waited_share):
        score += float(np.clip(8.0 * (signs.waited_share - 0.85), -6.0, 1.2))
    score -= float(np.clip(3.0 * signs.free_above_ratio, 0.0, 5.0)) * (
        0.4 if documented > 0.5 else 1
    )
    if np.isfinite(signs.elasticity):
        score += float(np.clip(0.8 * np.log(0.12 / signs.elasticity), -2.0, 1.5))
    score += float(np.clip(0.8 * np.log(signs.minutes / 20), -1.0, 1.6))
    score += 0.5 * float(np.log(min(signs.run_count, 4)))
    score += 2.5 * documented if has_catalog else 0.8
    score += _credit_score(best, balances, dimension)
    if signs.cpu_ratio >= CPU_BOUND_RATIO and documented < 0.5:
        score -= 3.0
    return score


def _credit_score(best: Match, balances: dict[Metric, BalanceView], dimension: Dimension) -> float:
    row = best.ceiling
    if row is not None and row.balance_metric is not None:
        view = balances.get(row.balance_metric)
        if view is not None and row.bucket_phase == Phase.BASELINE:
            return 2.5 if view.is_empty else -1.0
        if view is not None and row.bucket_phase == Phase.BURST:
            return 0.8 if view.change_per_s < 0 else -0.5
        return 0.0
    metric = (
        Metric.BYTE_BALANCE_RATIO if dimension == Dimension.THROUGHPUT else Metric.IO_BALANCE_RATIO
    )
    view = balances.get(metric)
    return 2.0 if view is not None and view.is_empty else 0.0


def _without_overlap(plateaus: list[Plateau], frame: Frame) -> list[Plateau]:
    """Each sample belongs to its most probable plateau; what is left of others must still be held."""
    taken = np.zeros(frame.size, dtype=bool)
    kept = []
    for plateau in plateaus:
        runs = []
        for start, end in plateau.runs:
            free = ~taken[start:end]
            for a, b in _stretches(free):
                first, last = int(start) + a, int(start) + b
                span_s = float(
                    frame.time_s[last - 1] + frame.width_s[last - 1] - frame.time_s[first]
                )
                if span_s >= 480 or (a == 0 and b == end - start):
                    runs.append((first, last))
        for a, b in runs:
            taken[a:b] = True
        if runs:
            kept.append(_with_runs(plateau, np.array(runs, dtype=np.int64)))
    return kept


def _stretches(free: BoolArray) -> list[tuple[int, int]]:
    edges = np.diff(np.concatenate(([False], free, [False])).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]


def _with_runs(plateau: Plateau, runs: IntArray) -> Plateau:
    return Plateau(
        dimension=plateau.dimension,
        level=plateau.level,
        level_log_se=plateau.level_log_se,
        runs=runs,
        signs=plateau.signs,
        balances=plateau.balances,
        matches=plateau.matches,
        score=plateau.score,
    )
