"""A sample has whole rows, from the whole length of all files, in order."""

import csv
import gzip
import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.load.copy.inputs import LocalFile
from plimsoll.load.copy.table import CopyOptions, RefusedAt
from plimsoll.load.rehearse.sample import SAMPLE_LEAST_BYTES, FileSample, RowOrigin, take_sample

CSV = CopyOptions(is_csv=True)
NOTE = '"two\nlines, ""quoted"""'


def text(start: int, end: int) -> str:
    return "".join(f"{n},{NOTE if n % 7 == 0 else 'plain'},{'x' * 200}\n" for n in range(start, end))


@pytest.fixture
def taken(tmp_path: Path) -> Iterator[Callable[..., FileSample]]:
    """Return a function that takes a sample of files with these contents."""
    with tempfile.TemporaryFile() as file:

        def take(files: list[bytes], options: CopyOptions = CSV, ratio: float = 0.01) -> FileSample:
            inputs = []
            for number, data in enumerate(files):
                path = tmp_path / f"{number}.csv"
                path.write_bytes(data)
                inputs.append(LocalFile(path))
            return take_sample(inputs, options, ratio=ratio, file=file)

        yield take


def text_of(found: FileSample) -> bytes:
    found.file.seek(0)
    return found.file.read()


def rows_of(data: bytes) -> list[int]:
    """Numbers of the rows; each row must be whole."""
    found = list(csv.reader(io.StringIO(data.decode())))
    assert all(3 == len(row) and 200 == len(row[2]) for row in found)
    return [int(row[0]) for row in found]


@pytest.mark.parametrize("is_packed", [False, True])
def test_rows_come_from_everywhere_in_order(taken, is_packed):
    halves = [text(0, 60_000).encode(), text(60_000, 120_000).encode()]
    found = taken([gzip.compress(h, 1) if is_packed else h for h in halves], ratio=0.1)
    numbers = rows_of(text_of(found))

    assert sum(map(len, halves)) == found.input_bytes
    assert abs(found.sample_bytes / found.input_bytes - 0.1) < 0.03 or is_packed
    assert numbers == sorted(set(numbers))
    for tenth in range(10):
        part = [n for n in numbers if tenth * 12_000 <= n < (tenth + 1) * 12_000]
        assert 0.06 < len(part) / len(numbers) < 0.14


def test_a_small_file_is_taken_whole_and_headers_are_no_rows(taken):
    options = CopyOptions(is_csv=True, has_header=True)
    files = [f"id,a,b\n{text(0, 50)}".encode(), f"id,a,b\n{text(50, 90)}".encode()]
    found = taken(files, options)

    assert list(range(90)) == rows_of(text_of(found))
    assert b"id,a,b\n" == found.header
    assert found.input_bytes == found.sample_bytes < SAMPLE_LEAST_BYTES


def test_slices_are_all_of_it_each_once(taken):
    options = CopyOptions(is_csv=True, has_header=True)
    found = taken([f"id,a,b\n{text(0, 30_000)}".encode()], options, ratio=0.5)
    slices = [one for part in range(3) for one in found.slices(4, of=3, number=part)]
    texts = [b"".join(one.pieces(0)) for one in slices]

    assert 12 == len({one.identity for one in slices})
    assert all(data.startswith(found.header) for data in texts)
    assert text_of(found) == b"".join(data[len(found.header) :] for data in texts)
    assert [len(data) for data in texts] == [one.size_bytes for one in slices]
    assert texts[1][5:] == b"".join(slices[1].pieces(5))


def test_no_row_is_one_sentence(taken):
    with pytest.raises(UsageError, match="have no row"):
        taken([b""])


LINE = {
    "csv": lambda seen: seen.count("\n"),
    # COPY counts the carriage returns of such a file, within quotes too.
    "csv with carriage returns": lambda seen: seen.count("\r"),
    # In text format a newline after a backslash is a part of its value.
    "text": lambda seen: seen.count("\n") - seen.count("\\\n"),
}
"""The line that the server says of a row, by all that it read to its end."""


def rows_in(form: str) -> list[str]:
    if form == "text":
        values = ("two\\\nlines", *["plain"] * 6)
        return [f"{n}\t{values[n % 7]}\n" for n in range(9_000)]
    end = "\r\n" if "returns" in form else "\n"
    return [f"{n},{NOTE if n % 7 == 0 else 'plain'}{end}" for n in range(9_000)]


@pytest.mark.parametrize("form", LINE)
@pytest.mark.parametrize("has_header", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_refused_row_has_its_place_in_the_files(taken, tmp_path, form, has_header, is_packed):
    """Whatever the part of the sample in which the server counts lines: of the first and the second file."""
    rows = rows_in(form)
    header = f"id,note{rows[1][rows[1].index('plain') + 5 :]}" if has_header else ""
    texts = [header + "".join(rows[:5_000]), header + "".join(rows[5_000:])]
    files = [gzip.compress(one.encode(), 1) if is_packed else one.encode() for one in texts]
    options = CopyOptions(is_csv=form != "text", has_header=has_header)
    found = taken(files, options, ratio=1.0)
    for one in [one for part in range(3) for one in found.slices(4, of=3, number=part)]:
        text = b"".join(one.pieces(0)).decode()
        for row in rows[1::611]:
            if f"\n{row}" not in text:
                continue
            end = text.index(f"\n{row}") + 1 + len(row)
            at = RefusedAt(identity=one.identity, start_byte=0, line=LINE[form](text[:end]), column="")
            number = next(n for n, whole in enumerate(texts) if f"\n{row}" in whole)
            line = texts[number][: texts[number].index(f"\n{row}") + 1].count("\n") + 1
            name = str(tmp_path / f"{number}.csv")

            assert RowOrigin(name=name, line=line) == found.origin_of(one, at, options.row_format)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_last_row_of_a_file_stays_a_row_of_its_own(taken, end):
    """Without a newline at its end it would be one with the first row of the next file."""
    files = [f"1,a,{'x' * 200}{end}2,b,{'x' * 200}".encode(), f"3,c,{'x' * 200}{end}".encode()]
    found = taken(files)

    assert [1, 2, 3] == rows_of(text_of(found))
    assert 3 == text_of(found).count(end.encode())
