"""
What the glances at a server's sessions tell: who holds connections, in which state, for how long.

Rule 1: sessions of Plimsoll and of the server itself are nobody's connections.
Rule 2: a state that the role may not see is unknown, and counted as such, never as idle.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from plimsoll.model.database import Glance, Observation, Session
from plimsoll.model.pool_size import LoadPoint
from plimsoll.units import format_duration

OURS = "plimsoll"
IDLE, ACTIVE = "idle", "active"
IN_TRANSACTION = "idle in transaction"
ABORTED = "idle in transaction (aborted)"
STATES = (ACTIVE, IDLE, IN_TRANSACTION, ABORTED)

# A busy backend reports its transactions once a second: shorter spans would measure the reporting.
SPAN_S_MIN = 5.0
# Storage is what holds the server up where this share of the sessions at work waits for it.
IO_WAITING_RATIO = 0.5


def clients_of(glance: Glance) -> list[Session]:
    """Return connections of clients; where the kind is hidden, those that are in a database."""
    return [
        s
        for s in glance.sessions
        if s.application != OURS
        and (s.backend_type == "client backend" if s.backend_type else s.database is not None)
    ]


def in_state(glance: Glance, state: str) -> list[Session]:
    """Return clients' sessions in a state; `fastpath function call` is work as well."""
    names = (state, "fastpath function call") if state == ACTIVE else (state,)
    return [s for s in clients_of(glance) if s.state in names]


def at_work(glance: Glance) -> list[Session]:
    """Return clients' sessions that run a statement and do not wait for a lock: they load the machine."""
    return [s for s in in_state(glance, ACTIVE) if s.wait_event_type != "Lock"]


def holder_of(session: Session) -> str:
    """Return who: user, application and address, as far as they are known."""
    parts = [session.user or "unknown user"]
    if session.application:
        parts.append(f"'{session.application}'")
    return " ".join(parts) + f" from {session.address or 'the machine itself'}"


def holders(sessions: Iterable[Session], *, count_max: int = 3) -> str:
    """Return the largest holders with their numbers: `12 app 'orders' from 10.0.0.5, 3 …`."""
    counted = Counter(holder_of(session) for session in sessions).most_common()
    told = [f"{count} {who}" for who, count in counted[:count_max]]
    if len(counted) > count_max:
        told.append(f"{sum(count for _, count in counted[count_max:])} others")
    return ", ".join(told)


def role_of(sessions: Iterable[Session]) -> str:
    """
    Return the user that holds the most, quoted for SQL.

    Where nobody's name is known it is `<role>`, which no server takes for one.
    """
    users = Counter(session.user for session in sessions if session.user)
    return quoted(users.most_common(1)[0][0]) if users else "<role>"


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def oldest_s(sessions: Iterable[Session]) -> float | None:
    """Return the longest time in the present state; None where none is known."""
    return max((s.state_s for s in sessions if s.state_s is not None), default=None)


def ages(sessions: Sequence[Session]) -> str:
    """Return median and longest time in the present state, `for 12 s, …`; empty where not known."""
    known = sorted(s.state_s for s in sessions if s.state_s is not None)
    if not known:
        return ""
    middle, longest = (_lasting(age_s) for age_s in (known[len(known) // 2], known[-1]))
    return f"for {longest}" if middle == longest else f"for {middle} (median), {longest} at most"


def _lasting(age_s: float) -> str:
    return "less than 1 s" if age_s < 1 else format_duration(age_s)


def mean_count(glances: Sequence[Glance], state: str | None = None) -> float | None:
    """Return clients' sessions on average, of one state or all; None without glances."""
    if not glances:
        return None
    counts = [len(clients_of(g) if state is None else in_state(g, state)) for g in glances]
    return sum(counts) / len(counts)


def busy_between(glances: Sequence[Glance]) -> float | None:
    """
    Return sessions at work on average over some glances; None without any.

    Glances hardly ever catch statements of microseconds, and the server's own count of time spent lags
    behind long ones: each misses some, so the larger of both is taken. Who waits for a lock is not at
    work; of the server's count, which has such waits, the part that glances saw at work is taken.
    """
    running = mean_count(glances, ACTIVE)
    if running is None:
        return None
    caught = sum(len(at_work(glance)) for glance in glances) / len(glances)
    working = caught / running if running else 1.0
    first, last = glances[0], glances[-1]
    elapsed_s = last.time_s - first.time_s
    if first.active_s is None or last.active_s is None or elapsed_s <= 0:
        return caught
    return max(caught, working * (last.active_s - first.active_s) / elapsed_s)


def load_points(observation: Observation) -> tuple[LoadPoint, ...]:
    """Return throughput by sessions at work, over spans of five seconds or more between glances."""
    points: list[LoadPoint] = []
    span: list[Glance] = []
    for glance in observation.glances:
        if glance.transaction_count is None:
            continue
        span.append(glance)
        elapsed_s = glance.time_s - span[0].time_s
        if elapsed_s < SPAN_S_MIN:
            continue
        done = (glance.transaction_count or 0) - (span[0].transaction_count or 0)
        busy = busy_between(span)
        if done > 0 and busy:
            points.append(LoadPoint(busy=busy, per_s=done / elapsed_s))
        span = [glance]
    return tuple(points)


def transactions_per_s(observation: Observation) -> float | None:
    """Return transactions committed and rolled back between the two readings; None where they cannot be compared."""
    first, last = observation.first.counters, observation.last.counters
    done = last.committed + last.rolled_back - first.committed - first.rolled_back
    return done / observation.seconds if observation.seconds > 0 and done >= 0 else None


def is_waiting_for_io(observation: Observation) -> bool:
    """Return whether at least half of the sessions at work waited for storage."""
    busy = [s for glance in observation.glances for s in in_state(glance, ACTIVE)]
    waiting = [s for s in busy if (s.wait_event_type or "").lower() == "io"]
    return bool(busy) and len(waiting) >= IO_WAITING_RATIO * len(busy)


def gone_for(glances: Sequence[Glance]) -> list[float]:
    """Return how long sessions had been connected when they were last seen, of those that left."""
    held: list[float] = []
    for before, after in pairwise(glances):
        here = {s.pid for s in clients_of(after)}
        held += [
            s.connected_s
            for s in clients_of(before)
            if s.pid not in here and s.connected_s is not None
        ]
    return held
