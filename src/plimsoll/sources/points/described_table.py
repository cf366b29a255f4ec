"""
Read a plain table that describes instances: one row for each instance, or one for each time it changed.

Rule 1: a row becomes an element of an answer of `describe-db-instances`, so that the same rules read both.
Rule 2: two rows of an instance are never valid at the same time: such a table is refused as a whole.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.model.instance import Instance, is_bought
from plimsoll.sources.documents.describe_instances import instance_of
from plimsoll.sources.export.table_frame import plain
from plimsoll.sources.points.arrow import ArrowTable, readable
from plimsoll.sources.points.roles import fact_columns
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import parse_time
from plimsoll.units import format_time

_AWS = {"db_class": "DBInstanceClass", "engine": "Engine", "engine_version": "EngineVersion", "storage": "StorageType"}
_NUMBERS = {"storage_gib": "AllocatedStorage", "iops": "Iops", "throughput": "StorageThroughput"}
_TRUE, _FALSE = ("true", "yes", "t", "1"), ("false", "no", "f", "0")
_OVERLAP_HINT = "Let valid_to of a row be valid_from of the next one, or leave valid_to out."
# A judgement: a table of all changes of ten thousand instances has fewer rows.
_MOST_ROWS = 1_000_000


class DescribedRow(Struct, frozen=True, kw_only=True):
    """What a row says about an instance."""

    account: str
    region: str
    instance: Instance
    valid_from_s: int
    """Epoch seconds."""
    valid_to_s: int | None = None
    """Exclusive; None where the table does not say."""


def table_rows(table: ArrowTable) -> list[dict[str, Any]] | None:
    """
    Return the rows of a table of descriptions, by fact; None if it is another table.

    Raises:
        DataError: the file is damaged, or has more rows than such a table has.
    """
    facts = fact_columns(table.names)
    if facts is None:
        return None
    rows: list[dict[str, Any]] = []
    for piece in table.pieces(list(facts.values())):
        if len(rows) + piece.num_rows > _MOST_ROWS:
            raise DataError(f"a table of descriptions has more than {_MOST_ROWS:,} rows", "Split the file.")
        with readable(table.where):
            named = {name: piece.column(str(place)).to_pylist() for name, place in facts.items()}
        rows += [dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=True)]
    return rows


def json_rows(data: bytes) -> list[dict[str, Any]] | None:
    """Return the rows of a JSON array or of JSON lines, by fact; None if it is no table of descriptions."""
    head = data[:65_536].lstrip()
    # An answer of describe-db-instances has these keys, and a reader of its own.
    if head[:1] not in (b"{", b"[") or b'"DBInstanceClass"' in head or b"lass" not in head:
        return None
    try:
        if head[:1] == b"[":
            found = msgspec.json.decode(data, type=list[dict[str, Any]])
        else:
            found = msgspec.json.Decoder(dict[str, Any]).decode_lines(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    names = list(dict.fromkeys(name for row in found[:1000] for name in row))
    facts = fact_columns(names)
    if facts is None or len(found) > _MOST_ROWS:
        return None
    return [{fact: row.get(names[place]) for fact, place in facts.items()} for row in found]


def described_rows(rows: list[dict[str, Any]], *, default_from_s: int, where: str) -> list[DescribedRow]:
    """
    Return what each row says, by instance and time.

    Args:
        rows: cells by fact, at least instance and class.
        default_from_s: epoch seconds; where a row does not say from when it is valid.
        where: name of the file, for messages.

    Raises:
        DataError: a row lacks the instance or has a bad cell, or two rows are valid at the same time.
    """
    found = [_row(row, default_from_s, f"row {number:,} of {where}") for number, row in enumerate(rows, start=1)]
    found.sort(key=_order)
    for before, after in pairwise(found):
        if _order(before)[:3] == _order(after)[:3] and _overlap(before, after):
            raise DataError(
                f"{where} has two rows for '{after.instance.identifier}' that are valid at "
                f"{format_time(after.valid_from_s)}",
                _OVERLAP_HINT,
            )
    return found


def _order(row: DescribedRow) -> tuple[str, str, str, int]:
    return row.account, row.region, row.instance.identifier.lower(), row.valid_from_s


def _overlap(before: DescribedRow, after: DescribedRow) -> bool:
    is_same = before.valid_from_s == after.valid_from_s and before != after
    return is_same or (before.valid_to_s or 0) > after.valid_from_s


def _row(cells: dict[str, Any], default_from_s: int, where: str) -> DescribedRow:
    instance = _text(cells.get("instance"))
    if not instance:
        raise DataError(f"{where} names no instance", "Fill the column of instances.")
    account, region = _account(cells.get("account")), _text(cells.get("region"))
    document: dict[str, Any] = {"DBInstanceIdentifier": instance}
    document |= {key: _text(cells.get(name)) or None for name, key in _AWS.items()}
    document |= {key: _number(cells.get(name), name, where) for name, key in _NUMBERS.items()}
    document["MultiAZ"] = _truth(cells.get("multi_az"), where)
    document["TagList"] = list(_tags(cells.get("tags"), where))
    if region:
        document["DBInstanceArn"] = f"arn:aws:rds:{region}:{account}:db:{instance}"
    since = _time(cells.get("valid_from"), "valid_from", where)
    until = _time(cells.get("valid_to"), "valid_to", where)
    since = default_from_s if since is None else since
    if until is not None and until <= since:
        raise DataError(f"{where} ends before it begins", "Correct valid_from or valid_to.")
    return DescribedRow(
        account=account, region=region, instance=instance_of(document), valid_from_s=since, valid_to_s=until
    )


def _text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    return "" if cell is None else str(cell).strip()


def _account(cell: object) -> str:
    text = _text(cell)
    return text.zfill(12) if text.isdecimal() else text


def _number(cell: object, name: str, where: str) -> float | None:
    text = _text(cell).replace(",", "")
    if not text:
        return None
    try:
        number = float(text)
    except ValueError as error:
        raise _bad(name, text, where, "Write it as a number") from error
    if number != 0 and not is_bought(number):
        raise _bad(name, text, where, "Give the number bought")
    return number


def _truth(cell: object, where: str) -> bool | None:
    text = _text(cell).lower()
    if not text or text in _TRUE + _FALSE:
        return (text in _TRUE) if text else None
    raise _bad("multi_az", text, where, "Write true or false")


def _time(cell: object, name: str, where: str) -> int | None:
    if cell is None or cell == "":
        return None
    written = cell if isinstance(cell, (int, float)) else str(cell)
    found = parse_time(written)
    if found is None:
        raise _bad(name, str(cell), where, "Write it as 2026-11-20T10:00:00Z or epoch seconds")
    return found


def _tags(cell: object, where: str) -> Iterator[dict[str, str]]:
    """
    Yield tags as `TagList` of an answer has them.

    Args:
        cell: a map, pairs of key and value, a list of Key and Value, or one of these as JSON.
        where: place of the row, for messages.

    Raises:
        DataError: it is none of these.
    """
    if isinstance(cell, str) and cell.strip():
        try:
            cell = msgspec.json.decode(cell)
        except (msgspec.DecodeError, RecursionError):
            cell = object()
    if cell is None or cell == "":
        return
    if isinstance(cell, dict):
        cell = list(cell.items())
    for one in cell if isinstance(cell, list) else [None]:
        if isinstance(one, dict):
            lowered = {plain(str(name)): value for name, value in one.items()}
            pair: tuple[Any, ...] = (lowered.get("key"), lowered.get("value"))
        else:
            pair = tuple(one) if isinstance(one, (tuple, list)) else ()
        if len(pair) != 2 or not isinstance(pair[0], str):
            raise DataError(
                f"tags in {where} are neither a map nor a list of Key and Value",
                'Write them as JSON, for example {"team": "orders"}.',
            )
        if pair[1] is not None:  # a struct has a field for every key of the table
            yield {"Key": pair[0], "Value": str(pair[1])}


def _bad(name: str, text: str, where: str, hint: str) -> DataError:
    return DataError(f"{name} in {where} is '{shown(text, 40)}'", f"{hint}.")
