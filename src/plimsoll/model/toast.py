"""
Values stored out of line (TOAST): the arithmetic of their chunks, and the results of proofs and samples.

Such a value is cut into chunks, each a row of the table's TOAST relation. An UPDATE that sends the
value leaves all the old chunks dead, whether or not the value changed; one that does not name the
column, or sets it to itself, leaves them alone.
"""

from math import ceil

from msgspec import Struct

from plimsoll.model.kept import Kept


def chunks_of(stored_bytes: int, chunk_bytes: int) -> int:
    """Return the number of rows of the TOAST relation for a value of `stored_bytes` after compression."""
    assert chunk_bytes > 0
    return ceil(stored_bytes / chunk_bytes)


def dead_rows_of_update(stored_bytes: int, chunk_bytes: int) -> int:
    """Return the number of dead rows of one UPDATE that sends the value: 1 + ⌈size ÷ chunk⌉."""
    # One is the old version of the row itself; every chunk of the old value is a row of its own.
    return 1 + chunks_of(stored_bytes, chunk_bytes)


class ToastSample(Kept, frozen=True, kw_only=True):
    """The updates of one column that logical decoding saw during some seconds."""

    table: str
    """Schema and table, quoted where they need to be."""
    column: str
    """Name of the column."""
    seconds: float
    """How long it was watched."""
    untouched: int
    """UPDATEs that left the value alone."""
    resent_same: int
    """UPDATEs that sent the value that was there already."""
    resent_changed: int
    """UPDATEs that sent another value."""
    resent_unknown: int
    """UPDATEs that sent a value whose predecessor could not be seen."""
    value_bytes_mean: float | None = None
    """Mean length of the values sent, as text; null if none was."""
    is_whole: bool = True
    """False where it ended at its bound on WAL before its time."""


class ToastCase(Struct, frozen=True, kw_only=True):
    """One statement against a scratch table, with the server's counters."""

    name: str
    """The kind of statement, for example `send the same value again`."""
    storage: str
    """`external`, `extended (pglz)` …; on a copy of a table `column` and its name."""
    value_bytes: int
    """Length of the value as the client sends it."""
    stored_bytes: int
    """After compression, in the row or out of it."""
    statement: str
    """The statement as it was run, in a schema called `scratch` or in none."""
    rows_updated: int
    """Rows of the table; each leaves an old version dead."""
    chunks_written: int
    """Rows inserted into the TOAST relation."""
    chunks_dead: int
    """Rows of the TOAST relation left dead."""
    wal_bytes: int
    """WAL of the statement, full-page images included."""
    buffers: int
    """Shared blocks touched."""

    @property
    def dead_rows(self) -> int:
        """Return the number of old row versions and dead chunks together."""
        return self.rows_updated + self.chunks_dead


class ToastProof(Struct, frozen=True, kw_only=True):
    """A measurement of what a server does with values that are sent again."""

    place: str
    """Host, port and database, without user and password."""
    version: str
    """Of the server."""
    chunk_bytes: int
    """Most bytes of a chunk, as the server reports."""
    cases: tuple[ToastCase, ...]
    """On a scratch table: by statement, by size, by storage and compression."""
    copies: tuple[ToastCase, ...] = ()
    """On a scratch copy of the table that was named: for each column a pair."""
    sample: tuple[ToastSample, ...] = ()
    """Of real updates, where `--decode` was given; one for each column."""
    notes: tuple[str, ...] = ()
    """Remarks for the reader."""
