"""Ends of rows: what cannot be cut is one sentence."""

import pytest

from plimsoll.errors import DataError
from plimsoll.load.copy.rows import RowFormat, chunks_of

CSV, TEXT = RowFormat(is_csv=True), RowFormat(is_csv=False)
SINGLE = RowFormat(is_csv=True, quote=b"'")


def texts(data: bytes, rows: RowFormat = CSV, **options) -> list[bytes]:
    given = {"chunk_bytes": 4, "row_bytes_max": 100, **options}
    return [b"".join(one.pieces) for one in chunks_of([data], rows, **given)]


MANY = b"a" + b"\\" * 70 + b"\nb\n"


@pytest.mark.parametrize(
    ("data", "rows", "chunks"),
    [
        (b"a\nb\nc\nd\ne", CSV, [b"a\nb\n", b"c\nd\n", b"e"]),
        # A newline in quotes ends no row; another quote character counts instead.
        (b'"a\nb\nc\nd"\ne\n', CSV, [b'"a\nb\nc\nd"\n', b"e\n"]),
        (b"'a\nb\nc'\n\"\n", SINGLE, [b"'a\nb\nc'\n", b'"\n']),
        (b"", CSV, []),
        # So many backslashes that they are not counted: a later newline is always right.
        (MANY + b"c\n", TEXT, [MANY, b"c\n"]),
    ],
)
def test_a_chunk_ends_at_the_first_end_of_a_row_after_its_least_size(data, rows, chunks):
    assert chunks == texts(data, rows)


@pytest.mark.parametrize(
    ("data", "rows", "cause"),
    [
        (b'a,b\n"c\nd\n', CSV, "never closed"),
        (b"x" * 200, TEXT, "no row ends within 100 B"),
        # Rows after an end marker.
        (b"a\n\\.\nb\n", TEXT, "ends at byte 5$"),
        (b"a\n\\.\r\nb\n", TEXT, "ends at byte 6$"),
        (b"\\.\nb\n", CSV, "ends at byte 3$"),
        # It ends a chunk, and rows come in the next.
        (b"aa\n\\.\nb\n", TEXT, "ends at byte 6$"),
    ],
)
def test_a_row_without_an_end_is_found(data, rows, cause):
    with pytest.raises(DataError, match=cause):
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
    whole = chunks_of([data[n : n + 1] for n in range(len(data))], rows, chunk_bytes=99, row_bytes_max=9)
    assert [data] == [b"".join(one.pieces) for one in whole]
