"""
Take readings and session samples of one server, and skip statements that the server refuses.

A part that the server refuses is left out and named in `missing`, with what would supply it; a lost
connection ends the reading (`NoAnswer`), and who called decides what then.
"""

from collections.abc import Callable, Sequence

import msgspec

from plimsoll.errors import SourceError
from plimsoll.model.database import DatabaseReading, Glance, Index, IoRow, Relation, ServerInfo, Statement
from plimsoll.model.platform import platform_of
from plimsoll.model.standing import ServerHealth
from plimsoll.sources.postgres.connect import NoAnswer, Rows, ServerConnection
from plimsoll.sources.postgres.locks import with_locks
from plimsoll.sources.postgres.moment import (
    ServerReading,
    ServerRun,
    began_s,
    changes_since,
    counters_of,
    replaced,
    time_since_s,
    with_columns,
    with_toast_reads,
)
from plimsoll.sources.postgres.partitions import with_parents
from plimsoll.sources.postgres.parts import EVERYTHING, ReadingPart
from plimsoll.sources.postgres.pg_stat import quoted
from plimsoll.sources.postgres.rights import select_on
from plimsoll.sources.postgres.rows import (
    columns_of,
    index_of,
    io_of,
    relation_of,
    session_of,
    slot_of,
    statement_of,
    vacuum_of,
    without_literals,
)
from plimsoll.sources.postgres.standing import read_standing
from plimsoll.sources.postgres.statements import inspection as queries
from plimsoll.sources.postgres.statements import recording, wal

# Relations of one statement; a judgement that keeps each statement far below the statement timeout.
_BATCH = 1_000

# Number of tables to read if the server is too slow for all of them; a judgement.
_TABLES_OF_A_SLOW_SERVER = 100

_CANCELED = "57014"
_NOT_PERMITTED = "42501"
_NOT_LOADED = "55000"
# Division by zero, which `genuine_statements` ends in.
_NOT_GENUINE = "22012"


class Reader:
    """Reads one server; call `meet` first."""

    def __init__(self, connection: ServerConnection, wants: frozenset[ReadingPart] = EVERYTHING) -> None:
        """Keep whom to ask; nothing is asked yet."""
        self._connection = connection
        self._wants = wants
        self._server: ServerInfo | None = None
        self._statements_at: tuple[str, str] | None = None
        self._owners: dict[int, int] = {}
        self._tables: tuple[int, ...] = ()
        self._newest = 0
        self._known_statements: frozenset[int] = frozenset()
        self._read_statements: tuple[int, ...] = ()
        self.missing: dict[str, str] = {}
        """Parts that could not be read, each with the remedy."""

    @property
    def server(self) -> ServerInfo:
        """Whom we met."""
        assert self._server is not None
        return self._server

    def meet(self) -> ServerInfo:
        """
        Read the version and settings of the server.

        Raises:
            AccessDenied: the server refused the role.
            Unreachable: no server answered.
            SourceError: the server answered, but not what PostgreSQL answers.
            NoAnswer: the connection is lost.
        """
        self._connection.open()
        try:
            (facts,), extensions, settings = self._connection.ask(queries.FACTS, queries.EXTENSIONS, queries.SETTINGS)
        except (NoAnswer, ValueError) as why:
            if isinstance(why, NoAnswer) and why.is_connection_lost:
                raise
            raise SourceError(
                f"the server at {self._connection.place} does not answer as PostgreSQL does: {why}",
                "Is it PostgreSQL 14 or later?",
            ) from None
        role, version, version_number, is_standby, block_bytes, rights = facts
        chunk = self._part("toast chunk size", queries.TOAST_CHUNK)
        marks = self._part("platform", queries.PLATFORM) or []
        values: dict[str, str] = dict(settings)
        self._server = ServerInfo(
            place=self._connection.place,
            role=role,
            version=version.split(" ", maxsplit=1)[0],
            version_number=version_number,
            is_standby=is_standby,
            block_bytes=block_bytes,
            toast_chunk_bytes=chunk[0][0] if chunk else None,
            connection_max=int(values["max_connections"]),
            reserved_connections=sum(
                int(values.get(name, "0")) for name in ("superuser_reserved_connections", "reserved_connections")
            ),
            settings=values,
            extensions=tuple(name for name, _, _ in extensions),
            rights=tuple(rights),
            platform=platform_of(mark for (mark,) in marks),
            vcpu_count=self._connection.vcpu_count,
        )
        for name, extension_version, schema in extensions:
            if name == "pg_stat_statements":
                self._statements_at = (schema, extension_version)
        self._note_rights()
        return self._server

    def first(self) -> ServerReading:
        """
        Choose what will be looked at, and read it.

        Raises:
            NoAnswer: the connection is lost.
        """
        if ReadingPart.RELATIONS in self._wants:
            self._choose(self._chosen_tables())
        if ReadingPart.STATEMENTS in self._wants:
            self._look_for_statements()
        return self._moment(is_last=False)

    def again(self) -> ServerReading:
        """
        Return another first reading of what was chosen, of a server that has forgotten the first one.

        Raises:
            NoAnswer: the connection is lost.
        """
        if self._statements_at is not None and ReadingPart.STATEMENTS in self._wants:
            # Those that it knew it knows no longer; what comes again is new.
            self._look_for_statements()
        return self._moment(is_last=False)

    def last(self) -> ServerReading:
        """
        Read again what the first reading chose, and tables and statements that came since.

        Raises:
            NoAnswer: the connection is lost.
        """
        if ReadingPart.RELATIONS in self._wants and self._newest:
            self._choose(self._part("relations", queries.tables_since(self._newest)) or [])
        return self._moment(is_last=True)

    def run(self) -> ServerRun:
        """
        Return what tells whether it is still the same server, and remembers.

        Raises:
            NoAnswer: it does not answer.
        """
        (((started_s, is_standby),), databases) = self._connection.ask(queries.RUN, queries.DATABASES)
        counted_from = self._part("checkpoints", queries.COUNTED_FROM)
        return ServerRun(
            started_s=started_s,
            is_standby=is_standby,
            counted_from_s=counted_from[0][0] if counted_from else None,
            databases={row[0]: row[1:] for row in databases},
        )

    def glance(self) -> Glance:
        """
        Read the current sessions and running vacuums.

        Raises:
            NoAnswer: they did not come.
        """
        number = self.server.version_number
        wants_sessions = ReadingPart.SESSIONS in self._wants
        (((time_s,),), ((transactions, active_s),), vacuums, *sessions) = self._connection.ask(
            queries.MOMENT,
            queries.transactions(number),
            queries.vacuums(number),
            *((queries.SESSIONS,) if wants_sessions else ()),
        )
        seen = tuple(session_of(row) for rows in sessions for row in rows)
        seen, waits = with_locks(self._connection, seen)
        return Glance(
            time_s=time_s,
            sessions=seen,
            lock_waits=waits,
            vacuums=tuple(map(vacuum_of, vacuums)),
            transaction_count=transactions,
            active_s=active_s,
        )

    def described(self, first: ServerReading, last: ServerReading) -> tuple[ServerReading, ServerReading]:
        """
        Return both readings with columns of tables whose TOAST relation is active, and definitions of
        indexes; asked for once, when it is known which matter.
        """
        if ReadingPart.COLUMNS in self._wants:
            first, last = self._with_columns(first, last)
        if ReadingPart.INDEXES in self._wants:
            last = self._with_definitions(first, last)
        return first, with_parents(self._part, self._with_texts(first, last))

    def standing(self) -> ServerHealth | None:
        """
        Return what stands on the server, whatever it does now; None where tables are not asked for.

        Raises:
            NoAnswer: the connection is lost.
        """
        if ReadingPart.RELATIONS not in self._wants:
            return None
        return read_standing(self._part, self.server.version_number, self.server.block_bytes)

    def _moment(self, *, is_last: bool) -> ServerReading:
        (((time_s, *ids),), databases) = self._connection.ask(queries.MOMENT_AND_IDS, queries.DATABASES)
        number, block_bytes = self.server.version_number, self.server.block_bytes
        checkpoints = self._part("checkpoints", queries.checkpoints(number))
        written = self._part("wal", wal.wal(number))
        files = self._part("wal files", asked) if (asked := wal.wal_files(number)) else None
        slots = self._part("decoding", wal.DECODING)
        io = self._io()
        relations, indexes = self._relations()
        by_database = {row[0]: row[1:] for row in databases}
        ours = self._part("databases", queries.OUR_DATABASE)
        database_oid = ours[0][0] if ours else None
        resets = self._resets()
        promoted = self._part("promotion", wal.PROMOTED) if is_last else None
        return ServerReading(
            databases=by_database,
            database_oid=database_oid,
            resets=resets,
            reading=DatabaseReading(
                time_s=time_s,
                next_xid=ids[0],
                multixact_age=ids[1],
                counters=counters_of(
                    by_database.values(),
                    checkpoints[0] if checkpoints else None,
                    written[0] if written else None,
                    io,
                    block_bytes=block_bytes,
                    wal_files_bytes=files[0][0] if files else None,
                    reset_s=began_s(by_database.get(database_oid or 0), resets, promoted[0][0] if promoted else None),
                ),
                relations=relations,
                indexes=indexes,
                io=io,
                statements=self._statements(is_last=is_last),
                slots=None if slots is None else tuple(map(slot_of, slots)),
            ),
        )

    def _resets(self) -> dict[str, float | None]:
        """Return when counters of the whole server were last reset, as far as the server shows it."""
        times = self._part("resets", queries.reset_times(self.server.version_number)) or []
        if self._statements_at is not None and ReadingPart.STATEMENTS in self._wants:
            schema, version = self._statements_at
            if queries.numbered(version) >= (1, 9):
                times = times + (self._counted("resets", queries.statements_reset_time(schema)) or [])
        return dict(times)

    def _io(self) -> tuple[IoRow, ...] | None:
        asked = queries.io(self.server.version_number)
        if asked is None:
            self.missing["io"] = "PostgreSQL 16 has the view pg_stat_io."
            return None
        rows = self._part("io", asked)
        return None if rows is None else tuple(map(io_of, rows))

    def _chosen_tables(self) -> Rows:
        newest = self._part("relations", queries.NEWEST)
        self._newest = (newest[0][0] or 0) if newest else 0
        tables = self._part("relations", queries.tables_chosen())
        if tables is None:
            tables = self._part("relations", queries.tables_largest(_TABLES_OF_A_SLOW_SERVER)) or []
        return tables

    def _choose(self, tables: Rows) -> None:
        # What was made meanwhile is looked at first, and once if this is another attempt.
        self._tables = tuple(dict.fromkeys((*(oid for oid, _ in tables), *self._tables)))
        self._owners |= {toast: oid for oid, toast in tables if toast}

    def _relations(self) -> tuple[tuple[Relation, ...], tuple[Index, ...]]:
        if not self._tables:
            return (), ()
        oids = (*self._tables, *self._owners)
        rows = self._in_batches("relations", queries.relations, oids)
        wants_indexes = ReadingPart.INDEXES in self._wants
        index_rows = (
            self._part("indexes", queries.indexes(self.server.version_number, self._tables)) or []
            if wants_indexes
            else []
        )
        foremost = set(self._tables[: queries.SIZED_TABLES_MAX])
        sizes: dict[int, int] = dict(
            self._in_batches(
                "sizes",
                queries.sizes,
                (
                    *foremost,
                    *(toast for toast, oid in self._owners.items() if oid in foremost),
                    *(row[0] for row in index_rows[: queries.SIZED_INDEXES_MAX]),
                ),
            )
        )
        block_bytes = self.server.block_bytes
        relations = {
            row[0]: relation_of(row, block_bytes=block_bytes, owners=self._owners, sizes=sizes) for row in rows
        }
        return (
            tuple(with_toast_reads(relation, relations) for relation in relations.values()),
            tuple(index_of(row, block_bytes=block_bytes, sizes=sizes) for row in index_rows),
        )

    def _look_for_statements(self) -> None:
        remedy = "CREATE EXTENSION pg_stat_statements; -- and shared_preload_libraries"
        if self._statements_at is None:
            self.missing["statements"] = remedy
            return
        schema, version = self._statements_at
        if queries.statements(schema, version, None) is None:
            self._statements_at = None
            self.missing["statements"] = "ALTER EXTENSION pg_stat_statements UPDATE;"
            return
        rows = self._counted("statements", queries.statements_known(schema))
        if rows is None:
            self._statements_at = None
            return
        known, has_hidden = rows[0]
        self._known_statements = frozenset(known)
        if has_hidden:
            self.missing["statements"] = self._grant("pg_read_all_stats")

    def _statements(self, *, is_last: bool) -> tuple[Statement, ...] | None:
        if self._statements_at is None or ReadingPart.STATEMENTS not in self._wants:
            return None
        schema, version = self._statements_at
        if not is_last:
            rows = self._counted("statements", queries.statements(schema, version, None) or "")
            self._read_statements = tuple(row[0] for row in rows or ())
            return None if rows is None else tuple(map(statement_of, rows))
        known = self._counted("statements", queries.statements_known(schema))
        since = set(known[0][0]) - self._known_statements if known else set()
        wanted = (*self._read_statements, *sorted(since))
        rows = self._counted("statements", queries.statements(schema, version, wanted) or "")
        return None if rows is None else tuple(map(statement_of, rows))

    def _with_texts(self, first: ServerReading, last: ServerReading) -> ServerReading:
        statements = last.reading.statements
        if not statements or self._statements_at is None:
            return last
        before = {one.query_id: one for one in first.reading.statements or ()}
        costs = sorted((-time_since_s(one, before.get(one.query_id)), one.query_id) for one in statements)
        wanted = [query_id for _, query_id in costs[: queries.STATEMENT_TEXTS_MAX]]
        texts: dict[int, str] = dict(
            self._counted("statement texts", queries.statement_texts(self._statements_at[0], wanted)) or []
        )
        named = tuple(
            msgspec.structs.replace(one, text=without_literals(texts.get(one.query_id, ""))) for one in statements
        )
        return replaced(last, statements=named)

    def _with_columns(self, first: ServerReading, last: ServerReading) -> tuple[ServerReading, ServerReading]:
        before = {relation.oid: relation for relation in first.reading.relations}
        active = sorted(
            (-changes_since(toast, before.get(toast.oid)), toast.owner_oid)
            for toast in last.reading.relations
            if toast.kind == "toast" and toast.owner_oid and toast.size_bytes
        )[: queries.COLUMN_TABLES_MAX]
        if not active:
            return first, last
        rows = self._part("columns", queries.columns([oid for _, oid in active])) or []
        if hidden := {row[0] for row in rows if not row[-1]}:
            names = [one.name for one in last.reading.relations if one.oid in hidden]
            self.missing["column widths"] = self._grant(select_on(names))
        found = columns_of(rows)
        return with_columns(first, found), with_columns(last, found)

    def _with_definitions(self, first: ServerReading, last: ServerReading) -> ServerReading:
        before = {index.oid: index.scans for index in first.reading.indexes}
        idle = sorted(
            (-index.size_bytes, index.oid) for index in last.reading.indexes if index.scans == before.get(index.oid)
        )[: queries.DEFINITIONS_MAX]
        if not idle:
            return last
        rows = self._part("index definitions", queries.definitions([oid for _, oid in idle])) or []
        definitions_of: dict[int, str] = dict(rows)
        return replaced(
            last,
            indexes=tuple(
                msgspec.structs.replace(index, definition=definitions_of.get(index.oid) or "")
                for index in last.reading.indexes
            ),
        )

    def _note_rights(self) -> None:
        rights = self.server.rights
        if "pg_read_all_stats" not in rights:
            for what in ("sessions", "vacuums"):
                self.missing[what] = self._grant("pg_monitor")
        if "pg_read_all_settings" not in rights:
            self.missing["settings"] = self._grant("pg_monitor")

    def _in_batches(self, name: str, statement: Callable[[Sequence[int]], str], oids: Sequence[int]) -> Rows:
        rows: Rows = []
        for start in range(0, len(oids), _BATCH):
            rows += self._part(name, statement(oids[start : start + _BATCH])) or []
        return rows

    def _counted(self, name: str, statement: str) -> Rows | None:
        """Like `_part`, of pg_stat_statements: its functions are asked once it is sure whose they are."""
        assert self._statements_at is not None
        schema = self._statements_at[0]
        genuine = recording.genuine_statements(schema)
        return self._part(name, genuine, statement, lock=recording.lock_statements(schema))

    def _part(self, name: str, *statements: str, lock: str = "") -> Rows | None:
        """Return the rows of the last statement; None, with an entry in `missing`, if the server refused one."""
        try:
            return self._connection.ask(*statements, lock=lock)[-1]
        except NoAnswer as why:
            if why.is_connection_lost:
                raise
            self.missing[name] = self._remedy(why)
            return None

    def _remedy(self, why: NoAnswer) -> str:
        if why.state == _NOT_PERMITTED:
            return self._grant("pg_monitor")
        if why.state == _NOT_GENUINE:
            return "pg_stat_statements in this database is not PostgreSQL's: another role replaced it."
        if why.state == _NOT_LOADED:
            return "Add pg_stat_statements to shared_preload_libraries, and restart the server."
        return f"the server reported: {why.reason}"

    def _grant(self, right: str) -> str:
        role = self._server.role if self._server is not None else "plimsoll"
        return f"GRANT {right} TO {quoted(role)};"
