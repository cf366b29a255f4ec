"""What stood on a server, as a snapshot file has it."""

from plimsoll.model.postgres import LEAF_FILL_RATIO
from plimsoll.model.snapshot_file.record import Record


class DatabaseAgeRecord(Record, frozen=True, kw_only=True):
    """How old the oldest ids of a database are."""

    name: str
    xid_age: int
    multixact_age: int
    takes_connections: bool


class TableAgeRecord(Record, frozen=True, kw_only=True):
    """How old the oldest id of a table, or of its values, is."""

    name: str
    age: int


class SlotRecord(Record, frozen=True, kw_only=True):
    """A replication slot."""

    name: str
    kind: str
    database: str | None
    is_active: bool
    is_temporary: bool
    active_pid: int | None
    retained_bytes: float | None
    xmin_age: int | None
    catalog_xmin_age: int | None
    wal_status: str | None
    safe_bytes: float | None
    unused_s: float | None


class PreparedRecord(Record, frozen=True, kw_only=True):
    """A prepared transaction that nobody has ended yet."""

    gid: str
    owner: str
    database: str
    age_s: float
    xid_age: int


class HolderRecord(Record, frozen=True, kw_only=True):
    """A session whose snapshot or transaction keeps dead rows."""

    pid: int
    backend_type: str | None
    user: str | None
    database: str | None
    application: str | None
    address: str | None
    state: str | None
    transaction_s: float | None
    xid_age: int
    statement: str | None


class SequenceRecord(Record, frozen=True, kw_only=True):
    """A sequence that has used up half of its numbers or of its column's, at least."""

    name: str
    last: int
    increment: int
    bound: int
    does_cycle: bool
    column: str | None
    column_type: str | None
    table_oid: int | None
    column_bound: int | None


class InvalidIndexRecord(Record, frozen=True, kw_only=True):
    """An index that no query may use, and that nobody is building."""

    name: str
    table: str
    size_bytes: int
    is_maintained: bool
    definition: str


class TableSpaceRecord(Record, frozen=True, kw_only=True):
    """What a table's size is held against; numbers of rows as of the last vacuum or analyze."""

    name: str
    oid: int
    pages: int
    row_estimate: float
    fill_ratio: float
    row_bytes: float | None
    has_nulls: bool
    column_count: int
    live_rows: int
    dead_rows: int
    may_select: bool
    toast_pages: int | None
    toast_rows: float | None
    dropped_columns: int = 0


class IndexSpaceRecord(Record, frozen=True, kw_only=True):
    """What a B-tree's size is held against."""

    name: str
    table: str
    pages: int
    entry_estimate: float
    key_bytes: float | None
    fill_ratio: float = LEAF_FILL_RATIO


class StandingRecord(Record, frozen=True, kw_only=True):
    """Everything of this kind that was read; a part that was not is None."""

    databases: tuple[DatabaseAgeRecord, ...] | None = None
    oldest_tables: tuple[TableAgeRecord, ...] | None = None
    oldest_multixact_tables: tuple[TableAgeRecord, ...] | None = None
    slots: tuple[SlotRecord, ...] | None = None
    prepared: tuple[PreparedRecord, ...] | None = None
    holders: tuple[HolderRecord, ...] | None = None
    sequences: tuple[SequenceRecord, ...] | None = None
    invalid_indexes: tuple[InvalidIndexRecord, ...] | None = None
    tables: tuple[TableSpaceRecord, ...] | None = None
    indexes: tuple[IndexSpaceRecord, ...] | None = None
