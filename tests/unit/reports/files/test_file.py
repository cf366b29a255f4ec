"""Writing files: whole or not at all."""

import os
import stat

import pytest

from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.files import file, place
from plimsoll.reports.files.file import write_aside
from plimsoll.reports.files.snapshot import write_snapshot

SNAPSHOT = Snapshot(instance=Instance(identifier="orders"), series={}, source="a test")


def test_a_file_is_written_and_nothing_else(tmp_path):
    """The content is there, and no other file is left in the folder."""
    write_aside(tmp_path / "report.html", b"<p>")

    assert b"<p>" == (tmp_path / "report.html").read_bytes()
    assert ["report.html"] == [p.name for p in tmp_path.iterdir()]


def test_a_missing_folder_is_one_clear_sentence(tmp_path):
    """The message names the folder, the hint says what to do."""
    with pytest.raises(UsageError) as caught:
        write_aside(tmp_path / "none" / "report.html", b"")

    assert f"there is no folder '{tmp_path / 'none'}'" in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint.endswith(".")


def test_a_folder_is_not_a_file(tmp_path):
    """A folder instead of a file is refused."""
    with pytest.raises(UsageError, match="it is a folder"):
        write_aside(tmp_path, b"")


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    """When the disk is full while writing, the old report is still whole and no other file is left."""
    path = tmp_path / "report.json"
    path.write_bytes(b"old")

    def full(_handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file.os, "fsync", full)
    with pytest.raises(UsageError, match="no space left on device"):
        write_aside(path, b"new")

    assert b"old" == path.read_bytes()
    assert ["report.json"] == [p.name for p in tmp_path.iterdir()]


def test_the_rights_of_the_old_file_stay(tmp_path):
    """A report that was private stays private; a new one gets the usual rights."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"")
    old.chmod(0o600)
    write_aside(old, b"x")
    write_aside(new, b"x")
    mask = os.umask(0)
    os.umask(mask)

    assert 0o600 == stat.S_IMODE(old.stat().st_mode)
    assert 0o666 & ~mask == stat.S_IMODE(new.stat().st_mode)


def test_a_link_is_followed(tmp_path):
    """Writing to a link replaces the file it names and keeps the link."""
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_aside(tmp_path / "link", b"new")

    assert (tmp_path / "link").is_symlink()
    assert b"new" == (tmp_path / "real").read_bytes()


def test_links_that_lead_nowhere_are_refused(tmp_path):
    """A link that names itself, and a pair that name each other, are no place for a file."""
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    for name in ("self", "one"):
        with pytest.raises(UsageError, match="lead back to themselves"):
            write_aside(tmp_path / name, b"x")

    assert (tmp_path / "self").is_symlink()
    assert {"self", "one", "other"} == {p.name for p in tmp_path.iterdir()}


def test_a_name_that_no_disk_takes_is_one_clear_sentence(tmp_path):
    """A name of 300 letters is refused by the file system, wherever it is asked."""
    with pytest.raises(UsageError, match="file name too long"):
        write_aside(tmp_path / ("n" * 300), b"")


def test_an_interrupted_writing_leaves_no_other_file(tmp_path, monkeypatch):
    """Ctrl-C while the disk is busy leaves the old file whole and alone."""
    path = tmp_path / "report.html"
    path.write_bytes(b"old")

    def interrupted(_handle):
        raise KeyboardInterrupt

    monkeypatch.setattr(file.os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_aside(path, b"new")

    assert b"old" == path.read_bytes()
    assert ["report.html"] == [p.name for p in tmp_path.iterdir()]


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    """A pipe stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_aside(pipe, b"through")

    assert b"through" == os.read(reader, 100)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


OTHER = 65534


@pytest.mark.attack(
    "Another user creates a link where root will write a report",
    "refused, status 2; the target of the link does not change",
)
def test_another_users_link_is_refused(tmp_path, monkeypatch):
    """Whoever may write in a shared folder cannot choose the file that is overwritten."""
    target = tmp_path / "precious"
    target.write_bytes(b"old")
    (tmp_path / "report.html").symlink_to(target)
    # As whom we run decides; the link is of the user that runs the tests.
    monkeypatch.setattr(place, "trusted_owners", lambda: (OTHER,))
    with pytest.raises(UsageError, match=r"'report\.html' is a link that another user made") as caught:
        write_aside(tmp_path / "report.html", b"new")

    assert b"old" == target.read_bytes()
    assert caught.value.hint.endswith(".")
    assert {"precious", "report.html"} == {p.name for p in tmp_path.iterdir()}


@pytest.mark.attack("The link is a folder in the path of the report", "refused, status 2")
def test_another_users_link_to_a_folder_is_refused(tmp_path, monkeypatch):
    """Nor the folder: each part of the path is looked at."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "out").symlink_to("etc")
    monkeypatch.setattr(place, "trusted_owners", lambda: (OTHER,))
    with pytest.raises(UsageError, match="'out' is a link that another user made"):
        write_aside(tmp_path / "out" / "report.html", b"new")

    assert [] == list((tmp_path / "etc").iterdir())


def test_our_link_to_a_folder_is_followed(tmp_path):
    """Upwards too, and from wherever the link stands."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "real").mkdir()
    (tmp_path / "a" / "b" / "out").symlink_to("../../real")
    write_aside(tmp_path / "a" / "b" / "out" / ".." / "real" / "x", b"1")
    write_aside(tmp_path / "a" / "b" / "out" / "y", b"2")

    assert {"x", "y"} == {p.name for p in (tmp_path / "real").iterdir()}


@pytest.mark.attack("The link appears after the check of the path", "the link is replaced, not its target")
def test_a_link_that_comes_at_the_last_moment_is_not_followed(tmp_path, monkeypatch):
    """What is planted between the look and the renaming is replaced itself, and so is what it names not."""
    target = tmp_path / "precious"
    target.write_bytes(b"old")
    replace = os.replace

    def late(*names, **folders):
        (tmp_path / "report.html").symlink_to(target)
        replace(*names, **folders)

    monkeypatch.setattr(file.os, "replace", late)
    write_aside(tmp_path / "report.html", b"new")

    assert b"old" == target.read_bytes()
    assert not (tmp_path / "report.html").is_symlink()
    assert b"new" == (tmp_path / "report.html").read_bytes()


@pytest.mark.attack("A pipe of another user is at that path", "refused: its owner would read the report")
def test_another_users_pipe_is_refused(tmp_path, monkeypatch):
    """Its owner would read the report."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(place, "trusted_owners", lambda: (OTHER,))
    with pytest.raises(UsageError, match="pipe or device of another user"):
        write_aside(tmp_path / "pipe", b"new")


def test_standard_output_by_its_name_is_written_to(capfd):
    """/dev/stdout is a link to a link that leads to no path."""
    from pathlib import Path

    write_aside(Path("/dev/stdout"), b"here\n")
    write_aside(Path("/dev/fd/2"), b"there\n")
    seen = capfd.readouterr()

    assert ("here\n", "there\n") == (seen.out, seen.err)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_what_has_texts_of_statements_is_for_its_owner_alone(tmp_path, mask):
    """A private file and a snapshot, whatever the umask allows; a file that is there keeps its permissions."""
    shared = tmp_path / "shared.json"
    shared.touch(mode=0o640)
    shared.chmod(0o640)
    before = os.umask(mask)
    try:
        write_aside(tmp_path / "private", b"x", is_private=True)
        write_aside(shared, b"x", is_private=True)
        write_snapshot(tmp_path / "snapshot.json", SNAPSHOT)
    finally:
        os.umask(before)

    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()}
    assert modes == {"private": 0o600, "shared.json": 0o640, "snapshot.json": 0o600}
