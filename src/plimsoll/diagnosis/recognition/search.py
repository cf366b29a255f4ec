"""The search for the ceilings of a window: levels are found, judged, extended, and freed of overlaps."""

from dataclasses import replace
from functools import partial

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of
from plimsoll.diagnosis.recognition.binding import EMPTY_RATIO, UNKNOWN_LOG_RANGE, allowed_by_credits, near_documented
from plimsoll.diagnosis.recognition.congestion import HOT_LOG, Congestion
from plimsoll.diagnosis.recognition.credits import CreditBook
from plimsoll.diagnosis.recognition.level import (
    HELD_MIN_SAMPLES,
    JITTER_BINS,
    LOOSE_BINS,
    SHORT_SAMPLES,
    Level,
    extended,
    levels_of,
)
from plimsoll.diagnosis.recognition.overlap import without_overlap
from plimsoll.diagnosis.recognition.plateau import Plateau, judge
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.contained import guarded
from plimsoll.model.diagnosis import VERDICT
from plimsoll.model.family import INSTANCE_FAMILIES, RATE_FAMILIES
from plimsoll.model.series import BoolArray, FloatArray, IntArray

# Judgements: a level is believed where it is likelier than not; further than a factor of twenty below every
# documented limit, it has to be four times as likely as not.
ACCEPT = 0.5
ACCEPT_FAR = 0.8
# Over hours an enforced rate drifts by about a percent, and a sample varies by as much.
WANDER_LOG = 0.03
RATES = frozenset({Dimension.THROUGHPUT, Dimension.IOPS})


def plateaus_of(
    frame: Frame, congestion: Congestion, ceilings: tuple[Ceiling, ...], *, dimensions: frozenset[Dimension] = RATES
) -> list[Plateau]:
    """
    Return the levels that are ceilings, without overlaps, the most probable first.

    Args:
        frame: what was measured.
        congestion: waiting per sample.
        ceilings: documented ceilings of the instance; empty works too, every limit is then unknown.
        dimensions: the rates in which levels are looked for.
    """
    judged = []
    book = CreditBook(frame, ceilings)
    pressed, eased = _pressed(frame, congestion)
    for dimension, rate in ((Dimension.THROUGHPUT, frame.bytes_per_s), (Dimension.IOPS, frame.ops_per_s)):
        if dimension not in dimensions:
            continue
        numbered = eased & near_documented(rate, dimension, ceilings)
        # A wider jitter is allowed only at a documented number: elsewhere the level itself is the
        # only evidence.
        searches = (
            (pressed, JITTER_BINS, HELD_MIN_SAMPLES),
            (numbered, JITTER_BINS, HELD_MIN_SAMPLES),
            (numbered, LOOSE_BINS, HELD_MIN_SAMPLES),
            (numbered & pressed, JITTER_BINS, SHORT_SAMPLES),
            (numbered & pressed, LOOSE_BINS, SHORT_SAMPLES),
        )
        # Most levels are found by several searches.
        known: dict[tuple[float, float, float, bytes], Plateau | None] = {}
        for waited, jitter_bins, short_samples in searches:
            levels = guarded(
                f"a search for levels of {dimension.value}",
                partial(
                    levels_of,
                    rate,
                    waited,
                    congestion.log_excess,
                    frame.time_s,
                    frame.width_s,
                    jitter_bins=jitter_bins,
                    short_samples=short_samples,
                ),
                (),
                hides=VERDICT,
            )
            for level in levels:
                key = level.key
                if key not in known:
                    known[key] = guarded(
                        f"a level of {dimension.value}",
                        partial(_accepted, level, dimension, rate, congestion, book, eased),
                        None,
                        hides=VERDICT,
                    )
                plateau = known[key]
                if plateau is not None:
                    judged.append(plateau)
    # If both rates are equally constant, throughput comes first: it is the limit that dashboards
    # seldom show.
    judged.sort(key=lambda p: (-round(p.score, 1), p.dimension != Dimension.THROUGHPUT, p.level))
    return without_overlap(judged, frame)


def _accepted(
    level: Level, dimension: Dimension, rate: FloatArray, congestion: Congestion, book: CreditBook, eased: BoolArray
) -> Plateau | None:
    """Return the ceiling at a level, with the time in which an enforced rate only wandered; None if it is none."""
    found, shown = _extended(level, dimension, rate, congestion, book, eased)
    if found is None or found.best.ceiling is None:
        return found
    runs = _joined(found.runs, found.level, rate, congestion)
    if np.array_equal(runs, found.runs):
        return found
    # Judged again, so that the evidence is about the same time as the intervals.
    again = judge(replace(shown, runs=runs), dimension, rate, congestion, book)
    return again if again.best.ceiling == found.best.ceiling and again.probability >= ACCEPT else found


def _joined(runs: IntArray, level: float, rate: FloatArray, congestion: Congestion) -> IntArray:
    """
    Return the runs, those joined between which the rate only wandered while requests waited.

    An enforced rate is not constant to the percent over hours, and a level's own band is narrower than that.
    """
    with np.errstate(all="ignore"):
        stays = (np.abs(np.log(rate / level)) <= WANDER_LOG) & (congestion.log_excess > HOT_LOG)
    for a, b in runs:
        stays[a:b] = True
    whole = [(a, b) for a, b in runs_of(stays).tolist() if any(a <= x and y <= b for x, y in runs.tolist())]
    return np.array(whole, dtype=np.int64)


def _extended(
    level: Level, dimension: Dimension, rate: FloatArray, congestion: Congestion, book: CreditBook, eased: BoolArray
) -> tuple[Plateau | None, Level]:
    """Return the ceiling at a level, with all its stretches, and the level; None where it is not likely to be one."""
    frame = book.frame
    plateau = judge(level, dimension, rate, congestion, book)
    least = _least(plateau, book.ceilings)
    if plateau.probability < least:
        return None, level
    fill = _may_belong(plateau, congestion, eased)
    fill = fill & _allowed_by_credits(plateau.best.ceiling, book)
    wider = extended(level, rate, fill, congestion.log_excess, frame.time_s, frame.width_s)
    if wider.key == level.key:
        return plateau, level
    again = judge(wider, dimension, rate, congestion, book)
    if again.probability >= least:
        return again, wider
    if plateau.documented > 0.5 and not congestion.is_reference_seen:
        # The window has no reference without waiting, so a shorter queue is no evidence
        # against it: a rate within the spread of a binding number is at that number.
        return replace(plateau, runs=wider.runs), wider
    return plateau, level


def _least(plateau: Plateau, ceilings: tuple[Ceiling, ...]) -> float:
    """
    Return the least probability at which a level is taken as a ceiling.

    Undocumented limits lie within a factor of twenty of documented ones; further below, the signs must be
    strong. For a class without documented limits there is no such scale.
    """
    rows = [c for c in ceilings if c.family in RATE_FAMILIES and c.dimension == plateau.dimension and c.value > 0]
    is_listed = any(c.family in INSTANCE_FAMILIES for c in rows)
    if plateau.best.ceiling is not None or not is_listed:
        return ACCEPT
    is_near = plateau.level > min(c.value for c in rows) * float(np.exp(-UNKNOWN_LOG_RANGE))
    return ACCEPT if is_near else ACCEPT_FAR


def _pressed(frame: Frame, congestion: Congestion) -> tuple[BoolArray, BoolArray]:
    """
    Return samples that may be at a ceiling: strictly to find levels, leniently to extend known ones.

    Requests waited, or a balance was empty; all samples where neither latency nor queue is known.
    """
    if not congestion.is_measured:
        every = np.ones(frame.size, dtype=bool)
        return every, every
    empty = np.zeros(frame.size, dtype=bool)
    # An empty balance throttles even where latency was not measured.
    for values in frame.balances.values():
        empty |= values <= EMPTY_RATIO
    strict = (congestion.log_excess > HOT_LOG) | (congestion.log_excess_smooth > HOT_LOG) | empty
    # Once a level is known as a ceiling, little waiting is enough for a sample at it.
    lenient = strict | (congestion.log_excess_smooth > 0.3 * HOT_LOG)
    return strict, lenient


def _may_belong(plateau: Plateau, congestion: Congestion, eased: BoolArray) -> BoolArray:
    """
    Return samples that may lie at a known ceiling if their rate is within its spread, shape (n,).

    Where waiting was not measured, or the window has no reference without waiting, all samples may.
    """
    excess = congestion.log_excess_smooth
    is_numbered = plateau.documented > 0.5
    if is_numbered and not congestion.is_reference_seen:
        return np.ones(excess.size, dtype=bool)
    unknown = ~np.isfinite(excess)
    # At a documented number, or where latency steps up, a rate within the narrow spread is nearly enough.
    if is_numbered or plateau.weights["step"] > 0:
        return eased | unknown | (excess > 0.1 * HOT_LOG)
    return eased | unknown


def _allowed_by_credits(row: Ceiling | None, book: CreditBook) -> BoolArray | bool:
    """Return samples in which credits allow the row, by the measured balance or else by arithmetic."""
    if row is not None and row.balance_metric in book.frame.balances:
        return allowed_by_credits(row, book.frame.balances)
    return book.could_bind(row)
