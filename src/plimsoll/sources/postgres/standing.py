"""Read lasting state of a server, each part separately; a refused or slow part is named and left out."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from plimsoll.model import standing as model
from plimsoll.sources.postgres.connect import Rows
from plimsoll.sources.postgres.rows import masked
from plimsoll.sources.postgres.statements import standing as queries

Part = Callable[[str, str], Rows | None]
"""Asks for a part by its name; None where it was refused."""
_Noun = TypeVar("_Noun", bound=msgspec.Struct)


def read_standing(part: Part, version_number: int, block_bytes: int) -> model.ServerHealth:
    """
    Read all lasting state once.

    Args:
        part: asks one question; it notes what is refused.
        version_number: `server_version_num`.
        block_bytes: of the server.

    Raises:
        NoAnswer: the connection is lost.
    """

    def objects(name: str, statement: str, noun: type[_Noun], fields: Sequence[str]) -> tuple[_Noun, ...] | None:
        rows = part(name, statement)
        if rows is None:
            return None
        return tuple(noun(**dict(zip(fields, row, strict=True))) for row in rows)

    age = ("name", "age")
    indexes = part("invalid indexes", queries.INVALID_INDEXES)
    tables = part("bloat", queries.TABLE_BLOAT)
    spaces = part("bloat", queries.INDEX_BLOAT) if tables is not None else None
    return model.ServerHealth(
        databases=objects(
            "ages of databases", queries.DATABASES, model.DatabaseAge, model.DatabaseAge.__struct_fields__
        ),
        oldest_tables=objects("ages of tables", queries.oldest_tables("xid"), model.TableAge, age),
        oldest_multixact_tables=objects("ages of tables", queries.oldest_tables("mxid"), model.TableAge, age),
        slots=objects(
            "replication slots",
            queries.slots(version_number),
            model.ReplicationSlot,
            model.ReplicationSlot.__struct_fields__,
        ),
        prepared=objects(
            "prepared transactions",
            queries.PREPARED,
            model.PreparedTransaction,
            model.PreparedTransaction.__struct_fields__,
        ),
        holders=_holders(part),
        sequences=objects("sequences", queries.SEQUENCES, model.Sequence, model.Sequence.__struct_fields__),
        invalid_indexes=None if indexes is None else tuple(_invalid_index(row, block_bytes) for row in indexes),
        tables=None if tables is None else tuple(map(_table, tables)),
        indexes=None if spaces is None else tuple(map(_index, spaces)),
    )


def _holders(part: Part) -> tuple[model.XminHolder, ...] | None:
    rows = part("sessions", queries.HOLDERS)
    if rows is None:
        return None
    names = model.XminHolder.__struct_fields__
    return tuple(model.XminHolder(**dict(zip(names, (*row[:-1], masked(row[-1])), strict=True))) for row in rows)


def _invalid_index(row: tuple[Any, ...], block_bytes: int) -> model.InvalidIndex:
    name, table, pages, is_ready, definition = row
    return model.InvalidIndex(
        name=name, table=table, size_bytes=pages * block_bytes, is_maintained=is_ready, definition=definition or ""
    )


def _table(row: tuple[Any, ...]) -> model.TableSpace:
    name, oid, pages, rows, fill, width, known, columns, nullable, live, dead, may, *rest = row
    return model.TableSpace(
        name=name,
        oid=oid,
        pages=pages,
        row_estimate=rows,
        fill_ratio=float(fill) / 100,
        row_bytes=width if known == columns else None,
        has_nulls=bool(nullable),
        column_count=columns,
        live_rows=live,
        dead_rows=dead,
        may_select=may,
        toast_pages=rest[0],
        toast_rows=rest[1],
        dropped_columns=rest[2],
    )


def _index(row: tuple[Any, ...]) -> model.IndexSpace:
    name, table, pages, entries, width, is_known, fill = row
    return model.IndexSpace(
        name=name,
        table=table,
        pages=pages,
        entry_estimate=entries,
        key_bytes=width if is_known else None,
        fill_ratio=float(fill) / 100,
    )
