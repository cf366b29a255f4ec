"""Missing requirements of this machine are reported before anything is started; mounts are recognised."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

from plimsoll.errors import AccessDenied, SourceError, UsageError
from plimsoll_lab.gate import place as gate_place

TABLE = (
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "41 22 0:45 / /srv/my\\040data rw,nosuid shared:9 - fuse.plimsoll-gate plimsoll-gate rw\n"
    "42 41 7:0 / /srv/my\\040data/deep rw - ext4 /dev/loop0 rw\n"
    "not a line\n"
)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file instead of FUSE's device."""
    path = tmp_path / "fuse"
    monkeypatch.setattr(gate_place, "FUSE", path)
    return path


def test_the_mount_table_is_read_with_blanks_in_names():
    """Places, types and devices; blanks are octal in the table."""
    found = gate_place.parse_mounts(TABLE)

    assert [
        ("/", "ext4", "/dev/vda1"),
        ("/srv/my data", "fuse.plimsoll-gate", "plimsoll-gate"),
        ("/srv/my data/deep", "ext4", "/dev/loop0"),
    ] == [(str(m.place), m.kind, m.device) for m in found]


def test_only_a_file_system_of_fuse_is_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Other mounts are never detached."""
    table = tmp_path / "mountinfo"
    table.write_text(TABLE)
    monkeypatch.setattr(gate_place, "MOUNT_TABLE", table)

    assert gate_place.is_gate_at(Path("/srv/my data"))
    assert not gate_place.is_gate_at(Path("/srv/my data/deep"))
    assert not gate_place.is_gate_at(Path("/srv"))
    gate_place.detach(Path("/srv/my data/deep"))


def test_a_machine_without_a_mount_table_has_no_mounts(monkeypatch: pytest.MonkeyPatch):
    """A missing /proc is not an error here."""
    monkeypatch.setattr(gate_place, "MOUNT_TABLE", Path("/nonexistent/mountinfo"))

    assert [] == gate_place.mounts()


@pytest.mark.parametrize(
    ("platform", "message", "hint"),
    [
        ("darwin", "this is macOS", "Linux"),
        ("win32", "this is Windows", "Linux"),
        # In a container the device has to be handed in; the hint has the flags.
        ("linux", "/fuse, so no program", "--device /dev/fuse --cap-add SYS_ADMIN"),
    ],
)
def test_a_machine_without_fuse_is_refused(device: Path, platform: str, message: str, hint: str):
    """The sentence names the system or the device, the hint a way round."""
    with pytest.raises(UsageError) as raised:
        gate_place.check_machine(platform=platform)

    assert message in raised.value.message
    assert hint in raised.value.hint


def test_a_plain_user_without_fusermount3_is_refused(device: Path, monkeypatch: pytest.MonkeyPatch):
    """Root mounts by itself; a plain user needs the program, and is told the package."""
    device.touch()
    monkeypatch.setenv("PATH", "/nonexistent")

    gate_place.check_machine(platform="linux", is_root=True)
    with pytest.raises(UsageError, match="fusermount3") as raised:
        gate_place.check_machine(platform="linux", is_root=False)
    assert "fuse3" in raised.value.hint


def test_a_device_that_may_not_be_opened_is_access_denied(device: Path):
    """It exists, but we may not open it: the error has the system's own reason."""
    device.mkdir()

    with pytest.raises(AccessDenied, match=": is a directory"):
        gate_place.check_machine(platform="linux", is_root=True)


def test_a_missing_daemon_says_where_it_was_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Next to Python, in a checkout, in PATH; the hint builds it."""
    monkeypatch.setattr(gate_place, "_checkout", lambda: [tmp_path])
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(UsageError) as raised:
        gate_place.find_daemon()
    assert "cargo build" in raised.value.hint


def test_the_daemon_beside_python_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Then that of the checkout, then that of PATH."""
    places = [tmp_path / "venv", tmp_path / "tree/target/release", tmp_path / "path"]
    monkeypatch.setattr(gate_place, "_checkout", lambda: [tmp_path / "tree"])
    monkeypatch.setattr("sys.executable", str(places[0] / "python"))
    monkeypatch.setenv("PATH", str(places[2]))
    found = []
    for place in reversed(places):
        place.mkdir(parents=True)
        (place / gate_place.DAEMON).touch(mode=0o755)
        found.append(gate_place.find_daemon().parent)

    assert list(reversed(places)) == found


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of our own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_each_gate_has_a_folder_that_only_we_may_enter(temporary: Path):
    """Its socket accepts commands, so nobody else may reach it."""
    home = gate_place.new_home()

    assert 0o700 == stat.S_IMODE(home.stat().st_mode)
    assert 0o700 == stat.S_IMODE(home.parent.stat().st_mode)
    assert temporary == home.parent.parent
    assert home != gate_place.new_home()


def test_a_folder_that_someone_else_made_is_not_used(temporary: Path):
    """Its creator would control our sockets."""
    folder = temporary / f"plimsoll-gates-{os.geteuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)

    with pytest.raises(SourceError, match="others may enter it"):
        gate_place.new_home()

    folder.rmdir()
    (temporary / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(temporary / "elsewhere")
    with pytest.raises(SourceError):
        gate_place.new_home()


def test_a_path_too_long_for_a_socket_is_refused(temporary: Path, monkeypatch: pytest.MonkeyPatch):
    """The system would truncate it; nothing stays behind."""
    deep = temporary / ("x" * 90)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))

    with pytest.raises(SourceError, match="too long for a socket"):
        gate_place.new_home()
    assert [] == list(gate_place.gates_folder().iterdir())


def test_removing_a_folder_never_goes_below_it(temporary: Path):
    """A mount that could not be detached has the user's data, and stays."""
    home = gate_place.new_home()
    (home / "gate.sock").touch()
    (home / "empty").mkdir()
    (home / "image").mkdir()
    (home / "image" / "disk.img").write_text("precious")
    gate_place.remove_home(home)

    assert ["image"] == [path.name for path in home.iterdir()]
    assert "precious" == (home / "image" / "disk.img").read_text()

    (home / "image" / "disk.img").unlink()
    gate_place.remove_home(home)
    assert not home.exists()


def test_data_goes_to_a_disk_rather_than_to_memory(monkeypatch: pytest.MonkeyPatch):
    """/var/tmp, unless TMPDIR names a place."""
    monkeypatch.delenv("TMPDIR", raising=False)
    assert Path("/var/tmp") == gate_place.disk_folder()

    monkeypatch.setenv("TMPDIR", "/somewhere")
    monkeypatch.setattr(tempfile, "tempdir", "/somewhere")
    assert Path("/somewhere") == gate_place.disk_folder()
