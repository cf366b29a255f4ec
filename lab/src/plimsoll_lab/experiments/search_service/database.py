"""
The database of the experiment, from outside: autovacuum, its counters, what is looked up in it.

Rule 1: the service made the tables; statements here know its table `asset` and nothing else of it.
Rule 2: what a person would do with psql is done here: storage parameters of a table, cancelling a vacuum.
"""

from msgspec import Struct

from plimsoll_lab.experiments.database import ExperimentDatabase
from plimsoll_lab.experiments.search_service.story import Vacuum

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
RESPONSE = "select id, title, views, length(text) from asset where id = %s"
"""The statement whose response is measured: one document by its key."""
STATEMENT = "select id, title, length(text) from asset where product_id = $1 limit 100"
"""The statement whose plans are compared: a hundred documents of one product."""
_COUNTERS = """select m.n_tup_upd, t.n_tup_del, t.n_live_tup from pg_class c
  join pg_stat_all_tables m on m.relid = c.oid join pg_stat_all_tables t on t.relid = c.reltoastrelid
  where c.relname = 'asset'"""


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


class ServiceDatabase(ExperimentDatabase):
    """A connection to the database of the service; use it in a `with` block."""

    def set_vacuum(self, vacuum: Vacuum) -> None:
        """Let autovacuum clean the TOAST relation, or cancel it and keep it off."""
        self.run(_OFF if vacuum is Vacuum.OFF else _ON)
        if vacuum is Vacuum.OFF:
            self.run(_CANCEL)

    def is_vacuuming(self) -> bool:
        """Return whether a vacuum of the TOAST relation runs."""
        return bool(self.run(_RUNNING))

    def counters(self) -> TupleCounters:
        """Return the counters of the table."""
        updated, deleted, live = map(int, self.run(_COUNTERS)[0])
        return TupleCounters(updated=updated, toast_deleted=deleted, toast_live=live)
