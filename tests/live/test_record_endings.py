"""However a recording ends: what was recorded is saved whole, and nothing is left behind."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from live.machine import clean_environment
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import decode_snapshot

PATIENCE_S = 60


def start(folder: Path, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "record", "host", *arguments],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
    )


def until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def line_with(process: subprocess.Popen, text: str) -> str:
    for line in process.stderr:
        if text in line:
            return line
    raise AssertionError(f"it ended without saying {text!r}")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_what_was_recorded_until_ctrl_c_is_saved(tmp_path: Path, sign: int):
    """
    Ctrl-C, and a service manager's request to end, keep the steps that passed; the command is
    ended, even one that is deaf to Ctrl-C.
    """
    deaf = "trap '' INT; " if sign == signal.SIGTERM else ""
    command = f"{deaf}echo $$ > {tmp_path}/pid; while :; do sleep 0.1; done"
    process = start(tmp_path, "-o", "some.json", "--", "sh", "-c", command)
    try:
        line_with(process, "recording")
        until((tmp_path / "pid").exists)
        time.sleep(2.5)
        process.send_signal(sign)
        output = process.communicate(timeout=PATIENCE_S)[1]
    finally:
        process.kill()

    assert 0 == process.returncode, output
    snapshot = decode_snapshot((tmp_path / "some.json").read_bytes())
    assert snapshot.series[Metric.READ_BYTES_PER_S].time_s.size >= 1
    assert "ended early" in snapshot.note
    assert not is_alive(int((tmp_path / "pid").read_text()))


def test_kill_9_leaves_no_file_no_server_and_no_directory(tmp_path: Path):
    """The throwaway server's keeper notices and clears up; a half snapshot does not appear."""
    command = f"exec > /dev/null 2>&1; echo $$ > {tmp_path}/pid; exec sleep 60"
    process = start(tmp_path, "--embedded-postgres", "-o", "none.json", "--", "sh", "-c", command)
    try:
        directory = Path(re.search(r"holds (\S+)/data\)", line_with(process, "recording"))[1])
        postmaster = int((directory / "data/postmaster.pid").read_text().splitlines()[0])
        assert is_alive(postmaster)
        until((tmp_path / "pid").exists)
    finally:
        process.kill()
    process.communicate(timeout=PATIENCE_S)
    until(lambda: not is_alive(postmaster) and not directory.exists())
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

    assert ["pid"] == [path.name for path in tmp_path.iterdir()]


def test_a_failing_command_is_told_and_the_recording_kept(tmp_path: Path):
    """The recording succeeded even if what it recorded did not."""
    process = start(tmp_path, "-o", "-", "--", "sh", "-c", "echo out; exit 3")
    out, output = process.communicate(timeout=PATIENCE_S)

    assert 0 == process.returncode
    assert "sh failed with status 3" in output
    # Standard output is the snapshot's alone; the command's went to standard error.
    assert "out\n" in output
    assert 1 == decode_snapshot(out.encode()).series[Metric.CPU_RATIO].time_s.size


def test_progress_is_shown_on_a_terminal_only(tmp_path: Path):
    """One line, written anew at every step; a log file gets none of it."""
    ours, theirs = pty.openpty()
    process = start(tmp_path, "--for", "2s", "-o", "some.json", stderr=theirs)
    os.close(theirs)
    process.communicate(timeout=PATIENCE_S)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # The terminal has no more ends.
        pass
    finally:
        os.close(ours)
    silent = start(tmp_path, "--for", "1s", "-o", "other.json")
    output = silent.communicate(timeout=PATIENCE_S)[1]

    assert b"\r\x1b[K1 of 2 s: " in shown
    assert b"\r\x1b[K2 of 2 s: " in shown
    assert b"IOPS" in shown
    assert "\r" not in output
    assert "of 1 s" not in output
