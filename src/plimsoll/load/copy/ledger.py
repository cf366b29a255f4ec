"""
Find in the ledger what of a file is in the table, also if the file was corrected since.

Rule 1: what is loaded is known by its bytes. A chunk of other content of the same name is taken for loaded only if
        the same bytes are in the file now.
Rule 2: rows that were corrected may change the length of what was not loaded, so a chunk after them is looked for at
        every row nearby. If one chunk is not there, nothing is assumed.
Rule 3: an entry may have been changed or planted, so it counts only if it can be true: its range is in the file,
        no other one overlaps it, and the bytes are its bytes, where they are read.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.load.copy.refused import printable
from plimsoll.load.copy.rows import NEWLINE
from plimsoll.sources.postgres.statements.loading import literal
from plimsoll.units import MIB

# 128 bits: no two chunks are taken for one by chance.
_DIGEST_DIGITS = 32
# Of a chunk's first bytes, so that it is found without a digest of the whole at every row.
_HEAD_BYTES = 256
# By so much corrections may lengthen what was not loaded. A judgement: as much as a chunk has.
_LONGER_MOST_BYTES = 4 * MIB
# What is between two loaded chunks was sent by as many workers as a load has at most, 64, when it was stopped. An entry
# that says more would have the rest of the file read into memory.
_GAP_MOST_BYTES = 512 * MIB
_IDENTITY = re.compile(r"[0-9a-f]{32}")


class LoadedChunk(Struct, frozen=True):
    """A chunk of a file that is in the table."""

    start_byte: int
    end_byte: int
    row_count: int | None
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
    if gap_bytes > _GAP_MOST_BYTES:
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


class LedgerOf(Struct, frozen=True, kw_only=True):
    """What names the entries of one content in a ledger."""

    ledger: str
    """With its schema, quoted."""
    target: str
    """The table, with its schema, quoted."""
    identity: str
    file: str
    """For messages."""

    def refusal(self, why: str) -> UsageError:
        """Return the error that an entry cannot be true."""
        where = f"target = {literal(self.target)} AND identity = {literal(self.identity)}"
        forget = f"DELETE FROM {self.ledger} WHERE {where};"  # noqa: S608 - printed
        return UsageError(
            f"the ledger {self.ledger} does not fit '{self.file}': {why}",
            "An entry was changed or planted, and nothing was loaded. See who may write to the ledger. When no row of"
            f" the file is in the table: {forget}",
        )


def check_entries(chunks: Sequence[LoadedChunk], *, size_bytes: int | None, of: LedgerOf) -> None:
    """
    Check that entries of a ledger can be true together, by their numbers alone.

    Args:
        chunks: of one content, in order of their beginnings.
        size_bytes: of the content, unpacked; None if it is not known.
        of: names the entries.

    Raises:
        UsageError: one cannot be.
    """
    place = 0
    for chunk in chunks:
        where = f"bytes {chunk.start_byte:,} to {chunk.end_byte:,}"
        if not 0 <= chunk.start_byte < chunk.end_byte:
            raise of.refusal(f"{where} are no range")
        if size_bytes is not None and chunk.end_byte > size_bytes:
            raise of.refusal(f"{where} are not in a file of {size_bytes:,} bytes")
        if chunk.start_byte < place:
            raise of.refusal(f"{where} overlap those before, which end at {place:,}")
        if chunk.row_count is None:
            raise of.refusal(f"the entry of {where} has no count of its rows")
        if not 0 <= chunk.row_count <= chunk.end_byte - chunk.start_byte:
            raise of.refusal(f"{where} cannot have {chunk.row_count:,} rows")
        place = chunk.end_byte


def check_bytes(chunks: Sequence[LoadedChunk], pieces: Pieces, *, is_far: bool, of: LedgerOf) -> None:
    """
    Check that the bytes of a file are those that entries of a ledger say.

    Args:
        chunks: in order, checked by `check_entries`.
        pieces: of the file.
        is_far: whether reading costs: then only chunks beside what is not loaded are read, because they tell
            where rows are cut.
        of: names the entries.

    Raises:
        UsageError: other bytes are there, or a row goes on after them.
    """
    stream = StreamRanges(pieces)
    for number, chunk in enumerate(chunks):
        if is_far and _is_between(chunks, number):
            continue
        # A packed file has no other way than through what is before.
        if is_far and chunk.start_byte != stream.place:
            stream = StreamRanges(pieces, chunk.start_byte)
        if not _is_at(chunk, stream, chunk.start_byte):
            raise of.refusal(f"the bytes are others from {chunk.start_byte:,} to {chunk.end_byte:,}")


def _is_between(chunks: Sequence[LoadedChunk], number: int) -> bool:
    """Return whether what is before and after a chunk is loaded; what comes after the last may not be."""
    before = chunks[number - 1].end_byte if number else 0
    after = chunks[number + 1].start_byte if number + 1 < len(chunks) else None
    return before == chunks[number].start_byte and after == chunks[number].end_byte


def check_identity(identity: str, *, ledger: str, file: str) -> None:
    """
    Check that an identity is one that a load wrote.

    Raises:
        UsageError: it is none.
    """
    if not _IDENTITY.fullmatch(identity):
        raise UsageError(
            f"the ledger {ledger} has an entry of '{file}' that no load wrote: identity '{printable(identity)}'",
            "Nothing was loaded. See who may write to the ledger, and delete the entry.",
        )


def check_table(found: tuple[str, int] | None, *, file: str, table: str, oid: int, ledger: str) -> None:
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
            f"'{file}' was loaded into this table when its name was {printable(name)}",
            f"UPDATE {ledger} SET target = {literal(table)} WHERE target_oid = {oid}; and run the command again.",  # noqa: S608 - printed
        )
    raise UsageError(
        f"'{file}' was loaded into another table {name}, which was dropped, renamed or restored since",
        f"If its rows are not in this one: DELETE FROM {ledger} WHERE target_oid = {other_oid}; if they are:"  # noqa: S608 - printed
        f" UPDATE {ledger} SET target_oid = {oid}, stored_in = NULL WHERE target_oid = {other_oid};",
    )
