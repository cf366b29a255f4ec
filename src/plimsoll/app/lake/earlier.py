"""An earlier table of a fleet, to say what changed since: the window before, or a file of an earlier run."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from plimsoll.app.lake.run import Window, window_s_of
from plimsoll.errors import DataError, UsageError
from plimsoll.model.fleet import FleetReport, FleetVerdict
from plimsoll.sources.values.shown import shown
from plimsoll.units import format_clock, format_time

if TYPE_CHECKING:
    import pyarrow.parquet as pq

    from plimsoll.fleet.lake import Lake

_NEEDED = ("account", "region", "instance", "verdict")
_NOT_A_TABLE = "Give a file that 'plimsoll fleet LAKE -o FILE.parquet' wrote."
# A judgement: a window before that lacks a tenth of its time still says what changed.
_LACKING_MOST = 0.1


class EarlierTable(Struct, frozen=True, kw_only=True):
    """Rows to compare a report with."""

    rows: tuple[FleetVerdict, ...]
    named: str
    """What they are: a clause."""
    window_s: tuple[int, int] | None = None
    """Epoch seconds [start, end); None takes what the rows cover."""
    note: str = ""
    """A sentence: why the comparison is not complete."""


def with_changes(report: FleetReport, earlier: EarlierTable) -> FleetReport:
    """Return the report with what changed since the earlier table."""
    from plimsoll.fleet.changes import changes_of

    changes = changes_of(earlier.rows, report.rows, named=earlier.named, window_s=earlier.window_s, note=earlier.note)
    return msgspec.structs.replace(report, changes=changes)


def table_before(lake: "Lake", window: Window, judge: Callable[[Window], FleetReport]) -> EarlierTable:
    """
    Return the rows of the window of the same length that ends where the given one starts.

    Args:
        lake: opened.
        window: of the report, with a start.
        judge: returns the report of a window.

    Raises:
        UsageError: the window has no start, or there is no lake.
        DataError: the lake has no point in the window before.
        SourceError: the lake cannot be read.
    """
    window_s = window_s_of(lake, lake.manifest(), window)
    if window_s is None or window_s[0] <= 0:
        raise UsageError("--changes needs a window", "Give its length, for example --last 7d.")
    start_s, end_s = 2 * window_s[0] - window_s[1], window_s[0]
    covered = f"{format_clock(start_s)} to {format_clock(end_s)} UTC"
    try:
        found = judge((None, format_time(start_s), format_time(end_s)))
    except DataError as error:
        raise DataError(
            f"'{lake.place.url}' has no point in the window before, {covered}",
            "Leave out --changes, or give a shorter window, for example --last 7d.",
        ) from error
    first_s = min((row.start_s for row in found.rows if row.start_s is not None), default=start_s)
    lacks = first_s - start_s > _LACKING_MOST * (end_s - start_s)
    note = f"The points begin at {format_clock(first_s)} UTC, so the window before is not complete."
    return EarlierTable(
        rows=found.rows, named="the window before", window_s=(start_s, end_s), note=note if lacks else ""
    )


def table_in(path: Path) -> EarlierTable:
    """
    Return the rows of a Parquet file of an earlier run; columns that it lacks are not known.

    Raises:
        UsageError: there is no such file.
        DataError: it is not a table of a fleet, or has no row.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not path.is_file():
        raise UsageError(f"there is no file '{shown(path, 200)}'", _NOT_A_TABLE)
    try:
        # Not `read_table`: it would take columns from names of folders.
        with pq.ParquetFile(path) as file:
            rows = msgspec.convert(_rows(file, path), tuple[FleetVerdict, ...])
    except (pa.ArrowException, OSError, msgspec.ValidationError) as error:
        raise DataError(f"'{shown(path, 200)}' is not a table of a fleet", _NOT_A_TABLE) from error
    if not rows:
        raise DataError(f"'{shown(path, 200)}' has no row", _NOT_A_TABLE)
    return EarlierTable(rows=rows, named=f"the table in {shown(path.name, 80)}")


def _rows(file: "pq.ParquetFile", path: Path) -> list[dict[str, object]]:
    import pyarrow as pa

    from plimsoll.fleet.tables import VERDICTS

    names = set(file.schema_arrow.names)
    lacking = [name for name in _NEEDED if name not in names]
    if lacking:
        raise DataError(
            f"'{shown(path, 200)}' is not a table of a fleet: it has no column '{lacking[0]}'", _NOT_A_TABLE
        )
    table = file.read([field.name for field in VERDICTS if field.name in names])
    schema = pa.schema([VERDICTS.field(name) for name in table.schema.names])
    rows: list[dict[str, object]] = table.cast(schema).to_pylist()
    return rows
