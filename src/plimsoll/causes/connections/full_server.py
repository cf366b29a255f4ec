"""
Report a server that refuses connections; the first remedy is how to get a session.

Nothing inside the server can be read then. Poolers in front of it still answer.
"""

from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence, Missing

# All these errors have SQLSTATE 53300 (PostgreSQL, proc.c and postinit.c); only the text tells whether the
# server, a role or a database is at its limit. A server with another lc_messages gives other texts.
_SERVER_LIMIT = ("too many clients", "connection slots are reserved")
_OWN_LIMIT = ("too many connections for role", "too many connections for database")
_HOLDERS = """
SELECT usename, application_name, client_addr, state, count(*), max(now() - state_change)
FROM pg_stat_activity GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC;
"""
_END_IDLE = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
  AND state = 'idle' AND state_change < now() - interval '10 minutes';
"""


def causes_of(observation: Observation) -> tuple[Cause, ...]:
    """Return the finding about the refused connection."""
    is_own = any(words in observation.full for words in _OWN_LIMIT)
    return (_own_limit(observation) if is_own else _full(observation),)


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return what the refused connection hides."""
    gaps = [
        Missing(
            name="the server's counters",
            hides="everything inside the server",
            remedy="Inspect it again over a reserved connection.",
        )
    ]
    # The reader of poolers reports what it could not read, and why.
    gaps += [Missing(name=name, hides="", remedy=why) for name, why in observation.missing]
    if not observation.poolers and not observation.missing:
        gaps.append(
            Missing(
                name="poolers",
                hides="clients that wait in front of the server",
                remedy="Name each with --pooler; its console answers while the server is full.",
            )
        )
    return tuple(gaps)


def _full(observation: Observation) -> Cause:
    is_sure = any(words in observation.full for words in _SERVER_LIMIT)
    taken = "all connections that this role may use are taken (max_connections)"
    if not is_sure:
        taken += ", or its own limit is reached (rolconnlimit, datconnlimit)"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ServerFull",
        severity="critical",
        subject="",
        title=f"{observation.server.place} is full: {taken}; clients are refused",
        text="The server runs, but refuses every new connection until one ends. Applications that reconnect "
        "fail, and pools cannot replace lost connections.",
        evidence=(Evidence(kind="refusal", text=f"the server's error: {observation.full}"),),
        remedies=(
            Remedy(
                text="Use a reserved connection. superuser_reserved_connections (default: 3) are for superusers, and "
                "from 16 on reserved_connections for roles with pg_use_reserved_connections. On RDS connect as "
                "the master user: rds.rds_superuser_reserved_connections are for rds_superuser.",
                commands=("psql 'host=… dbname=postgres user=postgres'",),
                expected="You get a session while other clients are refused.",
            ),
            Remedy(text="See who has the connections.", commands=(_HOLDERS,)),
            Remedy(
                text="Free connections: terminate those idle for a long time. Pools notice closed connections "
                "and open new ones.",
                commands=(_END_IDLE,),
            ),
            Remedy(
                text="Prevent it: give each service a smaller pool, or put a pooler in front. "
                "A larger max_connections needs a restart and more memory.",
                commands=("plimsoll pool-size --dsn DSN --service NAME=CONTAINERSxPOOL",),
            ),
        ),
        refuted_by="The next attempt to connect succeeds, so it was full only for a moment.",
    )


def _own_limit(observation: Observation) -> Cause:
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ServerFull",
        severity="critical",
        subject="",
        title=f"{observation.server.place} refuses this role: the connection limit of the role or database is reached",
        text="A role or a database has a CONNECTION LIMIT, and all of it is taken. Others can still connect.",
        evidence=(Evidence(kind="refusal", text=f"the server's error: {observation.full}"),),
        remedies=(
            Remedy(
                text="Connect as another role, and see which limit it is.",
                commands=(
                    "SELECT rolname, rolconnlimit FROM pg_roles WHERE rolconnlimit >= 0;",
                    "SELECT datname, datconnlimit FROM pg_database WHERE datconnlimit >= 0;",
                ),
            ),
            Remedy(
                text="Give the role a higher limit, or its pool a smaller size.",
                commands=("ALTER ROLE <role> CONNECTION LIMIT <number>;",),
            ),
        ),
        refuted_by="The next attempt to connect succeeds.",
    )
