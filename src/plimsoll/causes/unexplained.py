"""
How much of the load no cause explains, at least.

Causes overlap: a statement's reads are those of the scans it makes, and WAL is written for whatever is changed.
Rule: what is only another view of the same bytes (WAL, checkpoints) explains nothing by itself; what may be
told twice is counted twice. What is left is then a lower bound of what nothing explains.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget
from plimsoll.model.cause import Cause, CauseKind

# How bytes are written, not why.
_MERE_WAYS = {"WalWrites", "WalFullPages", "CheckpointWrites", "CheckpointsRequested"}
# Statements read what scans and indexes are said to read: the larger of both counts.
_BY_STATEMENT = {"StatementReads", "NotTheQuery"}
_OTHER_READERS = {CauseKind.VACUUM, CauseKind.TEMPORARY_FILES, CauseKind.DECODING}


class Unexplained(Struct, frozen=True, kw_only=True):
    """What is left of the load, bytes/s."""

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
    Return what none of the causes explains, at least; None where the load is not known or nothing was done.

    Args:
        budget: of the whole server.
        causes: all that was found.
    """
    load = budget.load_bytes_per_s
    if not load or budget.read_bytes_per_s is None or budget.written_bytes_per_s is None:
        return None
    telling = [cause for cause in causes if cause.code not in _MERE_WAYS]
    by_statement = sum(_counted(c)[0] for c in telling if c.code in _BY_STATEMENT)
    others = [cause for cause in telling if cause.code not in _BY_STATEMENT]
    apart = sum(_counted(c)[0] for c in others if c.kind in _OTHER_READERS)
    within = sum(_counted(c)[0] for c in others if c.kind not in _OTHER_READERS)
    written = sum(_counted(c)[1] for c in others)
    read_left = max(budget.read_bytes_per_s - max(by_statement, within) - apart, 0.0)
    written_left = max(budget.written_bytes_per_s - written, 0.0)
    left = min(read_left + written_left, load)
    return Unexplained(
        read_bytes_per_s=read_left, written_bytes_per_s=written_left, share=left / load
    )


def _counted(cause: Cause) -> tuple[float, float]:
    """Return bytes/s read and written of a cause that the server has counted: a running vacuum's come later."""
    moved = cause.bytes_per_s
    if not moved:
        return 0.0, 0.0
    ratio = max(1 - cause.uncounted_bytes_per_s / moved, 0.0)
    return (cause.read_bytes_per_s or 0.0) * ratio, (cause.written_bytes_per_s or 0.0) * ratio
