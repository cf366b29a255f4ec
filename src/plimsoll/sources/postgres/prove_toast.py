"""
Measure on any server what an UPDATE writes that sends an out-of-line value again.

The server counts every figure: rows by its statistics of the running transaction, WAL and
buffers by EXPLAIN (ANALYZE, BUFFERS, WAL). The chunk size is read, not assumed.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from plimsoll.errors import UsageError
from plimsoll.model.toast import ToastCase, ToastProof
from plimsoll.sources.postgres.named_table import table_named
from plimsoll.sources.postgres.scratch import Scratch, scratch_schema
from plimsoll.sources.postgres.statements import toast
from plimsoll.sources.postgres.statements.inspection import TOAST_CHUNK

# Size of the main value: five full chunks, 10 kB if a chunk has 2 kB.
_CHUNKS = 5
# Other sizes at which chunks are counted: just two chunks, exactly 10 kB, and 100 kB.
_SIZES_BYTES = (10_000, 100_000)

# Storage, compression method or none, whether the value can be compressed.
_STORAGES = (
    ("extended", "pglz", True),
    ("extended", "lz4", True),
    ("extended", "pglz", False),
    ("external", "", True),
    ("main", "pglz", True),
    ("main", "pglz", False),
    ("plain", "", True),
)

# Judgements for the copy of a user's table: few rows, found among few, and no value above a mebibyte, keep
# the copy below a second and below 20 MiB.
_COPY_ROWS = 20
_LOOKED_AT_ROWS = 1000
_VALUE_MAX_BYTES = 1024**2


def prove_toast(dsn: str, *, table: str | None = None) -> ToastProof:
    """
    Send values again on a scratch table, and on a copy of some rows of `table` if one is named.

    Args:
        dsn: libpq connection string or URI; the role needs CREATE on the database.
        table: `schema.table`, of which up to 20 rows are copied.

    Raises:
        UsageError: the DSN is no connection string, the server a standby, or there is no such table.
        AccessDenied: the role may not connect, make a schema, or read the table.
        SourceError: a statement failed.
    """
    with scratch_schema(dsn) as scratch:
        notes: list[str] = []
        chunk_bytes = _chunk_bytes(scratch, notes)
        cases = [
            *_by_statement(scratch, chunk_bytes),
            *_by_size(scratch, chunk_bytes),
            *_by_storage(scratch, chunk_bytes, notes),
        ]
        return ToastProof(
            place=scratch.place,
            version=str(scratch.value(toast.SERVER_VERSION)).split()[0],
            chunk_bytes=chunk_bytes,
            cases=tuple(cases),
            copies=tuple(_on_copy(scratch, table, notes)) if table is not None else (),
            notes=tuple(notes),
        )


def _chunk_bytes(scratch: Scratch, notes: list[str]) -> int:
    """Return the chunk size of the control file, or a quarter of a page if the role may not read that."""
    asked = TOAST_CHUNK
    if not scratch.is_refused(asked):
        return int(scratch.value(asked))
    notes.append("the role may not read the control file; the size of a chunk follows from the block")
    # Less page header 24 and four line pointers; a quarter, down to 8; less the row's own 36 bytes.
    return (int(scratch.value(toast.BLOCK_SIZE)) - 24 - 4 * 4) // 4 // 8 * 8 - 36


def incompressible(size_bytes: int) -> str:
    """Return a text that no compression makes smaller; the same for each call."""
    blocks = (hashlib.sha256(b"%d" % n).digest() for n in range(size_bytes // 24 + 1))
    return b64encode(b"".join(blocks)).decode()[:size_bytes]


def compressible(size_bytes: int) -> str:
    """Return a text with repeated words, like a document."""
    return ('{"status": "shipped", "carrier": "none"}, ' * (size_bytes // 40 + 1))[:size_bytes]


def _by_statement(scratch: Scratch, chunk_bytes: int) -> Iterator[ToastCase]:
    value = incompressible(_CHUNKS * chunk_bytes)
    scratch.run(toast.KEEPER)
    for name, statement, parameters, setup in toast.UPDATES:
        with _row_of(scratch, value, "external") as stored_bytes:
            if setup:
                scratch.run(setup)
            yield _counted(scratch, ("external", name, len(value), stored_bytes), statement, *[value] * parameters)


def _by_size(scratch: Scratch, chunk_bytes: int) -> Iterator[ToastCase]:
    statement = toast.SEND_BODY
    for size_bytes in (chunk_bytes + 1, *_SIZES_BYTES):
        value = incompressible(size_bytes)
        with _row_of(scratch, value, "external") as stored_bytes:
            yield _counted(scratch, ("external", toast.SEND, len(value), stored_bytes), statement, value)


def _by_storage(scratch: Scratch, chunk_bytes: int, notes: list[str]) -> Iterator[ToastCase]:
    for storage, method, is_compressible in _STORAGES:
        size_bytes = _CHUNKS * chunk_bytes
        value = compressible(size_bytes) if is_compressible else incompressible(size_bytes)
        label = f"{storage} ({method})" if method else storage
        if method == "lz4" and scratch.is_refused(toast.LZ4_TABLE):
            notes.append("this server was built without lz4")
            continue
        with _row_of(scratch, value, storage, method) as stored_bytes:
            if stored_bytes is None:
                notes.append(f"storage {storage} refuses a value of {size_bytes:,} bytes: a row has to fit a page")
                continue
            kind = "text that repeats" if is_compressible else "text that does not"
            yield _counted(scratch, (label, f"{toast.SEND}: {kind}", len(value), stored_bytes), toast.SEND_BODY, value)


@contextmanager
def _row_of(scratch: Scratch, value: str, storage: str, method: str = "") -> Iterator[int | None]:
    """A scratch table with one row, gone after the block; its stored size, None if refused."""
    scratch.run(toast.TABLE)
    scratch.run(toast.STORE_AS, storage=storage)
    if method:
        scratch.run(toast.COMPRESS_BY, method=method)
    if scratch.is_refused(toast.INSERT_ROW, value):
        yield None
    else:
        yield int(scratch.value(toast.STORED_BYTES))
    # Only where nothing failed: after an error the transaction takes no statement but its end.
    scratch.run(toast.DROP_TABLE)


def _on_copy(scratch: Scratch, table: str, notes: list[str]) -> Iterator[ToastCase]:
    """Yield of each column with a value out of line: the row left alone, and the value sent again."""
    named = table_named(scratch.connection, table, scratch.path)
    if named is None:
        raise UsageError(
            f"there is no table '{table}' in this database", "Name it with its schema, for example public.documents."
        )
    columns = scratch.run(toast.COLUMNS, named.oid)
    for name, quoted, of_type, is_base in columns:
        if not is_base:
            notes.append(
                f"{named.name}.{quoted} was left out: sending a value of the type {of_type} again "
                "may run code of its owner"
            )
            continue
        names = {"table": named.name, "column": str(quoted), "type": str(of_type)}
        scratch.run(toast.COPY, **names)
        scratch.run(toast.COPY_FILL, _LOOKED_AT_ROWS, _VALUE_MAX_BYTES, _COPY_ROWS, **names)
        scratch.run(toast.NUMBER_ROWS)
        pair = tuple(_pair(scratch, str(name), names))
        if pair and pair[-1].chunks_written:
            yield from pair
        else:
            notes.append(f"no value of {named.name}.{quoted} that was looked at is stored out of line")
        scratch.run(toast.DROP_COPY)
    if not columns:
        notes.append(f"{named.name} has no column whose values can be stored out of line")


def _pair(scratch: Scratch, name: str, names: dict[str, str]) -> Iterator[ToastCase]:
    rows = scratch.run(toast.KEEP_LARGEST, **names)
    if not rows:
        return
    row, value_bytes, stored_bytes = rows[0]
    for case, statement in ((toast.LEAVE, toast.LEAVE_COLUMN), (toast.SEND, toast.SEND_COLUMN)):
        about = (f"column {name}", case, int(value_bytes), int(stored_bytes))
        yield _counted(scratch, about, statement, row, counted="copy", **names)


def _counted(
    scratch: Scratch,
    about: tuple[str, str, int, int | None],
    statement: str,
    *values: object,
    counted: str = "t",
    **names: str,
) -> ToastCase:
    """Run a statement under EXPLAIN, and count rows by the transaction's own statistics."""
    storage, name, value_bytes, stored_bytes = about
    before = _rows_touched(scratch, counted)
    explained = scratch.value(toast.explained(statement), *values, **names)
    after = _rows_touched(scratch, counted)
    plan: dict[str, Any] = explained[0]["Plan"]
    return ToastCase(
        name=name,
        storage=storage,
        value_bytes=value_bytes,
        stored_bytes=stored_bytes or 0,
        statement=_shown(statement, names),
        rows_updated=after[0] - before[0],
        chunks_written=after[1] - before[1],
        chunks_dead=after[2] - before[2],
        wal_bytes=int(plan.get("WAL Bytes", 0)),
        buffers=int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"]),
    )


def _rows_touched(scratch: Scratch, counted: str) -> tuple[int, int, int]:
    """Return rows of the table updated, and of its TOAST relation inserted and deleted, so far."""
    ((updated, written, dead),) = scratch.run(toast.ROWS_TOUCHED, counted=counted)
    return updated, written, dead


def _shown(statement: str, names: dict[str, str]) -> str:
    """Return the statement for people, without the schema's made-up name."""
    for name, quoted in {**names, "s": "scratch"}.items():
        statement = statement.replace(f"{{{name}}}", quoted)
    return " ".join(statement.replace("%s", "$1").split())
