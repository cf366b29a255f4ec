"""The statistics of a database, in the form of a snapshot file."""

from msgspec import field

from plimsoll.model.snapshot_file.poolers import PoolerReadingRecord
from plimsoll.model.snapshot_file.record import Record
from plimsoll.model.snapshot_file.standing import StandingRecord


class ServerSelfRecord(Record, frozen=True, kw_only=True):
    """What a server says of itself once."""

    place: str
    role: str
    version: str
    version_number: int
    is_standby: bool
    block_bytes: int
    toast_chunk_bytes: int | None
    connection_max: int
    reserved_connections: int
    settings: dict[str, str] = field(default_factory=dict)
    extensions: tuple[str, ...] = ()
    rights: tuple[str, ...] = ()
    platform: str = ""
    vcpu_count: int | None = None


class CountersRecord(Record, frozen=True, kw_only=True):
    """Counters of the whole server."""

    committed: int
    rolled_back: int
    temp_files: int
    temp_bytes: int
    blocks_read: int
    blocks_hit: int
    sessions: int | None = None
    sessions_abandoned: int | None = None
    sessions_fatal: int | None = None
    sessions_killed: int | None = None
    checkpoints_timed: int | None = 0
    checkpoints_requested: int | None = 0
    checkpoint_written_bytes: float | None = 0.0
    background_written_bytes: float | None = 0.0
    backend_written_bytes: float | None = None
    wal_bytes: float | None = None
    wal_full_pages: int | None = None
    wal_records: int | None = None
    wal_writes: int | None = None
    wal_buffers_full: int | None = None
    wal_files_bytes: float | None = None
    reset_s: float | None = None


class ColumnRecord(Record, frozen=True, kw_only=True):
    """A column whose values may be stored out of line."""

    name: str
    type: str
    storage: str
    compression: str = ""
    mean_width_bytes: float | None = None


class RelationRecord(Record, frozen=True, kw_only=True):
    """One table or TOAST relation with its counters."""

    oid: int
    name: str
    kind: str
    parent: str = ""
    toast_oid: int | None = None
    owner_oid: int | None = None
    size_bytes: int = 0
    row_estimate: float | None = None
    options: dict[str, str] = field(default_factory=dict)
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
    columns: tuple[ColumnRecord, ...] = ()


class IndexRecord(Record, frozen=True, kw_only=True):
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
    is_valid: bool = True
    parent: str = ""
    definition: str = ""
    last_scan_s: float | None = None


class IoRowRecord(Record, frozen=True, kw_only=True):
    """A row of `pg_stat_io` (16 and later), in bytes."""

    backend_type: str
    object: str
    context: str
    read_bytes: float
    written_bytes: float
    extended_bytes: float
    read_s: float | None = None
    write_s: float | None = None


class StatementRecord(Record, frozen=True, kw_only=True):
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


class DecodingSlotRecord(Record, frozen=True, kw_only=True):
    """A logical replication slot with the counters of its decoding."""

    name: str
    plugin: str
    spilled_transactions: int = 0
    spill_count: int = 0
    spilled_bytes: float = 0.0
    streamed_bytes: float = 0.0
    decoded_bytes: float = 0.0
    confirmed_bytes: float | None = None


class DatabaseReadingRecord(Record, frozen=True, kw_only=True):
    """Everything the server said at one moment, of the database that was connected to."""

    time_s: float
    counters: CountersRecord
    relations: tuple[RelationRecord, ...] = ()
    indexes: tuple[IndexRecord, ...] = ()
    io: tuple[IoRowRecord, ...] | None = None
    statements: tuple[StatementRecord, ...] | None = None
    slots: tuple[DecodingSlotRecord, ...] | None = None
    next_xid: int | None = None
    multixact_age: int | None = None


class SessionRecord(Record, frozen=True, kw_only=True):
    """A session at one moment; None where the role may not see it."""

    pid: int
    backend_type: str | None
    user: str | None
    database: str | None
    application: str | None
    address: str | None
    state: str | None
    wait_event_type: str | None
    wait_event: str | None
    connected_s: float | None
    transaction_s: float | None
    state_s: float | None
    query_id: int | None = None
    statement: str | None = None


class VacuumRunRecord(Record, frozen=True, kw_only=True):
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


class LockWaitRecord(Record, frozen=True, kw_only=True):
    """A session that waits for a lock."""

    pid: int
    blocked_by: tuple[int, ...]


class GlanceRecord(Record, frozen=True, kw_only=True):
    """Sessions and vacuums at one moment between the readings."""

    time_s: float
    sessions: tuple[SessionRecord, ...]
    vacuums: tuple[VacuumRunRecord, ...] = ()
    lock_waits: tuple[LockWaitRecord, ...] = ()
    transaction_count: int | None = None
    active_s: float | None = None


class ToastSampleRecord(Record, frozen=True, kw_only=True):
    """What logical decoding saw of one column during some seconds."""

    table: str
    column: str
    seconds: float
    untouched: int
    resent_same: int
    resent_changed: int
    resent_unknown: int
    value_bytes_mean: float | None = None
    is_whole: bool = True


class ObservationRecord(Record, frozen=True, kw_only=True):
    """What one inspection brought home."""

    server: ServerSelfRecord
    first: DatabaseReadingRecord
    last: DatabaseReadingRecord
    glances: tuple[GlanceRecord, ...] = ()
    poolers: tuple[PoolerReadingRecord, ...] = ()
    toast_samples: tuple[ToastSampleRecord, ...] = ()
    standing: StandingRecord | None = None
    full: str = ""
    resets: tuple[str, ...] = ()
    forgotten_s: float = 0.0
    missing: tuple[tuple[str, str], ...] = ()
    query_count: int = 0
    received_bytes: int = 0
    asked_s: float = 0.0
