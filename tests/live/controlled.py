"""A PostgreSQL that `pg_ctl` starts, stops and starts again, as an operator does."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psycopg

from live.counted import flush_statistics
from live.installed import postgres_folder
from plimsoll_lab.servers.postgres import Postgres


class Controlled:
    """A server that runs; `made` is what made its data, and knows how to connect."""

    def __init__(self, made: Postgres, folder: Path) -> None:
        self.made = made
        self.dsn = made.dsn
        self._folder = folder

    def control(self, *words: str) -> None:
        """Run `pg_ctl`, which waits until it is done, as the server's account."""
        account = self.made.account
        who = {"user": account.uid, "group": account.gid, "extra_groups": []}
        subprocess.run(
            [
                *(str(self.made.program("pg_ctl")), "-D", str(self.made.data_directory)),
                *("-w", "-l", str(self._folder / "log"), *words),
            ],
            cwd=self._folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            stdout=subprocess.DEVNULL,
            check=True,
            **({} if account.uid is None else who),
        )

    def did(self, *statements: str) -> Callable[[], None]:
        """What runs statements in a session of its own, which the views then count."""

        def run() -> None:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                for statement in statements:
                    connection.execute(statement.encode())
                flush_statistics(connection)

        return run


@contextmanager
def controlled(version: str, settings: Mapping[str, str], *setup: str) -> Iterator[Controlled]:
    """A server of one of `VERSIONS` under `pg_ctl`, after statements that set it up."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-controlled-", dir="/var/tmp"))
    try:
        made = Postgres(settings, binaries=postgres_folder(version), data_directory=folder / "data")
        made.account.own(folder)
        with made:
            server = Controlled(made, folder)
            server.did(*setup)()
        with (folder / "data/postgresql.conf").open("a") as file:
            own = {"port": str(made.port), "listen_addresses": "127.0.0.1", "unix_socket_directories": "", **settings}
            file.writelines(f"{name} = '{value}'\n" for name, value in own.items())
        server.control("start")
        try:
            yield server
        finally:
            server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
