"""
A throwaway real MariaDB, from programs that are installed or only unpacked.

Rule 1: it listens on no port; its socket lies in a folder that only its account and root may enter.
Rule 2: it never runs as root, like every server that the lab starts.
Rule 3: only what was started here is ended, by process id, and its directory is removed, whatever
        becomes of us: that is the keeper's work (`keeper.py`).
Rule 4: a data directory that we were given outlives the server.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from plimsoll.errors import SourceError, UsageError
from plimsoll.lab import keeper
from plimsoll.lab.class_group import ClassGroup
from plimsoll.lab.gate_place import on_disk
from plimsoll.lab.postgres import unprivileged_account

DATABASE = "lab"
USER = "root"

_SERVER = "mariadbd"
_MISSING = "Run 'sudo apt-get install mariadb-server-core mariadb-client-core sysbench', or give --mysql-bin."

# A first start recovers what the loader left, at the speed of the emulated disk.
_START_S = 120.0
_GLANCE_S = 0.05

# System folders that a plain user's PATH often lacks.
_SYSTEM = ("/usr/sbin", "/usr/bin")


class MariaDb:
    """
    A MariaDB server of our own, for as long as the `with` block lasts.

    `settings` go to the server as `--name=value`.
    """

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        data_directory: Path,
        binaries: Path | None = None,
        lent: tuple[Path, ...] = (),
    ) -> None:
        """
        Look for the programs; nothing is started yet.

        Args:
            settings: by MariaDB's own names.
            data_directory: where the data lies, and stays; made if it does not exist.
            binaries: folder with `mariadbd`, or with `bin` and `sbin`; None for what is installed.
            lent: folders that are removed with all they hold if we go without having ended it.

        Raises:
            UsageError: a program is missing, or root has no other account to use.
        """
        self._binaries = binaries
        self.account = unprivileged_account()
        self.server = self.program(_SERVER)
        self.data_directory = data_directory
        self._settings = dict(settings)
        self._lent = lent
        self._group: ClassGroup | None = None
        self._keeper: subprocess.Popen[str] | None = None
        self._directory = Path()

    @property
    def base(self) -> Path:
        """Where the programs' own files are found: the folder above `bin` and `sbin`."""
        return self.server.parent.parent

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self._directory / "socket"

    @property
    def version(self) -> str:
        """Of the server, as `10.11.19-MariaDB`; it need not run."""
        told = subprocess.run(  # noqa: S603 - the server's own program
            [str(self.server), "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        # "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
        return told[told.index("Ver") + 1] if "Ver" in told[:-1] else "unknown"

    def elsewhere(
        self, data_directory: Path, settings: Mapping[str, str], group: ClassGroup | None = None
    ) -> "MariaDb":
        """Return the same data's server at another place, with other settings, in a control group."""
        other = MariaDb(settings, data_directory=data_directory, binaries=self._binaries)
        other._group = group
        return other

    def program(self, name: str) -> Path:
        """
        Find a program: in the folder that was given, or installed.

        Raises:
            UsageError: it is nowhere.
        """
        given = self._binaries
        if given is not None:
            folders = [given, given / "sbin", given / "bin", given.parent / "bin"]
        else:
            folders = [Path(p) for p in os.environ.get("PATH", os.defpath).split(os.pathsep)]
            folders += [Path(p) for p in _SYSTEM]
        for folder in folders:
            if os.access(folder / name, os.X_OK):
                return (folder / name).absolute()
        where = f"'{given}' has no" if given is not None else "this machine has no"
        raise UsageError(f"{where} program '{name}', which the lab needs", _MISSING)

    def __enter__(self) -> Self:
        """
        Start the server and wait until it takes connections.

        Raises:
            UsageError: the account cannot run the programs.
            SourceError: it did not start; the message has the end of its log.
        """
        self._check_reachable()
        self._directory = Path(tempfile.mkdtemp(prefix="plimsoll-mysql-", dir=on_disk()))
        try:
            job = self._job()
            self._keeper = subprocess.Popen(  # noqa: S603 - our own interpreter and file
                [sys.executable, "-I", keeper.__file__],
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
        if not is_ready:
            told = self.stop().strip().splitlines() or ["it gave no reason"]
            errors = [line for line in told if "[ERROR]" in line] or told
            raise SourceError(
                f"MariaDB did not start: {errors[-1].rpartition('[ERROR] ')[2]}",
                "Check free space and memory of this machine.",
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop the server and remove its directory, not the data directory."""
        self.stop()

    def stop(self) -> str:
        """Let the keeper end the server and clear up; what the keeper had to say."""
        found, self._keeper = self._keeper, None
        if found is None:
            return ""
        # The word says that we live on; the end of its input tells it to end.
        told, _ = found.communicate("end\n")
        return told

    def run(self, statements: str) -> str:
        """
        Run statements; what they gave, in lines of columns with tabs between them.

        Raises:
            SourceError: one of them failed.
        """
        done = subprocess.run(  # noqa: S603 - MariaDB's own program
            [
                *(str(self.program("mariadb")), "--no-defaults", f"--socket={self.socket}"),
                *(f"--user={USER}", "--batch", "--skip-column-names"),
            ],
            input=statements,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise SourceError(
                f"MariaDB refused a statement: {last}", "Check the space of this disk."
            )
        return done.stdout

    def _check_reachable(self) -> None:
        account = self.account
        if account.uid is None:
            return
        try:
            subprocess.run(  # noqa: S603 - the server's own program
                [str(self.server), "--no-defaults", "--version"],
                user=account.uid,
                group=account.gid,
                extra_groups=[],
                cwd="/",
                stdout=subprocess.DEVNULL,
                check=True,
            )
        except (PermissionError, subprocess.CalledProcessError) as error:
            raise UsageError(
                f"'{self.server}' cannot be run by the user {account.name}",
                "The lab's servers do not run as root: give a folder that others may read too.",
            ) from error

    def _job(self) -> dict[str, object]:
        log = self._directory / "log"
        log.touch(mode=0o600)
        self.account.own(self._directory)
        has_data = (self.data_directory / "mysql").is_dir()
        if not self.data_directory.exists():
            self.data_directory.mkdir(mode=0o700)
            self.account.own(self.data_directory)
        settings = {
            "basedir": str(self.base),
            "datadir": str(self.data_directory),
            "socket": str(self.socket),
            "pid-file": str(self._directory / "pid"),
            "lc-messages-dir": str(self.base / "share/mysql"),
            "tmpdir": str(self.data_directory),
            **self._settings,
        }
        return {
            "directory": str(self._directory),
            "lent": [str(folder) for folder in self._lent],
            "log": str(log),
            "first": [] if has_data else [self._install()],
            "server": [
                *(str(self.server), "--no-defaults", "--skip-networking", "--skip-log-bin"),
                *(f"--{name}={value}" for name, value in settings.items()),
            ],
            # MariaDB is asked to end by SIGTERM; SIGINT is no order to it.
            "endings": ["SIGTERM", "SIGKILL"],
            "environment": {"PATH": os.defpath, "LC_ALL": "C", "HOME": str(self._directory)},
            "uid": self.account.uid,
            "gid": self.account.gid,
            "group": None if self._group is None else str(self._group.members),
        }

    def _install(self) -> list[str]:
        return [
            *(str(self.program("mariadb-install-db")), "--no-defaults", f"--basedir={self.base}"),
            *(f"--datadir={self.data_directory}", "--auth-root-authentication-method=normal"),
            *("--skip-test-db", "--skip-name-resolve"),
        ]

    def _is_ready(self) -> bool:
        """Whether it takes connections within the time; false once the keeper has ended."""
        assert self._keeper is not None
        for _ in range(round(_START_S / _GLANCE_S)):
            if self._keeper.poll() is not None:
                return False
            with socket.socket(socket.AF_UNIX) as line:
                try:
                    line.connect(str(self.socket))
                except OSError:
                    time.sleep(_GLANCE_S)
                else:
                    return True
        return False
