"""
Tell what a file of a fleet is by its content, and read the kinds that hold many instances.

What is none of these kinds is left to the readers of `diagnose`, which need all files of a folder at once.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from plimsoll.errors import DataError
from plimsoll.model.instance import Instance
from plimsoll.model.points import PointColumns
from plimsoll.model.snapshot import Snapshot
from plimsoll.sources.files.folder import NOT_DATA
from plimsoll.sources.targets import snapshot_file
from plimsoll.sources.values.shown import shown

if TYPE_CHECKING:
    from plimsoll.sources.points.arrow import ArrowTable
    from plimsoll.sources.points.described_table import DescribedRow
    from plimsoll.sources.points.roles import PointRoles
    from plimsoll.sources.points.values import ReadTally

_SNAPSHOT = re.compile(rb'"plimsoll\.snapshot/')
# A snapshot says what it is in its first bytes, which a recording in other order would not change.
_HEAD_BYTES = 65_536
_PARQUET = b"PAR1"


@dataclass(frozen=True, slots=True)
class DescribedSince:
    """An instance as it was from a moment on."""

    instance: Instance
    valid_from_s: int
    """Epoch seconds."""
    account: str = ""
    is_simulated: bool = False


@dataclass(slots=True)
class FileContent:
    """What a file holds; its points are read when they are asked for."""

    pieces: Iterator[PointColumns] = field(default_factory=lambda: iter(()))
    described: list[DescribedSince] = field(default_factory=list)
    has_units: bool = True
    """False for a table, which may have been written in other units than its names say."""


def content_of(data: bytes, name: str, changed_s: int, tally: "ReadTally") -> FileContent | None:
    """
    Return what a file holds; None if it is left to the readers of `diagnose`.

    Args:
        data: unpacked content, no file of a metric stream.
        name: of the file, for messages.
        changed_s: epoch seconds; a description without a time is valid from then on.
        tally: what cannot be used is counted in it, as the points are read.

    Raises:
        DataError: it is of one of the kinds, and damaged or contradictory.
    """
    from plimsoll.sources.points.arrow import ArrowTable
    from plimsoll.sources.points.described_table import described_rows, json_rows
    from plimsoll.sources.points.range_export import is_range_export, read_range_export

    where = f"'{shown(name, 120)}'"
    head = data[:_HEAD_BYTES]
    if head.startswith(_PARQUET):
        return _of_table(ArrowTable(data, where), where, changed_s, tally)
    if head.lstrip()[:1] in (b"{", b"["):
        if _SNAPSHOT.search(head):
            return _of_snapshot(snapshot_file.decode(data, Path(name)))
        if is_range_export(data):
            return FileContent(pieces=read_range_export(data, tally, where=where))
        rows = json_rows(data)
        if rows is None:
            return None
        found = described_rows(rows, default_from_s=changed_s, where=where)
        return FileContent(described=_with_ends(found))
    if Path(name).suffix.lower() in NOT_DATA or b"\x00" in head or not _has_table_head(head):
        return None
    return _of_text_table(data, where, changed_s, tally)


def _of_snapshot(snapshot: Snapshot) -> FileContent:
    """Return the series of a snapshot as points, and its instance if class or storage is known."""
    instance = snapshot.instance
    described = []
    if instance.db_class or instance.storage.kind:
        start_s = (snapshot.window_s or (0, 0))[0]
        described = [DescribedSince(instance, start_s, is_simulated=snapshot.is_simulated)]
    return FileContent(pieces=iter([snapshot_points(snapshot)]), described=described)


def snapshot_points(snapshot: Snapshot) -> PointColumns:
    """Return the series of a snapshot as points: each is one sample, its own minimum and maximum."""
    parts = []
    place = ("", snapshot.instance.region or "", snapshot.instance.identifier)
    for metric, series in snapshot.series.items():
        good = np.isfinite(series.value)
        value = series.value[good]
        parts.append(
            PointColumns(
                series=[(*place, metric.value)],
                index=np.zeros(value.size, dtype=np.int64),
                time_s=series.time_s[good],
                sum=value,
                count=np.ones(value.size),
                min=value,
                max=value,
            )
        )
    return PointColumns.of(parts)


# --- tables -------------------------------------------------------------------------------------


def _of_table(table: "ArrowTable", where: str, changed_s: int, tally: "ReadTally") -> FileContent | None:
    from plimsoll.sources.points.described_table import described_rows, table_rows
    from plimsoll.sources.points.roles import point_roles
    from plimsoll.sources.points.table import read_table

    roles = point_roles(table.names, table.structs)
    if roles is not None:
        return FileContent(pieces=read_table(table, roles, tally), has_units=roles.has_summaries)
    rows = table_rows(table)
    if rows is None:
        return None
    found = described_rows(rows, default_from_s=changed_s, where=where)
    return FileContent(described=_with_ends(found))


def _has_table_head(head: bytes) -> bool:
    """Return whether the first line names the columns of a table of points or descriptions."""
    from plimsoll.sources.points.roles import fact_columns, point_roles

    line = head.split(b"\n", 1)[0].decode("utf-8", errors="replace").strip()
    names = [name.strip().strip('"') for name in re.split(r"[,;\t|]", line)]
    return point_roles(names) is not None or fact_columns(names) is not None


def _of_text_table(data: bytes, where: str, changed_s: int, tally: "ReadTally") -> FileContent | None:
    """Return the content of a plain table of text; one with units in cells is left to other readers."""
    from plimsoll.sources.points.arrow import ArrowTable
    from plimsoll.sources.points.roles import point_roles

    try:
        table = ArrowTable(data, where)
    except DataError:
        return None
    roles = point_roles(table.names)
    if roles is not None and not _are_numbers(table, roles):
        return None
    return _of_table(table, where, changed_s, tally)


def _are_numbers(table: "ArrowTable", roles: "PointRoles") -> bool:
    """Return whether every column of values has numbers, or nothing."""
    values = [roles.value, roles.sum, roles.count, roles.min, roles.max, *roles.wide]
    return all(table.is_numeric(place) for place in values if place is not None)


def _with_ends(rows: "list[DescribedRow]") -> list[DescribedSince]:
    """Return descriptions; after a stated end nothing is known until the next one begins."""
    begins = {(*_identity(row), row.valid_from_s) for row in rows}
    found = []
    for row in rows:
        found.append(DescribedSince(row.instance, row.valid_from_s, account=row.account))
        end_s = row.valid_to_s
        if end_s is not None and (*_identity(row), end_s) not in begins:
            nothing = Instance(identifier=row.instance.identifier, region=row.instance.region)
            found.append(DescribedSince(nothing, end_s, account=row.account))
    return found


def _identity(row: "DescribedRow") -> tuple[str, str, str]:
    return row.account, row.region, row.instance.identifier.lower()
