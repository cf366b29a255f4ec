"""
The database of the experiment, from outside: autovacuum, a probe of its response, its counters.

Rule 1: the service made the tables; statements here know its table `asset` and nothing else of it.
Rule 2: what a person would do with psql is done here: storage parameters of a table, cancelling a vacuum.
"""

import random
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import psycopg
from msgspec import Struct
from psycopg import sql

from plimsoll.errors import SourceError
from plimsoll.lab.experiments.search_service.story import Vacuum

# Of the published settings for "long-lived rows written often": 1 % of the rows and 50. With a table age of zero each
# vacuum reads every page that is not frozen, as in a relation that is years old; otherwise one of so small a relation
# would skip most of it.
_DUE_SHARE, _DUE_ROWS = 0.01, 50
_ON = f"""alter table asset set (toast.autovacuum_enabled = true,
  toast.autovacuum_vacuum_scale_factor = {_DUE_SHARE}, toast.autovacuum_vacuum_threshold = {_DUE_ROWS},
  toast.autovacuum_vacuum_insert_threshold = -1, toast.autovacuum_freeze_table_age = 0)"""
# A change of the table's parameters waits for a running vacuum; PostgreSQL then cancels the vacuum.
_OFF = "alter table asset set (toast.autovacuum_enabled = false)"
_CANCEL = """select pg_cancel_backend(p.pid) from pg_stat_progress_vacuum p
  join pg_class c on c.reltoastrelid = p.relid where c.relname = 'asset'"""
_RUNNING = """select 1 from pg_stat_progress_vacuum p
  join pg_class c on c.reltoastrelid = p.relid where c.relname = 'asset'"""
_RESPONSE = "select id, title, views, length(text) from asset where id = %s"
STATEMENT = "select id, title, length(text) from asset where product_id = $1 limit 100"
"""The statement whose plans are compared: a hundred documents of one product."""
_COUNTERS = """select m.n_tup_upd, t.n_tup_del, t.n_live_tup from pg_class c
  join pg_stat_all_tables m on m.relid = c.oid join pg_stat_all_tables t on t.relid = c.reltoastrelid
  where c.relname = 'asset'"""
# Of the response: often enough for a median of twenty seconds, seldom enough to be no load.
_EVERY_S = 0.2
# A statement of the probe that waits longer is counted with this time.
_PATIENCE_MS = 20_000


class TupleCounters(Struct, frozen=True, kw_only=True):
    """Updates of the table, and rows that they removed from its TOAST relation."""

    updated: int
    toast_deleted: int
    toast_live: int
    """Rows of the TOAST relation that are not dead."""

    def dead_per_update(self, before: "TupleCounters") -> float | None:
        """Return the dead tuples an update has left since an earlier reading; None without an update."""
        updates = self.updated - before.updated
        if updates <= 0:
            return None
        # The old version of the row itself is dead too.
        return 1 + (self.toast_deleted - before.toast_deleted) / updates

    def vacuum_due_share(self, before: "TupleCounters") -> float:
        """Return the rows that died since an earlier reading, as a share of those at which a vacuum is due."""
        due = _DUE_SHARE * self.toast_live + _DUE_ROWS
        return (self.toast_deleted - before.toast_deleted) / due


class ServiceDatabase:
    """A connection to the database of the service; use it in a `with` block."""

    def __init__(self, dsn: str) -> None:
        """Keep where it is; nothing is opened yet."""
        self._dsn = dsn
        self._connection: psycopg.Connection | None = None

    def __enter__(self) -> Self:
        """
        Connect.

        Raises:
            SourceError: the server does not answer.
        """
        try:
            self._connection = psycopg.connect(
                self._dsn, autocommit=True, application_name="plimsoll lab"
            )
        except psycopg.Error as error:
            raise _refused(error) from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def tidy(self) -> None:
        """Leave nothing for autovacuum and the checkpointer to do that was there before the experiment."""
        for statement in ("vacuum (analyze)", "checkpoint"):
            self._run(statement)

    def count_statements(self) -> None:
        """Create the extension that counts statements, as RDS has it."""
        self._run("create extension pg_stat_statements")

    def set_vacuum(self, vacuum: Vacuum) -> None:
        """Let autovacuum clean the TOAST relation, or cancel it and keep it off."""
        self._run(_OFF if vacuum is Vacuum.OFF else _ON)
        if vacuum is Vacuum.OFF:
            self._run(_CANCEL)

    def is_vacuuming(self) -> bool:
        """Return whether a vacuum of the TOAST relation runs."""
        return bool(self._run(_RUNNING))

    def counters(self) -> TupleCounters:
        """Return the counters of the table."""
        updated, deleted, live = map(int, self._run(_COUNTERS)[0])
        return TupleCounters(updated=updated, toast_deleted=deleted, toast_live=live)

    def _run(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        try:
            cursor = self._connection.execute(sql.SQL(statement), values or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise _refused(error) from error


class ResponseProbe:
    """Looks up one asset after the other, and keeps how long each took; use it in a `with` block."""

    def __init__(self, dsn: str, count: int, seed: int) -> None:
        """
        Keep what is looked up.

        Args:
            dsn: of the database.
            count: number of assets; each is as likely as the others.
            seed: the same seed gives the same choices.
        """
        self._dsn = dsn
        self._count = count
        self._random = random.Random(seed)  # noqa: S311 - choices of an experiment
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.times_s: list[float] = []

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        # The server may go away at the end of the experiment; then there is nothing to look up.
        with (
            suppress(psycopg.OperationalError),
            psycopg.connect(
                self._dsn,
                autocommit=True,
                application_name="plimsoll lab probe",
                options=f"-c statement_timeout={_PATIENCE_MS}",
            ) as connection,
        ):
            while not self._stop.wait(_EVERY_S):
                began = time.monotonic()
                with suppress(psycopg.errors.QueryCanceled):
                    connection.execute(_RESPONSE, (f"a-{self._random.randrange(self._count)}",))
                self.times_s.append(time.monotonic() - began)


def _refused(error: psycopg.Error) -> SourceError:
    words = (str(error).splitlines() or ["it gave no reason"])[0]
    return SourceError(
        f"the database of the experiment refused: {words}", "Run the experiment again."
    )
