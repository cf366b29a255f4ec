"""Files and objects as streams: from any place, packed or not, damaged or not."""

import gzip
from pathlib import Path

import pytest

from plimsoll.errors import DataError, UsageError
from plimsoll.load.copy.inputs import LocalFile, stream_of

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
    """
    As `cat a.gz b.gz`, and with zeros at the end, as on tapes.
    """
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


def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path):
    with pytest.raises(UsageError, match="there is no file"):
        LocalFile(tmp_path / "absent.csv")
