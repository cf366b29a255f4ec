"""
Connections: who holds them, in which state, how many come and what becomes of them.

Active sessions load the machine; the others hold slots and memory, and those inside a transaction hold
back vacuum and locks as well. Rule: what glances cannot show (fewer than two, hidden states) is named in
`missing_of`, and nothing is said of it.
"""

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.connections import sessions as seen
from plimsoll.causes.connections.arrivals import arrivals_of
from plimsoll.causes.connections.patterns import patterns, sizing_command
from plimsoll.causes.connections.work import overload, room_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Glance, Observation
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.severity import Severity
from plimsoll.units import format_duration, format_ratio

# Judgements. Nobody thinks for a minute inside a transaction that a program opened; after an hour it has
# been forgotten. Five seconds are long enough to be told.
IDLE_IN_TRANSACTION_S = (5.0, 60.0, 3600.0)
# Shares of all usable connections that sessions idle in transaction hold.
IDLE_IN_TRANSACTION_SHARE = (0.1, 0.25)
# Of `max_connections` less what is reserved: at 80 % a storm has no room, at 95 % people are refused.
NEAR_MAX = (0.8, 0.95)
# Idle connections that have been idle for so long and are at least this share of all that fit.
IDLE_SHARE = 0.5
IDLE_S = 60.0
# The version that began to count sessions and how they end.
_COUNTS_SESSIONS = 140_000


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return what connections show, the gravest first; nothing where no client was seen."""
    glances = observation.glances
    if not glances or not any(seen.clients_of(glance) for glance in glances):
        return ()
    found = [
        _near_max(observation),
        _in_transaction(observation, seen.IN_TRANSACTION),
        _in_transaction(observation, seen.ABORTED),
        _idle(observation),
        *arrivals_of(observation),
        *patterns(observation),
        *overload(observation, budget),
        _held(observation, budget),
    ]
    return ranked([cause for cause in found if cause is not None])


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return what could not be seen of connections, and what would show it."""
    found = []
    glances = observation.glances
    # None at all were not asked for, or did not come: then the reader says so.
    if len(glances) == 1:
        found.append(
            Missing(
                name="samples of sessions",
                hides="whether connections rise, come in storms or are leaked",
                remedy="Watch for longer: --for 60s.",
            )
        )
    hidden = sum(s.state is None for glance in glances for s in seen.clients_of(glance))
    if hidden:
        found.append(
            Missing(
                name="states of sessions",
                hides="whether other users' connections are active, idle or idle in transaction",
                remedy=f"GRANT pg_read_all_stats TO {seen.quoted(observation.server.role)};",
            )
        )
    if observation.server.version_number < _COUNTS_SESSIONS:
        found.append(
            Missing(
                name="session counters",
                hides="how many connections came, and what became of them",
                remedy="PostgreSQL 14 and later count them.",
            )
        )
    return tuple(found)


def usable(observation: Observation) -> int:
    """Return connections that are not reserved for superusers, one at least."""
    return max(observation.server.connection_max - observation.server.reserved_connections, 1)


def level(value: float, bounds: tuple[float, float]) -> Severity | None:
    """Return `critical` from the second bound on, `warning` from the first."""
    if value < bounds[0]:
        return None
    return "critical" if value >= bounds[1] else "warning"


def _near_max(observation: Observation) -> Cause | None:
    peak = max(observation.glances, key=lambda glance: len(seen.clients_of(glance)))
    count, most = len(seen.clients_of(peak)), usable(observation)
    severity = level(count / most, NEAR_MAX)
    if severity is None:
        return None
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="NearMaxConnections",
        severity=severity,
        subject="",
        title=f"{count:,} of {most:,} usable connections are taken ({format_ratio(count / most)})",
        text="Beyond that clients are refused: 'sorry, too many clients already'. More connections do not"
        " bring more throughput; with a pooler the same clients share fewer.",
        evidence=(
            *_by_state(peak),
            Evidence(
                kind="connections",
                text=f"max_connections = {observation.server.connection_max:,}, of which"
                f" {observation.server.reserved_connections} are reserved",
                value=float(count),
                reference=float(most),
            ),
        ),
        remedies=(
            Remedy(
                text="Give each service a smaller pool; see what fits.",
                commands=(sizing_command(observation.server.connection_max),),
                expected=f"Fewer than {NEAR_MAX[0] * most:,.0f} connections.",
            ),
            Remedy(text="Or use a pooler in transaction mode."),
        ),
        refuted_by=f"The count stays below {NEAR_MAX[0] * most:,.0f} at the busiest hour.",
    )


def _in_transaction(observation: Observation, state: str) -> Cause | None:
    """Return sessions that hold a transaction open and do nothing, at the worst glance."""
    worst = max(observation.glances, key=lambda g: _weight(g, state))
    found = seen.in_state(worst, state)
    oldest, most = seen.oldest_s(found) or 0.0, usable(observation)
    notable, forgotten, old = IDLE_IN_TRANSACTION_S
    severity = level(oldest, (forgotten, old)) or level(
        len(found) / most, IDLE_IN_TRANSACTION_SHARE
    )
    if severity is None and oldest < notable:
        return None
    aborted = state == seen.ABORTED
    what = "a failed transaction" if aborted else "a transaction"
    what += " open and does nothing" if len(found) == 1 else " open and do nothing"
    most_told = "" if len(found) == 1 else " at most"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="AbortedTransactions" if aborted else "IdleInTransaction",
        severity=severity or "note",
        subject=seen.holders(found, count_max=1).partition(" ")[2],
        title=f"{_sessions(len(found))} {what}, for {format_duration(oldest)}{most_told}",
        text=(
            "A statement failed and nobody sent ROLLBACK: every further statement is refused."
            if aborted
            else "The application waits for something else while its transaction is open."
        )
        + " It keeps its connection, its locks and its snapshot, so vacuum cannot remove newer dead rows.",
        evidence=(
            Evidence(
                kind="sessions", text=f"held by {seen.holders(found)}", value=float(len(found))
            ),
            Evidence(kind="age", text=f"in this state {seen.ages(found)}", value=oldest),
            *_timeout_set(observation),
        ),
        remedies=_remedies_in_transaction(aborted=aborted),
        refuted_by="In the next sample other sessions are in this state, each for less than a second.",
    )


def _weight(glance: Glance, state: str) -> tuple[float, int]:
    found = seen.in_state(glance, state)
    return seen.oldest_s(found) or 0.0, len(found)


def _timeout_set(observation: Observation) -> tuple[Evidence, ...]:
    value = observation.server.settings.get("idle_in_transaction_session_timeout")
    if value is None:
        return ()
    told = "off" if value == "0" else f"{value} ms"
    return (Evidence(kind="setting", text=f"idle_in_transaction_session_timeout is {told}"),)


def _remedies_in_transaction(*, aborted: bool) -> tuple[Remedy, ...]:
    code = (
        "Roll back in every error path, as a context manager or finally does."
        if aborted
        else "Commit before waiting for anything that is not this database: HTTP calls, queues, people."
    )
    return (
        Remedy(
            text="Let the server end what is forgotten.",
            commands=(
                "ALTER SYSTEM SET idle_in_transaction_session_timeout = '60s';",
                "SELECT pg_reload_conf();",
            ),
            expected="None older than a minute; the client sees its connection end.",
        ),
        Remedy(text=code),
    )


def _idle(observation: Observation) -> Cause | None:
    """Return connections that nobody has used for a minute and that fill half of what fits."""
    last, most = observation.glances[-1], usable(observation)
    found = [s for s in seen.in_state(last, seen.IDLE) if (s.state_s or 0) >= IDLE_S]
    if len(found) < IDLE_SHARE * most:
        return None
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="IdleConnections",
        severity="warning",
        subject=seen.holders(found, count_max=1).partition(" ")[2],
        title=f"{len(found):,} connections ({format_ratio(len(found) / most)} of those that fit) have"
        f" been idle for over {format_duration(IDLE_S)}",
        text="Pools are larger than the load: each idle connection is a process and a slot, and after a"
        " stall all of them are at work at once.",
        evidence=(
            Evidence(
                kind="sessions", text=f"held by {seen.holders(found)}", value=float(len(found))
            ),
            Evidence(kind="age", text=f"idle {seen.ages(found)}"),
        ),
        remedies=(
            Remedy(text="Give each pool a smaller maximum and let it shrink when idle."),
            Remedy(
                text="What no pool holds, the server can end (14 and later); pools would find dead ones.",
                commands=(f"ALTER ROLE {seen.role_of(found)} SET idle_session_timeout = '10min';",),
            ),
        ),
        refuted_by="At the busiest hour most of them are active.",
    )


def _held(observation: Observation, budget: Budget) -> Cause:
    """Who holds what, as a note."""
    last = observation.glances[-1]
    clients = seen.clients_of(last)
    most = usable(observation)
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionsHeld",
        severity="note",
        subject="",
        title=f"{len(clients):,} of {most:,} usable connections {'is' if len(clients) == 1 else 'are'} held,"
        f" {len(seen.in_state(last, seen.ACTIVE))} of them active",
        evidence=(
            *_by_state(last),
            Evidence(kind="sessions", text=f"held by {seen.holders(clients)}"),
            room_of(observation, budget),
        )
        if clients
        else (),
        refuted_by="Other samples differ: this is the last one.",
    )


def _by_state(glance: Glance) -> tuple[Evidence, ...]:
    told = []
    for state in seen.STATES:
        found = seen.in_state(glance, state)
        if found:
            since = seen.ages(found)
            told.append(
                Evidence(
                    kind="sessions",
                    text=f"{len(found):,} {state}" + (f", {since}" if since else ""),
                    value=float(len(found)),
                )
            )
    hidden = [s for s in seen.clients_of(glance) if s.state is None]
    if hidden:
        told.append(Evidence(kind="sessions", text=f"{len(hidden):,} in a state that is hidden"))
    return tuple(told)


def _sessions(count: int) -> str:
    return f"{count:,} session holds" if count == 1 else f"{count:,} sessions hold"
