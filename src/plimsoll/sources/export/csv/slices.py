"""
Read the rows of a text table into columns, slice by slice.

Rule 1: a column of plain numbers is parsed as numbers at once; its text is never kept.
Rule 2: a column with any other cell (a unit, a decimal comma, a word) is kept as text in all its
        rows, because the unit of a column is decided over the whole of it.
Rule 3: times become epoch seconds slice by slice.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.export.columns import (
    Column,
    Numbers,
    TableColumns,
    TableTimes,
    Words,
    numbers_of,
    times_of,
    words_of,
)
from plimsoll.sources.export.table_frame import Roles, not_a_table, unreadable
from plimsoll.sources.files.text import Content

# The cells of a slice are Python's objects for a moment: with 256 KiB they stay in the processor's
# cache, where parsing takes half the time that it takes with 2 MiB.
SLICE_BYTES = 1 << 18

# A row ends at a line break outside quotes. Two thousand columns of a hundred characters take 0.2 MB.
MOST_ROW_BYTES = 1 << 22

Cells = list[Sequence[str]]
"""The cells of some rows, column by column."""


class _NumbersSoFar:
    """A column of numbers in one array, filled slice by slice: pieces would be held twice to join."""

    def __init__(self, most: int) -> None:
        self.value: FloatArray = np.empty(most)
        self.given: BoolArray = np.empty(most, dtype=np.bool_)
        self.count = 0

    def add(self, part: Numbers) -> None:
        """Append cells."""
        end = self.count + part.value.size
        self.value[self.count : end], self.given[self.count : end] = part.value, part.given
        self.count = end

    def column(self) -> Numbers:
        """Return all cells."""
        return Numbers(self.value[: self.count], self.given[: self.count])


class _TimesSoFar:
    """A column of times, likewise."""

    def __init__(self, most: int) -> None:
        self.time_s: IntArray = np.empty(most, dtype=np.int64)
        self.readable: BoolArray = np.empty(most, dtype=np.bool_)
        self.count = 0

    def add(self, cells: Sequence[str]) -> None:
        """Append cells."""
        end = self.count + len(cells)
        part = slice(self.count, end)
        self.time_s[part], self.readable[part] = times_of(words_of(cells))
        self.count = end

    def column(self) -> TableTimes:
        """Return all cells."""
        return TableTimes(self.time_s[: self.count], self.readable[: self.count])


class _WordsSoFar:
    """A column of words, slice by slice: each distinct text has one code in all slices."""

    def __init__(self) -> None:
        self._code: dict[str, int] = {}
        self._codes: list[IntArray] = []

    def add(self, cells: Sequence[str]) -> None:
        """Append cells."""
        part = words_of(cells)
        code = [self._code.setdefault(text, len(self._code)) for text in part.texts]
        self._codes.append(np.array(code, dtype=np.int64)[part.codes])

    def column(self) -> Words:
        """Return all cells."""
        return Words([*self._code], np.concatenate(self._codes))


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
            DataError: the rows are not valid CSV.
        """
        return Roles(self.names, _frame(next(self._parts()), [*range(len(self.names))], []))

    def plain_slices(self, roles: Roles) -> Iterator[TableColumns | None]:
        """Yield slices of rows with numbers as numbers; None, the last, for one with other cells."""
        keys = {roles.time, roles.metric, roles.instance, roles.unit, roles.statistic}
        texts = [key for key in keys if key is not None]
        for cells in self._parts():
            part = _frame(cells, texts, roles.values)
            if len(part.columns) < len(texts) + len(roles.values):
                yield None
                return
            yield part

    def frame(self, roles: Roles) -> TableColumns:
        """
        Return the columns that a reader of samples needs.

        Raises:
            DataError: a slice is not valid CSV.
        """
        if roles.time is None:
            return self._as_words(self._parts(), [*range(len(self.names))])
        return self._typed(roles, roles.time)

    def _typed(self, roles: Roles, time: int) -> TableColumns:
        """Return times as epoch seconds, plain numbers as numbers, the rest as text."""
        keys = {roles.metric, roles.instance, roles.unit, roles.statistic} - {None, time}
        words = {key: _WordsSoFar() for key in keys if key is not None}
        rows = self.data.count(b"\n", self.start) + 1
        times = _TimesSoFar(rows)
        numbers = {i: _NumbersSoFar(rows) for i in roles.values}
        for cells in self._parts():
            times.add(cells[time])
            for key, column in words.items():
                column.add(cells[key])
            for i in [*numbers]:
                part = numbers_of(cells[i])
                if part is None:
                    del numbers[i]
                else:
                    numbers[i].add(part)
        columns: dict[int, Column] = {time: times.column()}
        columns |= {key: column.column() for key, column in words.items()}
        columns |= {i: column.column() for i, column in numbers.items()}
        odd = [i for i in roles.values if i not in numbers]
        if odd:
            columns |= self._as_words(self._parts(), odd).columns
        return TableColumns(columns, times.count)

    def _as_words(self, parts: Iterable[Cells], columns: list[int]) -> TableColumns:
        """Return columns of a table as text."""
        words = {i: _WordsSoFar() for i in columns}
        height = 0
        for cells in parts:
            height += len(cells[0])
            for i, column in words.items():
                column.add(cells[i])
        return TableColumns({i: column.column() for i, column in words.items()}, height)

    def _slices(self) -> Iterator[tuple[int, int]]:
        """
        Yield where slices of whole rows begin and end; one slice, empty, for no rows.

        A line break inside quotes ends no row. Quotes come in pairs, doubled ones too, so a line
        break is outside of them where an even number of quotes stands before it.

        Raises:
            DataError: a row is longer than the limit.
        """
        first = self.start
        while True:
            end, quotes = first, 0
            wanted = first + SLICE_BYTES
            while end < len(self.data) and (end < wanted or quotes % 2):
                line_end = self.data.find(b"\n", max(wanted, end)) + 1 or len(self.data)
                if line_end - first > SLICE_BYTES + MOST_ROW_BYTES:
                    raise not_a_table(self.where, "a row, or a cell in quotes, does not end")
                # Where every cell has two of them, `bytes.count` takes longer than parsing does.
                written = np.frombuffer(self.data[end:line_end], dtype=np.uint8)
                quotes += int(np.count_nonzero(written == ord('"')))
                end = line_end
            yield first, end
            first = end
            if first >= len(self.data):
                return

    def _parts(self) -> Iterator[Cells]:
        """
        Yield the cells of slice after slice.

        Raises:
            DataError: a slice is not valid CSV.
        """
        for first, end in self._slices():
            text = self.data[first:end].decode("utf-8", errors="replace")
            if "\r" in text:
                text = text.replace("\r\n", "\n").replace("\r", " ")
            if text and not text.endswith("\n"):
                text += "\n"
            yield self._even(text) or self._any(text)

    def _even(self, text: str) -> Cells | None:
        """Return the cells of rows of equal length that have no quotes, or each cell in quotes."""
        width, rows = len(self.names), text.count("\n")
        between, end = self.delimiter, "\n"
        if '"' in text:
            # Two for each cell, one before the first and one after the last: none is left over.
            if text.count('"') != 2 * rows * width or text[0] != '"' or text[-2:] != '"\n':
                return None
            between, end, text = f'"{self.delimiter}"', '"\n"', f'{text[1:]}"'
        # The line break becomes a cell of its own, which shows whether each row has its cells.
        cells = text.replace(end, f"{between}\n{between}").split(between)
        if len(cells) - 1 != rows * (width + 1) or cells[width :: width + 1].count("\n") != rows:
            return None
        del cells[-1]
        return [cells[i :: width + 1] for i in range(width)]

    def _any(self, text: str) -> Cells:
        """
        Return the cells of any rows: a short row is filled, a long one cut.

        Raises:
            DataError: quotes are at invalid positions.
        """
        width = len(self.names)
        lines = csv.reader(io.StringIO(text, newline="\n"), delimiter=self.delimiter, strict=True)
        filler = [""] * width
        try:
            rows = [row[:width] + filler[len(row) :] for row in lines]
        except csv.Error as error:
            raise unreadable(self.where, str(error)) from error
        return [*zip(*rows, strict=True)] if rows else [() for _ in self.names]


def _frame(cells: Cells, texts: list[int], numbers: list[int]) -> TableColumns:
    """Return columns of words, and those columns of numbers that hold nothing else."""
    columns: dict[int, Column] = {i: words_of(cells[i]) for i in texts}
    for i in numbers:
        column = numbers_of(cells[i])
        if column is not None:
            columns[i] = column
    return TableColumns(columns, len(cells[0]))
