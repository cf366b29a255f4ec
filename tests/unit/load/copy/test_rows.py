"""Ends of rows: what cannot be cut is one sentence."""

import pytest

from plimsoll.errors import DataError
from plimsoll.load.copy.rows import RowFormat, chunks_of

CSV, TEXT = RowFormat(is_csv=True), RowFormat(is_csv=False)


def texts(data: bytes, rows: RowFormat = CSV, **options) -> list[bytes]:
    given = {"chunk_bytes": 4, "row_bytes_max": 100, **options}
    return [b"".join(one.pieces) for one in chunks_of([data], rows, **given)]


def test_a_chunk_ends_at_the_first_end_of_a_row_after_its_least_size():
    assert [b"a\nb\n", b"c\nd\n", b"e"] == texts(b"a\nb\nc\nd\ne")


def test_a_newline_in_quotes_ends_no_row():
    assert [b'"a\nb\nc\nd"\n', b"e\n"] == texts(b'"a\nb\nc\nd"\ne\n')


def test_another_quote_character_counts_instead():
    found = texts(b"'a\nb\nc'\n\"\n", RowFormat(is_csv=True, quote=b"'"))

    assert [b"'a\nb\nc'\n", b'"\n'] == found


def test_nothing_gives_nothing():
    assert [] == texts(b"")


def test_a_quote_that_is_never_closed_is_found():
    with pytest.raises(DataError, match="never closed"):
        texts(b'a,b\n"c\nd\n')


def test_a_row_without_an_end_is_found():
    with pytest.raises(DataError, match="no row ends within 100 B"):
        texts(b"x" * 200, TEXT)


def test_so_many_backslashes_that_they_are_not_counted_end_no_row():
    """A later newline ends the chunk: that is always right."""
    data = b"a" + b"\\" * 70 + b"\nb\nc\n"

    assert [data[:-2], b"c\n"] == texts(data, TEXT)


@pytest.mark.parametrize(
    ("data", "rows", "place"),
    [
        (b"a\n\\.\nb\n", TEXT, 5),
        (b"a\n\\.\r\nb\n", TEXT, 6),
        (b"\\.\nb\n", CSV, 3),
        # It ends a chunk, and rows come in the next.
        (b"aa\n\\.\nb\n", TEXT, 6),
    ],
)
def test_rows_after_an_end_marker_are_found(data: bytes, rows: RowFormat, place: int):
    with pytest.raises(DataError, match=f"ends at byte {place}$"):
        texts(data, rows)


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a\n\\.\n", TEXT),
        (b"a\n\\.", TEXT),
        (b"a\\.\nb\n", TEXT),
        (b"\\.a\nb\n", TEXT),
        # A value that begins with a newline.
        (b"a\\\n\\.\nb\n", TEXT),
        (b'"a\n\\.\nb"\nc\n', CSV),
        (b'"\\."\nb\n', CSV),
    ],
)
def test_what_only_looks_like_an_end_marker_is_no_end(data: bytes, rows: RowFormat):
    assert data == b"".join(texts(data, rows))
    whole = chunks_of(
        [data[n : n + 1] for n in range(len(data))], rows, chunk_bytes=99, row_bytes_max=9
    )
    assert [data] == [b"".join(one.pieces) for one in whole]
