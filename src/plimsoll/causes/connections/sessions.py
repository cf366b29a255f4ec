"""
Read the glances at a server's sessions: who has connections, in which state, for how long.

Rule 1: sessions of Plimsoll and of the server's own processes do not count as connections.
Rule 2: a state that the role may not see counts as unknown, never as idle.
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

# A backend reports its transactions at most once a second (PostgreSQL, pgstat.c, PGSTAT_MIN_INTERVAL):
# shorter spans would measure the reports.
SPAN_S_MIN = 5.0
# A judgement: if half of the active sessions wait for storage, it limits the server.
IO_WAITING_RATIO = 0.5
# A judgement: with fewer sessions at work in all glances together, one more or less changes the ratio by a tenth.
TAKEN_BUSY_MIN = 10
# Judgements, shares of the usable connections. At 80 % a storm has no room, at 95 % clients are soon refused.
NEAR_MAX = (0.8, 0.95)
# Judgements, as above: with a tenth of them blocked pools notice, with a quarter they run out.
BLOCKED_SHARES = (0.1, 0.25)


def usable_connections(observation: Observation) -> int:
    """Return connections that are not reserved for superusers, at least one."""
    server = observation.server
    return max(server.connection_max - server.reserved_connections, 1)


def clients_of(glance: Glance) -> list[Session]:
    """Return sessions of clients; if their type is hidden, those that are in a database."""
    return [
        s
        for s in glance.sessions
        if s.application != OURS and (s.backend_type == "client backend" if s.backend_type else s.database is not None)
    ]


def in_state(glance: Glance, state: str) -> list[Session]:
    """Return client sessions in a state; `fastpath function call` counts as active."""
    names = (state, "fastpath function call") if state == ACTIVE else (state,)
    return [s for s in clients_of(glance) if s.state in names]


def running(glance: Glance) -> list[Session]:
    """Return client sessions that run a statement and do not wait for a lock: they load the machine."""
    return [s for s in in_state(glance, ACTIVE) if s.wait_event_type != "Lock"]


def holder_of(session: Session) -> str:
    """Return user, application and address of a session, as far as they are known."""
    parts = [session.user or "unknown user"]
    if session.application:
        parts.append(f"'{session.application}'")
    return " ".join(parts) + f" from {session.address or 'a local socket'}"


def holders(sessions: Iterable[Session], *, count_max: int = 3) -> str:
    """Return the holders of most sessions as text: `12 app 'orders' from 10.0.0.5, 3 …`."""
    counted = Counter(holder_of(session) for session in sessions).most_common()
    parts = [f"{count} {who}" for who, count in counted[:count_max]]
    if len(counted) > count_max:
        parts.append(f"{sum(count for _, count in counted[count_max:])} others")
    return ", ".join(parts)


def role_of(sessions: Iterable[Session]) -> str:
    """
    Return the user with the most sessions, quoted for SQL.

    If no name is known it is the placeholder `<role>`, which is not valid SQL.
    """
    users = Counter(session.user for session in sessions if session.user)
    return quoted(users.most_common(1)[0][0]) if users else "<role>"


def quoted(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def oldest_s(sessions: Iterable[Session]) -> float | None:
    """Return the longest time in the current state; None if unknown."""
    return max((s.state_s for s in sessions if s.state_s is not None), default=None)


def ages(sessions: Sequence[Session]) -> str:
    """Return median and longest time in the current state as text; empty if unknown."""
    known = sorted(s.state_s for s in sessions if s.state_s is not None)
    if not known:
        return ""
    middle, longest = (_age_text(age_s) for age_s in (known[len(known) // 2], known[-1]))
    return f"for {longest}" if middle == longest else f"for {middle} (median), {longest} at most"


def _age_text(age_s: float) -> str:
    return "less than 1 s" if age_s < 1 else format_duration(age_s)


def mean_count(glances: Sequence[Glance], state: str | None = None) -> float | None:
    """Return the mean number of client sessions, of one state or all; None without glances."""
    if not glances:
        return None
    counts = [len(clients_of(g) if state is None else in_state(g, state)) for g in glances]
    return sum(counts) / len(counts)


def busy_between(glances: Sequence[Glance]) -> float | None:
    """
    Return the mean number of sessions that run a statement; None without glances.

    Glances rarely catch statements of microseconds, and the server's count of active time is late for long
    ones. Each misses some, so the larger of both is taken. Sessions that wait for a lock do not count. The
    server's count has such waits; it is scaled by the share that glances saw without a lock wait.
    """
    active = mean_count(glances, ACTIVE)
    if active is None:
        return None
    caught = sum(len(running(glance)) for glance in glances) / len(glances)
    working = caught / active if active else 1.0
    first, last = glances[0], glances[-1]
    elapsed_s = last.time_s - first.time_s
    if first.active_s is None or last.active_s is None or elapsed_s <= 0:
        return caught
    return max(caught, working * (last.active_s - first.active_s) / elapsed_s)


def taken_ratio(glances: Sequence[Glance]) -> float | None:
    """
    Return how many connections transactions hold for each that runs a statement; None if too few were seen.

    Between its statements a transaction is idle, and still has its connection: while the client computes, and while a
    statement passes a pooler. If the processors are overloaded, it waits there, too. So only the quieter half of the
    glances counts, by sessions in a transaction.
    """
    counts = sorted(
        (len(running(glance)) + len(in_state(glance, IN_TRANSACTION)), len(running(glance))) for glance in glances
    )
    seen = [(taken, busy) for taken, busy in counts if taken]
    quieter = seen[: (len(seen) + 1) // 2]
    busy = sum(busy for _, busy in quieter)
    return sum(taken for taken, _ in quieter) / busy if busy >= TAKEN_BUSY_MIN else None


def load_points(observation: Observation) -> tuple[LoadPoint, ...]:
    """Return throughput by active sessions, over spans of at least five seconds between glances."""
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
    """Return transactions per second between the two readings; None if they cannot be compared."""
    first, last = observation.first.counters, observation.last.counters
    done = last.committed + last.rolled_back - first.committed - first.rolled_back
    return done / observation.seconds if observation.seconds > 0 and done >= 0 else None


def is_waiting_for_io(observation: Observation) -> bool:
    """Return whether at least half of the active sessions waited for storage."""
    busy = [s for glance in observation.glances for s in in_state(glance, ACTIVE)]
    waiting = [s for s in busy if (s.wait_event_type or "").lower() == "io"]
    return bool(busy) and len(waiting) >= IO_WAITING_RATIO * len(busy)


def ended_ages_s(glances: Sequence[Glance]) -> list[float]:
    """Return the ages, when last seen, of sessions that ended between glances."""
    ages_s: list[float] = []
    for before, after in pairwise(glances):
        here = {s.pid for s in clients_of(after)}
        ages_s += [s.connected_s for s in clients_of(before) if s.pid not in here and s.connected_s is not None]
    return ages_s
