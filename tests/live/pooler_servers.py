"""Real PgBouncer and Pgpool-II on loopback, before a server of ours; ended with their `with` block."""

import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Self
from urllib.parse import quote

import psycopg

from live.installed import program
from live.prometheus_server import free_port
from plimsoll_lab.servers.postgres import USER, Postgres

_READY_S = 30.0
_END_S = 20.0


class Pooler(ABC):
    """
    One pooler in a folder of its own, run by the server's account.

    Args:
        server: that it stands before.
        settings: by the pooler's own names; they win over those needed to run it here.
        executable: another build of the same pooler; None for the one that is installed.
    """

    kind = ""
    _end_signal = signal.SIGTERM

    def __init__(
        self, server: Postgres, settings: Mapping[str, str] | None = None, *, executable: Path | None = None
    ) -> None:
        self.server = server
        self.port = free_port()
        self.password = server.environment["PGPASSWORD"]
        self._settings = dict(settings or {})
        self._executable = executable
        self._process: subprocess.Popen | None = None
        self.folder = Path()

    @property
    def url(self) -> str:
        """As for `read_pooler`; it holds the password."""
        return f"{self.kind}://{USER}:{quote(self.password, safe='')}@127.0.0.1:{self.port}"

    def dsn(self, database: str) -> str:
        """How a client connects through it."""
        return f"host=127.0.0.1 port={self.port} user={USER} dbname={database} password={self.password}"

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="plimsoll-pooler-", dir="/var/tmp"))
        program, *arguments = self._prepare()
        # The account may not be let into the checkout.
        arguments.insert(0, shutil.copy(str(program), self.folder))
        for path in (self.folder, *self.folder.iterdir()):
            self.server.account.own(path)
        account = self.server.account
        with (self.folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                **({} if account.uid is None else {"user": account.uid, "group": account.gid}),
            )
        try:
            self._wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        process = self._process
        if process is not None:
            process.send_signal(self._end_signal)
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    @abstractmethod
    def _prepare(self) -> list[object]:
        """Write what it wants to read; how it is called."""

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def _wait(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, (self.folder / "output").read_text()
            with contextlib.suppress(psycopg.OperationalError):
                psycopg.connect(self.dsn("postgres"), connect_timeout=2).close()
                return
            time.sleep(0.05)
        raise AssertionError((self.folder / "output").read_text())


class PgBouncer(Pooler):
    """Debian's PgBouncer; `databases` are lines of its section of that name."""

    kind = "pgbouncer"

    def __init__(self, server: Postgres, databases: str = "", **options: object) -> None:
        super().__init__(server, **options)  # type: ignore[arg-type]
        self._databases = databases

    def _prepare(self) -> list[object]:
        users = self._write("users.txt", f'"{USER}" "{self.password}"\n')
        settings = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "scram-sha-256",
            "auth_file": str(users),
            "admin_users": USER,
            **self._settings,
        }
        lines = "\n".join(f"{name} = {value}" for name, value in settings.items())
        place = f"host=127.0.0.1 port={self.server.port}"
        configuration = self._write(
            "pgbouncer.ini", f"[databases]\n{self._databases.replace('@', place)}\n* = {place}\n[pgbouncer]\n{lines}\n"
        )
        return [self._executable or program("pgbouncer"), configuration]


class Pgpool(Pooler):
    """Debian's Pgpool-II before one node."""

    kind = "pgpool"
    _end_signal = signal.SIGINT

    def _prepare(self) -> list[object]:
        folder = str(self.folder)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "pcp_listen_addresses": "127.0.0.1",
            "pcp_port": str(free_port()),
            "socket_dir": folder,
            "pcp_socket_dir": folder,
            "wd_ipc_socket_dir": folder,
            "logdir": folder,
            "work_dir": folder,
            "pid_file_name": f"{folder}/pgpool.pid",
            "backend_clustering_mode": "raw",
            "backend_hostname0": "127.0.0.1",
            "backend_port0": str(self.server.port),
            "enable_pool_hba": "on",
            "num_init_children": "4",
            "max_pool": "2",
            **self._settings,
        }
        lines = "\n".join(f"{name} = '{value}'" for name, value in settings.items())
        configuration = self._write("pgpool.conf", f"{lines}\n")
        self._write("pool_passwd", f"{USER}:TEXT{self.password}\n")
        rules = self._write("pool_hba.conf", "host all all 127.0.0.1/32 scram-sha-256\n")
        return [
            *(self._executable or program("pgpool"), "-n", "-f", configuration),
            *("-F", self._write("pcp.conf", ""), "-a", rules),
        ]
