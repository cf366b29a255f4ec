"""
Open or closed: whether the load waits for its answers, from what the database counts itself.

A client that waits holds a connection all the time: N = X·(R + Z), requests per second times the
time each takes in storage and elsewhere (Little's law). So where clients wait, connections (or
active sessions) are explained at every moment, pressed or not, by two numbers that storage tells:

    sessions = idle + b·(X·R) + c·X          Z = c ÷ b

Where requests come from outside, those that are not served pile up beyond what X·R explains; unless
each has a connection of its own, which looks like clients who wait. So connections alone give Z and
a bound of what clients would ask for, but not whether there are any: that takes a count of what
waits outside the database, or of what came.
"""

from dataclasses import dataclass, replace

import numpy as np

from plimsoll.diagnosis.frame import on_grid
from plimsoll.model.metric import Metric
from plimsoll.model.plan import LoadResponse
from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.arrivals import Arrivals, arrivals_of
from plimsoll.plan.demand.throttled import MeasuredDemand, ThrottledSteps

# Each client has about one request in flight: some read ahead, and some also compute.
SHARE_RANGE = (0.5, 1.6)
# Sessions count as explained when what is left is below a fifth of their variance.
EXPLAINED = 0.8
# A quarter as many sessions again as storage explains are more than a latency's error.
PILE = 0.25
# Less than that is within the error of the latency.
PAUSING = 0.25
# Work that waits for less than this at the rate it is done is in hand, not in a queue.
QUEUE_S = 1.0
# A queue that moves by less than a twentieth of what is done stands; for less than a third of its
# time, by chance. Of what leaves it a tenth may seem unserved. All over some steps, for the noise.
STILL, STANDS_FOR, LEFT_UNSERVED, WIDE = 0.05, 1 / 3, 0.1, 5
# Half an hour on either side of an edge: what else the users do has not changed much in it.
BESIDE_S = 1800.0
# A load that came with less than a fifth of the rate cannot be told from the others.
LEAST_RISE = 0.2
LEAST_STEPS = 20
# One or two connections more are no load of their own; and a tenth of them may come and go.
NEWCOMERS = 3
STEADY = 0.1
ALIKE = (
    "clients that wait look like this, and so do outside requests with one connection each; "
    "counted arrivals, or a counted queue outside the database, would decide"
)
SURE = "; no work waited outside the database, so clients wait for their answers"
NEEDED = (
    "storage metrics alone do not show whether clients wait for their answers; record connections "
    "or active sessions too"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopEstimate:
    """How the load answers, and what is known of who asks."""

    loop: LoadResponse
    reason: str
    think_s: float = float("nan")
    """Time a connection is held outside storage for each request; NaN where connections do not tell."""
    is_sure: bool = False
    """Whether nothing queued outside the database, so that the clients who were counted are all."""
    is_pausing: bool = False
    """Whether clients spend more time elsewhere than a quarter of that in storage."""
    queue_ops: FloatArray | None = None
    """Work that waited outside the database and was done later, in operations, shape (n,)."""
    is_kept: bool = False
    """Whether what waited was all done: it left the queue no faster than work was done."""
    arrivals: Arrivals | None = None
    """What came, where it was counted."""


def loop_of(snapshot: Snapshot, seen: MeasuredDemand, held: ThrottledSteps) -> LoopEstimate:
    """
    Open, closed or unknown, with the sentence that says why.

    Without connections and active sessions, without latency, or without both pressed and free
    steps, it is unknown.
    """
    in_flight = seen.ops_per_s * seen.latency_s
    known = seen.is_measured & np.isfinite(in_flight) & (seen.ops_per_s > 0)
    counted = _counted(snapshot, seen, in_flight, known, held)
    active = _column(snapshot, Metric.ACTIVE_SESSION_COUNT, seen)
    piled = _pile(active, seen, in_flight, known, held)
    queued = _queue(snapshot, seen, held, piled or counted)
    return _with_arrivals(queued or piled or counted, arrivals_of(snapshot, seen, held))


def _with_arrivals(found: LoopEstimate, came: Arrivals | None) -> LoopEstimate:
    """Return what is found of the loop once it is known what came: more than was done, or not."""
    if came is None:
        return found
    if came.is_lost:
        return replace(
            found,
            loop=LoadResponse.OPEN,
            reason=(
                f"at the ceiling {100 * (1 + came.excess_ratio):.0f} requests arrived for every 100 "
                "completed, so they do not wait for each other"
            ),
            arrivals=came,
        )
    if np.isfinite(found.think_s):
        return replace(
            found,
            loop=LoadResponse.CLOSED,
            is_sure=True,
            reason=f"{_plain(found.reason)}; all that arrived was done, so clients wait for answers",
            arrivals=came,
        )
    return replace(found, reason=f"{found.reason}; all that arrived was done", arrivals=came)


def _plain(reason: str) -> str:
    """Return a reason without what would tell more."""
    return reason.removesuffix(f": {ALIKE}").removesuffix(SURE)


def _counted(
    snapshot: Snapshot,
    seen: MeasuredDemand,
    in_flight: FloatArray,
    known: BoolArray,
    held: ThrottledSteps,
) -> LoopEstimate:
    sessions = _column(snapshot, Metric.CONNECTION_COUNT, seen)
    active = _column(snapshot, Metric.ACTIVE_SESSION_COUNT, seen)
    # The regression first: it needs no moment at which the load comes or goes.
    found = _clients(sessions, seen, in_flight, known, held)
    found = found or _newcomers(sessions, active, seen, in_flight, known, held)
    return found or LoopEstimate(loop=LoadResponse.UNKNOWN, reason=NEEDED)


def _queue(
    snapshot: Snapshot, seen: MeasuredDemand, held: ThrottledSteps, counted: LoopEstimate
) -> LoopEstimate | None:
    """Return what work that waits outside tells: that there is none, that it is done later, or lost."""
    waiting = _column(snapshot, Metric.WAITING_WORK_COUNT, seen)
    done = _column(snapshot, Metric.TRANSACTIONS_PER_S, seen)
    inside = held.is_held & np.isfinite(waiting) & np.isfinite(done) & (done > 0)
    if inside.sum() < LEAST_STEPS:
        return None
    # Waiting work is counted in jobs, demand in operations; the ratio at the ceiling converts it.
    each = float(np.median(seen.ops_per_s[inside] / done[inside]))
    queue = np.where(np.isfinite(waiting), waiting, 0.0) * each
    # Nine in ten, so that one jam of a moment is not taken for a queue.
    longest = float(np.quantile(queue[inside] / seen.ops_per_s[inside], 0.9))
    if longest < QUEUE_S:
        if not np.isfinite(counted.think_s):
            return None
        return replace(
            counted, loop=LoadResponse.CLOSED, is_sure=True, reason=_plain(counted.reason) + SURE
        )
    return LoopEstimate(
        loop=LoadResponse.OPEN,
        reason=(
            f"up to {longest:.0f} s of work waited outside the database while the ceiling bound, "
            "so requests do not wait for each other"
        ),
        queue_ops=queue,
        is_kept=_is_kept(waiting, done, held, seen.step_s),
    )


def _is_kept(waiting: FloatArray, done: FloatArray, held: ThrottledSteps, step_s: float) -> bool:
    """
    Return whether a queue lost nothing: it grew and shrank, and what left it was done.

    Work that gives up leaves a queue unserved, and a queue that stands still while a ceiling binds
    turns away what the ceiling does: nothing else would make them equal.
    """
    counted = np.isfinite(waiting) & np.isfinite(done) & (done > 0)
    known = counted[WIDE:] & counted[:-WIDE]
    # Both are means over a step: what left between two is what the steps from one to the other did.
    left = (waiting[:-WIDE] - waiting[WIDE:])[known]
    served = _sums(np.where(counted, done, 0.0), WIDE)[known] * step_s
    inside = (held.is_held & (waiting > 0))[WIDE:][known]
    leaving = left > 0
    if not inside.any() or not leaving.any():
        return False
    stands = float(np.mean(np.abs(left[inside]) < STILL * served[inside]))
    gone = float(np.maximum(left - served, 0.0)[leaving].sum())
    return stands < STANDS_FOR and gone < LEFT_UNSERVED * float(left[leaving].sum())


def _sums(values: FloatArray, width: int) -> FloatArray:
    """Return sums from the middle of each step to the middle of that `width` later."""
    whole = np.concatenate(([0.0], np.cumsum(0.5 * (values[1:] + values[:-1]))))
    found: FloatArray = whole[width:] - whole[:-width]
    return found


def _column(snapshot: Snapshot, metric: Metric, seen: MeasuredDemand) -> FloatArray:
    width = np.full(seen.time_s.size, seen.step_s)
    return on_grid(snapshot.series.get(metric), seen.time_s, width)


def _pile(
    active: FloatArray,
    seen: MeasuredDemand,
    in_flight: FloatArray,
    known: BoolArray,
    held: ThrottledSteps,
) -> LoopEstimate | None:
    """Return sessions at work that are not in storage, more of them for each request while it binds."""
    counts = known & np.isfinite(active)
    pressed, free = counts & held.is_held, counts & ~held.is_held & ~held.is_partly
    if pressed.sum() < LEAST_STEPS or free.sum() < LEAST_STEPS:
        return None
    each_s = (active - in_flight)[counts] / seen.ops_per_s[counts]
    during = float(np.median(each_s[pressed[counts]]))
    usual = max(float(np.median(each_s[free[counts]])), 0.0)
    stored = float(np.median(seen.latency_s[pressed]))
    # Both must be clear: a rise beyond the error of latency, and a change against what is usual.
    if during - usual <= PILE * stored or during < 1.5 * usual:
        return None
    return LoopEstimate(
        loop=LoadResponse.OPEN,
        reason=(
            f"each request spent {1e3 * during:.2g} ms outside storage while the ceiling bound, "
            f"instead of {1e3 * usual:.2g} ms: requests pile up"
        ),
    )


def _clients(
    sessions: FloatArray,
    seen: MeasuredDemand,
    in_flight: FloatArray,
    known: BoolArray,
    held: ThrottledSteps,
) -> LoopEstimate | None:
    """Return sessions explained by rate and latency, pressed and free alike."""
    counts = known & np.isfinite(sessions)
    if (counts & held.is_held).sum() < LEAST_STEPS or (counts & ~held.is_held).sum() < LEAST_STEPS:
        return None
    y, flight, rate = sessions[counts], in_flight[counts], seen.ops_per_s[counts]
    columns = np.column_stack((np.ones(y.size), flight, rate))
    # Connections and operations differ by orders of magnitude; scaled, least squares is well
    # conditioned.
    scale = np.maximum(np.std(columns, axis=0), 1e-12)
    scale[0] = 1.0
    weights = _balance(held.is_held[counts])
    idle, share, other = _least_squares(columns / scale, y, weights) / scale
    left = y - columns @ np.array([idle, share, other])
    middle = np.average(y, weights=weights)
    explained = 1 - np.average(left**2, weights=weights) / max(
        float(np.average((y - middle) ** 2, weights=weights)), 1e-12
    )
    # Another share would mean sessions that do not wait for storage, whatever the fit.
    if not (SHARE_RANGE[0] <= share <= SHARE_RANGE[1]) or explained < EXPLAINED:
        return None
    # The edges of the load tell its own clients; the regression mixes them with everybody else's.
    think = _think_s(sessions, seen, in_flight, counts, held)
    if think is None:
        think = max(float(other / share), 0.0)
    return LoopEstimate(
        loop=LoadResponse.UNKNOWN,
        reason=(
            f"requests in flight and {1e3 * think:.2g} ms per request outside storage explain "
            f"{100 * explained:.0f} % of the connections: {ALIKE}"
        ),
        think_s=think,
        is_pausing=think > PAUSING * float(np.median(seen.latency_s[counts & held.is_held])),
    )


def _newcomers(
    sessions: FloatArray,
    active: FloatArray,
    seen: MeasuredDemand,
    in_flight: FloatArray,
    known: BoolArray,
    held: ThrottledSteps,
) -> LoopEstimate | None:
    """
    Return connections that came with a load and stayed as many while it was held back, nearly all at work.

    They are at work in storage: no more of them than requests are in flight, give or take what is
    read ahead. A pool that is full looks the same, and is as many clients as well.
    """
    counts = known & np.isfinite(sessions) & np.isfinite(active)
    inside = counts & held.is_held
    outside = counts & ~held.is_held & ~held.is_partly
    if inside.sum() < LEAST_STEPS or outside.sum() < 3:
        return None

    def came(values: FloatArray) -> float:
        return float(np.median(values[inside]) - np.median(values[outside]))

    # Differences, so that connections that were open all along cancel out.
    number, stored = came(sessions), came(in_flight)
    steady = float(np.std(sessions[inside])) <= STEADY * number
    if number < NEWCOMERS or not steady or not _is_like(came(active), stored):
        return None
    think = _think_s(sessions, seen, in_flight, counts, held)
    if think is None:
        return None
    return LoopEstimate(
        loop=LoadResponse.UNKNOWN,
        reason=(
            f"{number:.0f} connections came with the load, and their number stayed the same at the "
            f"ceiling, with {1e3 * think:.2g} ms per request outside storage: {ALIKE}"
        ),
        think_s=think,
        is_pausing=think > PAUSING * float(np.median(seen.latency_s[inside])),
    )


def _is_like(active: float, stored: float) -> bool:
    """Return whether sessions at work are those that have requests in flight."""
    return stored > 0 and SHARE_RANGE[0] <= active / stored <= SHARE_RANGE[1]


def _think_s(
    sessions: FloatArray,
    seen: MeasuredDemand,
    in_flight: FloatArray,
    counts: BoolArray,
    held: ThrottledSteps,
) -> float | None:
    """
    Return time elsewhere of those who came with the load: what changes as it comes and goes is theirs.

    Others, who were there all along, cancel out; None where the load never comes or goes in sight.
    """
    beside = max(int(BESIDE_S / seen.step_s), 3)
    found = []
    for stretch in held.stretches:
        first, last = stretch.span.start, stretch.span.stop
        for inner, outer in (
            (slice(first, first + beside), slice(max(first - beside, 0), max(first - 1, 0))),
            (slice(max(last - beside, first), last), slice(last + 1, last + beside)),
        ):
            inside = np.flatnonzero((counts & held.is_held)[inner]) + inner.start
            outside = np.flatnonzero((counts & ~held.is_held)[outer]) + outer.start
            # A median needs three readings to leave one of them out.
            if inside.size < 3 or outside.size < 3:
                continue

            def more(values: FloatArray, at: IntArray = inside, by: IntArray = outside) -> float:
                return float(np.median(values[at]) - np.median(values[by]))

            rate = more(seen.ops_per_s)
            if rate > LEAST_RISE * float(np.median(seen.ops_per_s[inside])):
                found.append((more(sessions) - more(in_flight)) / rate)
    return max(float(np.median(found)), 0.0) if found else None


def _balance(is_held: BoolArray) -> FloatArray:
    """Return weights that let pressed and free steps count alike."""
    share = float(is_held.mean())
    return np.where(is_held, 0.5 / share, 0.5 / (1 - share))


def _least_squares(columns: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return weighted least squares with non-finite rows already left out; twice, without far outliers."""
    root = np.sqrt(weights)
    found = np.asarray(np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0])
    left = np.abs(y - columns @ found)
    # Residuals beyond four medians have another cause; if most are, the first fit is all there is.
    keep = left <= 4 * max(float(np.median(left)), 1e-9)
    if keep.sum() < y.size // 2:
        return found
    return np.asarray(
        np.linalg.lstsq(columns[keep] * root[keep, None], y[keep] * root[keep], rcond=None)[0]
    )
