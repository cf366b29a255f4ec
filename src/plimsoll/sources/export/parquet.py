"""
Read Parquet tables of samples in a child process.

A damaged Parquet file can make the decoder ask for an exabyte, and a refused allocation ends the
process without an exception to catch (found by fuzzing: about one damaged file in five thousand).
So a child decodes: whatever becomes of it, we have one sentence to say. Starting it costs what
importing the decoder here would have cost.
"""

import io
import resource
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError, ExtraMissing
from plimsoll.sources.export.columns import UNREADABLE, Column, Numbers, TableColumns, TableTimes, Words
from plimsoll.sources.export.table_frame import HINT, few, read_frame, unreadable
from plimsoll.sources.files.bounds import check_rows
from plimsoll.sources.reading.reading import Block, Reading, Statistic
from plimsoll.sources.values.times import EARLIEST_S, LATEST_S, of_numbers
from plimsoll.units import GIB

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

# The largest file we take has 2 GiB, and columns unpack to a few times that.
CHILD_MEMORY_BYTES = 16 * int(GIB)

# A year of twelve metrics takes two seconds here; a child that takes minutes is lost.
CHILD_SECONDS = 300


class _ParquetColumn(Struct):
    """A block on its way home: its arrays as bytes, in the order of this machine."""

    name: str
    instance: str | None
    unit: str | None
    statistic: Statistic | None
    period_s: int | None
    time_s: bytes
    value: bytes


class _ParquetAnswer(Struct):
    columns: list[_ParquetColumn] = []
    bad_times: int = 0
    message: str = ""
    hint: str = ""


def read_parquet(data: bytes, reading: Reading, *, where: str, path: Path) -> None:
    """
    Add a Parquet table.

    Raises:
        DataError: the file is damaged, or lacks the columns of a table of samples.
        ExtraMissing: polars is not installed.
    """
    if find_spec("polars") is None:
        raise ExtraMissing.naming(f"the Parquet table {where}", "tables")
    # -P keeps files of the current folder from being imported in place of libraries.
    command = [sys.executable, "-P", "-m", "plimsoll.sources.export.parquet", where, str(path)]
    try:
        child = subprocess.run(  # noqa: S603  # our own interpreter and module; data goes to stdin
            command, input=data, capture_output=True, check=True, timeout=CHILD_SECONDS
        )
        answer = msgspec.msgpack.decode(child.stdout, type=_ParquetAnswer)
    except (subprocess.SubprocessError, msgspec.DecodeError, OSError, ValueError) as error:
        raise DataError(f"{where} is not a readable table: it is damaged", HINT) from error
    if answer.message:
        raise DataError(answer.message, answer.hint)
    reading.bad_times += answer.bad_times
    reading.blocks += [
        Block(
            name=column.name,
            instance=column.instance,
            unit=column.unit,
            statistic=column.statistic,
            period_s=column.period_s,
            time_s=np.frombuffer(column.time_s, dtype=np.int64),
            value=np.frombuffer(column.value, dtype=np.float64),
            folder=path.parent,
        )
        for column in answer.columns
    ]


def decode(data: bytes, reading: Reading, *, where: str, path: Path) -> None:
    """
    As `read_parquet`, in this process.

    Raises:
        DataError: the file has more rows than the limit, or the decoder found damage. Other damage may crash
            this process.
    """
    import polars as pl

    # The footer of the file contains the numbers of rows and columns, so nothing is unpacked yet.
    table = pl.scan_parquet(io.BytesIO(data))
    names = few(_guarded(lambda: table.collect_schema().names(), where), where)
    rows = _guarded(lambda: int(table.select(pl.len()).collect().item()), where)
    check_rows(rows, len(names), where)
    columns = _guarded(lambda: pl.read_parquet(io.BytesIO(data)), where).get_columns()
    frame = TableColumns({i: column_of(column) for i, column in enumerate(columns)}, rows)
    read_frame(frame, names, reading, where=where, path=path, comma_is_decimal=False)


def column_of(column: "pl.Series") -> Column:
    """Return a column as numbers, moments or words."""
    import polars as pl

    kind = column.dtype
    if isinstance(kind, (pl.Date, pl.Datetime)):
        # Days, or ticks of the unit, in UTC. Casting between units would panic on the year 300,000.
        scale = {"day": 86_400, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[getattr(kind, "time_unit", "day")]
        ticks = column.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy()
        in_century = (ticks * scale >= EARLIEST_S) & (ticks * scale < LATEST_S)
        return TableTimes(*of_numbers(np.where(in_century, ticks * scale, np.nan)))
    if kind.is_numeric():
        numbers = column.cast(pl.Float64, strict=False)
        given = numbers.is_not_null().to_numpy()
        return Numbers(numbers.fill_null(float("nan")).to_numpy(), given)
    if kind.is_nested() or kind.is_temporal() or kind in (pl.Binary, pl.Object):
        texts = column.is_null().replace_strict({True: "", False: UNREADABLE}, return_dtype=pl.String)
    else:
        texts = column.cast(pl.String, strict=False).fill_null("")
    distinct = texts.unique(maintain_order=True)
    places = pl.Series(range(distinct.len()), dtype=pl.Int64)
    codes = texts.replace_strict(distinct, places, return_dtype=pl.Int64)
    return Words(distinct.to_list(), codes.to_numpy())


def _guarded(read: Callable[[], T], where: str) -> T:
    """
    Run a step of polars.

    Raises:
        DataError: polars cannot read the data, or panics.
    """
    import polars as pl

    try:
        return read()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise unreadable(where, str(error)) from error


def _answer(data: bytes, where: str, path: Path) -> _ParquetAnswer:
    reading = Reading()
    try:
        decode(data, reading, where=where, path=path)
    except DataError as error:
        return _ParquetAnswer(message=error.message, hint=error.hint)
    columns = [
        _ParquetColumn(
            name=block.name,
            instance=block.instance,
            unit=block.unit,
            statistic=block.statistic,
            period_s=block.period_s,
            time_s=block.time_s.tobytes(),
            value=block.value.tobytes(),
        )
        for block in reading.blocks
    ]
    return _ParquetAnswer(columns=columns, bad_times=reading.bad_times)


def main() -> None:
    """Be the child: a table on stdin, its blocks on stdout."""
    resource.setrlimit(resource.RLIMIT_AS, (CHILD_MEMORY_BYTES, CHILD_MEMORY_BYTES))
    answer = _answer(sys.stdin.buffer.read(), sys.argv[1], Path(sys.argv[2]))
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
