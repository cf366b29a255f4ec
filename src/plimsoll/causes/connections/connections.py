"""
Report connections: who has them, in which state, how many are opened and how they end.

Active sessions load the machine. Idle ones take slots and memory; those in a transaction also hold locks and
a snapshot, so vacuum cannot remove dead rows. Rule: what glances cannot show (fewer than two, hidden states)
is named in `missing_of`, and gives no finding.
"""

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.connections import sessions as seen
from plimsoll.causes.connections.arrivals import arrivals_of
from plimsoll.causes.connections.patterns import patterns, sizing_command
from plimsoll.causes.connections.work import capacity_evidence, overload
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Glance, Observation
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.severity import Severity
from plimsoll.units import format_duration, format_ratio

# Judgements. Applications do not need a minute of idle time in a transaction; after an hour it was forgotten.
# Five seconds are worth a note.
IDLE_IN_TRANSACTION_S = (5.0, 60.0, 3600.0)
# Judgements: connections idle for a minute are not needed now; half of the usable ones are worth a warning.
IDLE_SHARE = 0.5
IDLE_S = 60.0
# From 14 on pg_stat_database counts sessions and how they end (release notes of 14).
_COUNTS_SESSIONS = 140_000


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return findings about connections, the most severe first; nothing if no client was seen."""
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
        _overview(observation, budget),
    ]
    return ranked([cause for cause in found if cause is not None])


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return what could not be seen of connections, and what would show it."""
    found = []
    glances = observation.glances
    # Without any glance the reader already says why.
    if len(glances) == 1:
        found.append(
            Missing(
                name="samples of sessions", hides="leaks and storms of connections", remedy="Watch longer: --for 60s."
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
                hides="how many connections were opened, and how they ended",
                remedy="PostgreSQL 14 and later count them.",
            )
        )
    return tuple(found)


def level(value: float, bounds: tuple[float, float]) -> Severity | None:
    """Return `critical` from the second bound on, `warning` from the first."""
    if value < bounds[0]:
        return None
    return "critical" if value >= bounds[1] else "warning"


def _near_max(observation: Observation) -> Cause | None:
    peak = max(observation.glances, key=lambda glance: len(seen.clients_of(glance)))
    count, most = len(seen.clients_of(peak)), seen.usable_connections(observation)
    severity = level(count / most, seen.NEAR_MAX)
    if severity is None:
        return None
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="NearMaxConnections",
        severity=severity,
        subject="",
        title=f"{count:,} of {most:,} usable connections are taken ({format_ratio(count / most)})",
        text="At the limit clients are refused: 'sorry, too many clients already'. More connections do not"
        " increase throughput; with a pooler the same clients share fewer.",
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
                text="Give each service a smaller pool. This command shows what fits.",
                commands=(sizing_command(observation.server.connection_max),),
                expected=f"Fewer than {seen.NEAR_MAX[0] * most:,.0f} connections.",
            ),
            Remedy(text="Or use a pooler in transaction mode."),
        ),
        refuted_by=f"The count stays below {seen.NEAR_MAX[0] * most:,.0f} at the busiest hour.",
    )


def _in_transaction(observation: Observation, state: str) -> Cause | None:
    """Return the sessions idle in a transaction, at the worst glance."""
    worst = max(observation.glances, key=lambda g: _weight(g, state))
    found = seen.in_state(worst, state)
    oldest, most = seen.oldest_s(found) or 0.0, seen.usable_connections(observation)
    notable, forgotten, old = IDLE_IN_TRANSACTION_S
    severity = level(oldest, (forgotten, old)) or level(len(found) / most, seen.BLOCKED_SHARES)
    if severity is None and oldest < notable:
        return None
    aborted = state == seen.ABORTED
    what = "a failed transaction" if aborted else "a transaction"
    what += " open and is idle" if len(found) == 1 else " open and are idle"
    at_most = "" if len(found) == 1 else " at most"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="AbortedTransactions" if aborted else "IdleInTransaction",
        severity=severity or "note",
        subject=seen.holders(found, count_max=1).partition(" ")[2],
        title=f"{_sessions(len(found))} {what}, for {format_duration(oldest)}{at_most}",
        text=(
            "A statement failed and the client sent no ROLLBACK, so the server refuses every further statement."
            if aborted
            else "The application waits for something else while its transaction is open."
        )
        + " It keeps its connection, its locks and its snapshot, so vacuum cannot remove newer dead rows.",
        evidence=(
            Evidence(kind="sessions", text=f"held by {seen.holders(found)}", value=float(len(found))),
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
    shown = "off" if value == "0" else f"{value} ms"
    return (Evidence(kind="setting", text=f"idle_in_transaction_session_timeout is {shown}"),)


def _remedies_in_transaction(*, aborted: bool) -> tuple[Remedy, ...]:
    code = (
        "Roll back in every error path, for example with a context manager or finally."
        if aborted
        else "Commit before waiting for anything outside this database: HTTP calls, queues, users."
    )
    return (
        Remedy(
            text="Let the server end idle transactions.",
            settings=(("idle_in_transaction_session_timeout", "60s"),),
            expected="No transaction is idle for more than a minute; the client loses its connection.",
        ),
        Remedy(text=code),
    )


def _idle(observation: Observation) -> Cause | None:
    """Return connections idle for a minute, if they are half of the usable ones or more."""
    last, most = observation.glances[-1], seen.usable_connections(observation)
    found = [s for s in seen.in_state(last, seen.IDLE) if (s.state_s or 0) >= IDLE_S]
    if len(found) < IDLE_SHARE * most:
        return None
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="IdleConnections",
        severity="warning",
        subject=seen.holders(found, count_max=1).partition(" ")[2],
        title=f"{len(found):,} connections ({format_ratio(len(found) / most)} of the usable ones) have"
        f" been idle for over {format_duration(IDLE_S)}",
        text="Pools are larger than the load needs. Each idle connection takes a process and a slot, and after"
        " a stall all of them are active at once.",
        evidence=(
            Evidence(kind="sessions", text=f"held by {seen.holders(found)}", value=float(len(found))),
            Evidence(kind="age", text=f"idle {seen.ages(found)}"),
        ),
        remedies=(
            Remedy(text="Give each pool a smaller maximum and let it shrink when idle."),
            Remedy(
                text="The server can end idle sessions of clients without a pool (14 and later). A pool would find"
                " closed connections.",
                commands=(f"ALTER ROLE {seen.role_of(found)} SET idle_session_timeout = '10min';",),
            ),
        ),
        refuted_by="At the busiest hour most of them are active.",
    )


def _overview(observation: Observation, budget: Budget) -> Cause:
    """Return an overview of all connections, as a note."""
    last = observation.glances[-1]
    clients = seen.clients_of(last)
    most = seen.usable_connections(observation)
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ConnectionsHeld",
        severity="note",
        subject="",
        title=f"{len(clients):,} of {most:,} usable connections {'is' if len(clients) == 1 else 'are'} open,"
        f" {len(seen.in_state(last, seen.ACTIVE))} of them active",
        evidence=(
            *_by_state(last),
            Evidence(kind="sessions", text=f"held by {seen.holders(clients)}"),
            capacity_evidence(observation, budget),
        )
        if clients
        else (),
        refuted_by="Other samples show different numbers: these are from the last one.",
    )


def _by_state(glance: Glance) -> tuple[Evidence, ...]:
    states = []
    for state in seen.STATES:
        found = seen.in_state(glance, state)
        if found:
            since = seen.ages(found)
            states.append(
                Evidence(
                    kind="sessions",
                    text=f"{len(found):,} {state}" + (f", {since}" if since else ""),
                    value=float(len(found)),
                )
            )
    hidden = [s for s in seen.clients_of(glance) if s.state is None]
    if hidden:
        states.append(Evidence(kind="sessions", text=f"{len(hidden):,} with a hidden state"))
    return tuple(states)


def _sessions(count: int) -> str:
    return f"{count:,} session holds" if count == 1 else f"{count:,} sessions hold"
