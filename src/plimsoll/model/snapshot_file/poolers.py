"""The statistics of poolers, in the form of a snapshot file."""

from msgspec import field

from plimsoll.model.snapshot_file.record import Record


class PoolRowRecord(Record, frozen=True, kw_only=True):
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


class CachedServerRecord(Record, frozen=True, kw_only=True):
    """A server connection that a Pgpool-II child keeps."""

    child_pid: int
    database: str
    user: str
    backend: int
    age_s: float | None
    idle_s: float | None
    is_connected: bool


class PooledDatabaseRecord(Record, frozen=True, kw_only=True):
    """A database that PgBouncer offers: a line of its section `[databases]`."""

    name: str
    user: str | None = None
    size_max: int | None = None
    reserve: int | None = None
    mode: str | None = None
    servers_max: int | None = None
    size_min: int | None = None
    server: str | None = None


class PooledUserRecord(Record, frozen=True, kw_only=True):
    """A user with settings of its own in PgBouncer: a line of its section `[users]`."""

    name: str
    size_max: int | None = None
    reserve: int | None = None
    mode: str | None = None
    servers_max: int | None = None


class PoolerReadingRecord(Record, frozen=True, kw_only=True):
    """What a pooler says of itself at one moment."""

    kind: str
    place: str
    version: str
    time_s: float
    settings: dict[str, str] = field(default_factory=dict)
    pools: tuple[PoolRowRecord, ...] = ()
    cached: tuple[CachedServerRecord, ...] = ()
    clients: int | None = None
    databases: tuple[PooledDatabaseRecord, ...] = ()
    users: tuple[PooledUserRecord, ...] = ()
