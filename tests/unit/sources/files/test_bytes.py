import gzip
import os
import zlib

import pytest

from plimsoll.errors import DataError
from plimsoll.sources.files import bounds
from plimsoll.sources.files.bytes import load
from plimsoll.units import MIB

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


def test_a_file_that_unpacks_without_end_is_refused(tmp_path, monkeypatch):
    """A hundred kilobytes may hold a hundred megabytes of zeros; memory stays bounded."""
    monkeypatch.setattr(bounds, "MAX_BYTES", 1_000_000)
    (tmp_path / "f").write_bytes(gzip.compress(bytes(5_000_000)))
    with pytest.raises(DataError, match="contains more than"):
        load(tmp_path / "f")
    (tmp_path / "g").write_bytes(bytes(1_000_001))
    with pytest.raises(DataError, match="contains more than"):
        load(tmp_path / "g")


class CountingMember:
    """A member of a gzip file that counts the bytes which are copied for it."""

    copied_bytes = 0

    def __init__(self, **options: int) -> None:
        self._member = zlib.decompressobj(**options)

    def decompress(self, data: bytes, most_bytes: int) -> bytes:
        found = self._member.decompress(data, most_bytes)
        CountingMember.copied_bytes += len(self._member.unused_data)
        CountingMember.copied_bytes += len(self._member.unconsumed_tail) + len(found)
        return found

    def __getattr__(self, name: str) -> object:
        return getattr(self._member, name)


@pytest.mark.attack("A gzip file of 4 MB has 200,000 members", "each byte is copied a few times, not 200,000 times")
@pytest.mark.parametrize(
    "parts",
    [[b"["] * 20_000, [b"[" * 5_000] * 2_000, [b"["] * 5_000 + [os.urandom(MIB)] * 3, [b""] * 9],
    ids=["small", "larger", "mixed", "empty"],
)
def test_the_work_grows_with_the_bytes_and_not_with_the_members(tmp_path, monkeypatch, parts):
    """What follows a member is not copied once for each member."""
    monkeypatch.setattr("plimsoll.sources.files.bytes._new_member", CountingMember)
    monkeypatch.setattr(CountingMember, "copied_bytes", 0)
    packed = b"".join(gzip.compress(part, 1) for part in parts)
    (tmp_path / "f").write_bytes(packed)

    assert b"".join(parts) == load(tmp_path / "f")
    assert CountingMember.copied_bytes < 16 * len(packed) + len(b"".join(parts))


@pytest.mark.parametrize("rest", [b"\x00", b"rest", b"\x1f\x8b", b"\x1f\x8bnothing"])
def test_what_follows_the_last_member_is_as_before(tmp_path, rest):
    """Padding is ignored; what begins like a member and is none is a damaged file."""
    (tmp_path / "f").write_bytes(gzip.compress(b"one\n") * 2 + rest)
    if rest.startswith(b"\x1f\x8b"):
        with pytest.raises(DataError, match="not a whole gzip file"):
            load(tmp_path / "f")
    else:
        assert b"one\none\n" == load(tmp_path / "f")
