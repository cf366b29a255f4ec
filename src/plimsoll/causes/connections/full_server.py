"""
A server that takes no more connections: that is the diagnosis, and the way in is the first remedy.

Nothing inside the server can be read then. Poolers in front of it still answer.
"""

from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence, Missing

# The server has one code for both; in English its words tell whether a role or a database has a limit.
_EVERYONES = ("too many clients", "connection slots are reserved")
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
    """Return the one finding that the refusal is."""
    is_own = any(words in observation.full for words in _OWN_LIMIT)
    return (_own_limit(observation) if is_own else _full(observation),)


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return everything else."""
    gaps = [
        Missing(
            name="the server's counters",
            hides="what it reads and writes, and everything else inside it",
            remedy="Inspect it again over a reserved connection.",
        )
    ]
    # The reader of poolers says what it could not read, and why.
    gaps += [Missing(name=name, hides="", remedy=why) for name, why in observation.missing]
    if not observation.poolers and not observation.missing:
        gaps.append(
            Missing(
                name="poolers",
                hides="who waits in front of the server",
                remedy="Name each with --pooler: its console answers while the server is full.",
            )
        )
    return tuple(gaps)


def _full(observation: Observation) -> Cause:
    is_sure = any(words in observation.full for words in _EVERYONES)
    taken = "all connections of max_connections that this role may use are taken"
    if not is_sure:
        taken += ", or its own limit is reached (rolconnlimit, datconnlimit)"
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ServerFull",
        severity="critical",
        subject="",
        title=f"{observation.server.place} is full: {taken}, and clients are refused",
        text="The server runs. Every new connection is refused until one ends, so programs fail that "
        "connect anew, and pools that lost connections cannot replace them.",
        evidence=(Evidence(kind="refusal", text=f"it said: {observation.full}"),),
        remedies=(
            Remedy(
                text="Get in: superuser_reserved_connections (default: 3) are kept for superusers, and from "
                "16 on reserved_connections for roles with pg_use_reserved_connections. On RDS connect as "
                "the master user: rds.rds_superuser_reserved_connections are kept for rds_superuser.",
                commands=("psql 'host=… dbname=postgres user=postgres'",),
                expected="A session while everybody else is refused.",
            ),
            Remedy(
                text="See who holds them.",
                commands=(_HOLDERS,),
            ),
            Remedy(
                text="Make room: end connections that have been idle for long. This is a suggestion; pools "
                "find dead connections and make new ones.",
                commands=(_END_IDLE,),
            ),
            Remedy(
                text="Then keep it from filling: give each service a smaller pool, or put a pooler in front. "
                "A larger max_connections needs a restart and more memory.",
                commands=("plimsoll pool-size --dsn DSN --service NAME=CONTAINERSxPOOL",),
            ),
        ),
        refuted_by="The next attempt to connect succeeds: then it was full for a moment only.",
    )


def _own_limit(observation: Observation) -> Cause:
    return Cause(
        kind=CauseKind.CONNECTIONS,
        code="ServerFull",
        severity="critical",
        subject="",
        title=f"{observation.server.place} refuses this role: its own limit of connections is reached",
        text="A role or a database has a CONNECTION LIMIT, and all of it is taken. Others may still "
        "connect.",
        evidence=(Evidence(kind="refusal", text=f"it said: {observation.full}"),),
        remedies=(
            Remedy(
                text="Connect as another role, and see who holds them.",
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
