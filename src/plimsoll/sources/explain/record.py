"""
Record plans on a server by EXPLAIN of chosen statements, and read counters of `pg_stat_statements`.

Rule 1: a statement runs in a transaction of its own that is read only and always rolled back, under a
        statement timeout and a lock timeout; with leave to write, it is rolled back all the same.
Rule 2: the server itself sees to it that what we send is one statement (extended protocol), so that
        none ends the transaction it runs in.
Rule 3: no password is in any message or file.
Rule 4: our own statements find names in pg_catalog alone. Those that people name look there first, then
        in the role's own path.
Rule 5: of statements that nobody named, a role that is or may become powerful runs none. It plans them where no other
        role owns anything in the database or may create something there. Planning runs immutable functions, and a check
        of the functions alone would be too early: their owners may replace them after it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.errors import AccessDenied, SourceError, Unreachable, UsageError
from plimsoll.model.database import Statement
from plimsoll.model.explain import Capture, Source, UnrecordedStatement, likeness
from plimsoll.model.sql_name import quoted_name
from plimsoll.sources.explain.allowed import names_temporary, parameter_count, reads_tables, refusal
from plimsoll.sources.explain.json_plan import capture_of
from plimsoll.sources.explain.statements import StatementToRun, without_comments
from plimsoll.sources.postgres.pg_stat import DatabaseProbe, without_password
from plimsoll.sources.postgres.session import open_session, opening_of
from plimsoll.sources.postgres.statements import explain as sql
from plimsoll.sources.postgres.statements.recording import genuine_statements, lock_statements
from plimsoll.sources.postgres.statements.terms import END, EXPLAINING, SPARE_S

if TYPE_CHECKING:
    import psycopg

    from plimsoll.sources.postgres.session import Session

_OURS = ("plan_cache_mode", "search_path")
# Other users' statements, whose identifier is hidden too.
_HIDDEN = "<insufficient privilege>"
# Number of statements to read, to find enough that may be run; a judgement.
_LOOKED_AT = 1000
_LEFT_OUT = "Name statements with --statement, or record as a role with pg_monitor and SELECT alone."


class _Stranger(Struct, frozen=True, kw_only=True):
    """Another role that has a part of the database, or may have one soon."""

    role: str
    does: str
    power: str
    """A role that we are or may become."""

    @property
    def told(self) -> str:
        return f"'{self.role}' {self.does} in this database, and their code could run with the rights of '{self.power}'"


class Recorder:
    """Explains statements one after the other over one connection."""

    def __init__(self, dsn: str) -> None:
        """
        Connect, and read the version of the server.

        Raises:
            UsageError: the DSN is not a connection string.
            AccessDenied: the server refused the role.
            Unreachable: no server answered.
        """
        import psycopg

        probe = DatabaseProbe(dsn, lambda: 0.0)
        try:
            facts = probe.open()
        finally:
            probe.close()
        self.place = facts.place
        self.version = facts.version
        self.role = facts.role
        self._dsn = dsn
        self._connection = self._connect()
        self._power = ""
        self.note = ""
        """What holds for all that was recorded, a sentence."""
        try:
            self._path = self._search_path()
            self.block_bytes = int(self._rows(sql.FACTS)[0]["block_bytes"])
        except psycopg.Error as error:
            self.close()
            raise self._refusal(error) from None

    def close(self) -> None:
        """End the connection."""
        self._connection.close()

    def explain(
        self, wanted: StatementToRun, *, timeout_s: int, allows_writes: bool, is_generic: bool
    ) -> Capture | UnrecordedStatement:
        """
        Run a statement under EXPLAIN and roll it back; one without its parameters is only planned.

        Args:
            wanted: one statement, and values for its parameters.
            timeout_s: after which the server ends it.
            allows_writes: whether INSERT, UPDATE, DELETE and MERGE may run.
            is_generic: plan without looking at the parameters, as a prepared statement used often.

        Raises:
            SourceError: the connection is lost.
        """
        import psycopg

        reason = refusal(wanted.statement, allows_writes=allows_writes)
        if reason:
            remedy = "" if allows_writes else "--allow-writes runs changes, and rolls them back."
            remedy = "" if "a rollback is sure" in reason or "more than" in reason else remedy
            return UnrecordedStatement(statement=wanted.statement, reason=reason, remedy=remedy)
        count = parameter_count(wanted.statement)
        is_generic = is_generic or (count > 0 and wanted.parameters is None)
        if wanted.parameters is not None and len(wanted.parameters) != count:
            return UnrecordedStatement(
                statement=wanted.statement, reason=f"it has {count} parameters, and {len(wanted.parameters)} were given"
            )
        try:
            document = self._explained(wanted, timeout_s=timeout_s, allows_writes=allows_writes, is_generic=is_generic)
        except psycopg.Error as error:
            return self._failure(wanted, error, timeout_s)
        if isinstance(document, _Stranger):
            return UnrecordedStatement(statement=wanted.statement, reason=document.told, remedy=_LEFT_OUT)
        capture = capture_of(document, statement=wanted.statement, source=Source.EXPLAIN, where="EXPLAIN's answer")
        return _completed(capture, wanted, is_generic=is_generic)

    def statements(self) -> tuple[Statement, ...]:
        """
        Return what `pg_stat_statements` counts of this database, the longest total time first.

        Raises:
            SourceError: the extension is not there.
            AccessDenied: the role may not read it.
        """
        import psycopg

        try:
            found = self._rows(sql.EXTENSION)
            if not found:
                raise SourceError(
                    "this database does not have the extension pg_stat_statements",
                    "Add it to shared_preload_libraries, restart, and CREATE EXTENSION "
                    "pg_stat_statements; or name statements with --statement.",
                )
            schema = str(found[0]["schema"])
            query = sql.statements(schema, found[0]["version"], limit=_LOOKED_AT)
            rows = self._rows(query, lock_statements(schema), genuine_statements(schema))
        except psycopg.Error as error:
            raise self._refusal(error) from None
        is_timed = self._setting("track_io_timing") == "on"
        timed = {} if is_timed else {"read_s": None, "write_s": None}
        return tuple(Statement(**{**row, **timed}) for row in rows)

    def wanted_of(
        self, statements: Sequence[Statement], count: int
    ) -> tuple[list[StatementToRun], list[UnrecordedStatement]]:
        """
        Return the first `count` statements that only read, of tables, and those that were left out.

        Raises:
            SourceError: the server did not say what the role may do, or who else has code.
        """
        reading = [s for s in statements if s.text != _HIDDEN and reads_tables(s.text)][:count]
        wanted = [StatementToRun(statement=without_comments(s.text), query_id=s.query_id) for s in reading]
        left: list[UnrecordedStatement] = []
        if wanted:
            wanted, left = self._without_others(wanted)
        hidden = sum(statement.text == _HIDDEN for statement in statements)
        if hidden:
            reason = f"{hidden} statements of other users are hidden from the role '{self.role}'"
            remedy = f"GRANT pg_read_all_stats TO {_quoted(self.role)};"
            left.append(UnrecordedStatement(statement=_HIDDEN, reason=reason, remedy=remedy))
        return wanted, left

    def _without_others(self, wanted: list[StatementToRun]) -> tuple[list[StatementToRun], list[UnrecordedStatement]]:
        """Return what may be run or planned with these rights, and what is left out."""
        import psycopg

        login = self._connection.info.user
        try:
            powers = self._rows(sql.POWER, values=(login,))
            strangers = self._rows(sql.STRANGER, values=(login,)) if powers else []
        except psycopg.Error as error:
            raise self._refusal(error) from None
        if not powers:
            return wanted, []
        self._power = str(powers[0]["role"])
        if strangers:
            count = len(wanted)
            named = wanted[0].statement if count == 1 else f"{count} statements"
            told = _Stranger(**strangers[0], power=self._power).told
            return [], [UnrecordedStatement(statement=named, reason=told, remedy=_LEFT_OUT)]
        self.note = (
            f"Statements of --top were planned, not run, because '{self.role}' has or may get the rights "
            f"of '{self._power}'."
        )
        temporary = [item for item in wanted if names_temporary(item.statement)]
        left = [
            UnrecordedStatement(
                statement=item.statement,
                reason="it names temporary objects, which may be another role's",
                remedy=_LEFT_OUT,
            )
            for item in temporary
        ]
        return [replace(i, is_planned_only=True) for i in wanted if i not in temporary], left

    def _explained(self, wanted: StatementToRun, *, timeout_s: int, allows_writes: bool, is_generic: bool) -> Any:
        """Return EXPLAIN's answer, or the stranger whose code could have run."""
        has_values = wanted.parameters is not None or not parameter_count(wanted.statement)
        runs = has_values and not wanted.is_planned_only
        by_name = wanted.parameters is not None or not runs or is_generic
        begin, *settings = sql.beginning(
            self._path,
            timeout_s=timeout_s,
            allows_writes=allows_writes and not wanted.is_planned_only,
            is_generic=is_generic,
        )
        self._connection.answer_s = timeout_s + SPARE_S
        try:
            self._send(begin)
            if wanted.is_planned_only and (stranger := self._stranger()) is not None:
                return stranger
            for setting in settings:
                self._send(setting)
            self._time_io()
            self._send(sql.BEFORE)
            statement = wanted.statement
            if by_name:
                self._send(sql.prepared(statement))
                statement = sql.executed(self._arguments(wanted))
            rows = self._rows_of(sql.explained(statement, is_run=runs))
        finally:
            self._end()
        return next(iter(rows[0].values()))

    def _stranger(self) -> "_Stranger | None":
        """Return who else has code in this database or may create some, asked in the open transaction."""
        with self._connection.cursor() as cursor:
            cursor.execute(EXPLAINING.guards(self._connection.info.server_version).encode())
            row = cursor.execute(sql.STRANGER.encode(), (self._connection.info.user,)).fetchone()
        return None if row is None else _Stranger(**row, power=self._power)

    def _time_io(self) -> None:
        """Turn on I/O timing if the role may; otherwise the comparison states that it is missing."""
        import psycopg

        self._send(sql.BEFORE_TIMING)
        try:
            self._send(sql.TIME_IO)
        except psycopg.Error:
            self._send(sql.BACK_BEFORE_TIMING)

    def _end(self) -> None:
        """Deallocate the prepared statement, which no rollback removes, and roll back."""
        import psycopg

        if self._connection.closed:
            return
        self._connection.answer_s = EXPLAINING.answer_s
        try:
            self._send(sql.BACK_BEFORE)
            # An error where nothing was prepared; the transaction ends anyway.
            self._send(sql.DEALLOCATE)
        except psycopg.Error:
            pass
        try:
            self._send(END)
        except psycopg.Error:
            self._connection.close()

    def _arguments(self, wanted: StatementToRun) -> str:
        from psycopg.sql import SQL, Literal

        count = parameter_count(wanted.statement)
        values = wanted.parameters if wanted.parameters is not None else (None,) * count
        if not values:
            return ""
        listed = SQL(", ").join([Literal(value) for value in values])
        return f"({listed.as_string(self._connection)})"

    def _connect(self) -> "Session[dict[str, Any]]":
        import psycopg
        from psycopg.rows import dict_row

        try:
            return open_session(self._dsn, EXPLAINING, dict_row)
        except psycopg.Error as error:
            raise self._refusal(error) from None

    def _send(self, statement: str) -> None:
        # Binary results are asked for over the extended protocol, which takes one statement only.
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(statement.encode())

    def _rows_of(self, statement: str) -> list[dict[str, Any]]:
        with self._connection.cursor(binary=True) as cursor:
            cursor.execute(statement.encode())
            return cursor.fetchall()

    def _rows(self, statement: str, *before: str, values: tuple[str, ...] | None = None) -> list[dict[str, Any]]:
        """Return rows of a statement of ours, in a guarded transaction of its own."""
        with self._connection.cursor() as cursor:
            try:
                cursor.execute(opening_of(self._connection, EXPLAINING))
                for one in before:
                    cursor.execute(one.encode())
                return cursor.execute(statement.encode(), values).fetchall()
            finally:
                if not self._connection.closed:
                    cursor.execute(END.encode())

    def _search_path(self) -> str:
        """Return the role's path behind pg_catalog, so that no user's function takes the place of the server's."""
        with self._connection.cursor() as cursor:
            row = cursor.execute(sql.PATH).fetchone()
        path = row["path"] if row is not None else []
        others = (quoted_name(schema) for schema in path if schema != "pg_catalog")
        return ", ".join(("pg_catalog", *others, "pg_temp"))

    def _setting(self, name: str) -> str:
        return str(next(iter(self._rows(sql.setting(name))[0].values())))

    def _failure(self, wanted: StatementToRun, error: "psycopg.Error", timeout_s: int) -> UnrecordedStatement:
        import psycopg

        if self._connection.closed:
            raise self._refusal(error) from None
        if isinstance(error, psycopg.errors.QueryCanceled):
            return UnrecordedStatement(
                statement=wanted.statement,
                reason=f"the server ended it after {timeout_s} s",
                remedy="--timeout gives it more.",
            )
        return UnrecordedStatement(statement=wanted.statement, reason=self._first_line(error))

    def _first_line(self, error: "psycopg.Error") -> str:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return without_password(lines[0] if lines else type(error).__name__, self._dsn)

    def _refusal(self, error: "psycopg.Error") -> SourceError:
        reason = self._first_line(error)
        if "permission denied" in reason or "pg_read_all_stats" in reason:
            return AccessDenied(f"PostgreSQL refused: {reason}", f"GRANT pg_monitor TO {_quoted(self.role)};")
        return Unreachable(f"PostgreSQL did not answer: {reason}", "Check that the server runs.")


def parameters_for(
    wanted: StatementToRun, given: dict[str, tuple[str | None, ...]], single: tuple[str | None, ...] | None
) -> StatementToRun:
    """Return a statement with the parameters that were given for its identifier, its text, or for all."""
    by_text = {likeness(text): values for text, values in given.items()}
    values = given.get(str(wanted.query_id), by_text.get(likeness(wanted.statement), single))
    if values is None or not parameter_count(wanted.statement):
        return wanted
    return replace(wanted, parameters=values)


def check(wanted: Sequence[StatementToRun]) -> None:
    """
    Refuse an empty list of statements.

    Raises:
        UsageError: there is no statement.
    """
    if not wanted:
        raise UsageError(
            "there is no statement to explain",
            "Give --statement, --statements FILE, or --top N where pg_stat_statements has some.",
        )


def _completed(capture: Capture, wanted: StatementToRun, *, is_generic: bool) -> Capture:
    # What we set ourselves is not the server's setting.
    settings = {k: v for k, v in capture.settings.items() if k not in _OURS}
    return replace(
        capture,
        query_id=wanted.query_id if capture.query_id is None else capture.query_id,
        settings=settings,
        settings_known=True,
        is_generic=is_generic,
    )


def _quoted(role: str) -> str:
    return role if role.isidentifier() and role.islower() else '"' + role.replace('"', '""') + '"'
