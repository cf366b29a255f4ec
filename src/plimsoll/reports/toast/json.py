"""
A proof of rewritten values as JSON: the form `plimsoll.toast-proof/1`, described in
docs/reference/toast-proof-json.md.

Rule: every field is always there; what is not known is null. No value of the user's is in it.
"""

from typing import Literal

from msgspec import Struct

from plimsoll.model.toast import ToastProof
from plimsoll.reports.render.json_values import json_text, same_fields


class CaseObject(Struct, frozen=True, kw_only=True):
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


class SampleObject(Struct, frozen=True, kw_only=True):
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
    value_bytes_mean: float | None
    """Mean length of the values sent, as text; null if none was."""
    is_whole: bool
    """False where it ended at its bound on WAL before its time."""


class ToastProofDocument(Struct, frozen=True, kw_only=True):
    """
    Plimsoll proof of rewritten values.

    What `plimsoll prove toast --format json` writes. Every field is always present; null means not
    known or does not apply. Bytes and seconds, unrounded.
    """

    schema: Literal["plimsoll.toast-proof/1"] = "plimsoll.toast-proof/1"
    """Name and version of this form."""
    place: str
    """Host, port and database, without user and password."""
    version: str
    """Of the server."""
    chunk_bytes: int
    """Most bytes of a chunk, as the server reports."""
    cases: tuple[CaseObject, ...]
    """On a scratch table: by statement, by size, by storage and compression."""
    copies: tuple[CaseObject, ...]
    """On a scratch copy of the table that was named: for each column a pair."""
    sample: tuple[SampleObject, ...]
    """Of real updates, where `--decode` was given; one for each column."""
    notes: tuple[str, ...]
    """Remarks for the reader."""


def render_toast_proof_json(proof: ToastProof) -> str:
    """Return the proof as JSON."""
    return json_text(same_fields(ToastProofDocument, proof))
