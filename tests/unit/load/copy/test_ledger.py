"""What of a file is loaded already, found by its bytes, without a server."""

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from plimsoll.errors import UsageError
from plimsoll.load.copy import ledger
from plimsoll.load.copy.ledger import (
    LedgerOf,
    LoadedChunk,
    StreamRanges,
    check_bytes,
    check_entries,
    check_identity,
    digests_of,
    gaps,
    places_of,
)
from plimsoll.load.copy.rows import RowFormat, chunks_of

DATA = "".join(f"{n},row {n}\n" for n in range(200)).encode()


def stream(data: bytes, size: int = 7) -> Callable[[int], Iterator[bytes]]:
    return lambda start: (data[at : at + size] for at in range(start, len(data), size))


def loaded(data: bytes, *numbers: int) -> list[LoadedChunk]:
    """Some of the chunks of 200 bytes."""
    chunks = chunks_of([data], RowFormat(is_csv=True), chunk_bytes=200, row_bytes_max=100)
    return [
        LoadedChunk(c.start_byte, c.end_byte, 0, *digests_of(c.pieces)) for n, c in enumerate(chunks) if n in numbers
    ]


def test_ranges_of_a_stream_are_read_one_after_the_other():
    one = StreamRanges(stream(DATA, 11), 5)

    assert DATA[5:8] == b"".join(one.range(5, 8))
    assert DATA[100:203] == b"".join(one.range(100, 203))
    assert b"" == b"".join(one.range(203, 203))
    assert DATA[203:] == b"".join(one.range(203, None))


def test_what_is_between_chunks_is_a_gap():
    first, third = loaded(DATA, 0, 2)

    assert [(0, None)] == list(gaps([]))
    assert [(first.end_byte, third.start_byte), (third.end_byte, None)] == list(gaps([first, third]))


@pytest.mark.parametrize("numbers", [(0, 1, 2), (0, 2, 5), (3,), (1, 2, 6)])
@pytest.mark.parametrize("row", [b"", b"-", b"a row that is longer than the others\n"])
def test_chunks_are_found_behind_what_was_corrected(numbers: tuple[int, ...], row: bytes):
    """Rows in each gap are longer or shorter now, by different lengths."""
    chunks = loaded(DATA, *numbers)
    changed = bytearray()
    wanted = []
    place = 0
    for number, chunk in enumerate(chunks):
        between = DATA[place : chunk.start_byte]
        changed += between and b"new " * number + row + between
        wanted.append(len(changed))
        changed += DATA[chunk.start_byte : chunk.end_byte]
        place = chunk.end_byte
    changed += b"other rows\n"

    assert wanted == places_of(chunks, stream(bytes(changed)))


def test_rows_before_a_chunk_may_have_been_removed():
    """
    Nothing is assumed of a chunk that is not there. Where as many bytes as before are between the
    chunks, but the last of them ends no row, the next row is another one.
    """
    first, third = chunks = loaded(DATA, 0, 2)
    changed = DATA[: first.end_byte] + DATA[third.start_byte :]
    joined = DATA[: third.start_byte - 1] + b"x" + DATA[third.start_byte :]
    chunks = loaded(DATA, 0, 2)
    other = DATA.replace(b"row 50\n", b"row of\n", 1)

    assert [0, first.end_byte] == places_of(chunks, stream(changed))
    assert first.end_byte < third.start_byte
    assert None is places_of(chunks, stream(joined))
    assert chunks[1].start_byte < other.index(b"row of") < chunks[1].end_byte
    assert None is places_of(chunks, stream(other))


def test_a_last_row_that_goes_on_now_is_another_row():
    chunks = loaded(b"1,a\n2,b", 0)

    assert [0] == places_of(chunks, stream(b"1,a\n2,b"))
    assert None is places_of(chunks, stream(b"1,a\n2,bc\n"))


def test_a_chunk_is_looked_for_nearby_only(monkeypatch):
    chunks = loaded(DATA, 2)
    moved = b"x\n" * 50 + DATA
    monkeypatch.setattr(ledger, "_LONGER_MOST_BYTES", 100)
    assert [chunks[0].start_byte + 100] == places_of(chunks, stream(moved))
    monkeypatch.setattr(ledger, "_LONGER_MOST_BYTES", 98)
    assert None is places_of(chunks, stream(moved))


OF = LedgerOf(ledger="s.l", target="s.t", identity="i", file="a.csv")


def entry(start: int, end: int, rows: int | None = 1) -> LoadedChunk:
    return LoadedChunk(start, end, rows, "d", "h")


@pytest.mark.parametrize(
    ("chunks", "why"),
    [
        ([entry(-5, 9)], "bytes -5 to 9 are no range"),
        ([entry(5, 5)], "bytes 5 to 5 are no range"),
        ([entry(9, 5)], "bytes 9 to 5 are no range"),
        ([entry(0, 101)], "bytes 0 to 101 are not in a file of 100 bytes"),
        ([entry(0, 50), entry(49, 60)], "bytes 49 to 60 overlap those before, which end at 50"),
        ([entry(0, 50, 51)], "bytes 0 to 50 cannot have 51 rows"),
        ([entry(0, 50, -1)], "bytes 0 to 50 cannot have -1 rows"),
        ([entry(0, 50, None)], "the entry of bytes 0 to 50 has no count of its rows"),
    ],
)
def test_entries_that_cannot_be_true_are_refused(chunks: list[LoadedChunk], why: str):
    with pytest.raises(UsageError, match=why) as caught:
        check_entries(chunks, size_bytes=100, of=OF)

    assert "DELETE FROM s.l WHERE target = 's.t' AND identity = 'i';" in caught.value.hint


def test_entries_that_can_be_true_are_taken():
    """Of a packed file, how long it is is not known yet."""
    check_entries([entry(0, 50), entry(50, 100, 50), entry(200, 300)], size_bytes=None, of=OF)
    check_entries([entry(0, 100, 0)], size_bytes=100, of=OF)


def reads(numbers: tuple[int, ...], *, is_far: bool) -> list[int]:
    """Chunks that are read when the bytes of the given ones are checked, found by exchanging the digest of each."""
    chunks = loaded(DATA, *numbers)
    found = []
    for number, chunk in enumerate(chunks):
        wrong = [*chunks[:number], replace(chunk, digest="x"), *chunks[number + 1 :]]
        try:
            check_bytes(wrong, stream(DATA), is_far=is_far, of=OF)
        except UsageError:
            found.append(numbers[number])
    return found


def test_the_bytes_of_every_entry_are_compared():
    """Far away only what is beside missing rows is read; what comes after the last entry may be missing."""
    assert [0, 1, 2, 4] == reads((0, 1, 2, 4), is_far=False)
    assert [2, 4, 6] == reads((0, 1, 2, 4, 5, 6), is_far=True)
    assert [1, 3] == reads((1, 2, 3), is_far=True)


def test_an_entry_that_ends_within_a_row_is_refused():
    """Although its digest is that of the bytes."""
    digest, head = digests_of([DATA[:10]])
    with pytest.raises(UsageError, match="the bytes are others from 0 to 10"):
        check_bytes([LoadedChunk(0, 10, 1, digest, head)], stream(DATA), is_far=False, of=OF)


def test_a_gap_that_no_load_leaves_is_not_read():
    """Else the rest of the file would be in memory."""
    (chunk,) = loaded(DATA, 2)
    far = replace(chunk, start_byte=2**50, end_byte=2**50 + 200)

    assert None is places_of([far], stream(DATA))


def test_an_identity_that_no_load_wrote_is_refused():
    with pytest.raises(UsageError, match=r"no load wrote: identity '\?x'"):
        check_identity("\x1bx", ledger="s.l", file="a.csv")
    check_identity("0f" * 16, ledger="s.l", file="a.csv")
