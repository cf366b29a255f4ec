"""Open tables as Arrow, and read their columns as numbers, times and texts with codes."""

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from plimsoll.errors import DataError
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.export.columns import Words
from plimsoll.sources.export.table_frame import few, unreadable
from plimsoll.sources.values.times import EARLIEST_S, LATEST_S, epoch_seconds, of_numbers

# A judgement: a million rows of a table take some hundred megabytes while they become points.
BATCH_ROWS = 1 << 20
_PARQUET = b"PAR1"
_ATHENA_MAP = re.compile(r"\{(.*)\}\Z", re.DOTALL)
"""How Athena prints a map: `{DBInstanceIdentifier=orders}`."""
Dimensions = tuple[tuple[str, str], ...]
_TICKS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


@contextmanager
def readable(where: str) -> Iterator[None]:
    """
    Turn whatever a damaged table makes of the block into one error.

    Raises:
        DataError: the table is damaged.
    """
    try:
        yield
    except (pa.ArrowException, OSError, MemoryError, ValueError, OverflowError) as error:
        raise unreadable(where, str(error)) from error


class ArrowTable:
    """A table that is read in pieces."""

    def __init__(self, data: bytes, where: str) -> None:
        """
        Open a table; of Parquet only the schema is read.

        Args:
            data: unpacked content of the file.
            where: its name, for messages.

        Raises:
            DataError: it is not a readable table, or has too many columns.
        """
        self.where = where
        self._file: pq.ParquetFile | None = None
        self._whole: pa.Table | None = None
        with readable(where):
            if data.startswith(_PARQUET):
                self._file = pq.ParquetFile(pa.BufferReader(data))
                self.schema = self._file.schema_arrow
            else:
                self._whole = _csv(data)
                self.schema = self._whole.schema
            names = [str(name) for name in self.schema.names]
        self.names = few(names, where)

    @property
    def structs(self) -> list[int]:
        """Return the places of the columns that have fields."""
        return [i for i, one in enumerate(self.schema) if pa.types.is_struct(one.type)]

    def is_numeric(self, place: int) -> bool:
        """Return whether a column has numbers, or nothing at all."""
        kind = self.schema.field(place).type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind))

    def pieces(self, places: list[int], *, rows: int | None = BATCH_ROWS) -> Iterator[pa.Table]:
        """
        Yield the rows in order, with only these columns, under their places as names.

        Args:
            places: columns that are read.
            rows: most rows of a piece; None reads all at once.

        Raises:
            DataError: a part of the file is damaged.
        """
        chosen = list(dict.fromkeys(places))
        heads = [self.names[place] for place in chosen]
        if len(set(self.names)) < len(self.names):
            raise unreadable(self.where, "two columns have the same name")
        pieces = self._of_text(chosen, rows) if self._file is None else self._of_file(heads, rows)
        while True:
            with readable(self.where):
                piece = next(pieces, None)
                if piece is None:
                    return
                piece = piece.rename_columns([str(place) for place in chosen])
            yield piece

    def _of_text(self, chosen: list[int], rows: int | None) -> Iterator[pa.Table]:
        assert self._whole is not None
        whole = self._whole.select(chosen)
        step = rows or max(1, whole.num_rows)
        for start in range(0, whole.num_rows, step):
            yield whole.slice(start, step).combine_chunks()

    def _of_file(self, heads: list[str], rows: int | None) -> Iterator[pa.Table]:
        assert self._file is not None
        size = rows or max(1, self._file.metadata.num_rows)
        for batch in self._file.iter_batches(batch_size=size, columns=heads):
            yield pa.Table.from_batches([batch]).select(heads)


def _csv(data: bytes) -> pa.Table:
    """Return a table of text; identifiers stay text, so that an account keeps its leading zeros."""
    head = data[: 1 << 16].split(b"\n", 1)[0]
    delimiter = max(b",;\t|", key=lambda one: head.count(bytes([one])))
    names = head.decode("utf-8", errors="replace").strip("\r\n").split(chr(delimiter))
    texts = {
        name.strip().strip('"'): pa.string()
        for name in names
        if re.sub(r"[^a-z]", "", name.lower()).startswith(("account", "awsaccount", "engineversion"))
    }
    return pyarrow.csv.read_csv(
        io.BytesIO(data),
        parse_options=pyarrow.csv.ParseOptions(delimiter=chr(delimiter)),
        convert_options=pyarrow.csv.ConvertOptions(column_types=texts, strings_can_be_null=True),
    )


def words_of_column(column: pa.ChunkedArray) -> Words:
    """Return a column as its distinct texts and a code for each row; a missing cell is an empty text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_floating(kind) and pc.all(pc.equal(column, pc.floor(column))).as_py():
        column = column.cast(pa.int64())
    texts = column.cast(pa.string()).combine_chunks().dictionary_encode()
    if isinstance(texts, pa.ChunkedArray):  # of a column without rows
        return Words([""], np.empty(0, dtype=np.int64))
    known = [str(text) for text in texts.dictionary.to_pylist()]
    codes = texts.indices.fill_null(len(known)).to_numpy(zero_copy_only=False).astype(np.int64)
    return Words([*known, ""] if texts.null_count else known, codes)


def numbers_of_column(column: pa.ChunkedArray) -> FloatArray:
    """Return a column as numbers; NaN for a missing cell, and for every cell of a column of no numbers."""
    try:
        numbers = column.cast(pa.float64())
    except pa.ArrowException:
        return np.full(len(column), np.nan)
    found: FloatArray = numbers.fill_null(float("nan")).to_numpy()
    return found


def times_of_column(column: pa.ChunkedArray) -> IntArray:
    """Return a column as epoch seconds; 0 for a cell that is no time of this century."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        ticks = column.cast(pa.int64()).cast(pa.float64(), safe=False)
        seconds = ticks.fill_null(float("nan")).to_numpy() * _TICKS[kind.unit]
        # Not by their size: a time in ticks of a known unit needs no guess.
        seconds = np.where((seconds >= EARLIEST_S) & (seconds < LATEST_S), seconds, np.nan)
        return of_numbers(np.floor(seconds + 1e-6))[0]
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.float64())
        return of_numbers(days.fill_null(float("nan")).to_numpy() * 86_400)[0]
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return of_numbers(numbers_of_column(column))[0]
    words = words_of_column(column)
    return epoch_seconds(words.texts)[0][words.codes]


def fields_of_column(column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Return the fields of a column of structs, by their names in lower case."""
    table = pa.Table.from_arrays([column], names=["x"]).flatten()
    return {name.removeprefix("x.").lower(): table.column(name) for name in table.column_names}


def dimensions_of_column(column: pa.ChunkedArray) -> tuple[list[Dimensions], IntArray]:
    """
    Return the distinct dimensions of a column, and which of them each row has.

    Args:
        column: maps, structs with a field for each dimension, or texts as JSON or as Athena prints a map.

    Raises:
        DataError: a column of another type.
    """
    kind = column.type
    if pa.types.is_struct(kind):
        return _of_structs(column)
    if pa.types.is_map(kind):
        return _of_maps(column.combine_chunks())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise DataError(
            f"dimensions are of the type {kind}, which is not read", "Write them as a map, as a struct, or as JSON."
        )
    words = words_of_column(column)
    return [_of_text(text) for text in words.texts], words.codes


def _of_structs(column: pa.ChunkedArray) -> tuple[list[Dimensions], IntArray]:
    known: dict[Dimensions, int] = {(): 0}
    code = np.zeros(len(column), dtype=np.int64)
    for name, cells in fields_of_column(column).items():
        words = words_of_column(cells)
        pair = code * len(words.texts) + words.codes
        distinct, back = np.unique(pair, return_inverse=True)
        before, numbers = list(known), []
        for one in distinct.tolist():
            place, text = divmod(one, len(words.texts))
            more = ((name, words.texts[text]),) if words.texts[text] else ()
            numbers.append(known.setdefault((*before[place], *more), len(known)))
        code = np.array(numbers, dtype=np.int64)[back]
    return list(known), code


def _of_maps(column: pa.MapArray) -> tuple[list[Dimensions], IntArray]:
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    offsets = column.offsets.to_numpy().astype(np.int64)
    keys, items = (words_of_column(pa.chunked_array([one])) for one in (column.keys, column.items))
    pair = keys.codes * len(items.texts) + items.codes
    lengths = np.diff(offsets)
    lengths[column.is_null().to_numpy(zero_copy_only=False)] = 0
    known: dict[Dimensions, int] = {(): 0}
    code = np.zeros(lengths.size, dtype=np.int64)

    def named(one: int) -> tuple[str, str]:
        key, item = divmod(one, len(items.texts))
        return keys.texts[key], items.texts[item]

    single = np.flatnonzero(lengths == 1)
    distinct, back = np.unique(pair[offsets[:-1][single]], return_inverse=True)
    numbers = [known.setdefault((named(one),), len(known)) for one in distinct.tolist()]
    if single.size:
        code[single] = np.array(numbers, dtype=np.int64)[back]
    # Few rows have more: totals of a class and an engine, and additional volumes.
    for row in np.flatnonzero(lengths > 1).tolist():
        pairs = tuple(named(one) for one in pair[offsets[row] : offsets[row + 1]].tolist())
        code[row] = known.setdefault(pairs, len(known))
    return list(known), code


def _of_text(text: str) -> Dimensions:
    try:
        found = msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        match = _ATHENA_MAP.match(text.strip())
        pairs = [one.partition("=") for one in match[1].split(",")] if match else []
        found = {key.strip(): value.strip() for key, sign, value in pairs if sign}
    return tuple(found.items())
