"""
The rows of a text table as a frame, read slice by slice.

Rule 1: a column of plain numbers is parsed as numbers at once; its text is never kept.
Rule 2: a column with any other cell (a unit, a decimal comma, a word) is kept as text in all its
        rows, because the unit of a column is decided over the whole of it.
Rule 3: times become epoch seconds slice by slice.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.export.table_frame import Roles, guarded, times_of
from plimsoll.sources.files.text import Content

if TYPE_CHECKING:
    import polars as pl

# Parsing a slice takes several times its bytes: with 2 MiB that stays below what a year of numbers
# takes (50 MB), and a slice still holds thousands of rows of a dozen metrics.
SLICE_BYTES = 1 << 21


class _Cells:
    """A column of numbers in one array, filled slice by slice: pieces would be held twice to join."""

    def __init__(self, most: int) -> None:
        self.value: FloatArray = np.empty(most)
        self.given: BoolArray = np.empty(most, dtype=np.bool_)
        self.count = 0

    def add(self, value: FloatArray | IntArray, given: BoolArray) -> None:
        """Append cells, and which of them hold anything, shape (n,) both."""
        end = self.count + value.size
        self.value[self.count : end], self.given[self.count : end] = value, given
        self.count = end

    def series(self, name: str, kind: "type[pl.Int64 | pl.Float64]") -> "pl.Series":
        """Return the cells, null where there is none; epoch seconds are exact as float, too."""
        import polars as pl

        missing = ~self.given[: self.count]
        column = pl.Series(name, self.value[: self.count]).cast(kind)
        return column.set(pl.Series(missing), None) if missing.any() else column


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """Where the rows of a table lie, and how they are written."""

    data: Content
    start: int
    """The first byte of the rows, after the header."""
    names: list[str]
    delimiter: str
    where: str
    """The file, for messages."""

    def roles(self) -> Roles:
        """
        Say which column is what, by the first rows.

        Raises:
            DataError: polars cannot read them.
        """
        return Roles(self.names, self._texts(*next(self._slices()), [*range(len(self.names))]))

    def plain_slices(self, roles: Roles) -> Iterator["pl.DataFrame | None"]:
        """Yield slices of rows with numbers as numbers; None, the last, for one with other cells."""
        texts = {roles.time, roles.metric, roles.instance, roles.unit, roles.statistic} - {None}
        for first, end in self._slices():
            part, numbers = self._slice(
                first, end, [t for t in texts if t is not None], roles.values
            )
            if numbers != roles.values:
                yield None
                return
            yield part

    def frame(self, roles: Roles) -> "pl.DataFrame":
        """
        Return the columns that a reader of samples needs, called c0, c1, …

        Raises:
            DataError: polars cannot read it.
        """
        if roles.time is None:
            return self._texts(self.start, len(self.data), [*range(len(self.names))])
        return self._typed(roles, roles.time)

    def _typed(self, roles: Roles, time: int) -> "pl.DataFrame":
        """Return times as epoch seconds, plain numbers as numbers, the rest as text."""
        import polars as pl

        keys = {roles.metric, roles.instance, roles.unit, roles.statistic} - {None, time}
        texts = [time, *(k for k in sorted(k for k in keys if k is not None))]
        numbers = list(roles.values)
        rows = self.data.count(b"\n", self.start) + 1
        cells = {i: _Cells(rows) for i in [time, *numbers]}
        words: list[pl.DataFrame] = []
        for first, end in self._slices():
            part, numbers = self._slice(first, end, texts, numbers)
            seconds, readable = times_of(part.get_column(f"c{time}"))
            cells[time].add(seconds, readable)
            for i in numbers:
                column = part.get_column(f"c{i}")
                filled = column.fill_null(float("nan")).to_numpy()
                cells[i].add(filled, column.is_not_null().to_numpy())
            words.append(part.select(f"c{i}" for i in texts[1:]))
        columns = [cells.pop(time).series(f"c{time}", pl.Int64)]
        columns += [cells.pop(i).series(f"c{i}", pl.Float64) for i in numbers]
        frame = pl.DataFrame(columns).hstack(pl.concat(words).get_columns())
        odd = [i for i in roles.values if i not in set(numbers)]
        if not odd:
            return frame
        mixed = pl.concat([self._texts(first, end, odd) for first, end in self._slices()])
        return frame.hstack(mixed.get_columns())

    def _slices(self) -> Iterator[tuple[int, int]]:
        """
        Yield where slices of whole rows begin and end; one slice, empty, for no rows.

        A line break inside quotes ends no row. Quotes come in pairs, doubled ones too, so a line
        break is outside of them where an even number of quotes stands before it.
        """
        first = self.start
        while True:
            end, quotes = first, 0
            wanted = first + SLICE_BYTES
            while end < len(self.data) and (end < wanted or quotes % 2):
                line_end = self.data.find(b"\n", max(wanted, end)) + 1 or len(self.data)
                # Where every cell has two of them, `bytes.count` takes longer than parsing does.
                written = np.frombuffer(self.data[end:line_end], dtype=np.uint8)
                quotes += int(np.count_nonzero(written == ord('"')))
                end = line_end
            yield first, end
            first = end
            if first >= len(self.data):
                return

    def _slice(
        self, first: int, end: int, texts: list[int], numbers: list[int]
    ) -> tuple["pl.DataFrame", list[int]]:
        """Return the rows of a slice, and which of the columns of numbers hold nothing else in it."""
        import polars as pl

        try:
            return self._rows(first, end, texts, numbers), numbers
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pass  # a cell that is no plain number: look which columns have one
        frame = self._texts(first, end, [*texts, *numbers])
        # An empty cell in quotes holds as little as one without.
        frame = frame.with_columns(pl.col(f"c{i}").replace("", None) for i in numbers)
        cast = frame.with_columns(pl.col(f"c{i}").cast(pl.Float64, strict=False) for i in numbers)
        plain = [
            i
            for i in numbers
            if cast.get_column(f"c{i}").null_count() == frame.get_column(f"c{i}").null_count()
        ]
        return cast, plain

    def _texts(self, first: int, end: int, columns: list[int]) -> "pl.DataFrame":
        """
        Return columns of some rows as text.

        Raises:
            DataError: polars cannot read them.
        """
        return guarded(lambda: self._rows(first, end, columns, []), self.where)

    def _rows(self, first: int, end: int, texts: list[int], numbers: list[int]) -> "pl.DataFrame":
        import polars as pl

        # polars takes the number of columns from the first row, which may be short: so an empty row
        # of the right length goes first, and is dropped again.
        full_row = self.delimiter.encode() * (len(self.names) - 1) + b"\n"
        kinds = dict.fromkeys(range(len(self.names)), pl.String) | dict.fromkeys(
            numbers, pl.Float64
        )
        return pl.read_csv(
            io.BytesIO(full_row + self.data[first:end]),
            has_header=False,
            separator=self.delimiter,
            schema={f"c{i}": kind for i, kind in kinds.items()},
            columns=sorted([*texts, *numbers]),
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        )[1:]
