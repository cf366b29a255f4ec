"""The file of a sweep: never one that it could harm, never one that is not on the disk."""

import os
import re
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll.units import KIB, MIB
from plimsoll_lab.sweep import file as sweep_file
from plimsoll_lab.sweep.file import file_at


@pytest.fixture(autouse=True)
def small_files(monkeypatch):
    """A megabyte is enough here."""
    monkeypatch.setattr(sweep_file, "FILE_MIN_BYTES", MIB)


@pytest.fixture
def disk(tmp_path: Path, monkeypatch) -> Path:
    """A folder on a disk, even if the tests' own is in memory."""
    monkeypatch.setattr(sweep_file, "_IN_MEMORY", ())
    return tmp_path


def used(place: Path, *, allow_writes: bool = False, temporary_bytes: int = MIB):
    return file_at(place, allow_writes=allow_writes, temporary_bytes=temporary_bytes, show_progress=lambda _: None)


def test_the_largest_file_of_a_folder_is_read(disk: Path):
    """At any depth, and links are not followed."""
    (disk / "deep").mkdir()
    (disk / "small").write_bytes(os.urandom(MIB))
    (disk / "deep" / "large").write_bytes(os.urandom(2 * MIB))
    (disk / "link").symlink_to(disk / "deep" / "large")

    with used(disk) as found:
        assert str(disk / "deep" / "large") == found.path
        assert not found.is_own
        assert 2 * MIB == found.size_bytes


def test_a_folder_without_a_large_file_needs_permission(disk: Path):
    """Nothing is written without permission; the hint says what would be."""
    (disk / "little").write_bytes(b"x" * KIB)

    with pytest.raises(UsageError) as raised, used(disk):
        pass

    assert "has no readable file" in raised.value.message
    assert "--allow-writes" in raised.value.hint
    assert ["little"] == [p.name for p in disk.iterdir()]


def test_a_file_of_our_own_has_no_name_and_no_holes(disk: Path):
    """It can be opened through us, has no holes, and is gone afterwards."""
    with used(disk, allow_writes=True) as own:
        about = Path(own.path).stat()
        assert [] == [p.name for p in disk.iterdir()]
        assert own.is_own
        assert MIB == about.st_size
        assert about.st_blocks * 512 >= about.st_size
        assert b"\0" * 4096 not in Path(own.path).read_bytes()
        place = own.path

    assert not Path(place).exists()


def test_a_file_of_the_users_is_never_written(disk: Path):
    """The permission to write is for a file of our own in a folder."""
    file = disk / "table"
    file.write_bytes(os.urandom(MIB))

    with pytest.raises(UsageError, match="a file of yours"), used(file, allow_writes=True):
        pass
    with used(file) as found:
        assert str(file) == found.path


def test_holes_are_not_read_from_a_disk(disk: Path):
    """A sparse file is refused by name, and passed over in a folder."""
    file = disk / "sparse"
    with file.open("wb") as made:
        made.truncate(8 * MIB)

    with pytest.raises(UsageError, match="has holes"), used(file):
        pass
    with pytest.raises(UsageError, match="has no readable file"), used(disk):
        pass


def test_memory_is_not_a_disk(tmp_path: Path, monkeypatch):
    """A folder in memory is refused."""
    monkeypatch.setattr(sweep_file, "_file_system", lambda _: "tmpfs")

    with pytest.raises(UsageError, match="is in memory"), used(tmp_path):
        pass


@pytest.mark.parametrize(
    ("name", "says", "asked"),
    [
        # What is not there, and what is neither file nor folder.
        ("nowhere", "", {}),
        ("device", "", {}),
        # Half of the free space is left to others.
        ("", "too little", {"allow_writes": True, "temporary_bytes": 2**60}),
        # The least size is in the hint.
        ("little", "too little for reads.* 1 MiB", {}),
    ],
)
def test_what_cannot_be_read_or_made_is_refused(name: str, says: str, asked: dict, disk: Path):
    (disk / "little").write_bytes(b"x" * KIB)
    os.mkfifo(disk / "device")

    with pytest.raises(UsageError) as raised, used(disk / name, **asked):
        pass

    assert re.search(says, f"{raised.value.message} {raised.value.hint}")


def test_this_machine_knows_its_file_systems():
    """/proc is one."""
    assert "proc" == sweep_file._file_system(Path("/proc/self"))
