"""
Keep a throwaway server: start it, wait until its owner is gone, then end it and clear up.

This runs as a separate program (`python -I keeper.py`) with the standard library only, in its own
session: Ctrl-C in the terminal reaches the owner, not the server. The owner keeps the keeper's standard
input open. When the owner ends in any way, even by kill -9, that input ends too, and the keeper ends the
server and removes its directory. An owner that writes a line before it closes the input is still running:
then the folders in `also_remove` stay. A line `keep` says that the server did not get ready.

Whatever a killed server leaves behind is the keeper's to end: the kernel makes it the keeper's child.
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# PostgreSQL's fast shutdown writes a checkpoint, which takes seconds on a slow disk. Then an immediate
# shutdown, then SIGKILL (PostgreSQL, "Shutting Down the Server"). Other servers name their own signals.
_ENDINGS = ("SIGINT", "SIGQUIT", "SIGKILL")
_PATIENCE_S = (60.0, 10.0)
_POLL_S = 0.1
_TAIL_BYTES = 8000
# prctl(2): orphans below this process become its children.
_SET_CHILD_SUBREAPER = 36
_CHILDREN = Path("/proc/thread-self/children")


def main() -> int:
    """
    Keep one server, described by one JSON line on standard input.

    The line has `directory` (removed at the end), `also_remove` (folders removed only if the owner ended without
    a line), `log` (a file in `directory`), `first` (commands run to completion first), `server` (the
    command that keeps running), `environment`, and `uid` and `gid` to run them as (null: as this process).
    `endings` has the signals that end the server, the gentlest first (default: PostgreSQL's). `restart_s` is for how
    long a server that was killed is started again and again (default: not at all). `group` is
    the member list of a control group: the keeper joins it, because the server's own account may not, and
    everything it starts is in it too. If the server ended by itself or did not get ready, the end of the log is
    printed and the log is copied to the file `kept_log` (null: it is not).
    """
    job = json.loads(sys.stdin.readline())
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        return _keep(job) if _join(job.get("group")) else 1
    finally:
        _end_orphans()
        # Remove its password and its log, however the server ended.
        shutil.rmtree(job["directory"], ignore_errors=True)


def _join(group: str | None) -> bool:
    """Join a control group if one is requested; print the reason and return False if the system refuses."""
    if group is None:
        return True
    try:
        Path(group).write_text(str(os.getpid()))
    except OSError as error:
        sys.stdout.write(f"unable to join '{group}': {error.strerror}\n")
        return False
    return True


def _keep(job: dict[str, Any]) -> int:
    with Path(job["log"]).open("ab") as log:
        for argv in job["first"]:
            if _start(argv, job, log).wait() != 0:
                return _fail(job)
        server = _start(job["server"], job, log)
        try:
            is_ended = _watch(server)
            give_up = 0.0
            while not is_ended and job.get("restart_s"):
                now = time.monotonic()
                if server.returncode < 0:
                    give_up = now + job["restart_s"]
                if now >= give_up:
                    break
                # PostgreSQL refuses to start while a process of the killed server lives.
                time.sleep(_POLL_S)
                server = _start(job["server"], job, log)
                is_ended = _watch(server)
        finally:
            _end(server, job.get("endings", _ENDINGS))
    word = sys.stdin.readline() if is_ended else "keep\n"
    if word == "keep\n":
        return _fail(job)
    # The input ended without a line: the owner is gone, and nobody else will clear up.
    for folder in job["also_remove"] if not word else ():
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _watch(server: "subprocess.Popen[bytes]") -> bool:
    """Wait until the owner is gone or writes a line; return False if the server ended before."""
    while server.poll() is None:
        _orphans(server.pid)
        if select.select([sys.stdin], [], [], _POLL_S)[0]:
            return True
    return False


def _start(argv: list[str], job: dict[str, Any], log: Any) -> "subprocess.Popen[bytes]":
    as_user: dict[str, Any] = {}
    if job["uid"] is not None:
        # Drop our supplementary groups too: root's would open files that the account may not read.
        as_user = {"user": job["uid"], "group": job["gid"], "extra_groups": []}
    return subprocess.Popen(  # noqa: S603 - the commands are the owner's own
        argv, env=job["environment"], cwd=job["directory"], stdin=subprocess.DEVNULL, stdout=log, stderr=log, **as_user
    )


def _end(server: "subprocess.Popen[bytes]", endings: Sequence[str]) -> None:
    for number, name in enumerate(endings):
        if server.poll() is not None:
            return
        server.send_signal(signal.Signals[name])
        until = time.monotonic() + _PATIENCE_S[min(number, 1)]
        while server.poll() is None and time.monotonic() < until:
            # Patroni waits for its PostgreSQL, which is our child, until we have let it go.
            _orphans(server.pid)
            time.sleep(_POLL_S / 10)


def _end_orphans() -> None:
    """End what the server started and left: politely, then by force."""
    for name in ("SIGINT", "SIGKILL"):
        asked: set[int] = set()
        until = time.monotonic() + _PATIENCE_S[1]
        while (living := _orphans()) and time.monotonic() < until:
            for process in living - asked:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.Signals[name])
            asked |= living
            time.sleep(_POLL_S / 10)


def _orphans(server: int | None = None) -> set[int]:
    """Return our living children except the server; those that have ended are let go."""
    try:
        found = {int(word) for word in _CHILDREN.read_text().split()} - {server}
    except OSError:
        return set()
    living = set()
    for process in found:
        with contextlib.suppress(ChildProcessError):
            if os.waitpid(process, os.WNOHANG)[0] == 0:
                living.add(process)
    return living


def _fail(job: dict[str, Any]) -> int:
    log, kept = Path(job["log"]), job.get("kept_log")
    if kept is not None:
        with contextlib.suppress(OSError):
            Path(kept).parent.mkdir(parents=True, exist_ok=True)
            Path(kept).touch(mode=0o600)
            shutil.copyfile(log, kept)
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL_BYTES, 0))
        sys.stdout.write(file.read().decode(errors="replace"))
    return 1


if __name__ == "__main__":
    # The keeper must outlive its server. The handlers do nothing instead of ignoring the signals, because
    # the server would inherit ignored signals (execve(2)).
    for _sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(_sign, lambda *_: None)
    sys.exit(main())
