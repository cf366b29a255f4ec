"""
Parquet tables of samples, decoded in a process of their own.

A damaged Parquet file can make the decoder ask for an exabyte, and a refused allocation ends the
process without an exception to catch (found by fuzzing: about one damaged file in five thousand).
So a child decodes: whatever becomes of it, we have one sentence to say. Starting it costs what
importing the decoder here would have cost.
"""

import io
import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.sources.export.table_frame import HINT, few, guarded, read_frame
from plimsoll.sources.files.bounds import check_rows
from plimsoll.sources.reading.reading import Block, Reading, Statistic
from plimsoll.units import GIB

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
        DataError: damaged, or without the columns a table of samples has.
    """
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
        DataError: more rows than we take, or damaged in a way that the decoder notices; otherwise it
            may take us with it.
    """
    import polars as pl

    # The end of the file says how many rows and columns there are: nothing is unpacked for it.
    table = pl.scan_parquet(io.BytesIO(data))
    names = few(guarded(lambda: table.collect_schema().names(), where), where)
    rows = guarded(lambda: int(table.select(pl.len()).collect().item()), where)
    check_rows(rows, len(names), where)
    frame = guarded(lambda: pl.read_parquet(io.BytesIO(data)), where)
    frame.columns = [f"c{i}" for i in range(len(names))]
    read_frame(frame, names, reading, where=where, path=path, comma_is_decimal=False)


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
