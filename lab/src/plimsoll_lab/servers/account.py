"""
Choose the account of a server.

Rule 1: a server never runs as root; an unprivileged account of the system is used.
"""

import contextlib
import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path

from plimsoll.errors import UsageError

# Accounts that Linux systems have, in our order of preference.
_UNPRIVILEGED = ("nobody", "daemon")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    """Name the account of the server; ids are None for our own."""

    uid: int | None = None
    gid: int | None = None

    @property
    def name(self) -> str:
        """Return the name for people."""
        return pwd.getpwuid(self.uid if self.uid is not None else os.geteuid()).pw_name

    def own(self, path: Path) -> None:
        """Give a file or folder to the account; do nothing if it is our own."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)

    def refusal(self, program: Path, *arguments: str) -> Exception | None:
        """Return why the account cannot run a program; None if it can, or if it is our own account."""
        if self.uid is None:
            return None
        try:
            subprocess.run(  # noqa: S603 - the server's own program
                [str(program), *arguments],
                user=self.uid,
                group=self.gid,
                extra_groups=[],
                cwd="/",
                stdout=subprocess.DEVNULL,
                check=True,
            )
        except (PermissionError, subprocess.CalledProcessError) as error:
            return error
        return None


def unprivileged_account() -> ServerAccount:
    """
    Return the account for the server: ours, or as root that of the sudo caller, or nobody.

    Raises:
        UsageError: we are root, and the system has no other account that we know.
    """
    if os.geteuid() != 0:
        return ServerAccount()
    # The sudo caller can read the files that were named on the command line.
    for name in (os.environ.get("SUDO_USER", ""), *_UNPRIVILEGED):
        with contextlib.suppress(KeyError):
            entry = pwd.getpwnam(name)
            if entry.pw_uid != 0:
                return ServerAccount(uid=entry.pw_uid, gid=entry.pw_gid)
    raise UsageError(
        "servers do not run as root, and this system has no user 'nobody'", "Run the command as another user."
    )
