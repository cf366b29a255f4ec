"""A cause of demand inside the database: its size, its remedy, and what would disprove it."""

from enum import StrEnum

from msgspec import Struct

from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.severity import Severity


class CauseKind(StrEnum):
    """The detector that found it."""

    VACUUM = "vacuum"
    TOAST = "toast"
    AUTOVACUUM_SETTINGS = "autovacuum_settings"
    CHECKPOINTS = "checkpoints"
    WAL = "wal"
    TEMPORARY_FILES = "temporary_files"
    BULK_LOADS = "bulk_loads"
    HINT_BITS = "hint_bits"
    DECODING = "decoding"
    SEQUENTIAL_SCANS = "sequential_scans"
    UNUSED_INDEXES = "unused_indexes"
    PLANS = "plans"
    CONNECTIONS = "connections"
    LOCKS = "locks"
    WRAPAROUND = "wraparound"
    HELD_BACK = "held_back"
    BLOAT = "bloat"
    SEQUENCES = "sequences"
    POOLER = "pooler"


class Remedy(Struct, frozen=True, kw_only=True):
    """One thing to do."""

    text: str
    """A sentence."""
    commands: tuple[str, ...] = ()
    """Exact SQL, settings or code to read and then run; never run by Plimsoll."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of the server to change, with values as PostgreSQL writes them; `causes.platform` makes commands."""
    expected: str = ""
    """What it should change; may be empty."""


class Cause(Struct, frozen=True, kw_only=True):
    """One finding inside the database or its pooler."""

    kind: CauseKind
    """The detector that found it."""
    code: str
    """The finding, for machines, as `ToastValuesRewritten`; codes keep their meaning."""
    severity: Severity
    """At least a quarter of the load or of the ceiling, or an outage in the making; at least a
    twentieth; less. Below a twentieth of a known ceiling no share of the load is `critical`."""
    subject: str
    """Table, index, user or pool; empty where it is the server."""
    title: str
    """One sentence: number, unit, comparison."""
    text: str = ""
    """What it means; may be empty."""
    read_bytes_per_s: float | None = None
    """Its reads; null where it has none, or they are not known."""
    written_bytes_per_s: float | None = None
    """Its writes; null where it has none, or they are not known."""
    uncounted_bytes_per_s: float = 0.0
    """The part of it that the server has not counted yet, as a mean over the observed time."""
    is_estimated: bool = False
    """Whether these bytes are an estimate; the text gives its basis."""
    share_of_load: float | None = None
    """Ratio 0–1 of all that the server reads and writes, vacuums that still run among it; null if not known."""
    share_of_ceiling: float | None = None
    """Ratio of the ceiling; above 1 where the page cache absorbed a part; null if not known."""
    evidence: tuple[Evidence, ...] = ()
    """Observations that support the claim."""
    remedies: tuple[Remedy, ...] = ()
    """Actions to take, the best first."""
    refuted_by: str = ""
    """What would show that it is wrong."""

    @property
    def bytes_per_s(self) -> float | None:
        """Return the bytes read and written per second; None where neither is known."""
        known = [b for b in (self.read_bytes_per_s, self.written_bytes_per_s) if b is not None]
        return sum(known) if known else None


class Inspection(Struct, frozen=True, kw_only=True):
    """The whole answer of one inspection."""

    place: str
    """Host, port and database, without user and password."""
    version: str
    """Of the server, as `18.6`."""
    role: str
    """Whom Plimsoll was to the server."""
    is_standby: bool
    """Whether the server was in recovery."""
    start_s: float
    end_s: float
    load_read_bytes_per_s: float | None
    load_written_bytes_per_s: float | None
    """What the database as a whole asked the system to read and write; None where not known."""
    load_is_estimated: bool = False
    """Whether that follows from blocks, checkpoints and WAL, as before PostgreSQL 16."""
    unexplained_bytes_per_s: float | None = None
    """Lower bound of the load that no cause explains; None where the load is not known."""
    unexplained_share: float | None = None
    """The same as a share of the load, 0–1."""
    ceiling_bytes_per_s: float | None
    """The binding ceiling that shares are of; None where none is known."""
    ceiling_name: str
    causes: tuple[Cause, ...]
    """The causes: the worst first, then by size."""
    missing: tuple[Missing, ...]
    """Data that could not be read, and what would supply it."""
    query_count: int
    received_bytes: int
    asked_s: float
    notes: tuple[str, ...] = ()
    """Remarks on these numbers, as sentences."""
    reading_count: int = 2
    """Moments at which all counters were read."""
    glance_count: int = 0
    """Moments between the readings at which sessions and vacuums were listed."""
