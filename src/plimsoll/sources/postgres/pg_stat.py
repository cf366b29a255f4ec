"""
Read PostgreSQL's statistics with bounded load.

Rule 1: read-only transactions, a statement timeout, a lock timeout, our application_name, one
        connection; the statements are those of `statements/recording.py`.
Rule 2: no error and no place contains a password.
Rule 3: a lost server leaves a gap, and does not end the recording; the next reading tries again.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plimsoll.errors import AccessDenied, ServerFull, SourceError, Unreachable, UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Gap
from plimsoll.sources.postgres.refusal_code import DENIED, FULL, code_of_refusal
from plimsoll.sources.postgres.session import conninfo_of, is_silence, open_session, opening_of
from plimsoll.sources.postgres.statements.recording import FACTS, reading_query
from plimsoll.sources.postgres.statements.terms import RECORDING

if TYPE_CHECKING:
    import psycopg

    from plimsoll.sources.postgres.session import Session

_VARIABLES = {"host": "HOST", "port": "PORT", "dbname": "DATABASE", "user": "USER"}
_FULL = ("too many clients already", "remaining connection slots are reserved", "too many connections for")
_REFUSALS = (
    "password",
    "authentication failed",
    "authentication method",
    "pg_hba.conf",
    "permission denied",
    "not permitted",
    "does not exist",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    """Facts about a server, read once."""

    place: str
    """`127.0.0.1:5432/orders`: where it is, without user and password."""
    role: str
    version: str
    """`18.6`"""
    version_number: int
    """`server_version_num`: 180006."""
    connection_max: int
    data_directory: str | None
    """None where the role may not see it."""
    sees_all_sessions: bool
    """Whether the role may see what other users' sessions do."""
    is_here: bool
    """Whether the server answers from this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseCounters:
    """The server's counters at one time."""

    moment_s: float
    """Seconds of the recording's clock."""
    transaction_count: int
    """Transactions committed and rolled back, all databases."""
    rollback_count: int
    """Those of them that were rolled back."""
    transaction_epoch: str
    """Changes whenever the count cannot be compared with the one before."""
    read_bytes: int | None
    """Bytes the server asked the system to read; None before PostgreSQL 16."""
    written_bytes: int | None
    io_epoch: str | None
    connection_count: int | None
    """Client connections but ours; None where the role may not see them."""
    active_count: int | None
    waiting_count: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSilence:
    """A reading without an answer, with the reason and without secrets."""

    reason: str


def rates_between(before: DatabaseCounters, after: DatabaseCounters) -> dict[Metric, float]:
    """
    Return what the server did between two readings, `after.moment_s > before.moment_s`.

    Counters that were reset in between give no value.
    """
    elapsed_s = after.moment_s - before.moment_s
    assert elapsed_s > 0
    found: dict[Metric, float] = {}
    transactions = after.transaction_count - before.transaction_count
    if transactions >= 0 and after.transaction_epoch == before.transaction_epoch:
        found[Metric.TRANSACTIONS_PER_S] = transactions / elapsed_s
        rollbacks = after.rollback_count - before.rollback_count
        if 0 <= rollbacks <= transactions:
            found[Metric.ROLLBACKS_PER_S] = rollbacks / elapsed_s
    if after.io_epoch == before.io_epoch:
        for metric, old, new in (
            (Metric.DATABASE_READ_BYTES_PER_S, before.read_bytes, after.read_bytes),
            (Metric.DATABASE_WRITE_BYTES_PER_S, before.written_bytes, after.written_bytes),
        ):
            if old is not None and new is not None and new >= old:
                found[metric] = (new - old) / elapsed_s
    return found


def levels_of(reading: DatabaseCounters) -> dict[Metric, float]:
    """Return the numbers of connections and sessions; nothing if the role may not see them."""
    seen = {
        Metric.CONNECTION_COUNT: reading.connection_count,
        Metric.ACTIVE_SESSION_COUNT: reading.active_count,
        Metric.WAITING_SESSION_COUNT: reading.waiting_count,
    }
    return {metric: float(count) for metric, count in seen.items() if count is not None}


def gaps_of(facts: ServerFacts) -> tuple[Gap, ...]:
    """Return gaps for what this server does not show this role, with the remedy."""
    gaps = []
    if not facts.sees_all_sessions:
        reason = f"role '{facts.role}' may not see other users' sessions"
        remedy = f"GRANT pg_monitor TO {quoted(facts.role)};"
        gaps += [
            Gap(metric=metric.value, reason=reason, remedy=remedy)
            for metric in (Metric.CONNECTION_COUNT, Metric.ACTIVE_SESSION_COUNT, Metric.WAITING_SESSION_COUNT)
        ]
    if facts.version_number < 160000:
        gaps += [
            Gap(
                metric=metric.value,
                reason=f"PostgreSQL {facts.version} has no view pg_stat_io",
                remedy="PostgreSQL 16 has it.",
            )
            for metric in (Metric.DATABASE_READ_BYTES_PER_S, Metric.DATABASE_WRITE_BYTES_PER_S)
        ]
    elif facts.version_number < 180000:
        gaps.append(
            Gap(
                metric=Metric.DATABASE_WRITE_BYTES_PER_S.value,
                reason=f"pg_stat_io of PostgreSQL {facts.version} counts no WAL",
                remedy="PostgreSQL 18 counts it; the device's own writes include it.",
            )
        )
    return tuple(gaps)


class DatabaseProbe:
    """One connection to one server; `read` may be called from one thread at a time."""

    def __init__(self, dsn: str, moment_s: Callable[[], float]) -> None:
        """
        Keep the DSN; nothing is connected yet.

        Args:
            dsn: libpq connection string or URI; what it leaves out comes from PG* variables,
                service and password files, as with every libpq program.
            moment_s: the recording's clock.
        """
        self._dsn = dsn
        self._moment_s = moment_s
        self._connection: Session[dict[str, Any]] | None = None

    def open(self) -> ServerFacts:
        """
        Connect and ask the server what it is.

        Raises:
            UsageError: the DSN is not a connection string.
            AccessDenied: the server refused the role.
            Unreachable: no server answered.
            SourceError: the server answered, but not what PostgreSQL answers.
        """
        import psycopg

        if not is_connection_string(self._dsn):
            raise not_a_connection_string()
        try:
            connection = self._connect()
            connection.execute(opening_of(connection, RECORDING))
            row = _one_row(connection, FACTS)
            connection.rollback()
        except psycopg.Error as error:
            self.close()
            raise refusal(error, self._dsn) from None
        info = connection.info
        return ServerFacts(
            place=_place(info.host, info.port, info.dbname),
            role=str(row["role"]),
            version=str(row["version"]).split(" ", maxsplit=1)[0],
            version_number=info.server_version,
            connection_max=int(row["connection_max"]),
            data_directory=row["data_directory"],
            sees_all_sessions=bool(row["sees_all_sessions"]),
            is_here=is_here(info.hostaddr),
        )

    def read(self) -> DatabaseCounters | DatabaseSilence:
        """Return the counters now, or why they did not come; a lost connection is made anew."""
        import psycopg

        try:
            connection = self._connection or self._connect()
            connection.execute(opening_of(connection, RECORDING))
            moment_s = self._moment_s()
            row = _one_row(connection, reading_query(connection.info.server_version))
            connection.rollback()
        except (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable) as error:
            self._roll_back()
            return DatabaseSilence(reason=first_line(error, self._dsn))
        except (psycopg.Error, SourceError) as error:
            self.close()
            return DatabaseSilence(reason=first_line(error, self._dsn))
        sees = not row["hidden_count"]
        return DatabaseCounters(
            moment_s=moment_s,
            transaction_count=row["transaction_count"],
            rollback_count=row["rollback_count"],
            transaction_epoch=row["transaction_epoch"],
            read_bytes=row["read_bytes"],
            written_bytes=row["written_bytes"],
            io_epoch=row["io_epoch"],
            connection_count=row["connection_count"] if sees else None,
            active_count=row["active_count"] if sees else None,
            waiting_count=row["waiting_count"] if sees else None,
        )

    def close(self) -> None:
        """End the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connect(self) -> "Session[dict[str, Any]]":
        from psycopg.rows import dict_row

        self.close()
        self._connection = open_session(self._dsn, RECORDING, dict_row)
        return self._connection

    def _roll_back(self) -> None:
        import psycopg

        try:
            if self._connection is not None:
                self._connection.rollback()
        except psycopg.Error:
            self.close()


def first_line(error: Exception, dsn: str) -> str:
    """Return the first line of an error of libpq; the following lines are guesses of libpq."""
    lines = [line.strip(" -\t") for line in str(error).splitlines() if line.strip()]
    # localhost is two addresses; then the first line only says that several were tried.
    lines = [line for line in lines if not line.startswith("Multiple connection attempts")]
    return without_password(lines[0] if lines else type(error).__name__, dsn)


def refusal(error: "psycopg.Error", dsn: str) -> SourceError:
    """Return the error for a failed connection attempt or a lost connection, without the password."""
    if is_silence(error):
        return Unreachable(
            f"PostgreSQL stopped answering: {error}",
            "It accepts connections, so check its storage, and whether a pooler in front of it is paused.",
        )
    reason = first_line(error, dsn)
    # A name may have several addresses, the first of which does not answer.
    full = next((line for line in str(error).splitlines() if is_full(line)), "")
    is_denied = is_refusal(reason)
    if not full and not is_denied:
        # Whatever language the server speaks.
        code = _code_again(dsn)
        full, is_denied = reason if code == FULL else "", code in DENIED
    if full:
        return ServerFull(
            f"PostgreSQL takes no more connections: {without_password(full.strip(' -'), dsn)}",
            "Connect as a superuser (superuser_reserved_connections), with pg_use_reserved_connections "
            "(16 and later), on RDS as a member of rds_superuser; or end connections first.",
        )
    if is_denied:
        return AccessDenied(
            f"PostgreSQL refused the connection: {reason}",
            "Check user, password and database; the role needs LOGIN and pg_monitor.",
        )
    return Unreachable(
        f"PostgreSQL did not answer: {reason}", "Check host and port of the DSN and that the server runs."
    )


def _code_again(dsn: str) -> str:
    """Return the SQLSTATE of a refusal, from a second attempt; empty if there is none."""
    return code_of_refusal(conninfo_of(dsn, RECORDING), patience_s=RECORDING.connect_s)


def is_full(reason: str) -> bool:
    """
    Return whether a server says in English that every connection the role may have is taken.

    Elsewhere its SQLSTATE tells (`refusal_code`), which takes one more attempt.
    """
    return any(words in reason for words in _FULL)


def is_refusal(reason: str) -> bool:
    """Return whether the server answered but refused the role."""
    return any(word in reason for word in _REFUSALS)


def not_a_connection_string() -> UsageError:
    """Return an error that quotes nothing; libpq's own message could contain a password."""
    return UsageError(
        "the DSN is not a PostgreSQL connection string",
        "Write it as 'host=… dbname=… user=…' or 'postgresql://user@host/dbname'; in the "
        "latter an @ in the password is %40.",
    )


def without_password(text: str, dsn: str) -> str:
    """Return the text with every password of the DSN or the environment replaced."""
    from urllib.parse import quote, quote_plus

    from psycopg.conninfo import conninfo_to_dict

    if not is_connection_string(dsn):
        return "the DSN is not a PostgreSQL connection string"
    password = conninfo_to_dict(dsn).get("password")
    for secret in (password, os.environ.get("PGPASSWORD")):
        for form in {str(secret), quote(str(secret)), quote_plus(str(secret))} if secret else ():
            text = text.replace(form, "********")
    return text


def place_of(dsn: str) -> str:
    """Return `127.0.0.1:5432/orders` as a connection string and the variables of libpq have it."""
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(dsn)

    def part(name: str, default: str) -> str:
        return str(parts.get(name) or os.environ.get(f"PG{_VARIABLES[name]}") or default)

    user = part("user", "")
    return _place(part("host", "localhost"), int(part("port", "5432")), part("dbname", user))


def is_connection_string(dsn: str) -> bool:
    """Return whether libpq can parse a connection string."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(dsn)
    except (ProgrammingError, UnicodeEncodeError):
        return False
    # No host has an @: it is the rest of a password that was not encoded. After a slash in a password libpq takes its
    # rest for the name of the database, and finds no user.
    host, name = str(parts.get("host", "")), str(parts.get("dbname", ""))
    return "@" not in host and ("@" not in name or "user" in parts)


def _one_row(connection: "psycopg.Connection[dict[str, Any]]", query: str) -> dict[str, Any]:
    row = connection.execute(query.encode()).fetchone()
    if row is None:
        raise SourceError("the server gave no row where PostgreSQL gives one", "Is it PostgreSQL?")
    return row


def _place(host: str, port: int, database: str) -> str:
    return f"{host}:{port}/{database}"


def quoted(role: str) -> str:
    """Return a name quoted for SQL."""
    return role if role.isidentifier() and role.islower() else '"' + role.replace('"', '""') + '"'


def is_here(address: str) -> bool:
    """
    Return whether an address is this machine's own; a UNIX socket has none and is here.

    Only an own address can be bound to.
    """
    if not address or address.startswith("/"):
        return True
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
