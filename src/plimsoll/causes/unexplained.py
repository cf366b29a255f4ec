"""
Compute a lower bound of the load that no cause explains.

Causes overlap: a statement's reads include those of its scans, and every change also writes WAL.
Rule: causes that only describe how bytes are written (WAL, checkpoints) explain nothing. Overlapping causes are
added, so the rest is a lower bound.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget
from plimsoll.model.cause import Cause, CauseKind

# Causes that say how bytes are written, not why.
HOW_NOT_WHY = {"WalWrites", "WalFullPages", "CheckpointWrites", "CheckpointsRequested"}
# Statements, scans and indexes count the same reads, so only the larger sum counts.
_BY_STATEMENT = {"StatementReads", "NotTheQuery"}
_OTHER_READERS = {CauseKind.VACUUM, CauseKind.TEMPORARY_FILES, CauseKind.DECODING}


class Unexplained(Struct, frozen=True, kw_only=True):
    """The unexplained part of the load, bytes/s."""

    read_bytes_per_s: float
    written_bytes_per_s: float
    share: float
    """Of the load, 0–1."""

    @property
    def bytes_per_s(self) -> float:
        """Reads and writes together."""
        return self.read_bytes_per_s + self.written_bytes_per_s


def unexplained(budget: Budget, causes: Sequence[Cause]) -> Unexplained | None:
    """
    Return the least that no cause explains; None if the load is unknown or zero.

    Args:
        budget: of the whole server.
        causes: all findings.
    """
    load = budget.load_bytes_per_s
    if not load or budget.read_bytes_per_s is None or budget.written_bytes_per_s is None:
        return None
    reasons = [cause for cause in causes if cause.code not in HOW_NOT_WHY]
    by_statement = sum(_counted(c)[0] for c in reasons if c.code in _BY_STATEMENT)
    others = [cause for cause in reasons if cause.code not in _BY_STATEMENT]
    apart = sum(_counted(c)[0] for c in others if c.kind in _OTHER_READERS)
    within = sum(_counted(c)[0] for c in others if c.kind not in _OTHER_READERS)
    written = sum(_counted(c)[1] for c in others)
    read_left = max(budget.read_bytes_per_s - max(by_statement, within) - apart, 0.0)
    written_left = max(budget.written_bytes_per_s - written, 0.0)
    left = min(read_left + written_left, load)
    return Unexplained(read_bytes_per_s=read_left, written_bytes_per_s=written_left, share=left / load)


def _counted(cause: Cause) -> tuple[float, float]:
    """Return bytes/s read and written that the server has counted; a running vacuum's are counted later."""
    moved = cause.bytes_per_s
    if not moved:
        return 0.0, 0.0
    ratio = max(1 - cause.uncounted_bytes_per_s / moved, 0.0)
    return (cause.read_bytes_per_s or 0.0) * ratio, (cause.written_bytes_per_s or 0.0) * ratio
