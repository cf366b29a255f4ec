"""
Run a throwaway real server with a keeper: the part that all engines share.

Rule 1: it never runs as root (`account.py`).
Rule 2: only what was started here is ended, by process id. Its directory is removed, however this process
        ends; the keeper does that (`keeper.py`).
Rule 3: a data directory that the caller named outlives the server.
Rule 4: it runs only once a client got an answer. If it does not get so far, its log is kept where the message says.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from importlib.resources import files
from pathlib import Path
from typing import Any, Self
from urllib.request import ProxyHandler, Request, build_opener

from plimsoll.errors import SourceError
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.gate.place import disk_folder
from plimsoll_lab.servers import keeper
from plimsoll_lab.servers.account import unprivileged_account
from plimsoll_lab.servers.store import default_store

HOST = "127.0.0.1"
"""Address on which servers listen: only programs of this machine reach it."""

# Another program may take a free port between our choice and the server's start.
START_ATTEMPTS = 3
# A server that runs answers within milliseconds; one that is starting may accept and not answer yet.
ANSWER_S = 2.0
# The first start creates a database or recovers after a loader; that may take long on a slow, busy disk.
_START_S = 120.0
# A server is ready within tenths of a second, and each check reads only a small file.
_POLL_S = 0.02
# Logs of failed starts that are kept; older ones are removed, so that they never add up.
_LOGS_KEPT = 10


def free_ports(count: int) -> tuple[int, ...]:
    """Return ports of loopback that nobody uses now; another program may still take them first."""
    with contextlib.ExitStack() as probes:
        ports = []
        # All are open at the same time, so that no port is given twice.
        for _ in range(count):
            probe = probes.enter_context(socket.socket())
            probe.bind((HOST, 0))
            ports.append(int(probe.getsockname()[1]))
    return tuple(ports)


def keep_ports(ports: Iterable[int]) -> list[socket.socket]:
    """
    Keep ports of loopback for a server that will come back; a client is refused, as by a server that is down.

    The kernel could otherwise choose one for an outgoing connection, and the server could not listen on it again.

    Returns:
        Sockets to close just before the server starts; none for a port that is taken already.
    """
    kept = []
    for port in ports:
        one = socket.socket()
        # Connections of the server that is gone may not have ended yet.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, port))
        except OSError:
            one.close()
        else:
            kept.append(one)
    return kept


# A proxy of the environment cannot reach our loopback.
_DIRECT = build_opener(ProxyHandler({}))


def answers(question: str | Request) -> bool:
    """Return whether a server of ours answers an HTTP request, a URL or more, with status 200."""
    try:
        with _DIRECT.open(question, timeout=ANSWER_S) as answer:
            return bool(answer.status == 200)
    except (HTTPException, OSError):
        return False


def _log_of(directory: Path) -> Path:
    """Return the file for the log of a server that does not start, after removing all but the newest logs."""
    logs = default_store().folder / "logs"
    # Another process may remove the same ones.
    with contextlib.suppress(OSError):
        for old in sorted(logs.glob("*.log"), key=lambda log: log.stat().st_mtime)[: 1 - _LOGS_KEPT]:
            old.unlink()
    return logs / f"{directory.name.removeprefix('plimsoll-')}.log"


class KeptServer(ABC):
    """Run a server of our own while the `with` block lasts; subclasses say what runs."""

    kind: str
    """Part of its folders' names."""
    title: str
    """Its name for people."""
    port_taken = "Address already in use"
    """What its log says when another program has taken its port; only that is worth another attempt."""
    restart_s: float = 0
    """For so long a server that somebody has killed is started again, with its data and on its ports; 0: it is not."""

    def __init__(self, settings: Mapping[str, str], also_remove: tuple[Path, ...]) -> None:
        """
        Choose the account; nothing is started yet.

        Args:
            settings: settings under the server's own names.
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: root has no other account to use.
        """
        self.account = unprivileged_account()
        self._settings = dict(settings)
        self._also_remove = also_remove
        self._group: ClassGroup | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._directory = Path()
        self._kept_log = Path()

    @property
    @abstractmethod
    def version(self) -> str:
        """Return the server's version; it need not run."""

    def __enter__(self) -> Self:
        """
        Start the server and wait until it answers a client.

        Raises:
            UsageError: the account cannot run the programs, or use the data directory.
            SourceError: it did not start; the message has the reason and where its log is kept.
        """
        for attempt in range(1, START_ATTEMPTS + 1):
            failure = self._start()
            if failure is None:
                return self
            if self.port_taken not in failure or attempt == START_ATTEMPTS:
                raise SourceError(
                    f"{self.title} did not start: {self._why(failure)}",
                    f"Its log is in {self._kept_log}."
                    if self._kept_log.is_file()
                    else "Check the free space and the memory of this machine.",
                )
        raise AssertionError

    def __exit__(self, *exception: object) -> None:
        """Stop the server and remove its directory, except a data directory that the caller named."""
        self.stop()

    def stop(self) -> str:
        """Make the keeper end the server and clear up; return the keeper's output."""
        return self._stop("end")

    def _stop(self, word: str) -> str:
        found, self._keeper = self._keeper, None
        if found is None:
            return ""
        # The line says that this process goes on; the end of the input makes the keeper end.
        output, _ = found.communicate(f"{word}\n")
        return output

    def _why(self, log: str) -> str:
        """Return why it did not start, in words; what a server says of its port is not always the end of its log."""
        if self.port_taken in log:
            return "another program takes its port, whichever it is"
        return self._reason(log)

    def _reason(self, log: str) -> str:
        """Return the line of a log's end that says why the server did not start."""
        return (log.strip().splitlines() or ["it gave no reason"])[-1]

    @abstractmethod
    def _job(self) -> dict[str, Any]:
        """Prepare the directory, and return the keeper's job from `_job_of`."""

    @abstractmethod
    def _takes_connections(self) -> bool:
        """Return whether it accepts connections now."""

    def _job_of(self, server: list[str], *, first: list[str] | None, **more: object) -> dict[str, Any]:
        """
        Return the keeper's job.

        Args:
            server: the command that keeps running.
            first: a command to run to completion before; None for none.
            more: additional fields of the engine.
        """
        log = self._directory / "log"
        log.touch(mode=0o600)
        return {
            "directory": str(self._directory),
            "also_remove": [str(folder) for folder in self._also_remove],
            "log": str(log),
            "kept_log": str(self._kept_log),
            "first": [] if first is None else [first],
            "server": server,
            # A clean environment: PGDATA, PGOPTIONS and similar variables are not meant for it.
            "environment": {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(self._directory)},
            "uid": self.account.uid,
            "gid": self.account.gid,
            "group": None if self._group is None else str(self._group.members),
            "restart_s": self.restart_s,
            **more,
        }

    def _write(self, name: str, text: str) -> Path:
        """Write a file of the server into its folder, readable by its account only; return its path."""
        path = self._directory / name
        path.touch(mode=0o600)
        path.write_text(text)
        self.account.own(path)
        return path

    def _own_folder(self, given: Path | None, name: str) -> Path:
        """Return a folder that the server may write to: the caller's, or one of its own; create it."""
        folder = given or self._directory / name
        if not folder.exists():
            folder.mkdir(mode=0o700)
            self.account.own(folder)
        return folder

    def _write_program(self, module: str) -> Path:
        """Copy a module of ours into the server's folder: its account may be closed out of ours."""
        folder, _, name = module.rpartition(".")
        text = files(folder).joinpath(f"{name}.py").read_text(encoding="utf-8")
        return self._write(f"{name}.py", text)

    def _start(self) -> str | None:
        """Start a keeper with the server; return None if it is ready, else what went wrong."""
        self._directory = Path(tempfile.mkdtemp(prefix=f"plimsoll-{self.kind}-", dir=disk_folder()))
        self._kept_log = _log_of(self._directory)
        try:
            self.account.own(self._directory)
            job = self._job()
            self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-I", keeper.__file__],
                # Open for as long as this process lives. Its end shows the keeper that we are gone,
                # even after kill -9.
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            assert self._keeper.stdin is not None
            self._keeper.stdin.write(json.dumps(job) + "\n")
            self._keeper.stdin.flush()
            is_ready = self._is_ready()
        except BaseException:
            self.stop()
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        return None if is_ready else self._stop("keep")

    def _is_ready(self) -> bool:
        """Return whether it accepts connections within the time; False once the keeper has ended."""
        assert self._keeper is not None
        for _ in range(round(_START_S / _POLL_S)):
            if self._keeper.poll() is not None:
                return False
            if self._takes_connections():
                return True
            time.sleep(_POLL_S)
        return False
