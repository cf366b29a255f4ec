"""
The ceilings of a window: levels found, judged, filled out and freed of each other's shadows.

A level is a number at which the rate stood (level.py); its signs are observed (signs.py) and weighed
(score.py); its explanations are documented numbers or none (binding.py). Here they come together.
"""

from dataclasses import dataclass, replace

import numpy as np

from plimsoll.diagnosis.binding import (
    EMPTY_RATIO,
    BalanceView,
    Match,
    allowed_by_credits,
    balance_view,
    matches_of,
    near_documented,
)
from plimsoll.diagnosis.congestion import HOT_LOG, Congestion
from plimsoll.diagnosis.credits import SILENT, Account, CreditBook, Credits
from plimsoll.diagnosis.era import era_of
from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.level import (
    BAND_LOG_MIN,
    BRIDGE_SAMPLES,
    HELD_MIN_SAMPLES,
    JITTER_BINS,
    LOOSE_BINS,
    SHORT_SAMPLES,
    Level,
    extended,
    held_min_s,
    levels_of,
    middle,
)
from plimsoll.diagnosis.score import STEP_LOG, score_of, weights_of
from plimsoll.diagnosis.signs import Case, Signs, signs_of
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.family import INSTANCE_FAMILIES, RATE_FAMILIES
from plimsoll.model.metric import Metric
from plimsoll.model.series import BoolArray, FloatArray, IntArray

ACCEPT = 0.5
RATES = frozenset({Dimension.THROUGHPUT, Dimension.IOPS})
# The enforced level itself wanders by a third of a percent or so: no error bar is narrower.
LEVEL_LOG_FLOOR = 0.0015
# A number further from the level than this does not explain it.
NEAR_RATIO = 0.03
# Partly pegged samples lie up to a few percent below their level.
SHADOW_LOG = 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau:
    """A level judged: how probable it is a ceiling, and which."""

    case: Case
    """Level, signs and explanations."""
    level_log_se: float
    runs: IntArray
    """Stretches held, first and one-past-last sample, shape (k, 2)."""
    weights: dict[str, float]
    """What each sign adds or takes, nats."""
    score: float
    """Sum of log-likelihood ratios."""

    @property
    def dimension(self) -> Dimension:
        """What the level is a rate of."""
        return self.case.dimension

    @property
    def level(self) -> float:
        """bytes/s or ops/s"""
        return self.case.level

    @property
    def signs(self) -> Signs:
        """What was observed of the level."""
        return self.case.signs

    @property
    def balances(self) -> dict[Metric, BalanceView]:
        """What each balance metric said while the level was held."""
        return self.case.balances

    @property
    def matches(self) -> tuple[Match, ...]:
        """Explanations of the level, most probable first."""
        return self.case.matches

    @property
    def probability(self) -> float:
        """0–1 that a ceiling bound here."""
        return float(1 / (1 + np.exp(-np.clip(self.score, -30, 30))))

    @property
    def documented(self) -> float:
        """0–1 that the level is a documented number."""
        return self.case.documented

    @property
    def family_probability(self) -> float:
        """0–1 that it is the family of the best explanation, given that a ceiling bound."""
        family = self.best.ceiling.family if self.best.ceiling else None
        of_family = (
            m.probability
            for m in self.matches
            if (m.ceiling.family if m.ceiling else None) == family
        )
        return float(sum(of_family))

    @property
    def best(self) -> Match:
        """The most probable explanation."""
        return self.matches[0]


def plateaus_of(
    frame: Frame,
    congestion: Congestion,
    ceilings: tuple[Ceiling, ...],
    *,
    dimensions: frozenset[Dimension] = RATES,
) -> list[Plateau]:
    """
    The levels that are ceilings, without overlaps, the most probable first.

    Args:
        frame: what was measured.
        congestion: waiting per sample.
        ceilings: documented ceilings of the instance; empty works too, every limit is then unknown.
        dimensions: the rates in which levels are looked for.
    """
    judged = []
    book = CreditBook(frame, ceilings)
    pressed, eased = _pressed(frame, congestion)
    for dimension, rate in (
        (Dimension.THROUGHPUT, frame.bytes_per_s),
        (Dimension.IOPS, frame.ops_per_s),
    ):
        if dimension not in dimensions:
            continue
        numbered = eased & near_documented(rate, dimension, ceilings)
        # Only at a documented number may samples stray: elsewhere a level is all that is known.
        searches = (
            (pressed, JITTER_BINS, HELD_MIN_SAMPLES),
            (numbered, JITTER_BINS, HELD_MIN_SAMPLES),
            (numbered, LOOSE_BINS, HELD_MIN_SAMPLES),
            (numbered & pressed, JITTER_BINS, SHORT_SAMPLES),
        )
        for waited, jitter_bins, short_samples in searches:
            levels = levels_of(
                rate,
                waited,
                congestion.log_excess,
                frame.time_s,
                frame.width_s,
                jitter_bins=jitter_bins,
                short_samples=short_samples,
            )
            for level in levels:
                plateau = judge(level, dimension, rate, congestion, book)
                if plateau.probability >= ACCEPT:
                    fill = _may_belong(plateau, congestion, eased)
                    fill = fill & _allowed_by_credits(plateau.best.ceiling, book)
                    wider = extended(
                        level, rate, fill, congestion.log_excess, frame.time_s, frame.width_s
                    )
                    again = judge(wider, dimension, rate, congestion, book)
                    if again.probability >= ACCEPT:
                        judged.append(again)
                    elif plateau.documented > 0.5 and not congestion.is_reference_seen:
                        # Nothing shows what ease is here, so a shorter queue refutes nothing: a rate
                        # within the spread of a number that is known to bind is held by it.
                        judged.append(replace(plateau, runs=wider.runs))
                    else:
                        judged.append(plateau)
    # Where both rates stand equally still, nothing but the habit decides: throughput is the limit
    # that nobody charts.
    judged.sort(key=lambda p: (-round(p.score, 1), p.dimension != Dimension.THROUGHPUT, p.level))
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


def _may_belong(plateau: Plateau, congestion: Congestion, eased: BoolArray) -> BoolArray:
    """
    Samples that may lie at a known ceiling if their rate is within its spread, shape (n,).

    Where waiting was not measured, or the window never shows what ease is, nothing speaks against them.
    """
    excess = congestion.log_excess_smooth
    is_numbered = plateau.documented > 0.5
    if is_numbered and not congestion.is_reference_seen:
        return np.ones(excess.size, dtype=bool)
    unknown = ~np.isfinite(excess)
    # At a documented number, or where latency steps up, to be within the narrow spread is nearly sign enough.
    if is_numbered or plateau.weights["step"] > 0:
        return eased | unknown | (excess > 0.1 * HOT_LOG)
    return eased | unknown


def judge(
    level: Level,
    dimension: Dimension,
    rate: FloatArray,
    congestion: Congestion,
    book: CreditBook,
) -> Plateau:
    """All signs of one level, its explanations and its score."""
    frame, ceilings = book.frame, book.ceilings
    inside = np.zeros(frame.size, dtype=bool)
    for start, end in level.runs:
        inside[start:end] = True
    balances = {}
    for metric, values in frame.balances.items():
        view = balance_view(values, frame.time_s, [(int(a), int(b)) for a, b in level.runs])
        if view is not None:
            balances[metric] = view
    log_se = _level_log_se(level, rate, inside)
    refuted = _refuted(level, dimension, balances, book)
    rows = [c for c in ceilings if all(c != row for row, _ in refuted)]
    matches = matches_of(
        level.value, level_log_se=log_se, dimension=dimension, ceilings=rows, balances=balances
    )
    signs = signs_of(level, rate, inside, frame, congestion, matches[0])
    # A number of the present description holds for all of the window.
    if matches[0].ceiling is None:
        era = era_of(
            level,
            rate,
            inside,
            frame,
            ceilings,
            dimension,
            has_step=signs.step_log > STEP_LOG,
            elasticity=signs.elasticity,
            excess=congestion.log_excess,
        )
        if not era.all():
            signs = signs_of(level, rate, inside, frame, congestion, matches[0], era=era)
    case = Case(
        level=level.value,
        dimension=dimension,
        signs=signs,
        matches=matches,
        balances=balances,
        refuted=refuted,
        credits=_account(matches[0].ceiling, level, book),
        has_catalog=any(
            c.family in INSTANCE_FAMILIES and c.dimension == dimension for c in ceilings
        ),
    )
    weights = weights_of(case)
    return Plateau(
        case=case,
        level_log_se=log_se,
        runs=level.runs,
        weights=weights,
        score=score_of(weights),
    )


def _refuted(
    level: Level,
    dimension: Dimension,
    balances: dict[Metric, BalanceView],
    book: CreditBook,
) -> tuple[tuple[Ceiling, str], ...]:
    """
    Documented numbers near the level that no bucket allows, with the reason.

    Where the balance itself was measured it decides (`credit_factor`), not the arithmetic.
    """
    found = []
    for row in book.ceilings:
        is_near = row.dimension == dimension and abs(level.value / row.value - 1) < NEAR_RATIO
        if not is_near or row.family not in RATE_FAMILIES or row.balance_metric in balances:
            continue
        account = book.account_of(row, level.runs)
        if account.credits == Credits.REFUTED:
            found.append((row, account.text))
    return tuple(found)


def _account(row: Ceiling | None, level: Level, book: CreditBook) -> Account:
    if row is None or row.bucket_phase != Phase.BASELINE:
        return SILENT
    return book.account_of(row, level.runs)


def _allowed_by_credits(row: Ceiling | None, book: CreditBook) -> BoolArray | bool:
    """Samples in which credits allow the row: by the balance where it was measured, or by arithmetic."""
    if row is not None and row.balance_metric in book.frame.balances:
        return allowed_by_credits(row, book.frame.balances)
    return book.could_bind(row)


def _level_log_se(level: Level, rate: FloatArray, inside: BoolArray) -> float:
    """Standard error of the median, with neighbouring samples counted as related."""
    values = np.log(rate[inside & (rate > 0)])
    values = values[np.abs(values - np.log(level.value)) < level.band_log]
    if values.size < 3:
        return level.band_log / 2
    centred = values - middle(values)
    power = float(np.mean(centred**2))
    related = float(np.mean(centred[1:] * centred[:-1]) / power) if power > 0 else 0.0
    related = float(np.clip(related, 0.0, 0.9))
    effective = max(values.size * (1 - related) / (1 + related), 2.0)
    return float(np.hypot(1.253 * level.log_sd / np.sqrt(effective), LEVEL_LOG_FLOOR))


def _without_overlap(plateaus: list[Plateau], frame: Frame) -> list[Plateau]:
    """Each sample belongs to its most probable plateau; what is left of others must stand alone."""
    taken = np.zeros(frame.size, dtype=bool)
    least_s = held_min_s(frame.width_s)
    kept: list[Plateau] = []
    order = _flattest_first(plateaus)
    for plateau in order:
        if _is_shadow(plateau, kept, taken):
            continue
        yields = _yielded(plateau, order, frame)
        runs = []
        for start, end in plateau.runs:
            for a, b in _stretches(~taken[start:end]):
                first, last = int(start) + a, int(start) + b
                span_s = float(
                    frame.time_s[last - 1] + frame.width_s[last - 1] - frame.time_s[first]
                )
                if span_s >= least_s or (a == 0 and b == end - start):
                    pieces = _stretches(~yields[first:last])
                    runs += [(first + x, first + y) for x, y in pieces]
        for a, b in runs:
            taken[a:b] = True
        if runs:
            kept.append(replace(plateau, runs=np.array(runs, dtype=np.int64)))
    return kept


def _yielded(plateau: Plateau, order: list[Plateau], frame: Frame) -> BoolArray:
    """
    Samples of a documented level that another documented level holds, of the other dimension.

    Two limits are met in turn where the I/O size moves about the ratio of their numbers: the one that
    holds is reached, and the rate of the other is below its number.
    """
    yields = np.zeros(frame.size, dtype=bool)
    if plateau.documented <= 0.5:
        return yields
    below = _distance(plateau, frame) < -_narrow(plateau)
    nothing = np.zeros(frame.size, dtype=bool)
    for i, other in enumerate(order):
        if (
            other.dimension == plateau.dimension
            or other.documented <= 0.5
            or _is_shadow(other, order[:i], nothing)
        ):
            continue
        at_other = below & (np.abs(_distance(other, frame)) < _narrow(other))
        for start, end in other.runs:
            yields[start:end] |= _lasting(at_other[start:end], frame.width_s[start:end])
    return yields


def _distance(plateau: Plateau, frame: Frame) -> FloatArray:
    """Log of the rate over the level, shape (n,)."""
    is_bytes = plateau.dimension == Dimension.THROUGHPUT
    rate = frame.bytes_per_s if is_bytes else frame.ops_per_s
    with np.errstate(all="ignore"):
        distance: FloatArray = np.log(rate / plateau.level)
    return distance


def _narrow(plateau: Plateau) -> float:
    """Half-width of the level's own spread, log."""
    return max(3.5 * plateau.signs.log_sd, BAND_LOG_MIN)


def _lasting(hits: BoolArray, width_s: FloatArray) -> BoolArray:
    """The stretches of hits that last, with short holes filled: a limit is not met for a moment."""
    filled = hits.copy()
    for a, b in _stretches(~hits):
        if a > 0 and b < hits.size and b - a <= BRIDGE_SAMPLES // 2:
            filled[a:b] = True
    for a, b in _stretches(filled):
        if width_s[a:b].sum() < held_min_s(width_s):
            filled[a:b] = False
    return filled


def _flattest_first(plateaus: list[Plateau]) -> list[Plateau]:
    """By score; of two numbers of equal standing in both dimensions at once, the flatter is the law."""
    order = list(plateaus)
    for i, one in enumerate(order):
        for j in range(i + 1, len(order)):
            other = order[j]
            if (
                (one.documented > 0.5) == (other.documented > 0.5)
                and one.dimension != other.dimension
                and one.score - other.score < (3 if one.documented > 0.5 else 1)
                and other.signs.log_sd < 0.7 * one.signs.log_sd
                and _overlap_ratio(one, other) > 0.5
            ):
                order[i], order[j] = other, one
                break
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
        is_weaker = other.dimension == plateau.dimension and other.score > plateau.score + 1
        if near and is_weaker and not _is_apart(plateau, other, taken.size):
            return True
    if plateau.documented > 0.5:
        return False
    lengths = plateau.runs[:, 1] - plateau.runs[:, 0]
    held = sum(int(taken[a:b].sum()) for a, b in plateau.runs)
    return held > 0.3 * int(lengths.sum())


def _is_apart(plateau: Plateau, other: Plateau, size: int) -> bool:
    """Whether a level was held at other times than another one, with nothing between both numbers."""
    if abs(np.log(plateau.level / other.level)) < _narrow(plateau) + _narrow(other):
        return False
    beside = np.zeros(size, dtype=bool)
    for start, end in other.runs:
        beside[max(start - BRIDGE_SAMPLES, 0) : end + BRIDGE_SAMPLES] = True
    lengths = plateau.runs[:, 1] - plateau.runs[:, 0]
    met = sum(int(beside[a:b].sum()) for a, b in plateau.runs)
    return met <= 0.1 * int(lengths.sum())


def _stretches(free: BoolArray) -> list[tuple[int, int]]:
    edges = np.diff(np.concatenate(([False], free, [False])).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return [(int(a), int(b)) for a, b in zip(starts, ends, strict=True)]
