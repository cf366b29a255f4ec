"""The health of a server: ages of ids, holders of old row versions and WAL, bloat, sequences, invalid indexes."""

from plimsoll.model.kept import Kept
from plimsoll.model.postgres import LEAF_FILL_RATIO


class DatabaseAge(Kept, frozen=True, kw_only=True):
    """The ages of the oldest ids of a database."""

    name: str
    xid_age: int
    """Transactions since the oldest one that is not frozen."""
    multixact_age: int
    takes_connections: bool


class TableAge(Kept, frozen=True, kw_only=True):
    """The age of the oldest id of a table, or of its TOAST values."""

    name: str
    age: int


class ReplicationSlot(Kept, frozen=True, kw_only=True):
    """A replication slot."""

    name: str
    kind: str
    """`physical` or `logical`."""
    database: str | None
    is_active: bool
    is_temporary: bool
    active_pid: int | None
    retained_bytes: float | None
    """WAL from its place to the newest; None where it keeps none."""
    xmin_age: int | None
    """Of the oldest transaction whose dead rows it keeps."""
    catalog_xmin_age: int | None
    wal_status: str | None
    """`reserved`, `extended` beyond `max_wal_size`, `unreserved`, `lost`."""
    safe_bytes: float | None
    """WAL that may still be written until it is lost; None where nothing bounds it."""
    unused_s: float | None
    """Since it was used last (17 and later)."""


class PreparedTransaction(Kept, frozen=True, kw_only=True):
    """A prepared transaction that is neither committed nor rolled back."""

    gid: str
    owner: str
    database: str
    age_s: float
    xid_age: int


class XminHolder(Kept, frozen=True, kw_only=True):
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
    """What it runs or ran last, without values."""


class Sequence(Kept, frozen=True, kw_only=True):
    """A sequence that has used at least half of its numbers or of its column's range."""

    name: str
    last: int
    increment: int
    bound: int
    """Its own MAXVALUE, or MINVALUE where it counts down."""
    does_cycle: bool
    column: str | None
    column_type: str | None
    table_oid: int | None
    column_bound: int | None
    """Largest number of the column's type; None where that is bigint or no column is known."""


class InvalidIndex(Kept, frozen=True, kw_only=True):
    """An index that no query may use, and that nobody is building."""

    name: str
    table: str
    size_bytes: int
    is_maintained: bool
    """Whether writes still update it."""
    definition: str


class TableSpace(Kept, frozen=True, kw_only=True):
    """The facts from which a table's expected size follows; row counts are of the last vacuum or analyze."""

    name: str
    oid: int
    pages: int
    row_estimate: float
    """`reltuples`; below zero where never analysed."""
    fill_ratio: float
    row_bytes: float | None
    """Mean width of the values of a row; None where a column's is not known."""
    has_nulls: bool
    column_count: int
    live_rows: int
    dead_rows: int
    may_select: bool
    toast_pages: int | None
    toast_rows: float | None
    dropped_columns: int = 0
    """Whose values stay in the rows that were not written since."""


class IndexSpace(Kept, frozen=True, kw_only=True):
    """The facts from which a B-tree's expected size follows."""

    name: str
    table: str
    pages: int
    entry_estimate: float
    key_bytes: float | None
    """Mean width of its columns together; None where one is not known."""
    fill_ratio: float = LEAF_FILL_RATIO


class ServerHealth(Kept, frozen=True, kw_only=True):
    """All health data that was read; None for a part that was not."""

    databases: tuple[DatabaseAge, ...] | None = None
    oldest_tables: tuple[TableAge, ...] | None = None
    """Of the database that was connected to, by transaction ids."""
    oldest_multixact_tables: tuple[TableAge, ...] | None = None
    slots: tuple[ReplicationSlot, ...] | None = None
    prepared: tuple[PreparedTransaction, ...] | None = None
    holders: tuple[XminHolder, ...] | None = None
    sequences: tuple[Sequence, ...] | None = None
    invalid_indexes: tuple[InvalidIndex, ...] | None = None
    tables: tuple[TableSpace, ...] | None = None
    indexes: tuple[IndexSpace, ...] | None = None
