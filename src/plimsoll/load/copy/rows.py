r"""
Cut a stream of bytes at ends of rows, without reading any value.

Rule 1: this file is pure: pieces in, chunks out.
Rule 2: nothing of a row is parsed but what tells whether a newline ends it: in CSV whether a quote is open, in
        PostgreSQL's text format whether a backslash is before it.
Rule 3: where a chunk ends depends on the bytes and on the chunk size alone, so that a later run cuts alike.
Rule 4: servers drop what comes after a line of `\.` without a word, so nothing may come after it. PostgreSQL 18 takes
        it for a value in CSV; there it can be quoted, which holds for all versions.

Source:
    PostgreSQL documentation, COPY: "CSV Format", "Text Format", "File Formats" (end-of-data marker).
"""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from plimsoll.errors import DataError
from plimsoll.units import format_bytes

NEWLINE, BACKSLASH = b"\n", b"\\"
_END_MARKER = b"\\."
# Bytes before a newline in which backslashes are counted. Real values end in one or two.
_TAIL_BYTES = 64


class RowFormat(Struct, frozen=True, kw_only=True):
    """How rows are written."""

    is_csv: bool
    quote: bytes = b'"'
    """Of CSV; one byte. A doubled quote within a value is two quotes, and changes nothing."""


class Chunk(Struct, frozen=True, kw_only=True):
    """Whole rows of a stream."""

    start_byte: int
    """Place in the stream of its first byte."""
    pieces: tuple[bytes, ...]

    @property
    def size_bytes(self) -> int:
        """Return how many bytes it has."""
        return sum(len(piece) for piece in self.pieces)

    @property
    def end_byte(self) -> int:
        """Return the place after its last byte."""
        return self.start_byte + self.size_bytes


def chunks_of(
    pieces: Iterable[bytes], rows: RowFormat, *, chunk_bytes: int, row_bytes_max: int, start_byte: int = 0
) -> Iterator[Chunk]:
    """
    Yield chunks of whole rows, each the shortest of at least `chunk_bytes`.

    Args:
        pieces: the stream in order, from a place where a row begins; any sizes.
        rows: how rows are written.
        chunk_bytes: least size of a chunk but the last, > 0.
        row_bytes_max: a row that goes on for longer after the least size is an error: a quote was not closed.
        start_byte: place of the first byte.

    Raises:
        DataError: no row ends within `row_bytes_max`, the stream ends within quotes, or rows come after an
            end-of-data marker.
    """
    is_ended = False
    for chunk in _cut(pieces, rows, chunk_bytes=chunk_bytes, row_bytes_max=row_bytes_max, start_byte=start_byte):
        marker = None if is_ended else _end_marker(chunk.pieces, rows)
        if is_ended or (marker is not None and marker < chunk.size_bytes):
            raise _ended(chunk.start_byte + (marker or 0))
        is_ended = marker is not None
        yield chunk


def _cut(
    pieces: Iterable[bytes], rows: RowFormat, *, chunk_bytes: int, row_bytes_max: int, start_byte: int
) -> Iterator[Chunk]:
    held: list[bytes] = []
    size, is_open, tail = 0, False, b""
    for whole in pieces:
        piece, before = whole, tail
        tail = (tail + whole[-_TAIL_BYTES:])[-_TAIL_BYTES:]
        while piece:
            # Up to the least size no end is needed; only quotes are counted.
            skipped = min(max(chunk_bytes - size, 0), len(piece))
            if rows.is_csv and piece.count(rows.quote, 0, skipped) % 2:
                is_open = not is_open
            if size + skipped < chunk_bytes:
                held.append(piece)
                size += len(piece)
                break
            end, is_open = _end_of_row(piece, skipped, before, rows, is_open=is_open)
            if end is None:
                held.append(piece)
                size += len(piece)
                if size > chunk_bytes + row_bytes_max:
                    raise _no_end(start_byte, row_bytes_max, rows)
                break
            held.append(piece[:end])
            chunk = Chunk(start_byte=start_byte, pieces=tuple(held))
            yield chunk
            start_byte, held, size = chunk.end_byte, [], 0
            # What is before the rest of this piece is the newline of a row.
            piece, before = piece[end:], NEWLINE
    if is_open:
        raise DataError(
            f"a quote after byte {start_byte:,} is never closed",
            "The file was cut off, or its quote character is another: give --quote.",
        )
    if held:
        yield Chunk(start_byte=start_byte, pieces=tuple(held))


def _end_of_row(piece: bytes, at: int, before: bytes, rows: RowFormat, *, is_open: bool) -> tuple[int | None, bool]:
    """Return the place after the first newline from `at - 1` on that ends a row, and whether a quote is open."""
    # The least size may be reached exactly at the end of a row.
    if at > 0 and not is_open and piece[at - 1 : at] == NEWLINE and _ends(piece, at - 1, before, rows):
        return at, False
    place = at
    while True:
        found = piece.find(NEWLINE, place)
        stop = len(piece) if found < 0 else found
        if rows.is_csv and piece.count(rows.quote, place, stop) % 2:
            is_open = not is_open
        if found < 0:
            return None, is_open
        if not is_open and _ends(piece, found, before, rows):
            return found + 1, False
        place = found + 1


def _ends(piece: bytes, newline: int, before: bytes, rows: RowFormat) -> bool:
    """Return whether a newline outside quotes ends a row: in text format not after an odd number of backslashes."""
    if rows.is_csv:
        return True
    text = before + piece[max(newline - _TAIL_BYTES, 0) : newline]
    count = len(text) - len(text.rstrip(BACKSLASH))
    # Where so many backslashes follow each other that their number is not known, a later row ends the chunk.
    return count % 2 == 0 and count < _TAIL_BYTES


def _end_marker(pieces: tuple[bytes, ...], rows: RowFormat) -> int | None:
    """Return the place after the first line that is an end-of-data marker; None if there is none."""
    if not any(_END_MARKER in piece or piece.endswith(BACKSLASH) for piece in pieces):
        return None
    data = b"".join(pieces)
    place = data.find(_END_MARKER)
    while place >= 0:
        end = place + len(_END_MARKER)
        rest = data[end : end + 2]
        line_end = 2 if rest == b"\r\n" else 1 if rest[:1] == NEWLINE else 0
        if (line_end or not rest) and _begins_row(data, place, rows):
            return end + line_end
        place = data.find(_END_MARKER, end)
    return None


def _begins_row(data: bytes, place: int, rows: RowFormat) -> bool:
    """Return whether a row of a chunk begins at a place."""
    if place == 0:
        return True
    is_quoted = rows.is_csv and data.count(rows.quote, 0, place) % 2 > 0
    return data[place - 1 : place] == NEWLINE and not is_quoted and _ends(data, place - 1, b"", rows)


def _ended(place: int) -> DataError:
    return DataError(
        f"rows come after an end-of-data marker (\\.) that ends at byte {place:,}",
        "Remove the line, or split the file there. In CSV, quote it if it is a value.",
    )


def _no_end(start_byte: int, row_bytes_max: int, rows: RowFormat) -> DataError:
    hint = (
        "A quote was not closed, or the quote character is another: give --quote."
        if rows.is_csv
        else "Is this text? Give --format csv if values are quoted."
    )
    return DataError(f"no row ends within {format_bytes(row_bytes_max)} after byte {start_byte:,}", hint)
