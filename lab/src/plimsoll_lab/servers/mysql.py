"""
Run a throwaway real MariaDB, from programs that are installed or only unpacked.

Rule 1: it listens on no port; its socket is in a folder that only its account and root may enter.
Rule 2: the rules of `server.py` apply.
"""

import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.servers.server import KeptServer

DATABASE = "lab"
USER = "root"

_SERVER = "mariadbd"
_MISSING = "Run 'sudo apt-get install mariadb-server-core mariadb-client-core sysbench', or give --mysql-bin."

# System folders that a plain user's PATH often lacks.
_SYSTEM = ("/usr/sbin", "/usr/bin")


class MariaDb(KeptServer):
    """
    Run a MariaDB server of our own while the `with` block lasts.

    `settings` are passed to the server as `--name=value`.
    """

    kind = "mysql"
    title = "MariaDB"

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        data_directory: Path,
        binaries: Path | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find the programs; nothing is started yet.

        Args:
            settings: settings under MariaDB's own names.
            data_directory: folder of the data, which stays; created if it does not exist.
            binaries: folder with `mariadbd`, or with `bin` and `sbin`; None for the installed programs.
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: a program is missing, or root has no other account to use.
        """
        super().__init__(settings, also_remove)
        self._binaries = binaries
        self.server = self.program(_SERVER)
        self.data_directory = data_directory

    @property
    def base(self) -> Path:
        """Return the folder with the programs' own files, above `bin` and `sbin`."""
        return self.server.parent.parent

    @property
    def socket(self) -> Path:
        """Return the path of its socket."""
        return self._directory / "socket"

    @property
    def version(self) -> str:
        """Return the server's version, for example `10.11.19-MariaDB`; it need not run."""
        output = subprocess.run(  # noqa: S603 - the server's own program
            [str(self.server), "--no-defaults", "--version"], capture_output=True, text=True, check=False
        ).stdout.split()
        # "mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
        return output[output.index("Ver") + 1] if "Ver" in output[:-1] else "unknown"

    def relocated(
        self, data_directory: Path, settings: Mapping[str, str], group: ClassGroup | None = None
    ) -> "MariaDb":
        """Return a server for the same data at another path, with other settings, in a control group."""
        other = MariaDb(settings, data_directory=data_directory, binaries=self._binaries)
        other._group = group
        return other

    def program(self, name: str) -> Path:
        """
        Return the path of a program, from the given folder or as installed.

        Raises:
            UsageError: the program is missing.
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

    def run(self, statements: str) -> str:
        """
        Run statements, and return their rows as lines with tabs between the columns.

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
            raise SourceError(f"MariaDB refused a statement: {last}", "Check the free space of this disk.")
        return done.stdout

    def _reason(self, log: str) -> str:
        lines = log.strip().splitlines() or ["it gave no reason"]
        errors = [line for line in lines if "[ERROR]" in line] or lines
        return errors[-1].rpartition("[ERROR] ")[2]

    def _job(self) -> dict[str, Any]:
        refusal = self.account.refusal(self.server, "--no-defaults", "--version")
        if refusal is not None:
            raise UsageError(
                f"the user {self.account.name} cannot run '{self.server}'",
                "The lab's servers do not run as root: give a folder that others may read too.",
            ) from refusal
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
            # Sorts go through the limits too, as on an RDS instance.
            "tmpdir": str(self.data_directory),
            **self._settings,
        }
        # No option file of the machine, no port, and no binary log: its writes would add to the load.
        server = [str(self.server), "--no-defaults", "--skip-networking", "--skip-log-bin"]
        # MariaDB ends on SIGTERM; it ignores SIGINT.
        return self._job_of(
            [*server, *(f"--{name}={value}" for name, value in settings.items())],
            first=None if has_data else self._install(),
            endings=["SIGTERM", "SIGKILL"],
        )

    def _install(self) -> list[str]:
        return [
            *(str(self.program("mariadb-install-db")), "--no-defaults", f"--basedir={self.base}"),
            *(f"--datadir={self.data_directory}", "--auth-root-authentication-method=normal"),
            *("--skip-test-db", "--skip-name-resolve"),
        ]

    def _takes_connections(self) -> bool:
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(str(self.socket))
            except OSError:
                return False
        return True
