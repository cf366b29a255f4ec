"""
Short times at a documented ceiling: a job of a minute, a checkpoint, a refresh, once or a hundred times.

A level needs minutes in a row to be found (level.py), because any number may be one. A sample at a documented
number whose requests took several times as long as those of its neighbours needs no others.
"""

import numpy as np

from plimsoll.diagnosis.frame import Frame, runs_of
from plimsoll.diagnosis.recognition.binding import allowed_by_credits
from plimsoll.diagnosis.recognition.congestion import Congestion
from plimsoll.diagnosis.recognition.rate_words import describe, format_rate
from plimsoll.diagnosis.waiting.waiting import is_reference_known, reference_of, waits_of
from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.diagnosis import Evidence, Interval
from plimsoll.model.family import RATE_FAMILIES
from plimsoll.model.series import BoolArray, FloatArray
from plimsoll.units import format_latency, number

# A mean over a sample that was at the ceiling all the time, with the error of clocks and of the enforced rate.
AT_RATIO = (0.98, 1.03)
# Less than this in a whole window is a peak, as for any other maximum (maxima.py).
LEAST_S = 300.0
# So many samples at a number with several times the latency are no chance, even where that is milliseconds.
MANY = 10
# Judgements for one, fewer than five, and more such times; each further one is the same evidence again.
CONFIDENCE = (0.9, 0.97, 0.99)


def pulses_of(
    frame: Frame, congestion: Congestion, ceilings: tuple[Ceiling, ...], intervals: tuple[Interval, ...]
) -> tuple[Interval, ...]:
    """
    Return the short intervals at documented ceilings that no level shows, in order of time.

    Args:
        frame: what was measured, in one epoch of limits.
        congestion: waiting per sample.
        ceilings: what is documented for that epoch.
        intervals: time at ceilings that is known already.
    """
    if not is_reference_known(congestion):
        return ()
    reference_s, clearly = reference_of(congestion), waits_of(frame, congestion)
    waits = waits_of(frame, congestion, extra_min_s=0.0)
    for one in intervals:
        waits &= ~((frame.time_s < one.end_s) & (frame.time_s + frame.width_s > one.start_s))
    found: list[Interval] = []
    # Credits pay for a minute at a burst maximum, and it ends by itself.
    left_out = (Phase.LEGACY, Phase.BURST)
    present = [c for c in ceilings if c.family in RATE_FAMILIES and c.phase not in left_out and c.value > 0]
    # Of the numbers of one rate the lowest that is reached is the one that binds.
    for ceiling in sorted(present, key=lambda c: c.value):
        rate = frame.bytes_per_s if ceiling.dimension is Dimension.THROUGHPUT else frame.ops_per_s
        with np.errstate(all="ignore"):
            share = rate / ceiling.value
            at = waits & (share >= AT_RATIO[0]) & (share <= AT_RATIO[1])
            # More was served for minutes: then this number did not stop it there.
            at &= not _is_exceeded(share, waits)
        if ceiling.balance_metric in frame.balances:
            at &= allowed_by_credits(ceiling, frame.balances)
        if np.count_nonzero(at) < MANY:
            at &= clearly
        if float(frame.width_s[at].sum()) < LEAST_S:
            continue
        runs = runs_of(at).tolist()
        found += [_interval(frame, congestion, reference_s, rate, ceiling, a, b, len(runs)) for a, b in runs]
        waits &= ~at
    return tuple(sorted(found, key=lambda i: (i.start_s, i.end_s)))


def _is_exceeded(share: FloatArray, waits: BoolArray) -> bool:
    above = int((share > AT_RATIO[1]).sum())
    return above > int((waits & (share >= AT_RATIO[0]) & (share <= AT_RATIO[1])).sum())


def _interval(
    frame: Frame,
    congestion: Congestion,
    reference_s: FloatArray,
    rate: FloatArray,
    ceiling: Ceiling,
    start: int,
    end: int,
    count: int,
) -> Interval:
    stretch = slice(start, end)
    level, latency_s = float(np.median(rate[stretch])), float(np.median(congestion.latency_s[stretch]))
    usual_s = float(np.median(reference_s[stretch]))
    queue = frame.queue_depth[stretch]
    size = frame.bytes_per_s[stretch] / np.maximum(frame.ops_per_s[stretch], 1e-9)
    often = f"; it happened {count} times in the window" if count > 1 else ""
    return Interval(
        start_s=int(frame.time_s[start]),
        end_s=int(frame.time_s[end - 1] + frame.width_s[end - 1]),
        dimension=ceiling.dimension,
        level=level,
        level_low=AT_RATIO[0] * ceiling.value,
        level_high=AT_RATIO[1] * ceiling.value,
        family=ceiling.family,
        phase=ceiling.phase,
        former_phase=ceiling.former_phase,
        ceiling=ceiling,
        confidence=CONFIDENCE[0 if count == 1 else 1 if count < 5 else 2],
        attribution=1.0,
        io_size_bytes=float(np.median(size)) if np.isfinite(size).all() else None,
        latency_s=latency_s,
        latency_reference_s=usual_s,
        queue_depth=float(np.nanmedian(queue)) if np.isfinite(queue).any() else None,
        evidence=(
            Evidence(
                kind="waiting",
                text=(
                    f"latency was {format_latency(latency_s)}, {number(latency_s / usual_s, 2)} times the "
                    f"{format_latency(usual_s)} of this storage without waiting"
                ),
                value=latency_s,
                reference=usual_s,
                weight=2.0,
            ),
            Evidence(
                kind="match",
                text=f"in this short time {format_rate(level, ceiling.dimension)} was served, at the {describe(ceiling)}{often}",
                value=level,
                reference=ceiling.value,
                weight=1.0,
            ),
        ),
        ruled_out=(),
        refuted_by="the load asked for just this rate, and something else made the requests wait",
        step_s=frame.step_s,
    )
