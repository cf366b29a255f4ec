"""
The keeper of a throwaway server: starts it, waits for its owner to go, ends it, clears up.

Run as a program of its own (`python -I keeper.py`), with nothing but the standard library, in a
session of its own: Ctrl-C in the terminal reaches the owner, not the server. The owner holds the
keeper's standard input open; when the owner ends in whatever way, kill -9 included, the input ends
too, and the keeper ends the server and removes its directory. An owner that says a word before
closing the input goes on living: then what it lent to the server stays.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# PostgreSQL's fast shutdown writes a checkpoint: seconds on a slow disk. Then at once, then by force. Another
# server is asked in its own way first.
_ENDINGS = ("SIGINT", "SIGQUIT", "SIGKILL")
_PATIENCE_S = (60.0, 10.0)
_GLANCE_S = 0.1
_TAIL_BYTES = 2000


def main() -> int:
    """
    Keep one server, described by one JSON line on standard input.

    The line has `directory` (removed at the end), `lent` (folders removed only if the owner went
    without a word), `log` (a file in `directory`), `first` (commands run to their end before),
    `server` (the command that stays), `environment`, and `uid` and `gid` to run them as (null: as
    this process). `endings` has the signals that end the server, the gentlest first; without it those of
    PostgreSQL. `group` is the file of a control group that lists its members: the keeper joins it, and
    what it starts is in it too; the server's own account may not join. Prints the end of the log if the
    server ended by itself.
    """
    job = json.loads(sys.stdin.readline())
    try:
        return _keep(job) if _join(job.get("group")) else 1
    finally:
        # Whatever became of the server, its password and its log go.
        shutil.rmtree(job["directory"], ignore_errors=True)


def _join(group: str | None) -> bool:
    """Join a control group, if one is asked for; false if the system refuses, with its reason printed."""
    if group is None:
        return True
    try:
        Path(group).write_text(str(os.getpid()))
    except OSError as error:
        sys.stdout.write(f"'{group}' cannot be joined: {error.strerror}\n")
        return False
    return True


def _keep(job: dict[str, Any]) -> int:
    with Path(job["log"]).open("ab") as log:
        for argv in job["first"]:
            if _start(argv, job, log).wait() != 0:
                return _fail(job["log"])
        server = _start(job["server"], job, log)
        try:
            is_ended = _watch(server)
        finally:
            _end(server, job.get("endings", _ENDINGS))
    if not is_ended:
        return _fail(job["log"])
    # An end without a word: the owner is gone, and nobody else will clear up after it.
    for folder in job["lent"] if not sys.stdin.readline() else ():
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def _watch(server: "subprocess.Popen[bytes]") -> bool:
    """Wait until the owner is gone or says a word; false if the server ended before."""
    while server.poll() is None:
        if select.select([sys.stdin], [], [], _GLANCE_S)[0]:
            return True
    return False


def _start(argv: list[str], job: dict[str, Any], log: Any) -> "subprocess.Popen[bytes]":
    as_user: dict[str, Any] = {}
    if job["uid"] is not None:
        # Without the groups of ours either: root's would open files that the account may not read.
        as_user = {"user": job["uid"], "group": job["gid"], "extra_groups": []}
    return subprocess.Popen(  # noqa: S603 - the commands are the owner's own
        argv,
        env=job["environment"],
        cwd=job["directory"],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        **as_user,
    )


def _end(server: "subprocess.Popen[bytes]", endings: Sequence[str]) -> None:
    for number, name in enumerate(endings):
        if server.poll() is not None:
            return
        server.send_signal(signal.Signals[name])
        try:
            server.wait(_PATIENCE_S[min(number, 1)])
        except subprocess.TimeoutExpired:
            continue


def _fail(log: str) -> int:
    with Path(log).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL_BYTES, 0))
        sys.stdout.write(file.read().decode(errors="replace"))
    return 1


if __name__ == "__main__":
    # Nothing ends the keeper before its server. A handler that does nothing, because ignored
    # signals would be inherited by the server.
    for _sign in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(_sign, lambda *_: None)
    sys.exit(main())
