"""What of a file is loaded already, found by its bytes, without a server."""

from collections.abc import Callable, Iterator

import pytest

from plimsoll.load.copy import ledger
from plimsoll.load.copy.ledger import LoadedChunk, StreamRanges, digests_of, gaps, places_of
from plimsoll.load.copy.rows import RowFormat, chunks_of

DATA = "".join(f"{n},row {n}\n" for n in range(200)).encode()


def stream(data: bytes, size: int = 7) -> Callable[[int], Iterator[bytes]]:
    return lambda start: (data[at : at + size] for at in range(start, len(data), size))


def loaded(data: bytes, *numbers: int) -> list[LoadedChunk]:
    """Some of the chunks of 200 bytes."""
    chunks = chunks_of([data], RowFormat(is_csv=True), chunk_bytes=200, row_bytes_max=100)
    return [
        LoadedChunk(c.start_byte, c.end_byte, 0, *digests_of(c.pieces))
        for n, c in enumerate(chunks)
        if n in numbers
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
    assert [(first.end_byte, third.start_byte), (third.end_byte, None)] == list(
        gaps([first, third])
    )


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
    first, third = chunks = loaded(DATA, 0, 2)
    changed = DATA[: first.end_byte] + DATA[third.start_byte :]

    assert [0, first.end_byte] == places_of(chunks, stream(changed))


def test_nothing_is_assumed_of_a_chunk_that_is_not_there():
    chunks = loaded(DATA, 0, 2)
    changed = DATA.replace(b"row 50\n", b"row of\n", 1)

    assert chunks[1].start_byte < changed.index(b"row of") < chunks[1].end_byte
    assert None is places_of(chunks, stream(changed))


def test_a_row_that_goes_on_into_a_chunk_is_another_row():
    """As many bytes as before are between the chunks, but the last of them ends no row."""
    first, third = chunks = loaded(DATA, 0, 2)
    changed = DATA[: third.start_byte - 1] + b"x" + DATA[third.start_byte :]

    assert first.end_byte < third.start_byte
    assert None is places_of(chunks, stream(changed))


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
