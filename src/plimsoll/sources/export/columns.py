"""
Columns of a table of any format: numbers, words, or times.

Rule 1: a column of words keeps each distinct text once, and a code for each row. A long table repeats
        its metrics and times, so its texts are read once.
Rule 2: what no reader of samples can use (lists, bytes, durations) is the word `?`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from plimsoll.model.series import BoolArray, FloatArray, IntArray
from plimsoll.sources.values.times import epoch_seconds, of_numbers

UNREADABLE = "?"
"""The text of a cell that is neither text nor number; an empty cell stays empty."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column of numbers."""

    value: FloatArray
    """NaN where there is none."""
    given: BoolArray
    """Which cells hold anything."""


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts."""

    texts: list[str]
    """The distinct cells, in the order of their first rows; empty for no cell."""
    codes: IntArray
    """Which of the texts each row holds."""


@dataclass(frozen=True, slots=True)
class TableTimes:
    """A column of times that were read already."""

    time_s: IntArray
    """Epoch seconds; 0 where there is none."""
    readable: BoolArray


Column = Numbers | Words | TableTimes


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a table that are needed, by their place in it."""

    columns: dict[int, Column]
    height: int
    """How many rows there are."""


def words_of(cells: Sequence[str]) -> Words:
    """Return cells as a column of words."""
    code = {text: at for at, text in enumerate(dict.fromkeys(cells))}
    if len(code) == len(cells):
        return Words([*code], np.arange(len(cells)))
    return Words([*code], np.fromiter(map(code.__getitem__, cells), np.int64, len(cells)))


def texts_of(column: Column) -> Words:
    """Return a column as words; a moment is no word."""
    if isinstance(column, Words):
        return column
    if isinstance(column, TableTimes):
        return Words([UNREADABLE], np.zeros(column.time_s.size, dtype=np.int64))
    return words_of(
        [
            "" if not given else str(int(v)) if v.is_integer() else repr(v)
            for v, given in zip(column.value.tolist(), column.given.tolist(), strict=True)
        ]
    )


def times_of(column: Column) -> tuple[IntArray, BoolArray]:
    """Return epoch seconds of a column, 0 or below where none; and which cells are times."""
    if isinstance(column, TableTimes):
        return column.time_s, column.readable
    if isinstance(column, Numbers):
        return of_numbers(column.value)
    seconds, readable = epoch_seconds([text.strip(" '\"") for text in column.texts])
    return seconds[column.codes], readable[column.codes]


def number_in(text: str) -> float | None:
    """Return a plain number; None for any other text. Only Python takes `1_000` and other digits."""
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def numbers_of(cells: Sequence[str]) -> Numbers | None:
    """Return cells that hold plain numbers or nothing as numbers; None if there is any other."""
    joined = ",".join(cells)
    try:
        # Ten times as fast as one `float` after the other, and as exact. JSON has no NaN.
        value = np.array(msgspec.json.decode(f"[{joined}]", type=list[float]))
        if value.size == len(cells):  # else a cell had a decimal comma
            return Numbers(value, np.ones(value.size, dtype=np.bool_))
    except msgspec.DecodeError:
        pass  # an empty cell, or one that JSON writes otherwise
    if "_" in joined or not joined.isascii():
        return None
    try:
        value = np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return None
    return Numbers(value, np.array([*map(bool, cells)], dtype=np.bool_))
