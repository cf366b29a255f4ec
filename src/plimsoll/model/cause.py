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
    """Exact SQL, settings or code for the reader to run; Plimsoll never runs it."""
    settings: tuple[tuple[str, str], ...] = ()
    """Settings of the server to change, with values as PostgreSQL writes them; `causes.platform` makes commands."""
    expected: str = ""
    """What it should change, with numbers where they follow."""


class Cause(Struct, frozen=True, kw_only=True):
    """One finding inside the database or its pooler."""

    kind: CauseKind
    code: str
    """For machines: `ToastValuesRewritten`, `IdleInTransaction` …"""
    severity: Severity
    """`critical`, `warning`, `note`, as of findings."""
    subject: str
    """Table, index, user or pool; empty where it is the server."""
    title: str
    """One sentence: number, unit, comparison."""
    text: str = ""
    """What it means."""
    read_bytes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    """What it reads and writes; None where it moves no bytes or it is not known."""
    uncounted_bytes_per_s: float = 0.0
    """The part of it that the server has not counted yet, as a mean over the observed time."""
    is_estimated: bool = False
    """Whether those bytes are an estimate; the text gives its basis."""
    share_of_load: float | None = None
    """Of all bytes that the database read and wrote in that time, 0–1."""
    share_of_ceiling: float | None = None
    """Of the binding ceiling, 0–1; None where none is known."""
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
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
    version: str
    role: str
    is_standby: bool
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
    """The largest first; those without bytes by severity."""
    missing: tuple[Missing, ...]
    query_count: int
    received_bytes: int
    asked_s: float
    notes: tuple[str, ...] = ()
    reading_count: int = 2
    """Moments at which all counters were read."""
    glance_count: int = 0
    """Moments between the readings at which sessions and vacuums were listed."""
