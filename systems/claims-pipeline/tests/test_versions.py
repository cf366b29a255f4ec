"""aws_s3 and a load on each PostgreSQL from 15 on that is older than the one of the other tests."""

import contextlib
import ctypes
import gzip
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from conftest import World, world_of
from records import claims, people
from servers import ROOT, Servers, put, query, wait_for
from test_extension import IMPORT, load

from claims_pipeline.settings import settings_of
from claims_pipeline.storage import Storage

pytestmark = pytest.mark.xdist_group("servers")
REPOSITORY = ROOT.parents[1]
PLACES = (
    "/usr/lib/postgresql/{}/bin",
    f"{REPOSITORY}/build/servers/usr/lib/postgresql/{{}}/bin",
    f"{REPOSITORY}/build/servers/postgresql-{{}}/bin",
)
"""Where the repository's `make servers` has them."""
ACCOUNT = "nobody"
"""PostgreSQL does not run as root."""


def programs_of(version: str) -> Path | None:
    """The folder with `initdb`; None if there is none."""
    folders = [Path(place.format(version)) for place in PLACES]
    return next((folder for folder in folders if (folder / "initdb").is_file()), None)


def versions() -> list[str]:
    """All in the repository, which gets them; elsewhere those of this machine."""
    every = ["15", "16", "17"]
    if (REPOSITORY / ".ci/servers").is_file():
        return every
    return [version for version in every if programs_of(version)]


def end_with_the_tests() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGINT)  # PR_SET_PDEATHSIG


def reachable(programs: Path, folder: Path, who: dict[str, Any]) -> Path:
    """
    The programs at a place where the account can run them: it may not enter the folder of the repository.
    """
    try:
        subprocess.run([programs / "initdb", "--version"], check=True, cwd="/", capture_output=True, **who)
    except PermissionError:
        copy = folder / "programs"
        shutil.copytree(programs.parent, copy)
        return copy / programs.name
    return programs


@contextmanager
def postgres(programs: Path) -> Iterator[str]:
    """A server with an empty cluster on loopback; yields the address of its database `postgres`."""
    account = pwd.getpwnam(ACCOUNT)
    is_root = os.geteuid() == 0
    who = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if is_root else {}
    with (
        tempfile.TemporaryDirectory(prefix="claims-postgres-", dir="/var/tmp") as folder,
        Path(folder, "log").open("w", encoding="utf-8") as log,
    ):
        if is_root:
            os.chown(folder, account.pw_uid, account.pw_gid)
        programs = reachable(programs, Path(folder), who)
        data = f"{folder}/data"
        made = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "--no-sync"]
        subprocess.run([programs / "initdb", "-D", data, *made], check=True, cwd="/", stdout=log, **who)
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        given = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
        options = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-p", str(port), *options],
            cwd="/",
            stdout=log,
            stderr=log,
            preexec_fn=end_with_the_tests,  # noqa: PLW1509 - it is one system call
            **who,
        )
        address = f"postgresql://postgres@127.0.0.1:{port}/postgres"

        def answers() -> bool:
            assert server.poll() is None, Path(folder, "log").read_text()
            with contextlib.suppress(psycopg.OperationalError):
                return query(address, "SELECT 1") == [(1,)]
            return False

        try:
            wait_for("PostgreSQL", answers)
            yield address
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(60)


@pytest.fixture(params=versions())
def older(request: pytest.FixtureRequest, servers: Servers, fetch_program: Path) -> Iterator[World]:
    """A world whose database is of an older version, and set up."""
    programs = programs_of(request.param)
    assert programs, f"no PostgreSQL {request.param}: run .ci/servers of the repository"
    with postgres(programs) as address:
        others = replace(servers, addresses={**servers.addresses, "postgres": address})
        with world_of(others, "template0") as world:
            world.prepare()
            world.run("setup", "--send-keys", "--fetch", str(fetch_program))
            assert [(int(request.param),)] == world.ask("SELECT current_setting('server_version_num')::int / 10000")
            yield world


def test_a_load_and_imports_on_an_older_postgresql(older: World, monkeypatch: pytest.MonkeyPatch):
    """
    Rows, quarantine and ledger as on the newest; gzip, options of COPY and a missing object; only members import.
    """
    content, total = claims(range(300))
    again, _ = claims(range(5))
    files = [
        ("one", "part_a_claims", content + again + content[:200] + b"\n", {}),
        ("two", "beneficiaries", people(range(100, 140), zip_code="11111"), {}),
    ]
    put(older.folder, "A1001", "2023-01", files)
    older.run("transfer")
    older.run("load", "A1001", "2023-01", "--path", "new")
    for name, value in older.settings.items():
        monkeypatch.setenv(name, value)
    store = Storage(settings_of())
    packed = gzip.compress(b"a|b\nx|1\n-|2\n")
    store.client.put_object(Bucket=store.bucket, Key="k", Body=packed, ContentEncoding="gzip")
    older.ask("CREATE TABLE t (a text, b int)")
    load(older, "t", "k", "(format csv, header true, delimiter '|', null '-')")
    with pytest.raises(psycopg.errors.ExternalRoutineException, match="does not exist"):
        load(older, "t", "none")
    older.ask("CREATE ROLE other")
    older.ask("GRANT ALL ON t TO other")
    with psycopg.connect(older.url, autocommit=True) as connection:
        connection.execute("SET ROLE other")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(IMPORT, ("t", "", "", store.bucket, "k"))
        connection.execute("RESET ROLE")
        connection.execute("GRANT rds_s3_import TO other")
        connection.execute("SET ROLE other")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("COPY t FROM PROGRAM 'echo x'")
        connection.execute(IMPORT, ("t", "a", "", store.bucket, "k"))

    assert [(300, total)] == older.ask("SELECT count(*), sum(clm_pmt_amt) FROM claims.part_a_claims")
    assert [("one", 306, 300, 6, 5), ("two", 40, 40, 0, 0)] == older.ask(
        "SELECT name, records, rows, quarantined, duplicates FROM claims.files ORDER BY name"
    )
    assert [("x", 1), (None, 2)] == older.ask("SELECT * FROM t WHERE b IS NOT NULL ORDER BY b")
    assert [("a|b",), ("x|1",), ("-|2",)] == older.ask("SELECT a FROM t WHERE b IS NULL AND a <> ''")
