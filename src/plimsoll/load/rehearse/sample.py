"""
Take whole rows from evenly spaced places over files.

Rule 1: all bytes are read once, because only that tells whether a newline ends a row of CSV, and how large a packed
        file is. What is kept is the sample.
Rule 2: rows keep the order of the files, so that an index sees the same pattern as in the whole load.
Rule 3: the sample lies in a file of the caller, which needs no name: it is read by its descriptor.
"""

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

from msgspec import Struct

from plimsoll.errors import DataError, UsageError
from plimsoll.load.copy.inputs import Input, stream_of
from plimsoll.load.copy.refused import RefusedAt
from plimsoll.load.copy.rows import NEWLINE, Chunk, RowFormat, chunks_of
from plimsoll.load.copy.run import ROW_BYTES_MAX
from plimsoll.load.copy.table import CopyOptions
from plimsoll.units import MIB

# A judgement: a hundred GB are rehearsed with one, in minutes, and most averages of rows are known to a percent.
SAMPLE_RATIO = 0.01
# A judgement: with less, what a table costs once would be a good part of what its rows cost.
SAMPLE_LEAST_BYTES = 2 * MIB
# Judgements: enough places to see a change of the rows along the files, and pieces of many rows each.
_PLACES = 400
_PIECE_LEAST_BYTES, _PIECE_MOST_BYTES = 2_048, 262_144
# A packed file of text is about a fifth of what it holds.
_PACKED_RATIO = 5


class Slice:
    """Rows of a sample, as an input of a load."""

    is_gzip = False

    def __init__(self, file: BinaryIO, *, start: int, end: int, header: bytes, number: int) -> None:
        """Keep the place of the rows in the file of the sample; the header comes before them."""
        self._file, self._start, self._end, self._header = file, start, end, header
        self.name = f"part {number + 1} of the sample"
        self.size_bytes = len(header) + end - start
        # Equal rows in two parts are no doubles.
        self.identity = f"sample-{number}"

    def place_of(self, start_byte: int) -> int:
        """Return the place in the file of the sample of a byte of the slice."""
        return self._start + max(start_byte - len(self._header), 0)

    def pieces(self, start_byte: int) -> Iterator[bytes]:
        """Yield the bytes from a place on."""
        if start_byte < len(self._header):
            yield self._header[start_byte:]
        place = self.place_of(start_byte)
        while piece := _read(self._file, place, min(self._end - place, _PIECE_MOST_BYTES)):
            place += len(piece)
            yield piece


class RowOrigin(Struct, frozen=True, kw_only=True):
    """Where in the files of the user something is."""

    name: str
    """Of the file or object, as it was given."""
    line: int
    """From 1, of the unpacked file."""


class FileSample(Struct, frozen=True, kw_only=True):
    """A sample of the rows of all files."""

    file: Any
    """A `BinaryIO` with the rows, without headers; open as long as the sample is used."""
    header: bytes
    ends: tuple[int, ...]
    """Places in `file` after each piece, in order."""
    origins: tuple[RowOrigin, ...]
    """Where each piece begins."""
    sample_bytes: int
    input_bytes: int
    """All files together, unpacked, without headers."""

    def slices(self, count: int, *, of: int, number: int) -> tuple[Slice, ...]:
        """
        Return one of several equal parts of the sample, in order, cut into slices.

        Args:
            count: slices, fewer if there are not so many pieces.
            of: parts, ≥ 1.
            number: which part, 0 ≤ x < of.
        """
        cuts = [0, *self.ends]
        first, last = (len(self.ends) * n // of for n in (number, number + 1))
        places = sorted({first + (last - first) * n // count for n in range(count + 1)})
        return tuple(
            Slice(self.file, start=cuts[start], end=cuts[end], header=self.header, number=number * count + place)
            for place, (start, end) in enumerate(pairwise(places))
        )

    def origin_of(self, one: Slice, at: RefusedAt, rows: RowFormat) -> RowOrigin:
        """Return where a row of a slice begins; without a line, where its chunk begins."""
        place = one.place_of(_row_start(one, at, rows))
        piece = bisect_right(self.ends, place)
        origin, start = self.origins[piece], self.ends[piece - 1] if piece else 0
        lines = sum(
            _read(self.file, at_byte, min(place - at_byte, _PIECE_MOST_BYTES)).count(NEWLINE)
            for at_byte in range(start, place, _PIECE_MOST_BYTES)
        )
        return RowOrigin(name=origin.name, line=origin.line + lines)


def take_sample(inputs: Sequence[Input], options: CopyOptions, *, ratio: float, file: BinaryIO) -> FileSample:
    """
    Write a sample of the rows into a file.

    Args:
        inputs: files and objects, in order.
        options: how rows are written.
        ratio: share of the bytes to take, 0 < x ≤ 1; more where that is less than `SAMPLE_LEAST_BYTES`.
        file: empty, for writing and reading; the sample stays in it.

    Raises:
        UsageError: the files have no row.
        DataError: a quote is never closed, or a packed file is damaged.
        SourceError: S3 refuses, or does not answer.
    """
    guess = sum(one.size_bytes * (_PACKED_RATIO if one.is_gzip else 1) for one in inputs)
    ratio = min(max(ratio, SAMPLE_LEAST_BYTES / max(guess, 1)), 1.0)
    piece = int(min(max(guess * ratio / _PLACES, _PIECE_LEAST_BYTES), _PIECE_MOST_BYTES))
    rows = options.row_format
    header = b""
    seen = taken = 0
    ends: list[int] = []
    origins: list[RowOrigin] = []
    for one in inputs:
        head = _header_of(one, rows) if options.has_header else b""
        header = header or head
        line = 1
        for chunk in _pieces_of(one, rows, piece):
            skipped = len(head) if chunk.start_byte == 0 else 0
            first = line + (head.count(NEWLINE) if skipped else 0)
            line += sum(part.count(NEWLINE) for part in chunk.pieces)
            size = chunk.size_bytes - skipped
            seen += size
            # The place that keeps the share of what was seen nearest to the ratio.
            if size > 0 and taken + size / 2 <= ratio * seen:
                text = b"".join(chunk.pieces)[skipped:]
                if not text.endswith(NEWLINE):
                    # The last row of a file must not go on with the first one of the next.
                    text += _row_end(one, rows)
                taken += file.write(text)
                ends.append(taken)
                origins.append(RowOrigin(name=one.name, line=first))
    file.flush()
    if not ends:
        raise UsageError("the files have no row", "Give files with rows.")
    return FileSample(
        file=file, header=header, ends=tuple(ends), origins=tuple(origins), sample_bytes=taken, input_bytes=seen
    )


def _read(file: BinaryIO, place: int, size_bytes: int) -> bytes:
    """Return bytes from a place on; several threads may read."""
    return os.pread(file.fileno(), size_bytes, place)


def _row_start(one: Slice, at: RefusedAt, rows: RowFormat) -> int:
    """Return the byte of a slice at which the row begins that ends at a line of the server's count."""
    start_byte = at.start_byte
    if at.line is None:
        return start_byte
    mark, counted = b"", 0
    for row in chunks_of(
        one.pieces(start_byte), rows, chunk_bytes=1, row_bytes_max=ROW_BYTES_MAX, start_byte=start_byte
    ):
        text, start_byte = b"".join(row.pieces), row.start_byte
        # COPY counts rows, and in CSV within quotes the first character of the line ends it found (CopyReadLineText).
        mark = mark or (b"\r" if text.endswith(b"\r\n") else NEWLINE)
        counted += text.count(mark) if rows.is_csv else 1
        if counted >= at.line:
            break
    return start_byte


def _header_of(one: Input, rows: RowFormat) -> bytes:
    """Return the first row of an input, with its newline; empty for an empty one."""
    for chunk in _pieces_of(one, rows, 1):
        return b"".join(chunk.pieces)
    return b""


def _row_end(one: Input, rows: RowFormat) -> bytes:
    """Return what ends the rows of an input."""
    return b"\r\n" if _header_of(one, rows).endswith(b"\r\n") else NEWLINE


def _pieces_of(one: Input, rows: RowFormat, size_bytes: int) -> Iterator[Chunk]:
    try:
        yield from chunks_of(stream_of(one).pieces(0), rows, chunk_bytes=size_bytes, row_bytes_max=ROW_BYTES_MAX)
    except DataError as error:
        raise DataError(f"'{one.name}': {error.message}", error.hint) from error
