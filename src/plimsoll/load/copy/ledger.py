"""
Find in the ledger what of a file is in the table, also if the file was corrected since.

Rule 1: what is loaded is known by its bytes. A chunk of other content of the same name is taken for loaded only if
        the same bytes are in the file now.
Rule 2: rows that were corrected may change the length of what was not loaded, so a chunk after them is looked for at
        every row nearby. If one chunk is not there, nothing is assumed.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.load.copy.rows import NEWLINE
from plimsoll.sources.postgres.statements.loading import literal
from plimsoll.units import MIB

# 128 bits: no two chunks are taken for one by chance.
_DIGEST_DIGITS = 32
# Of a chunk's first bytes, so that it is found without a digest of the whole at every row.
_HEAD_BYTES = 256
# By so much corrections may lengthen what was not loaded. A judgement: as much as a chunk has.
_LONGER_MOST_BYTES = 4 * MIB


class LoadedChunk(Struct, frozen=True):
    """A chunk of a file that is in the table."""

    start_byte: int
    end_byte: int
    row_count: int
    digest: str
    head: str
    """Digest of its first bytes."""


Pieces = Callable[[int], Iterable[bytes]]
"""Yields the bytes of a file from a place on."""


class StreamRanges:
    """A stream that is read in ranges, each after the one before."""

    def __init__(self, pieces: Pieces, start_byte: int = 0) -> None:
        """Begin to read at a place."""
        self._pieces = iter(pieces(start_byte))
        self._rest = b""
        self.place = start_byte
        """Of the next byte."""

    def range(self, start_byte: int, end_byte: int | None) -> Iterator[bytes]:
        """Yield the bytes of a range, up to the end of the stream if `end_byte` is None."""
        while end_byte is None or self.place < end_byte:
            piece = self._rest or next(self._pieces, b"")
            self._rest = b""
            if not piece:
                return
            if self.place < start_byte:
                skipped = min(start_byte - self.place, len(piece))
                self.place += skipped
                self._rest = piece[skipped:]
                continue
            size = len(piece) if end_byte is None else min(end_byte - self.place, len(piece))
            self.place += size
            self._rest = piece[size:]
            yield piece[:size]


def digests_of(pieces: Iterable[bytes]) -> tuple[str, str]:
    """Return what tells the bytes of a chunk from others, and the same of its first bytes."""
    found, head = hashlib.sha256(), b""
    for piece in pieces:
        found.update(piece)
        head += piece[: _HEAD_BYTES - len(head)]
    return found.hexdigest()[:_DIGEST_DIGITS], _head_of(head)


def _head_of(data: bytes | memoryview) -> str:
    return hashlib.sha256(data[:_HEAD_BYTES]).hexdigest()[:_DIGEST_DIGITS]


def gaps(chunks: Sequence[LoadedChunk]) -> Iterator[tuple[int, int | None]]:
    """Yield the ranges of a file that are not loaded, in order; the last has no end."""
    place = 0
    for chunk in chunks:
        if place < chunk.start_byte:
            yield place, chunk.start_byte
        place = chunk.end_byte
    yield place, None


def places_of(chunks: Sequence[LoadedChunk], pieces: Pieces) -> list[int] | None:
    """
    Return where chunks of other content begin in a file; None if one is not there.

    Args:
        chunks: in order, of the content that was loaded.
        pieces: of the file.
    """
    places: list[int] = []
    place = was_end = 0
    # Chunks without a gap are read in one go: a packed file is read from its beginning each time.
    stream = StreamRanges(pieces)
    for chunk in chunks:
        gap_bytes = chunk.start_byte - was_end
        for start in _candidates(chunk, pieces, place, gap_bytes):
            if start != stream.place:
                stream = StreamRanges(pieces, start)
            if _is_at(chunk, stream, start):
                places.append(start)
                break
        else:
            return None
        place, was_end = start + chunk.end_byte - chunk.start_byte, chunk.end_byte
    return places


def _candidates(chunk: LoadedChunk, pieces: Pieces, place: int, gap_bytes: int) -> Iterator[int]:
    """Yield places at which a chunk may begin, each after a row: where it was, then the others in order."""
    if not gap_bytes:
        yield place
        return
    last = place + gap_bytes + _LONGER_MOST_BYTES
    data = b"".join(StreamRanges(pieces, place).range(place, last + _HEAD_BYTES))
    if data[gap_bytes - 1 : gap_bytes] == NEWLINE:
        yield place + gap_bytes
    view = memoryview(data)
    size = min(_HEAD_BYTES, chunk.end_byte - chunk.start_byte)
    at = 0
    while 0 <= at <= last - place:
        if at != gap_bytes and _head_of(view[at : at + size]) == chunk.head:
            yield place + at
        at = data.find(NEWLINE, at) + 1 or -1


def _is_at(chunk: LoadedChunk, stream: StreamRanges, place: int) -> bool:
    """Return whether a chunk is at a place of a stream that has not been read beyond it, whole rows."""
    size = chunk.end_byte - chunk.start_byte
    found, last = hashlib.sha256(), NEWLINE
    for piece in stream.range(place, place + size):
        found.update(piece)
        last = piece[-1:]
    if found.hexdigest()[:_DIGEST_DIGITS] != chunk.digest:
        return False
    # The last row of a file may have no newline, and then nothing may come after it.
    return last == NEWLINE or next(stream.range(place + size, None), b"") == b""


def check_table(
    found: tuple[str, int] | None, *, file: str, table: str, oid: int, ledger: str
) -> None:
    """
    Check that a content was not loaded into a table of the same name, or into this one under another.

    Args:
        found: name and OID of the other, from the ledger; None if there is none.
        file: name for the message.
        table: name with its schema.
        oid: of the table.
        ledger: name with its schema.

    Raises:
        UsageError: it was; whether the rows are in this table is not known.
    """
    if found is None:
        return
    name, other_oid = found
    if name != table:
        raise UsageError(
            f"'{file}' was loaded into this table when its name was {name}",
            f"UPDATE {ledger} SET target = {literal(table)} WHERE target_oid = {oid}; and run the command again.",  # noqa: S608 - printed
        )
    raise UsageError(
        f"'{file}' was loaded into another table {name}, which was dropped, renamed or restored since",
        f"If its rows are not in this one: DELETE FROM {ledger} WHERE target_oid = {other_oid}; if they are:"  # noqa: S608 - printed
        f" UPDATE {ledger} SET target_oid = {oid} WHERE target_oid = {other_oid};",
    )
