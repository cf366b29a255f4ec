"""The keeper of a gate takes everything down, whoever ends first."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from plimsoll_lab.gate import keeper as gate_keeper

PATIENCE_S = 30
# Says that it runs, then waits for the end, which it tells in a file.
DAEMON = """
import signal, sys
def end(*_):
    open(sys.argv[1], "a").write("daemon ended\\n")
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    signal.pause()
"""

Start = Callable[..., subprocess.Popen]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A gate's folder with a file in it, a folder to also remove, and one that was made for it."""
    for name in ("home", "also_remove", "made"):
        (tmp_path / name).mkdir()
    (tmp_path / "home" / "gate.json").touch()
    (tmp_path / "also_remove" / "table").touch()
    return tmp_path


@pytest.fixture
def start(place: Path):
    """Start a keeper over a daemon; it has said its process id and `ready` when this returns."""
    keepers = []

    def call(code: str = DAEMON) -> tuple[subprocess.Popen, int]:
        keeper = subprocess.Popen(
            [sys.executable, "-I", gate_keeper.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        keepers.append(keeper)
        job = {
            "daemon": [sys.executable, "-c", code, str(place / "told")],
            "log": str(place / "home" / "log"),
            "mount": str(place / "nothing is mounted here"),
            "detach": [["touch", str(place / "detached")]],
            "made": [str(place / "made")],
            "also_remove": [str(place / "also_remove")],
            "home": str(place / "home"),
        }
        keeper.stdin.write(json.dumps(job) + "\n")
        keeper.stdin.flush()
        pid = json.loads(keeper.stdout.readline())["pid"]
        assert "ready\n" == keeper.stdout.readline()
        return keeper, pid

    yield call
    for keeper in keepers:
        keeper.kill()
        keeper.communicate(timeout=PATIENCE_S)


def test_an_owner_that_ends_silently_leaves_nothing(start: Start, place: Path):
    """Its input ends: the daemon ends in good order, and the folders to also remove are removed."""
    keeper, pid = start()
    keeper.communicate(timeout=PATIENCE_S)

    assert 0 == keeper.returncode
    assert "daemon ended\n" == (place / "told").read_text()
    assert ["told"] == sorted(path.name for path in place.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_owner_that_asks_for_the_end_keeps_its_folders(start: Start, place: Path):
    """
    The record is still to be read; only the folder of the mount goes. Nothing is detached that is not
    mounted.
    """
    keeper, _ = start()
    keeper.communicate('{"end": true}\n', timeout=PATIENCE_S)

    assert 0 == keeper.returncode
    assert ["also_remove", "home", "told"] == sorted(path.name for path in place.iterdir())
    assert (place / "home" / "gate.json").exists()


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [("loop", "mount", ["mount", "loop"]), ("loop", None, ["loop"])],
    ids=["all", "one fails"],
)
def test_what_was_done_is_undone_in_reverse_before_the_daemon_ends(start: Start, place: Path, first, last, told):
    """
    A file system on the gate is unmounted first, then its loop device goes, then the gate. One that fails stops
    nothing else, and the log has the reason.
    """
    keeper, _ = start()
    for word in (first, last):
        undo = ["sh", "-c", f"echo {word} >> {place}/told"] if word else ["/nonexistent/umount"]
        keeper.stdin.write(json.dumps({"undo": undo}) + "\n")
    keeper.communicate('{"end": true}\n', timeout=PATIENCE_S)

    assert [*told, "daemon ended"] == (place / "told").read_text().splitlines()
    assert (last is None) == ("/nonexistent/umount" in (place / "home" / "log").read_text())


@pytest.mark.parametrize("last_word", ["", '{"end": true}\n'])
def test_a_stopped_daemon_continues_and_ends_in_good_order(start: Start, place: Path, last_word):
    """It has data to write; a signal to end reaches it only when it continues."""
    keeper, pid = start()
    os.kill(pid, signal.SIGSTOP)
    keeper.communicate(last_word, timeout=PATIENCE_S)

    assert 0 == keeper.returncode
    assert "daemon ended\n" == (place / "told").read_text()


@pytest.mark.parametrize(("sign", "status"), [(signal.SIGKILL, 1), (signal.SIGTERM, 3)], ids=["killed", "unmounted"])
def test_the_exit_status_says_how_a_daemon_ended(start: Start, place: Path, sign: signal.Signals, status: int):
    """
    The owner finds the keeper gone, with 1, and removes the folders itself.

    That someone unmounted is no failure, and the status is 3.
    """
    keeper, pid = start()
    os.kill(pid, sign)

    assert status == keeper.wait(PATIENCE_S)
    assert (place / "also_remove" / "table").exists()


def test_signals_to_the_keeper_change_nothing(start: Start, place: Path):
    """Ctrl-C and a hang-up are for the owner."""
    keeper, pid = start()
    for sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        keeper.send_signal(sign)
    keeper.stdin.write(json.dumps({"undo": ["touch", str(place / "undone")]}) + "\n")
    keeper.stdin.flush()
    os.kill(pid, 0)
    keeper.communicate('{"end": true}\n', timeout=PATIENCE_S)

    assert 0 == keeper.returncode
    assert (place / "undone").exists()


def test_a_daemon_that_cannot_be_run_is_in_the_log(place: Path):
    """The owner reads why."""
    job = {
        "daemon": ["/nonexistent/plimsoll-gate"],
        "log": str(place / "home" / "log"),
        **{name: [] for name in ("detach", "made", "also_remove")},
        **{name: str(place / "home") for name in ("mount", "home")},
    }
    done = subprocess.run(
        [sys.executable, "-I", gate_keeper.__file__],
        input=json.dumps(job) + "\n",
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (1, "") == (done.returncode, done.stdout)
    assert "unable to run" in (place / "home" / "log").read_text()
