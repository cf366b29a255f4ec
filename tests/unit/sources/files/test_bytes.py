import gzip

import pytest

from plimsoll.errors import DataError
from plimsoll.sources.files import bounds
from plimsoll.sources.files.bytes import load

TEXT = '{"Label": "ReadIOPS", "Datapoints": [µ]}'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_text_comes_out_as_utf8_without_a_mark(tmp_path, encoding, packed):
    """PowerShell writes UTF-16 and Excel a byte order mark."""
    data = TEXT.encode(encoding)
    (tmp_path / "f").write_bytes(gzip.compress(data) if packed else data)

    assert load(tmp_path / "f") == TEXT.encode()


def test_every_member_of_a_packed_file_is_read(tmp_path):
    (tmp_path / "f").write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\n"))

    assert load(tmp_path / "f") == b"one\ntwo\n"


@pytest.mark.parametrize("cut", [3, 15, -4])
def test_a_packed_file_that_is_cut_off_is_one_sentence(tmp_path, cut):
    (tmp_path / "f").write_bytes(gzip.compress(TEXT.encode() * 50)[:cut])
    with pytest.raises(DataError, match="not a whole gzip file"):
        load(tmp_path / "f")


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    """A hundred kilobytes may hold a hundred megabytes of zeros; memory stays bounded."""
    monkeypatch.setattr(bounds, "MAX_BYTES", 1_000_000)
    (tmp_path / "f").write_bytes(gzip.compress(bytes(5_000_000)))
    with pytest.raises(DataError, match="contains more than"):
        load(tmp_path / "f")
    (tmp_path / "g").write_bytes(bytes(1_000_001))
    with pytest.raises(DataError, match="contains more than"):
        load(tmp_path / "g")


def test_what_only_begins_like_utf16_is_one_sentence(tmp_path):
    (tmp_path / "f").write_bytes(b"\xff\xfea")
    with pytest.raises(DataError, match="UTF-16"):
        load(tmp_path / "f")
