"""
Block statistics in four tools: count, least, most, sum and sum of squares of every block.

Each way has three parts, and only the second is timed: the samples are brought into the tool's own
form, the statistics are computed, and what was found is brought into one form to be compared.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.kernel import Blocks, block_statistics

Singles = NDArray[np.float32]
Statistics = NDArray[np.float64]
"""Shape (5, series, blocks)."""
Way = tuple[Callable[[], Any], Callable[[Any], Statistics]]
"""What is timed, and what brings its answer into the common form."""


def ours(series: Singles, length: int) -> Way:
    rows = list(series)
    fields = ("count", "min", "max", "sum", "sum_of_squares")

    def compare(blocks: list[Blocks]) -> Statistics:
        return np.array([[getattr(block, field) for block in blocks] for field in fields])

    return lambda: [block_statistics(row, length) for row in rows], compare


def with_numpy(series: Singles, length: int) -> Way:
    """NumPy as it is easiest: no gaps in the samples, so they need not be counted out."""
    blocks = series.reshape(len(series), -1, length)

    def compute() -> list[Singles]:
        count = np.full(blocks.shape[:2], length, dtype=np.float32)
        squares = np.einsum("sbi,sbi->sb", blocks, blocks)
        return [count, blocks.min(2), blocks.max(2), blocks.sum(2), squares]

    return compute, lambda found: np.array(found, dtype=np.float64)


def with_polars(series: Singles, length: int) -> Way:
    import polars as pl

    names = [f"s{i}" for i in range(len(series))]
    frame = pl.DataFrame(dict(zip(names, series, strict=True)))
    frame = frame.with_columns(block=pl.int_range(pl.len()) // length).set_sorted("block")
    column = pl.col(names)
    wanted = [column.count(), column.min(), column.max(), column.sum(), (column * column).sum()]
    wanted = [kind.name.suffix(f"_{i}") for i, kind in enumerate(wanted)]

    def compare(found: pl.DataFrame) -> Statistics:
        values = found.drop("block").to_numpy().T
        return values.reshape(len(wanted), len(names), -1).astype(np.float64)

    return lambda: frame.group_by("block", maintain_order=True).agg(*wanted), compare


def with_duckdb(series: Singles, length: int) -> Way:
    import duckdb
    import pyarrow as pa

    names = [f"s{i}" for i in range(len(series))]
    columns = dict(zip(names, series, strict=True))
    block = np.arange(series.shape[1], dtype=np.int32) // length
    database = duckdb.connect(config={"threads": 1})
    database.register("arrow", pa.table({"block": block, **columns}))
    database.execute("CREATE TABLE samples AS SELECT * FROM arrow")
    forms = ("count({})", "min({})", "max({})", "sum({})", "sum({0} * {0})")
    wanted = ", ".join(form.format(name) for form in forms for name in names)
    query = f"SELECT {wanted} FROM samples GROUP BY block ORDER BY block"

    def compare(found: dict[str, NDArray[Any]]) -> Statistics:
        values = np.array(list(found.values()), dtype=np.float64)
        return values.reshape(len(forms), len(names), -1)

    return lambda: database.execute(query).fetchnumpy(), compare


WAYS: dict[str, Callable[[Singles, int], Way]] = {
    "plimsoll.kernel.block_statistics": ours,
    "numpy": with_numpy,
    "polars, 1 thread": with_polars,
    "duckdb, 1 thread": with_duckdb,
}
