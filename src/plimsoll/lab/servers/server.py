"""
A throwaway real server, kept by a keeper: what is the same for every engine.

Rule 1: it never runs as root: an unprivileged user of the system is used.
Rule 2: only what was started here is ended, by process id, and its directory is removed, whatever
        becomes of us: that is the keeper's work (`keeper.py`).
Rule 3: a data directory that we were given outlives the server.
"""

import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from plimsoll.errors import UsageError
from plimsoll.gate.class_group import ClassGroup
from plimsoll.gate.place import disk_folder
from plimsoll.lab.servers import keeper

# The first start makes a database or recovers what a loader left: a slow disk under load may take many seconds.
_START_S = 120.0
# A server is ready within tenths of a second, and each look is a read of a small file.
_GLANCE_S = 0.02

# Accounts that Linux systems have, in the order in which we would rather use them.
_UNPRIVILEGED = ("nobody", "daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    """Whom the server runs as; None for ourselves."""

    uid: int | None = None
    gid: int | None = None

    @property
    def name(self) -> str:
        """For people."""
        return pwd.getpwuid(self.uid if self.uid is not None else os.geteuid()).pw_name

    def own(self, path: Path) -> None:
        """Give a file or folder to the account; ours is ours already."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def unprivileged_account() -> ServerAccount:
    """
    Return whom to run the server as: ourselves, or for root the one who called sudo, or nobody.

    Raises:
        UsageError: we are root and the system has no other account we know.
    """
    if os.geteuid() != 0:
        return ServerAccount()
    # Who called sudo can read the files that were named on the command line.
    for name in (os.environ.get("SUDO_USER", ""), *_UNPRIVILEGED):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return ServerAccount(uid=entry.pw_uid, gid=entry.pw_gid)
    raise UsageError(
        "PostgreSQL refuses to run as root, and this system has no user 'nobody'",
        "Run the command as another user.",
    )


class KeptServer(ABC):
    """A server of our own, for as long as the `with` block lasts; an engine's class says what runs."""

    kind: str
    """What its folders are called."""

    def __init__(self, settings: Mapping[str, str], lent: tuple[Path, ...]) -> None:
        """
        Choose the account; nothing is started yet.

        Args:
            settings: by the server's own names.
            lent: folders that are removed with all they hold if we go without having ended it.

        Raises:
            UsageError: root has no other account to use.
        """
        self.account = unprivileged_account()
        self._settings = dict(settings)
        self._lent = lent
        self._group: ClassGroup | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._directory = Path()

    @property
    @abstractmethod
    def version(self) -> str:
        """Of the server; it need not run."""

    @abstractmethod
    def __enter__(self) -> Self:
        """Start the server and wait until it takes connections."""

    def __exit__(self, *exception: object) -> None:
        """Stop the server and remove its directory, not a data directory that was given."""
        self.stop()

    def stop(self) -> str:
        """Let the keeper end the server and clear up; what the keeper had to say."""
        found, self._keeper = self._keeper, None
        if found is None:
            return ""
        # The word says that we live on; the end of its input tells it to end.
        told, _ = found.communicate("end\n")
        return told

    @abstractmethod
    def _job(self) -> dict[str, Any]:
        """Prepare the directory; what the keeper is to do in it, as `_job_of` has it."""

    @abstractmethod
    def _takes_connections(self) -> bool:
        """Return whether it takes connections now."""

    def _job_of(
        self, server: list[str], *, first: list[str] | None, **more: object
    ) -> dict[str, Any]:
        """
        Return what the keeper is told.

        Args:
            server: the command that stays.
            first: a command that is run to its end before; None for none.
            more: fields of an engine's own.
        """
        log = self._directory / "log"
        log.touch(mode=0o600)
        return {
            "directory": str(self._directory),
            "lent": [str(folder) for folder in self._lent],
            "log": str(log),
            "first": [] if first is None else [first],
            "server": server,
            # A clean one: PGDATA, PGOPTIONS and the like of our caller are not meant for it.
            "environment": {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(self._directory)},
            "uid": self.account.uid,
            "gid": self.account.gid,
            "group": None if self._group is None else str(self._group.members),
            **more,
        }

    def _start(self) -> str | None:
        """Start a keeper with the server; None if it is ready, else what went wrong."""
        self._directory = Path(tempfile.mkdtemp(prefix=f"plimsoll-{self.kind}-", dir=disk_folder()))
        try:
            self.account.own(self._directory)
            job = self._job()
            self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-I", keeper.__file__],
                # Held open for as long as we live: its end tells the keeper that we are gone, kill
                # -9 included.
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
        return None if is_ready else self.stop()

    def _is_ready(self) -> bool:
        """Return whether it takes connections within the time; false once the keeper has ended."""
        assert self._keeper is not None
        for _ in range(round(_START_S / _GLANCE_S)):
            if self._keeper.poll() is not None:
                return False
            if self._takes_connections():
                return True
            time.sleep(_GLANCE_S)
        return False

    def _refusal(self, program: Path, *arguments: str) -> Exception | None:
        """Return why the account cannot run a program; None if it can, or if it is ours."""
        if self.account.uid is None:
            return None
        try:
            subprocess.run(  # noqa: S603 - the server's own program
                [str(program), *arguments],
                user=self.account.uid,
                group=self.account.gid,
                extra_groups=[],
                cwd="/",
                stdout=subprocess.DEVNULL,
                check=True,
            )
        except (PermissionError, subprocess.CalledProcessError) as error:
            return error
        return None
