"""
Values stored out of line (TOAST): the arithmetic of their chunks, and what proofs and samples say.

Such a value is cut into chunks, each a row of the table's TOAST relation. An UPDATE that sends the
value leaves all the old chunks dead, whether or not the value changed; one that does not name the
column, or sets it to itself, leaves them alone.
"""

from math import ceil

from msgspec import Struct


def chunks_of(stored_bytes: int, chunk_bytes: int) -> int:
    """Return rows that a value of `stored_bytes` (after compression) takes in the TOAST relation."""
    assert chunk_bytes > 0
    return ceil(stored_bytes / chunk_bytes)


def dead_rows_of_update(stored_bytes: int, chunk_bytes: int) -> int:
    """Return dead rows that one UPDATE leaves when it sends the value: 1 + ⌈size ÷ chunk⌉."""
    return 1 + chunks_of(stored_bytes, chunk_bytes)


class ToastSample(Struct, frozen=True, kw_only=True):
    """What logical decoding saw of one column during some seconds."""

    table: str
    """`schema.table`"""
    column: str
    seconds: float
    untouched: int
    """UPDATEs that left the value alone (`unchanged-toast-datum`)."""
    resent_same: int
    """UPDATEs that sent the value that was there already."""
    resent_changed: int
    """UPDATEs that sent another value."""
    resent_unknown: int
    """UPDATEs that sent a value whose predecessor could not be seen."""
    value_bytes_mean: float | None = None
    """Mean length of the values sent, as text; None if none was."""
    is_whole: bool = True
    """False where the sample ended at its bound on bytes before its time."""


class ToastCase(Struct, frozen=True, kw_only=True):
    """One statement against a scratch table, and what the server counted."""

    name: str
    """`send the same value again` …"""
    storage: str
    """`external`, `extended (pglz)` …"""
    value_bytes: int
    """Length of the value as the client sends it."""
    stored_bytes: int
    """After compression, in the row or out of it."""
    statement: str
    rows_updated: int
    chunks_written: int
    """Rows inserted into the TOAST relation."""
    chunks_dead: int
    """Rows of the TOAST relation left dead."""
    wal_bytes: int
    buffers: int
    """Shared blocks touched."""

    @property
    def dead_rows(self) -> int:
        """Old versions of the row and dead chunks together."""
        return self.rows_updated + self.chunks_dead


class ToastProof(Struct, frozen=True, kw_only=True):
    """What a server does with values that are sent again."""

    place: str
    version: str
    chunk_bytes: int
    """Most bytes of a chunk, as the server's control file says."""
    cases: tuple[ToastCase, ...]
    copies: tuple[ToastCase, ...] = ()
    """The same contrast on a scratch copy of a table that was named; one pair for each column."""
    sample: tuple[ToastSample, ...] = ()
    notes: tuple[str, ...] = ()
