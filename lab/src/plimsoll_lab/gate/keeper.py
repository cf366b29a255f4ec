"""
Keep a gate: start the daemon, wait until its owner is gone, then end it and remove its mount.

This runs as a separate program (`python -I keeper.py`) with the standard library only, in its own
session: Ctrl-C in the terminal reaches the owner, not the daemon. The owner keeps the keeper's standard
input open. When the owner ends in any way, even by kill -9, that input ends too. The keeper then undoes
the steps in reverse order, ends the daemon and removes its mount. If the keeper is killed, the daemon
gets a signal to end and unmounts by itself.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The daemon unmounts at once on SIGTERM; a request in progress may take some seconds on a slow disk.
_ENDINGS = ((signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))
_UNDO_S = 60.0
# Short enough to notice an end at once, long enough to cost nothing.
_POLL_S = 0.1
# After its connection is aborted, the last thread has nothing left to wait for.
_ABORT_S = 5.0


def main() -> int:
    """
    Keep one gate, described by one JSON line on standard input.

    The line has `daemon` (the command), `log` (file for its messages), `mount`, `detach` (commands that
    detach the mount, tried in order) and `made` (folders to remove at the end if empty). If the owner is
    gone without an `end` line, the files in the folder `home` are removed too, and the folders in `also_remove` with
    their contents. The lines after it are `{"undo": COMMAND}`, run before the daemon ends, the last one
    first, or `{"end": true}`.

    It prints `{"pid": N}` and then the daemon's output. Exit status: 0 if the owner asked for the end or
    is gone; 3 if the daemon ended by itself without an error; else 1.
    """
    job = json.loads(sys.stdin.readline())
    undo: list[list[str]] = []
    with Path(job["log"]).open("ab") as log:
        try:
            daemon = subprocess.Popen(  # noqa: S603 - the owner's own command
                job["daemon"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=_end_with_keeper(),  # noqa: PLW1509 - there are no other threads here
            )
        except OSError as error:
            log.write(f"error: unable to run {job['daemon'][0]}: {error.strerror}\n".encode())
            return 1
        print(json.dumps({"pid": daemon.pid}), flush=True)  # noqa: T201
        is_bidden = False
        try:
            is_bidden = _listen(daemon, undo)
            _abort_if_stuck(job, daemon, log)
            status = {None: 0, 0: 3}.get(daemon.poll(), 1)
        finally:
            _take_down(job, daemon, undo, log)
            if not is_bidden:
                _clear(job)
    return status


def _end_with_keeper() -> Callable[[], None]:
    """Return a function for the child that makes the kernel end it when the keeper is killed."""
    keeper, call = os.getpid(), ctypes.CDLL(None).prctl

    def ask() -> None:
        call(_SET_DEATH_SIGNAL, signal.SIGTERM.value, 0, 0, 0)
        # The keeper ended between fork and prctl, so no signal would come (prctl(2)).
        if os.getppid() != keeper:
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


# PR_SET_PDEATHSIG of prctl(2).
_SET_DEATH_SIGNAL = 1


def _listen(daemon: "subprocess.Popen[bytes]", undo: list[list[str]]) -> bool:
    """Read the owner's lines until it asks for the end (True), is gone, or the daemon has ended (False)."""
    assert daemon.stdout is not None
    output = daemon.stdout.fileno()
    listening = [0, output]
    unread = b""
    while True:
        found = select.select(listening, [], [], _POLL_S)[0]
        if output in found:
            text = os.read(output, 65_536)
            if text:
                os.write(1, text)
            else:
                listening.remove(output)
        if 0 in found:
            part = os.read(0, 65_536)
            if not part:
                return False
            *lines, unread = (unread + part).split(b"\n")
            for line in lines:
                word = json.loads(line)
                if "end" in word:
                    return True
                undo.append(word["undo"])
        elif daemon.poll() is not None or _is_stuck(daemon.pid):
            # The owner still runs and will notice; only it knows how long the folders in `also_remove` are needed.
            return True


def _take_down(job: dict[str, Any], daemon: "subprocess.Popen[bytes]", undo: list[list[str]], log: Any) -> None:
    # In reverse order: later steps depend on earlier ones.
    for argv in reversed(undo):
        _run(argv, log)
    for sign, patience_s in _ENDINGS:
        if daemon.poll() is None:
            daemon.send_signal(sign)
            # A stopped daemon gets no other signal before it continues, and it still has data to write.
            daemon.send_signal(signal.SIGCONT)
            end = time.monotonic() + patience_s
            while time.monotonic() < end and daemon.poll() is None:
                _abort_if_stuck(job, daemon, log)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    daemon.wait(_POLL_S)
    # After the daemon's own attempt: detach only a mount that is still there.
    for argv in job["detach"]:
        if not _is_mounted(job["mount"]):
            break
        _run(argv, log)
    for folder in job["made"]:
        try:
            Path(folder).rmdir()
        except OSError:
            continue


def _is_stuck(pid: int) -> bool:
    """
    Return whether a daemon has ended except for one thread that waits in the kernel.

    That thread drops pages and waits for their writeback, which only the ended threads could have served.
    While it keeps the FUSE connection open, every process that uses the mount waits for ever, and no
    signal helps.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "Z" and len(threads) > 1


def _abort_if_stuck(job: dict[str, Any], daemon: "subprocess.Popen[bytes]", log: Any) -> None:
    """Abort the connection of a daemon that cannot end; waiting processes then get an error."""
    if daemon.poll() is not None or not _is_stuck(daemon.pid):
        return
    number = _device_of(job["mount"])
    try:
        # The file is in fusectl; a plain user may write it for mounts of their own
        # (Linux, filesystems/fuse.rst, "Control filesystem").
        Path(f"/sys/fs/fuse/connections/{number}/abort").write_text("1")
    except OSError:
        # umount -f aborts the connection, then fails because the mount is in use. Only root may do this.
        _run(["umount", "-f", job["mount"]], log)
    with contextlib.suppress(subprocess.TimeoutExpired):
        daemon.wait(_ABORT_S)


def _clear(job: dict[str, Any]) -> None:
    for folder in job["also_remove"]:
        shutil.rmtree(folder, ignore_errors=True)
    # Only this level: deeper folders may be a mount that is still there, with the user's data.
    for path in [*Path(job["home"]).iterdir(), Path(job["home"])]:
        try:
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
        except OSError:
            continue


def _run(argv: list[str], log: Any) -> None:
    try:
        subprocess.run(  # noqa: S603 - the owner's own command
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=_UNDO_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.write(f"{argv[0]}: {error}\n".encode())


def _is_mounted(place: str) -> bool:
    """Return whether a FUSE file system is mounted at a path, alive or dead."""
    return _device_of(place) is not None


def _device_of(place: str) -> str | None:
    """Return the number of the topmost FUSE mount at a path, as in /sys/fs/fuse/connections."""
    number = None
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields, _, kind = line.partition(" - ")
            at = fields.split(" ")[4].replace("\\040", " ").replace("\\134", "\\")
            if at == place and kind.startswith("fuse"):
                number = fields.split(" ")[2].partition(":")[2]
    return number


if __name__ == "__main__":
    # The keeper must outlive its daemon. The handlers do nothing instead of ignoring the signals, because
    # the daemon would inherit ignored signals (execve(2)).
    for _sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(_sign, lambda *_: None)
    sys.exit(main())
