"""Convert rows of the statements of an inspection to the model's objects."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from plimsoll.model.database import DecodingSlot, Index, IoRow, Relation, Session, Statement, ToastableColumn, VacuumRun

Row = tuple[Any, ...]

_MS_PER_S = 1000.0

# Where a string begins: a quote, or a dollar quote; `$1` is a parameter.
_STRING = re.compile(r"'|\$(?:[^\W\d]\w*)?\$")

# A number, but none that belongs to a name or to a parameter.
_NUMBER = re.compile(r"(?<![\w$.\"])[+-]?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w\"])", re.IGNORECASE)

_STORAGES = {"p": "plain", "e": "external", "x": "extended", "m": "main"}
_COMPRESSIONS = {"p": "pglz", "l": "lz4"}


_SESSION = (
    *("pid", "backend_type", "user", "database", "application", "address", "state"),
    *("wait_event_type", "wait_event", "connected_s", "transaction_s", "state_s", "query_id"),
)
_VACUUM = (
    *("pid", "relation_oid", "relation", "phase", "total_blocks", "scanned_blocks"),
    *("vacuumed_blocks", "index_rounds", "is_automatic", "is_wraparound", "running_s", "delay_s"),
)
_RELATION = (
    *("oid", "name", "kind", "is_partition", "toast_oid", "pages", "row_estimate", "options"),
    *("inserted", "updated", "hot_updated", "deleted", "live_rows", "dead_rows"),
    *("changed_since_analyze", "inserted_since_vacuum", "seq_scans", "seq_rows_read"),
    *("index_scans", "heap_blocks_read", "heap_blocks_hit", "index_blocks_read"),
    *("last_vacuum_s", "last_autovacuum_s", "vacuum_count", "autovacuum_count"),
)
_INDEX = (
    *("oid", "name", "table_oid", "pages", "scans", "blocks_read", "blocks_hit"),
    *("is_unique", "is_constraint", "is_valid", "last_scan_s"),
)
_IO = (*("backend_type", "object", "context", "read_bytes", "written_bytes", "extended_bytes"), *("read_s", "write_s"))
_SLOT = (
    *("name", "plugin", "spilled_transactions", "spill_count", "spilled_bytes"),
    *("streamed_bytes", "decoded_bytes", "confirmed_bytes"),
)
_STATEMENT = (
    *("query_id", "calls", "rows", "exec_s", "read_blocks", "hit_blocks", "dirtied_blocks"),
    *("written_blocks", "temp_read_blocks", "temp_written_blocks", "read_s", "write_s"),
    "wal_bytes",
)


def session_of(row: Row) -> Session:
    """Return a row of `SESSIONS`."""
    return Session(**dict(zip(_SESSION, row, strict=True)))


def vacuum_of(row: Row) -> VacuumRun:
    """Return a row of `vacuums`."""
    fields = dict(zip(_VACUUM, row, strict=True))
    fields["phase"] = fields["phase"] or ""
    for name in ("total_blocks", "scanned_blocks", "vacuumed_blocks", "index_rounds"):
        fields[name] = fields[name] or 0
    for name in ("is_automatic", "is_wraparound"):
        fields[name] = bool(fields[name])
    fields["running_s"] = max(fields["running_s"] or 0.0, 0.0)
    fields["delay_s"] = _seconds(fields["delay_s"])
    return VacuumRun(**fields)


def relation_of(row: Row, *, block_bytes: int, owners: Mapping[int, int], sizes: Mapping[int, int]) -> Relation:
    """
    Return a row of `relations`.

    Args:
        row: in the statement's order.
        block_bytes: of the server.
        owners: table by TOAST relation.
        sizes: bytes of the main fork where they were read; elsewhere the last vacuum's or
            analyze's number of pages counts.
    """
    fields = dict(zip(_RELATION, row, strict=True))
    oid, rows = fields["oid"], fields["row_estimate"]
    fields["kind"] = _kind(fields["kind"], is_partition=fields.pop("is_partition"))
    fields["toast_oid"] = fields["toast_oid"] or None
    fields["owner_oid"] = owners.get(oid)
    fields["size_bytes"] = sizes.get(oid, fields.pop("pages") * block_bytes)
    fields["row_estimate"] = rows if rows is not None and rows >= 0 else None
    fields["options"] = dict(option.split("=", maxsplit=1) for option in fields["options"] or ())
    fields["index_blocks_read"] = fields["index_blocks_read"] or 0
    return Relation(**fields)


def index_of(row: Row, *, block_bytes: int, sizes: Mapping[int, int]) -> Index:
    """Return a row of `indexes`; `sizes` as of `relation_of`."""
    fields = dict(zip(_INDEX, row, strict=True))
    fields["size_bytes"] = sizes.get(fields["oid"], fields.pop("pages") * block_bytes)
    return Index(**fields)


def io_of(row: Row) -> IoRow:
    """Return a row of `io`."""
    fields = dict(zip(_IO, row, strict=True))
    for name in ("read_bytes", "written_bytes", "extended_bytes"):
        fields[name] = fields[name] or 0.0
    for name in ("read_s", "write_s"):
        fields[name] = _seconds(fields[name])
    return IoRow(**fields)


def slot_of(row: Row) -> DecodingSlot:
    """Return a row of `DECODING`."""
    return DecodingSlot(**dict(zip(_SLOT, row, strict=True)))


def statement_of(row: Row) -> Statement:
    """Return a row of `statements`; without its text."""
    fields = dict(zip(_STATEMENT, row, strict=True))
    for name in ("exec_s", "read_s", "write_s"):
        fields[name] = _seconds(fields[name])
    return Statement(text="", **fields)


def without_literals(text: str) -> str:
    """
    Return a statement's text up to its first string, which may be a password.

    The server puts parameters in place of the values of queries, but keeps those of other commands:
    `ALTER ROLE … PASSWORD '…'`, a connection of a subscription, options of a user mapping.
    """
    found = _STRING.search(text)
    return text if found is None else f"{text[: found.start()]}…"


def masked(text: str | None) -> str | None:
    """Return the beginning of a statement of another user, without strings and numbers."""
    if not text:
        return None
    return _NUMBER.sub("?", " ".join(without_literals(text).split()))


def columns_of(rows: Iterable[Row]) -> dict[int, tuple[ToastableColumn, ...]]:
    """Return rows of `columns`, by table."""
    found: dict[int, list[ToastableColumn]] = {}
    for table_oid, name, kind, storage, compression, width, _ in rows:
        found.setdefault(table_oid, []).append(
            ToastableColumn(
                name=name,
                type=kind,
                storage=_STORAGES.get(_letter(storage), ""),
                compression=_COMPRESSIONS.get(_letter(compression), ""),
                mean_width_bytes=width,
            )
        )
    return {oid: tuple(columns) for oid, columns in found.items()}


def _kind(letter: str | bytes, *, is_partition: bool) -> str:
    if is_partition:
        return "partition"
    return {"r": "table", "t": "toast", "m": "materialized view"}[_letter(letter)]


def _letter(value: str | bytes | None) -> str:
    """Return PostgreSQL's one-byte `"char"`, which may come as bytes."""
    return value.decode() if isinstance(value, bytes) else value or ""


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / _MS_PER_S
