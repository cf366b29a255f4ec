"""
The keeper of a gate: starts the daemon, waits for its owner to go, takes everything down again.

Run as a program of its own (`python -I keeper.py`), with nothing but the standard library, in a
session of its own: Ctrl-C in the terminal reaches the owner, not the daemon. The owner holds the
keeper's standard input open; when the owner ends in whatever way, kill -9 included, the input ends
too, and the keeper undoes what was done, in reverse, ends the daemon and takes its mount away. If the
keeper is killed, the daemon is told to end and takes its mount away itself.
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

# The daemon unmounts on SIGTERM at once; a request under way may take the host's disk some seconds.
_ENDINGS = ((signal.SIGTERM, 15.0), (signal.SIGKILL, 10.0))
_UNDO_S = 60.0
# Short enough that an end is noticed at once, long enough to cost nothing.
_GLANCE_S = 0.1
# Once its connection is aborted the last thread has nothing to wait for.
_ABORT_S = 5.0


def main() -> int:
    """
    Keep one gate, described by one JSON line on standard input.

    The line has `daemon` (the command), `log` (file for what it says), `mount`, `detach` (commands
    that take the mount away, tried in order) and `made` (folders removed at the end if empty). If the
    owner goes without a word, the files of the folder `home` are removed too, and the folders of
    `lent` with all they hold. Lines after it are `{"undo": COMMAND}`, to be run before the daemon
    ends, the last first, or `{"end": true}`.

    Prints `{"pid": N}` and then what the daemon prints. Exit status 0 if the owner bade us end, or is
    gone; 3 if the daemon ended by itself and found nothing wrong; else 1.
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
                preexec_fn=_end_with_us(),  # noqa: PLW1509 - there are no other threads here
            )
        except OSError as error:
            log.write(f"error: {job['daemon'][0]} cannot be run: {error.strerror}\n".encode())
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


def _end_with_us() -> Callable[[], None]:
    """Return what a daemon does before it starts so that it is told to end when the keeper is killed."""
    keeper, call = os.getpid(), ctypes.CDLL(None).prctl

    def ask() -> None:
        call(_SET_DEATH_SIGNAL, signal.SIGTERM.value, 0, 0, 0)
        # The keeper ended between fork and prctl, so no signal would ever come.
        if os.getppid() != keeper:
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


# PR_SET_PDEATHSIG of prctl(2).
_SET_DEATH_SIGNAL = 1


def _listen(daemon: "subprocess.Popen[bytes]", undo: list[list[str]]) -> bool:
    """Take the owner's lines until it bids us end (true), is gone, or the daemon has ended."""
    assert daemon.stdout is not None
    said = daemon.stdout.fileno()
    listening = [0, said]
    unread = b""
    while True:
        found = select.select(listening, [], [], _GLANCE_S)[0]
        if said in found:
            text = os.read(said, 65_536)
            if text:
                os.write(1, text)
            else:
                listening.remove(said)
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
            # The owner is there, and will notice; it alone knows what it lent for how long.
            return True


def _take_down(
    job: dict[str, Any], daemon: "subprocess.Popen[bytes]", undo: list[list[str]], log: Any
) -> None:
    # In reverse: what was set up last lies on what was set up before.
    for argv in reversed(undo):
        _run(argv, log)
    for sign, patience_s in _ENDINGS:
        if daemon.poll() is None:
            daemon.send_signal(sign)
            end = time.monotonic() + patience_s
            while time.monotonic() < end and daemon.poll() is None:
                _abort_if_stuck(job, daemon, log)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    daemon.wait(_GLANCE_S)
    # After the daemon's own attempt: only a mount that is still there is taken away.
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
    Return whether a daemon has ended but for a thread that waits in the kernel.

    The thread that drops pages waits until they are written out, which only the threads that are gone
    could have done. As long as it holds the mount's connection open, everybody who uses the mount waits
    too, for ever, and no signal helps.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] == "Z" and len(threads) > 1


def _abort_if_stuck(job: dict[str, Any], daemon: "subprocess.Popen[bytes]", log: Any) -> None:
    """End the connection of a daemon that cannot end; whoever waits then gets an error."""
    if daemon.poll() is not None or not _is_stuck(daemon.pid):
        return
    number = _device_of(job["mount"])
    try:
        # Where it is mounted, a plain user may do this to mounts of his own.
        Path(f"/sys/fs/fuse/connections/{number}/abort").write_text("1")
    except OSError:
        # Ends the connection, and then finds that the mount is in use. Only root may.
        _run(["umount", "-f", job["mount"]], log)
    with contextlib.suppress(subprocess.TimeoutExpired):
        daemon.wait(_ABORT_S)


def _clear(job: dict[str, Any]) -> None:
    for folder in job["lent"]:
        shutil.rmtree(folder, ignore_errors=True)
    # Not what lies deeper: a mount that could not be taken away holds the user's data.
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
    """Return the number by which /sys/fs/fuse/connections calls the uppermost FUSE mount at a path."""
    number = None
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields, _, kind = line.partition(" - ")
            at = fields.split(" ")[4].replace("\\040", " ").replace("\\134", "\\")
            if at == place and kind.startswith("fuse"):
                number = fields.split(" ")[2].partition(":")[2]
    return number


if __name__ == "__main__":
    # Nothing ends the keeper before its daemon. A handler that does nothing, because ignored
    # signals would be inherited by the daemon.
    for _sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(_sign, lambda *_: None)
    sys.exit(main())
