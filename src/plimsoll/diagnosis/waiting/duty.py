"""
Duty cycles: a ceiling reached for a part of each sample, whose mean looks like a lower limit.

A job that runs for 100 s of every 300 s at 3,000 IOPS is a constant 1,250 IOPS with twenty times the usual latency in
samples of five minutes. No mean tells it from a limit of 1,250 IOPS, so where a documented ceiling is far above and
the number is documented nowhere, no limit is invented: the time is reported as waiting.
"""

from dataclasses import dataclass

import numpy as np

from plimsoll.diagnosis.frame import Frame
from plimsoll.diagnosis.waiting.waiting import known_median, samples_in, shares_of
from plimsoll.model.ceiling import Ceiling, Dimension
from plimsoll.model.diagnosis import Interval
from plimsoll.model.family import INSTANCE_FAMILIES, RATE_FAMILIES, VOLUME_FAMILIES
from plimsoll.model.now import limit_key
from plimsoll.model.series import BoolArray, FloatArray

# A judgement: a level at three fifths of a documented ceiling is as likely a limit as a job that runs for so much of
# every sample.
SHARE_MAX = 0.6
# Schedulers start jobs every minute or some minutes, so a constant part of every sample of minutes is common, and one
# of every shorter sample is not.
SCHEDULED_STEP_S = 120
# More requests at once than a database sends to its storage.
IN_FLIGHT_MAX = 1000.0
# A rate that varies less than half as much as the quiet load alone would is held by a limit.
STILLER = 0.5
# A shorter part of a sample is a stray request.
PART_MIN = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class DutyCycle:
    """The part of a sample at a ceiling."""

    part: float
    """Time at the ceiling as a ratio of the sample."""
    latency_s: float
    """Latency of a request in that time."""


def duty_cycle(
    ops_per_s: float, latency_s: float, ceiling_ops_per_s: float, *, quiet_ops_per_s: float, quiet_latency_s: float
) -> DutyCycle | None:
    """
    Return the duty cycle that gives a mean rate and a mean latency; None where there is none.

    Operations add up over the sample, and so do requests in flight (Little's law: rate × latency).

    Args:
        ops_per_s: mean rate of the sample.
        latency_s: mean latency of its requests.
        ceiling_ops_per_s: what is served at the ceiling, at the same I/O size.
        quiet_ops_per_s, quiet_latency_s: rate and latency in the rest of the sample.
    """
    if not quiet_ops_per_s < ops_per_s < ceiling_ops_per_s:
        return None
    part = (ops_per_s - quiet_ops_per_s) / (ceiling_ops_per_s - quiet_ops_per_s)
    in_flight = (ops_per_s * latency_s - (1 - part) * quiet_ops_per_s * quiet_latency_s) / part
    if part < PART_MIN or not 0 < in_flight <= IN_FLIGHT_MAX:
        return None
    return DutyCycle(part=part, latency_s=in_flight / ceiling_ops_per_s)


def invented(intervals: tuple[Interval, ...], frame: Frame, ceilings: tuple[Ceiling, ...]) -> set[tuple[object, ...]]:
    """
    Return the keys of the levels of unknown origin that a duty cycle at a documented ceiling explains as well.

    Args:
        intervals: of one epoch; those at documented ceilings are left alone.
        frame: what was measured in it.
        ceilings: what is documented for it. Without the instance's or the volume's, a limit far below the others may
            be theirs, so no level is called invented.
    """
    families = {c.family for c in ceilings if c.family in RATE_FAMILIES}
    if frame.step_s < SCHEDULED_STEP_S or not families & set(INSTANCE_FAMILIES) or not families & set(VOLUME_FAMILIES):
        return set()
    unknown = [i for i in intervals if i.ceiling is None]
    quiet = ~samples_in(intervals, frame)
    found: set[tuple[object, ...]] = set()
    for key in {limit_key(i) for i in unknown}:
        mine = tuple(i for i in unknown if limit_key(i) == key)
        inside = samples_in(mine, frame)
        bytes_per_s, ops_per_s = (known_median(rate[inside]) for rate in (frame.bytes_per_s, frame.ops_per_s))
        shares = shares_of(bytes_per_s, ops_per_s, ceilings)
        rate = frame.bytes_per_s if mine[0].dimension is Dimension.THROUGHPUT else frame.ops_per_s
        is_far = bool(shares) and shares[0].ratio < SHARE_MAX
        if is_far and jitter_of(rate, inside) >= _rest_jitter(rate, quiet, shares[0].ratio):
            found.add(key)
    return found


def _rest_jitter(rate: FloatArray, quiet: BoolArray, part: float) -> float:
    """Return the least jitter of a mean over samples that are quiet but for a part: the quiet load varies there, too."""
    return STILLER * (1 - part) * jitter_of(rate, quiet)


def jitter_of(rate: FloatArray, at: BoolArray) -> float:
    """Return the spread of a rate from sample to sample, in its unit; 0 where it is not known."""
    steps = np.diff(rate)[at[1:] & at[:-1]]
    steps = steps[np.isfinite(steps)]
    # The difference of two samples varies √2 times as much as one.
    return float(1.4826 * np.median(np.abs(steps)) / np.sqrt(2)) if steps.size else 0.0
