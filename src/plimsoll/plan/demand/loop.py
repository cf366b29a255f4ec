"""
Open or closed: whether the clients of a load wait for their answers, by counts of the database.

A client that waits holds a connection all the time: N = X·(R + Z), requests per second times the time
each takes in storage and elsewhere (Little's law). So if clients wait, two storage metrics explain the
connections (or active sessions) at every moment, throttled or not:

    sessions = idle + b·(X·R) + c·X          Z = c ÷ b

If requests arrive from outside, unserved ones accumulate beyond what X·R explains, unless each has its own
connection, which looks like clients that wait. So connections alone give Z and an upper bound of the
clients' demand, but not whether there are such clients. That needs a count of the work that waits
outside the database, or of the arrivals.
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
# Sessions count as explained if the unexplained part is below a fifth of their variance.
EXPLAINED = 0.8
# A quarter as many sessions again as storage explains are more than a latency's error.
PILE = 0.25
# Less than that is within the error of the latency.
PAUSING = 0.25
# Work that waits for less than this, at the rate it is done, is in progress and not queued.
QUEUE_S = 1.0
# A queue that changes by less than a twentieth of the completed work is constant; for less than a third of
# its time that is chance. A tenth of what leaves it may seem unserved. All over some steps, against noise.
STILL, STANDS_FOR, LEFT_UNSERVED, WIDE = 0.05, 1 / 3, 0.1, 5
# Half an hour on either side of an edge: the other work of the users changes little in that time.
BESIDE_S = 1800.0
# A load with less than a fifth of the rate cannot be separated from the others.
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
    """The response of the load to faster storage, and the evidence about its clients."""

    loop: LoadResponse
    reason: str
    think_s: float = float("nan")
    """Time of a connection outside storage per request; NaN where connections do not show it."""
    is_sure: bool = False
    """Whether nothing queued outside the database, so that the counted clients are all."""
    is_pausing: bool = False
    """Whether clients spend more time elsewhere than a quarter of that in storage."""
    queue_ops: FloatArray | None = None
    """Work that waited outside the database and was done later, in operations, shape (n,)."""
    is_all_done: bool = False
    """Whether all queued work was done: it left the queue no faster than work was completed."""
    arrivals: Arrivals | None = None
    """The arrivals, where they were counted."""


def loop_of(snapshot: Snapshot, seen: MeasuredDemand, held: ThrottledSteps) -> LoopEstimate:
    """
    Return the estimate: open, closed or unknown, with its reason.

    Without connections and active sessions, without latency, or without both throttled and free
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
    """Return a reason without its suffix about missing evidence."""
    return reason.removesuffix(f": {ALIKE}").removesuffix(SURE)


def _counted(
    snapshot: Snapshot, seen: MeasuredDemand, in_flight: FloatArray, known: BoolArray, held: ThrottledSteps
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
    """Return the estimate by the work that waits outside: there is none, or it is done later, or lost."""
    waiting = _column(snapshot, Metric.WAITING_WORK_COUNT, seen)
    done = _column(snapshot, Metric.TRANSACTIONS_PER_S, seen)
    # A step at the ceiling may have no operation left, for example beside a gap.
    inside = held.is_held & np.isfinite(waiting) & (done > 0) & (seen.ops_per_s > 0)
    if inside.sum() < LEAST_STEPS:
        return None
    # Waiting work is counted in jobs, demand in operations; the ratio at the ceiling converts it.
    each = float(np.median(seen.ops_per_s[inside] / done[inside]))
    queue = np.where(np.isfinite(waiting), waiting, 0.0) * each
    # The ninth decile, so that one short jam does not count as a queue.
    longest = float(np.quantile(queue[inside] / seen.ops_per_s[inside], 0.9))
    if longest < QUEUE_S:
        if not np.isfinite(counted.think_s):
            return None
        return replace(counted, loop=LoadResponse.CLOSED, is_sure=True, reason=_plain(counted.reason) + SURE)
    return LoopEstimate(
        loop=LoadResponse.OPEN,
        reason=(
            f"up to {longest:.0f} s of work waited outside the database while the ceiling bound, "
            "so requests do not wait for each other"
        ),
        queue_ops=queue,
        is_all_done=_is_all_done(waiting, done, held, seen.step_s),
    )


def _is_all_done(waiting: FloatArray, done: FloatArray, held: ThrottledSteps, step_s: float) -> bool:
    """
    Return whether a queue lost no work: it grew and shrank, and the work that left it was done.

    Work that gives up leaves a queue unserved. A queue of constant length while a ceiling binds refuses
    the excess, because otherwise arrivals would have to equal the ceiling by chance.
    """
    counted = np.isfinite(waiting) & np.isfinite(done) & (done > 0)
    known = counted[WIDE:] & counted[:-WIDE]
    # Both are means over a step, so the work between two middles is the trapezoid sum of the steps.
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
    """Return the trapezoid sums from the middle of each step to the middle of the step `width` later."""
    whole = np.concatenate(([0.0], np.cumsum(0.5 * (values[1:] + values[:-1]))))
    found: FloatArray = whole[width:] - whole[:-width]
    return found


def _column(snapshot: Snapshot, metric: Metric, seen: MeasuredDemand) -> FloatArray:
    width = np.full(seen.time_s.size, seen.step_s)
    return on_grid(snapshot.series.get(metric), seen.time_s, width)


def _pile(
    active: FloatArray, seen: MeasuredDemand, in_flight: FloatArray, known: BoolArray, held: ThrottledSteps
) -> LoopEstimate | None:
    """Return the estimate *open* if requests spend more time outside storage while the ceiling binds."""
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
    sessions: FloatArray, seen: MeasuredDemand, in_flight: FloatArray, known: BoolArray, held: ThrottledSteps
) -> LoopEstimate | None:
    """Return the estimate by a regression of sessions on rate and requests in flight; None if it fails."""
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
    # With another share the sessions do not wait for storage, however good the fit is.
    if not (SHARE_RANGE[0] <= share <= SHARE_RANGE[1]) or explained < EXPLAINED:
        return None
    # The edges of the load show its own clients; the regression mixes them with all others.
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
    Return the estimate by connections that came with a load and stayed constant while it was throttled.

    Nearly all of them are active in storage: about as many as requests in flight, except for read-ahead.
    A full pool looks the same, and has as many clients.
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
    """Return whether the active sessions are those with requests in flight."""
    return stored > 0 and SHARE_RANGE[0] <= active / stored <= SHARE_RANGE[1]


def _think_s(
    sessions: FloatArray, seen: MeasuredDemand, in_flight: FloatArray, counts: BoolArray, held: ThrottledSteps
) -> float | None:
    """
    Return the time outside storage of the clients that came with the load, by differences at its edges.

    Other clients cancel out. None where the window shows no edge of the load.
    """
    # By Little's law the additional sessions minus the additional requests in flight are X·Z.
    near = max(int(BESIDE_S / seen.step_s), 3)
    found = []
    for stretch in held.stretches:
        first, last = stretch.span.start, stretch.span.stop
        for inner, outer in (
            (slice(first, first + near), slice(max(first - near, 0), max(first - 1, 0))),
            (slice(max(last - near, first), last), slice(last + 1, last + near)),
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
    """Return weights that give throttled and free steps the same total."""
    share = float(is_held.mean())
    return np.where(is_held, 0.5 / share, 0.5 / (1 - share))


def _least_squares(columns: FloatArray, y: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the weighted least-squares solution, fitted again without far outliers."""
    root = np.sqrt(weights)
    found = np.asarray(np.linalg.lstsq(columns * root[:, None], y * root, rcond=None)[0])
    left = np.abs(y - columns @ found)
    # Residuals beyond four medians have another cause; if most are, the first fit is all there is.
    keep = left <= 4 * max(float(np.median(left)), 1e-9)
    if keep.sum() < y.size // 2:
        return found
    return np.asarray(np.linalg.lstsq(columns[keep] * root[keep, None], y[keep] * root[keep], rcond=None)[0])
