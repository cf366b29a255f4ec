"""What an inspection of a database found of its load, as far as a rule needs it."""

from msgspec import Struct

from plimsoll.model.cause import CauseKind

CAUSE_WORDS: dict[CauseKind, str] = {
    CauseKind.VACUUM: "vacuum",
    CauseKind.TOAST: "rewritten TOAST values",
    CauseKind.CHECKPOINTS: "checkpoints",
    CauseKind.WAL: "WAL",
    CauseKind.TEMPORARY_FILES: "temporary files",
    CauseKind.BULK_LOADS: "bulk loads",
    CauseKind.HINT_BITS: "hint bits",
    CauseKind.DECODING: "logical decoding",
    CauseKind.SEQUENTIAL_SCANS: "sequential scans",
    CauseKind.UNUSED_INDEXES: "unused indexes",
    CauseKind.PLANS: "one statement",
}
"""Kinds of causes that move bytes, for people."""


class LoadCause(Struct, frozen=True, kw_only=True):
    """One cause of the load that moves bytes; it has no text of a statement."""

    kind: CauseKind
    subject: str
    """Table, index or slot; for a statement, something that stays the same and is not its text."""
    is_named: bool
    """Whether people know the subject by this name."""
    share: float
    """Of all bytes that the database read and wrote in that time, 0–1."""
    bytes_per_s: float
    is_small: bool
    """Whether a cause of this size is not visible in a graph of the load, or far below the ceiling."""
    facts: tuple[str, ...]
    """Sentences: what it does."""
    advice: tuple[str, ...]
    """What to do first."""

    @property
    def words(self) -> str:
        """Return what it is: `rewritten TOAST values of public.letters`."""
        what = CAUSE_WORDS.get(self.kind, self.kind.value.replace("_", " "))
        return f"{what} of {self.subject}" if self.is_named and self.subject else what


class InspectedLoad(Struct, frozen=True, kw_only=True):
    """The load of one database in the seconds of its last inspection."""

    bytes_per_s: float | None = None
    """Reads and writes together; None where they are not known."""
    causes: tuple[LoadCause, ...] = ()
    """The largest reason first; what only describes how bytes are written, WAL for example, comes last."""
    window_s: float = 0.0
    """For how long it was observed."""
    age_s: float = 0.0
    """Time since the end of the observation."""
    missing: str = ""
    """Why nothing is known, a clause with the instance as its subject; empty where it is."""
