"""Chunks of a stream are whole rows, all of them, however the stream comes."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.load.copy.rows import RowFormat, chunks_of

CSV, TEXT = RowFormat(is_csv=True), RowFormat(is_csv=False)
values = st.text(st.sampled_from('ab"\n,\r\\'), max_size=12)
tables = st.lists(st.lists(values, min_size=2, max_size=3), max_size=30)


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    """The data in pieces of these sizes, again and again."""
    pieces, at, turn = [], 0, 0
    while at < len(data):
        size = sizes[turn % len(sizes)]
        pieces.append(data[at : at + size])
        at, turn = at + size, turn + 1
    return pieces


def chunked(data: bytes, rows: RowFormat, sizes: list[int], chunk_bytes: int) -> list[bytes]:
    found, at = [], 0
    for chunk in chunks_of(cut(data, sizes), rows, chunk_bytes=chunk_bytes, row_bytes_max=10_000):
        assert at == chunk.start_byte
        at = chunk.end_byte
        found.append(b"".join(chunk.pieces))
    return found


@given(table=tables, sizes=st.lists(st.integers(1, 40), min_size=1), chunk=st.integers(1, 60))
def test_csv_is_cut_between_rows(table, sizes, chunk):
    """Quoted newlines, doubled quotes and commas stay within their rows; nothing is lost or added."""
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    data = out.getvalue().encode()
    found = chunked(data, CSV, sizes, chunk)

    assert data == b"".join(found)
    rows = [row for part in found for row in csv.reader(io.StringIO(part.decode(), newline=""), strict=True)]
    assert table == rows
    assert all(len(part) >= chunk for part in found[:-1])


@given(
    rows=st.lists(st.binary(max_size=15).map(lambda b: b.replace(b"\n", b"\\\n")), max_size=30),
    sizes=st.lists(st.integers(1, 40), min_size=1),
    chunk=st.integers(1, 60),
)
def test_text_is_not_cut_after_a_backslash(rows, sizes, chunk):
    """In PostgreSQL's text format a newline after an odd number of backslashes is a part of a value."""
    data = b"".join(row + b"\n" for row in rows)
    found = chunked(data, TEXT, sizes, chunk)

    assert data == b"".join(found)
    for part in found[:-1]:
        before = part[:-1]
        assert part.endswith(b"\n")
        assert 0 == (len(before) - len(before.rstrip(b"\\"))) % 2


@given(
    data=st.binary(max_size=400),
    sizes=st.lists(st.integers(1, 40), min_size=1),
    other=st.lists(st.integers(1, 40), min_size=1),
    chunk=st.integers(1, 60),
)
def test_where_a_chunk_ends_depends_on_the_bytes_alone(data, sizes, other, chunk):
    """However the pieces come: a later run cuts at the same places."""
    assert chunked(data, TEXT, sizes, chunk) == chunked(data, TEXT, other, chunk)


@given(table=tables, sizes=st.lists(st.integers(1, 40), min_size=1), chunk=st.integers(1, 60))
def test_a_run_that_begins_after_a_chunk_cuts_as_the_first(table, sizes, chunk):
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="\r\n").writerows(table)
    data = out.getvalue().encode()
    whole = chunked(data, CSV, sizes, chunk)
    for index in range(1, len(whole)):
        start = sum(map(len, whole[:index]))
        rest = chunks_of(cut(data[start:], sizes), CSV, chunk_bytes=chunk, row_bytes_max=10_000, start_byte=start)
        assert whole[index:] == [b"".join(one.pieces) for one in rest]
