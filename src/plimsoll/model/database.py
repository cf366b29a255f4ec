"""
The statistics of a database server: its counters at two moments, and its sessions in between.

Bytes, operations, seconds and ratios throughout; a counter that a version does not have, or that a role
may not see, is None. Counters grow since `reset_s`; what happened is the difference of two readings.
"""

from msgspec import field

from plimsoll.model.kept import Kept
from plimsoll.model.pooler import PooledDatabase, PooledUser
from plimsoll.model.standing import ServerHealth
from plimsoll.model.toast import ToastSample


class ServerInfo(Kept, frozen=True, kw_only=True):
    """The facts about a server that do not change during an inspection."""

    place: str
    """`127.0.0.1:5432/orders`, without user and password."""
    role: str
    version: str
    version_number: int
    """`server_version_num`: 180006."""
    is_standby: bool
    block_bytes: int
    toast_chunk_bytes: int | None
    """Most bytes of a TOAST chunk, as the control file says; None where it may not be read."""
    connection_max: int
    reserved_connections: int
    settings: dict[str, str] = field(default_factory=dict)
    """By name, in the server's base units as `pg_settings.setting` gives them."""
    extensions: tuple[str, ...] = ()
    rights: tuple[str, ...] = ()
    """Of `pg_monitor`, `pg_read_all_stats`, `pg_read_all_settings`, those the role has."""
    platform: str = ""
    """A value of `Platform`; empty where the server keeps its own configuration."""
    vcpu_count: int | None = None
    """Processors of the machine: seen where it is this one, else by class; None where not known."""


class Relation(Kept, frozen=True, kw_only=True):
    """One table or TOAST relation with its counters."""

    oid: int
    name: str
    """`schema.table`; of a TOAST relation its own name."""
    kind: str
    """`table`, `toast`, `materialized view`, `partition`; `partitioned table` where partitions are added up."""
    parent: str = ""
    """Of a partition the topmost partitioned table, `schema.table`."""
    toast_oid: int | None = None
    """Of a table its TOAST relation."""
    owner_oid: int | None = None
    """Of a TOAST relation its table."""
    size_bytes: int = 0
    """Main fork."""
    row_estimate: float | None = None
    """`reltuples`; None where never analysed."""
    options: dict[str, str] = field(default_factory=dict)
    """Storage parameters (`reloptions`), those of the TOAST relation without `toast.`."""
    inserted: int = 0
    updated: int = 0
    hot_updated: int = 0
    deleted: int = 0
    live_rows: int = 0
    dead_rows: int = 0
    changed_since_analyze: int = 0
    inserted_since_vacuum: int = 0
    seq_scans: int = 0
    seq_rows_read: int = 0
    index_scans: int | None = None
    heap_blocks_read: int = 0
    heap_blocks_hit: int = 0
    index_blocks_read: int = 0
    toast_blocks_read: int = 0
    last_vacuum_s: float | None = None
    last_autovacuum_s: float | None = None
    vacuum_count: int = 0
    autovacuum_count: int = 0
    columns: tuple["ToastableColumn", ...] = ()
    """Of a table those that may be stored out of line; empty where they were not asked for."""

    @property
    def rows(self) -> float:
        """Live rows by the larger of counter and estimate: a counter may have begun later than the rows."""
        return max(float(self.live_rows), self.row_estimate or 0.0)


class ToastableColumn(Kept, frozen=True, kw_only=True):
    """A column whose values may be stored out of line."""

    name: str
    type: str
    storage: str
    """`plain`, `external`, `extended`, `main`."""
    compression: str = ""
    mean_width_bytes: float | None = None
    """`pg_stats.avg_width`: as stored in the row, so small for what is stored out of line."""


class Index(Kept, frozen=True, kw_only=True):
    """One index with its counters."""

    oid: int
    name: str
    table_oid: int
    size_bytes: int
    scans: int
    blocks_read: int
    blocks_hit: int
    is_unique: bool
    is_constraint: bool
    """Whether a primary key, unique, exclusion or foreign-key rule needs it."""
    is_valid: bool = True
    parent: str = ""
    """Of a partition's index the topmost partitioned index that it belongs to."""
    definition: str = ""
    last_scan_s: float | None = None


class IoRow(Kept, frozen=True, kw_only=True):
    """A row of `pg_stat_io` (16 and later), in bytes."""

    backend_type: str
    object: str
    context: str
    read_bytes: float
    written_bytes: float
    extended_bytes: float
    read_s: float | None = None
    write_s: float | None = None


class VacuumRun(Kept, frozen=True, kw_only=True):
    """A vacuum that is running."""

    pid: int
    relation_oid: int
    relation: str
    phase: str
    total_blocks: int
    scanned_blocks: int
    vacuumed_blocks: int
    index_rounds: int
    is_automatic: bool
    is_wraparound: bool
    running_s: float
    delay_s: float | None = None
    """Time it slept for its cost limit (18, with track_cost_delay_timing)."""


class Session(Kept, frozen=True, kw_only=True):
    """A session at one moment; None where the role may not see it."""

    pid: int
    backend_type: str | None
    user: str | None
    database: str | None
    application: str | None
    address: str | None
    state: str | None
    """`active`, `idle`, `idle in transaction`, `idle in transaction (aborted)` …"""
    wait_event_type: str | None
    wait_event: str | None
    connected_s: float | None
    """How long it has been connected."""
    transaction_s: float | None
    state_s: float | None
    """How long it has been in this state."""
    query_id: int | None = None
    statement: str | None = None
    """Beginning of what it runs or ran last, without values; asked for only where locks are waited for."""


class LockWait(Kept, frozen=True, kw_only=True):
    """A session that waits for a lock."""

    pid: int
    blocked_by: tuple[int, ...]
    """Processes that hold the lock or are ahead in its queue; 0 is a prepared transaction."""


class Statement(Kept, frozen=True, kw_only=True):
    """A normalised statement of `pg_stat_statements`."""

    query_id: int
    text: str
    calls: int
    rows: int
    exec_s: float
    read_blocks: int
    hit_blocks: int
    dirtied_blocks: int
    written_blocks: int
    temp_read_blocks: int
    temp_written_blocks: int
    read_s: float | None
    write_s: float | None
    wal_bytes: float | None


class Counters(Kept, frozen=True, kw_only=True):
    """Counters of the whole server."""

    committed: int
    rolled_back: int
    temp_files: int
    temp_bytes: int
    blocks_read: int
    blocks_hit: int
    sessions: int | None = None
    """Sessions ever established (14 and later)."""
    sessions_abandoned: int | None = None
    sessions_fatal: int | None = None
    sessions_killed: int | None = None
    checkpoints_timed: int | None = 0
    checkpoints_requested: int | None = 0
    checkpoint_written_bytes: float | None = 0.0
    background_written_bytes: float | None = 0.0
    backend_written_bytes: float | None = None
    """By backends themselves; from 16 on out of `pg_stat_io`."""
    wal_bytes: float | None = None
    wal_full_pages: int | None = None
    wal_records: int | None = None
    wal_writes: int | None = None
    """How often WAL was written; None from 18 on, where `pg_stat_io` counts its bytes."""
    wal_buffers_full: int | None = None
    """Writes among them that made room in the buffers: of whole pages only."""
    wal_files_bytes: float | None = None
    """Size of all files of WAL; None from 18 on, or where they may not be listed."""
    reset_s: float | None = None
    """When the counters of the database began: created, reset, lost in a crash, or promoted; None if unknown."""


class DecodingSlot(Kept, frozen=True, kw_only=True):
    """A logical replication slot with the counters of its decoding."""

    name: str
    plugin: str
    spilled_transactions: int = 0
    spill_count: int = 0
    """How often a transaction was spilled; one may be several times."""
    spilled_bytes: float = 0.0
    """Of decoded changes that went to files, as they took memory."""
    streamed_bytes: float = 0.0
    """Sent before their transaction ended, in place of going to files."""
    decoded_bytes: float = 0.0
    """Of all transactions that were sent."""
    confirmed_bytes: float | None = None
    """Position in WAL that its reader has confirmed, in bytes."""


class DatabaseReading(Kept, frozen=True, kw_only=True):
    """All counters of the server at one moment, for the connected database."""

    time_s: float
    """Epoch seconds, the server's clock."""
    counters: Counters
    relations: tuple[Relation, ...] = ()
    indexes: tuple[Index, ...] = ()
    io: tuple[IoRow, ...] | None = None
    """None before PostgreSQL 16."""
    statements: tuple[Statement, ...] | None = None
    """None without the extension, or without the right to see it."""
    slots: tuple[DecodingSlot, ...] | None = None
    """Logical replication slots of the server; None where they could not be read."""
    next_xid: int | None = None
    """Transaction id that comes next, of 64 bits; it never wraps."""
    multixact_age: int | None = None
    """Of multixact 1: how many were given out, modulo 2³²."""


class Glance(Kept, frozen=True, kw_only=True):
    """Sessions and vacuums at one moment between the readings."""

    time_s: float
    sessions: tuple[Session, ...]
    vacuums: tuple[VacuumRun, ...] = ()
    lock_waits: tuple[LockWait, ...] = ()
    """Sessions that wait for a lock, with their blockers; empty where none waited."""
    transaction_count: int | None = None
    """Committed and rolled back so far in all databases; None where it was not asked for."""
    active_s: float | None = None
    """Time that sessions of all databases have spent on statements so far, of those that have ended."""


class PoolRow(Kept, frozen=True, kw_only=True):
    """One pool of a pooler, clients and servers of one database and user."""

    database: str
    user: str
    clients_active: int
    clients_waiting: int
    servers_active: int
    servers_idle: int
    servers_used: int = 0
    longest_wait_s: float | None = None
    mode: str = ""
    size_max: int | None = None


class CachedServer(Kept, frozen=True, kw_only=True):
    """A server connection that a Pgpool-II child keeps."""

    child_pid: int
    database: str
    user: str
    backend: int
    """Number of the node."""
    age_s: float | None
    """Since it was made."""
    idle_s: float | None
    """Since a client last had it; None while one has."""
    is_connected: bool
    """Whether a client has it now."""


class PoolerReading(Kept, frozen=True, kw_only=True):
    """The state of a pooler at one moment."""

    kind: str
    """`pgbouncer` or `pgpool`."""
    place: str
    version: str
    time_s: float
    settings: dict[str, str] = field(default_factory=dict)
    pools: tuple[PoolRow, ...] = ()
    cached: tuple[CachedServer, ...] = ()
    clients: int | None = None
    """Connected to it now, without this program; None where it does not report them."""
    databases: tuple[PooledDatabase, ...] = ()
    """That PgBouncer offers."""
    users: tuple[PooledUser, ...] = ()
    """Of PgBouncer, those with settings of their own."""


class Observation(Kept, frozen=True, kw_only=True):
    """The data that one inspection read."""

    server: ServerInfo
    first: DatabaseReading
    last: DatabaseReading
    glances: tuple[Glance, ...] = ()
    poolers: tuple[PoolerReading, ...] = ()
    """In order of time; several of one place are several moments."""
    toast_samples: tuple[ToastSample, ...] = ()
    """Of logical decoding, where somebody asked for it."""
    standing: ServerHealth | None = None
    """The health of the server at the end; None where it was not asked for."""
    full: str = ""
    """The server's error where it accepted no connection, so that only poolers were read; else empty."""
    resets: tuple[str, ...] = ()
    """What was reset between the readings and is in neither: `io`, `wal`, `bgwriter`, `checkpointer`,
    `statements`, `relations`."""
    forgotten_s: float = 0.0
    """Watched before a crash of the server, seconds: its counters are lost, and `first` came after it."""
    missing: tuple[tuple[str, str], ...] = ()
    """What could not be read and what would supply it: (`statements`, `GRANT …`)."""
    query_count: int = 0
    received_bytes: int = 0
    asked_s: float = 0.0
    """Time the server spent on our statements, measured by the client."""

    @property
    def seconds(self) -> float:
        """Return the seconds between the two readings."""
        return self.last.time_s - self.first.time_s
