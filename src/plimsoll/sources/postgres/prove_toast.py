"""
Shows on any server what an UPDATE writes that sends a value out of line again.

Every figure is counted by the server: rows by its statistics of the running transaction, WAL and
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

# The value that the story is told with: five full chunks, 10 kB where a chunk is 2 kB.
_CHUNKS = 5
# Sizes at which chunks are counted beside it: just two chunks, 10 kB by the letter, and 100 kB.
_SIZES_BYTES = (10_000, 100_000)

_TABLE = "create table {s}.t (id int primary key, n int, body pg_catalog.text)"
_KEEPER = """
create function {s}.keep() returns trigger language plpgsql as $$
begin
  if new.body is not distinct from old.body then new.body := old.body; end if;
  return new;
end $$
"""

LEAVE = "leave it alone"
SEND = "send the same value again"

# Name, statement, how many times the value is a parameter, what is set up before.
_STATEMENTS = (
    (LEAVE, "update {s}.t set n = n + 1 where id = 1", 0, ""),
    ("set it to itself", "update {s}.t set body = body where id = 1", 0, ""),
    (SEND, "update {s}.t set body = %s where id = 1", 1, ""),
    (
        "upsert the same value",
        "insert into {s}.t values (1, 0, %s) on conflict (id) do update set body = excluded.body",
        1,
        "",
    ),
    (
        "upsert where it IS DISTINCT FROM",
        (
            "insert into {s}.t as old values (1, 0, %s) on conflict (id) do update "
            "set body = excluded.body where old.body is distinct from excluded.body"
        ),
        1,
        "",
    ),
    (
        "CASE WHEN it IS DISTINCT FROM",
        (
            "update {s}.t set n = n + 1, body = case when body is distinct from %s then %s else body end "
            "where id = 1"
        ),
        2,
        "",
    ),
    (
        "suppress_redundant_updates_trigger",
        "update {s}.t set body = %s where id = 1",
        1,
        (
            "create trigger k before update on {s}.t for each row "
            "execute function pg_catalog.suppress_redundant_updates_trigger()"
        ),
    ),
    (
        "trigger that puts the old value back",
        "update {s}.t set body = %s where id = 1",
        1,
        "create trigger k before update of body on {s}.t for each row execute function {s}.keep()",
    ),
)

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

# A copy of somebody's table: few rows, looked for among few, and no value above a mebibyte. Judgements
# that keep the copy below a second and below 20 MiB.
_COPY_ROWS = 20
_LOOKED_AT_ROWS = 1000
_VALUE_MAX_BYTES = 1024**2

_COPY = "create table {s}.copy (like {table} including storage including compression)"
_COPY_FILL = """
insert into {s}.copy
select * from (select * from {table} limit %s) r
where pg_catalog.pg_column_size(r.{column}) <= %s
order by pg_catalog.pg_column_size(r.{column}) desc
limit %s
"""
_COPY_LARGEST = """
select plimsoll_row, pg_catalog.format('%s', {column}), pg_catalog.pg_column_size({column})
from {s}.copy where {column} is not null
order by 3 desc limit 1
"""
# A value is turned into text and back. That runs code of a type's owner where the type is a domain, is
# made of others or has casts of its own; only superusers make base types.
_COLUMNS = """
select a.attname::pg_catalog.text, pg_catalog.quote_ident(a.attname),
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
       or t.typtype = 'b' and coalesce(e.typtype, 'b') = 'b'
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
     left join pg_catalog.pg_type e on e.oid = t.typelem
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attlen = -1
  and a.attstorage in ('x', 'e', 'm') and a.attgenerated = ''
order by a.attnum
"""


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
            version=str(scratch.value("show server_version")).split()[0],
            chunk_bytes=chunk_bytes,
            cases=tuple(cases),
            copies=tuple(_on_copy(scratch, table, notes)) if table is not None else (),
            notes=tuple(notes),
        )


def _chunk_bytes(scratch: Scratch, notes: list[str]) -> int:
    """As the control file says; where the role may not see it, as many as fill a quarter of a page."""
    asked = "select max_toast_chunk_size from pg_catalog.pg_control_init()"
    if not scratch.is_refused(asked):
        return int(scratch.value(asked))
    notes.append(
        "the role may not read the control file; the size of a chunk follows from the block"
    )
    # Less page header 24 and four line pointers; a quarter, down to 8; less the row's own 36 bytes.
    return (int(scratch.value("show block_size")) - 24 - 4 * 4) // 4 // 8 * 8 - 36


def incompressible(size_bytes: int) -> str:
    """A text that no compression makes smaller, the same every time."""
    blocks = (hashlib.sha256(b"%d" % n).digest() for n in range(size_bytes // 24 + 1))
    return b64encode(b"".join(blocks)).decode()[:size_bytes]


def compressible(size_bytes: int) -> str:
    """A text as documents are: the same words again and again."""
    return ('{"status": "shipped", "carrier": "none"}, ' * (size_bytes // 40 + 1))[:size_bytes]


def _by_statement(scratch: Scratch, chunk_bytes: int) -> Iterator[ToastCase]:
    value = incompressible(_CHUNKS * chunk_bytes)
    scratch.run(_KEEPER)
    for name, statement, parameters, setup in _STATEMENTS:
        with _row_of(scratch, value, "external") as stored_bytes:
            if setup:
                scratch.run(setup)
            yield _counted(
                scratch,
                ("external", name, value, stored_bytes),
                statement,
                *[value] * parameters,
            )


def _by_size(scratch: Scratch, chunk_bytes: int) -> Iterator[ToastCase]:
    statement = "update {s}.t set body = %s where id = 1"
    for size_bytes in (chunk_bytes + 1, *_SIZES_BYTES):
        value = incompressible(size_bytes)
        with _row_of(scratch, value, "external") as stored_bytes:
            yield _counted(scratch, ("external", SEND, value, stored_bytes), statement, value)


def _by_storage(scratch: Scratch, chunk_bytes: int, notes: list[str]) -> Iterator[ToastCase]:
    for storage, method, is_compressible in _STORAGES:
        size_bytes = _CHUNKS * chunk_bytes
        value = compressible(size_bytes) if is_compressible else incompressible(size_bytes)
        label = f"{storage} ({method})" if method else storage
        if method == "lz4" and scratch.is_refused(
            "create table {s}.z (a pg_catalog.text compression lz4)"
        ):
            notes.append("this server was built without lz4")
            continue
        with _row_of(scratch, value, storage, method) as stored_bytes:
            if stored_bytes is None:
                notes.append(
                    f"storage {storage} refuses a value of {size_bytes:,} bytes: a row has to fit a page"
                )
                continue
            kind = "text that repeats" if is_compressible else "text that does not"
            yield _counted(
                scratch,
                (label, f"{SEND}: {kind}", value, stored_bytes),
                "update {s}.t set body = %s where id = 1",
                value,
            )


@contextmanager
def _row_of(scratch: Scratch, value: str, storage: str, method: str = "") -> Iterator[int | None]:
    """A scratch table with one row, gone after the block; its stored size, None if refused."""
    scratch.run(_TABLE)
    scratch.run("alter table {s}.t alter body set storage {storage}", storage=storage)
    if method:
        scratch.run("alter table {s}.t alter body set compression {method}", method=method)
    if scratch.is_refused("insert into {s}.t values (1, 0, %s)", value):
        yield None
    else:
        yield int(scratch.value("select pg_catalog.pg_column_size(body) from {s}.t"))
    # Only where nothing failed: after an error the transaction takes no statement but its end.
    scratch.run("drop table {s}.t")


def _on_copy(scratch: Scratch, table: str, notes: list[str]) -> Iterator[ToastCase]:
    """Of each column with a value out of line: the row left alone, and the value sent again."""
    named = table_named(scratch.connection, table, scratch.path)
    if named is None:
        raise UsageError(
            f"there is no table '{table}' in this database",
            "Name it with its schema, for example public.documents.",
        )
    columns = scratch.run(_COLUMNS, named.oid)
    for name, quoted, of_type, is_base in columns:
        if not is_base:
            notes.append(
                f"{named.name}.{quoted} was left out: sending a value of the type {of_type} again "
                "may run code of its owner"
            )
            continue
        names = {"table": named.name, "column": str(quoted), "type": str(of_type)}
        scratch.run(_COPY, **names)
        scratch.run(_COPY_FILL, _LOOKED_AT_ROWS, _VALUE_MAX_BYTES, _COPY_ROWS, **names)
        scratch.run("alter table {s}.copy add plimsoll_row int generated always as identity")
        pair = tuple(_pair(scratch, str(name), names))
        if pair and pair[-1].chunks_written:
            yield from pair
        else:
            notes.append(
                f"no value of {named.name}.{quoted} that was looked at is stored out of line"
            )
        scratch.run("drop table {s}.copy")
    if not columns:
        notes.append(f"{named.name} has no column whose values can be stored out of line")


def _pair(scratch: Scratch, name: str, names: dict[str, str]) -> Iterator[ToastCase]:
    rows = scratch.run(_COPY_LARGEST, **names)
    if not rows:
        return
    row, value, stored_bytes = rows[0]
    for case, statement, values in (
        (LEAVE, "update {s}.copy set {column} = {column} where plimsoll_row = %s", (row,)),
        (
            SEND,
            "update {s}.copy set {column} = %s::{type} where plimsoll_row = %s",
            (value, row),
        ),
    ):
        about = (f"column {name}", case, str(value), int(stored_bytes))
        yield _counted(scratch, about, statement, *values, counted="copy", **names)


def _counted(
    scratch: Scratch,
    about: tuple[str, str, str, int | None],
    statement: str,
    *values: object,
    counted: str = "t",
    **names: str,
) -> ToastCase:
    """Run a statement under EXPLAIN, and count rows by the transaction's own statistics."""
    storage, name, value, stored_bytes = about
    before = _rows_touched(scratch, counted)
    explained = scratch.value(
        f"explain (analyze, buffers, wal, costs off, timing off, format json) {statement}",
        *values,
        **names,
    )
    after = _rows_touched(scratch, counted)
    plan: dict[str, Any] = explained[0]["Plan"]
    return ToastCase(
        name=name,
        storage=storage,
        value_bytes=len(value.encode()),
        stored_bytes=stored_bytes or 0,
        statement=_shown(statement, names),
        rows_updated=after[0] - before[0],
        chunks_written=after[1] - before[1],
        chunks_dead=after[2] - before[2],
        wal_bytes=int(plan.get("WAL Bytes", 0)),
        buffers=int(plan["Shared Hit Blocks"]) + int(plan["Shared Read Blocks"]),
    )


def _rows_touched(scratch: Scratch, counted: str) -> tuple[int, int, int]:
    """Rows of the table updated, and of its TOAST relation inserted and deleted, so far."""
    ((updated, written, dead),) = scratch.run(
        "select pg_catalog.pg_stat_get_xact_tuples_updated(oid), "
        "pg_catalog.pg_stat_get_xact_tuples_inserted(reltoastrelid), "
        "pg_catalog.pg_stat_get_xact_tuples_deleted(reltoastrelid) "
        "from pg_catalog.pg_class where oid = '{s}.{counted}'::pg_catalog.regclass",
        counted=counted,
    )
    return updated, written, dead


def _shown(statement: str, names: dict[str, str]) -> str:
    """The statement for people, without the schema's made-up name."""
    for name, quoted in {**names, "s": "scratch"}.items():
        statement = statement.replace(f"{{{name}}}", quoted)
    return " ".join(statement.replace("%s", "$1").split())
