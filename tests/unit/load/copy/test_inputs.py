"""Files and objects as streams: from any place, packed or not, damaged or not."""

import gzip
import os
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from plimsoll.errors import AccessDenied, DataError, SourceError, UsageError
from plimsoll.load.copy.inputs import LocalFile, S3Object, stream_of

DATA = b"".join(b"%d,row\n" % n for n in range(100_000))


def file(tmp_path: Path, data: bytes, name: str = "a.csv") -> LocalFile:
    path = tmp_path / name
    path.write_bytes(data)
    return LocalFile(path)


@pytest.mark.parametrize("start", [0, 1, 300_000, len(DATA), len(DATA) + 5])
@pytest.mark.parametrize("packed", [False, True])
def test_a_stream_begins_anywhere(tmp_path: Path, start: int, packed: bool):
    data = gzip.compress(DATA, 1) if packed else DATA
    stream = stream_of(file(tmp_path, data))

    assert DATA[start:] == b"".join(stream.pieces(start))
    assert stream.size_bytes == (None if packed else len(DATA))


def test_a_packed_file_may_have_several_parts(tmp_path: Path):
    """As `cat a.gz b.gz`, and with zeros at the end, as on tapes."""
    data = gzip.compress(DATA) + gzip.compress(b"more\n") + b"\0" * 512

    assert DATA + b"more\n" == b"".join(stream_of(file(tmp_path, data)).pieces(0))


@pytest.mark.parametrize("damage", [lambda d: d[:-100], lambda d: d[:5000] + b"xxxx" + d[5004:]])
def test_a_damaged_packed_file_is_one_sentence(tmp_path: Path, damage):
    with pytest.raises(DataError, match=r"is cut off|is not a whole gzip file"):
        b"".join(stream_of(file(tmp_path, damage(gzip.compress(DATA)))).pieces(0))


def test_content_has_an_identity_and_not_the_name(tmp_path: Path):
    first = file(tmp_path, DATA)

    assert first.identity == file(tmp_path, DATA, "b.csv").identity
    assert first.identity != file(tmp_path, DATA + b"x", "c.csv").identity
    assert first.identity != file(tmp_path, b"9" + DATA[1:], "d.csv").identity
    # A corrected row far from both ends.
    long = b"1,one\n" * 100_000
    mended = long[:300_000] + b"2" + long[300_001:]
    assert file(tmp_path, long, "e.csv").identity != file(tmp_path, mended, "f.csv").identity


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path):
    """Rows that were added, other rows of the same size, or another file of the name."""

    def add(path: Path) -> None:
        with path.open("ab") as more:
            more.write(b"1,row\n")

    def rewrite(path: Path) -> None:
        was = path.stat()
        path.write_bytes(DATA[::-1])
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns + 1))

    def exchange(path: Path) -> None:
        (path.parent / "new").write_bytes(DATA)
        (path.parent / "new").replace(path)

    for number, change in enumerate((add, rewrite, exchange)):
        one = file(tmp_path, DATA, f"{number}.csv")
        change(one.path)
        with pytest.raises(SourceError, match="was changed while it was read"):
            list(one.pieces(0))


class Body:
    """The body of an answer; it may break off."""

    def __init__(self, data: bytes, breaks_after: int | None) -> None:
        self.data, self.breaks_after = data, breaks_after

    def iter_chunks(self, size: int):
        if self.breaks_after is not None:
            yield self.data[: self.breaks_after]
            raise ConnectionResetError("gone")
        for start in range(0, len(self.data), size):
            yield self.data[start : start + size]

    def close(self) -> None:
        """Nothing is held."""


class Bucket:
    """A client of S3 with one object, whose answers break off at first."""

    def __init__(self, data: bytes, *, breaks: int = 0, status: int | None = None) -> None:
        self.data, self.breaks, self.status = data, breaks, status
        self.ranges: list[str] = []

    def head_object(self, **_: str) -> dict:
        self._refuse()
        return {"ContentLength": len(self.data), "ETag": '"tag"'}

    def get_object(self, *, Range: str, IfMatch: str, **_: str) -> dict:  # noqa: N803
        assert '"tag"' == IfMatch
        self._refuse()
        self.ranges.append(Range)
        first, last = map(int, Range.removeprefix("bytes=").split("-"))
        is_look = last == 1
        breaks_after = None
        if not is_look and self.breaks > 0:
            self.breaks -= 1
            breaks_after = 10
        return {"Body": Body(self.data[first : last + 1], breaks_after)}

    def _refuse(self) -> None:
        if self.status is not None:
            answer = {"Error": {}, "ResponseMetadata": {"HTTPStatusCode": self.status}}
            raise ClientError(answer, "GetObject")


def test_an_object_is_read_on_where_a_connection_was_lost():
    """Three interruptions, each after ten bytes: no byte is lost or read twice."""
    bucket = Bucket(DATA, breaks=3)

    assert DATA == b"".join(S3Object("s3://b/k", bucket).pieces(0))
    assert [f"bytes={n}-{len(DATA) - 1}" for n in (0, 10, 20, 30)] == bucket.ranges[1:]


def test_an_object_that_gives_nothing_any_more_fails():
    bucket = Bucket(DATA)
    one = S3Object("s3://b/k", bucket)

    def gone(**_: str) -> dict:
        raise ConnectionResetError("gone")

    bucket.get_object = gone
    with pytest.raises(SourceError, match="reading 's3://b/k' stopped at byte 7"):
        list(one.pieces(7))


@pytest.mark.parametrize(
    ("status", "error", "cause"),
    [
        (404, UsageError, "there is no object 's3://b/k'"),
        (403, AccessDenied, "access denied"),
        (412, SourceError, "was replaced while it was read"),
        (500, SourceError, "S3 answered 500"),
    ],
)
def test_a_refusal_of_s3_is_one_sentence(status, error, cause):
    with pytest.raises(error, match=cause):
        S3Object("s3://b/k", Bucket(DATA, status=status))


def test_an_empty_object_has_no_bytes():
    assert b"" == b"".join(S3Object("s3://b/k", Bucket(b"")).pieces(0))
