"""`make up` and `make down`: the cluster, its pooler and the services, in the background."""

import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from services.ground import ROOT, is_running, wait_for


def cluster(folder: Path, action: str, *options: str, **variables: str):
    """Run the command to its end."""
    return subprocess.run(
        [sys.executable, ROOT / "deploy/cluster.py", action, "--folder", folder, *options],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def lines_of(log: Path) -> list[dict]:
    """Return what the services have written; the last line may be half written."""
    whole = log.read_text().rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Iterator[Path]:
    found = tmp_path_factory.mktemp("up") / "run"
    started = cluster(found, "up", "--rate", "2")
    assert started.returncode == 0, started.stderr
    yield found
    cluster(found, "down")


def test_the_services_work_through_the_pooler_and_all_ends(folder: Path):
    """A second start is refused, and after `down` neither a JVM nor a server is left."""
    words = (line.removeprefix("export ").split("=", 1) for line in (folder / "settings").read_text().splitlines())
    settings = {name: shlex.split(value)[0] for name, value in words}
    variables = {name: settings[name] for name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE")}
    address = " ".join(
        f"{name}={variables[variable]}"
        for name, variable in (
            ("host", "PGHOST"),
            ("port", "PGPORT"),
            ("user", "PGUSER"),
            ("password", "PGPASSWORD"),
            ("dbname", "PGDATABASE"),
        )
    )
    with psycopg.connect(address, autocommit=True) as connection:
        nodes = connection.execute("show pool_nodes").fetchall()
    with psycopg.connect(settings["CLUSTER_URL"]) as connection:
        is_standby = connection.execute("select pg_is_in_recovery()").fetchone()
    log = folder / "services.log"
    wait_for("business transactions", lambda: lines_of(log)[-1]["counts"]["done"] > 3)
    pids = lines_of(log)[0]["pids"]
    assert all(is_running(pid) for pid in pids)
    again = cluster(folder, "up")
    ended = cluster(folder, "down")

    assert 3 == len(nodes)
    assert (False,) == is_standby
    assert 4 == len(pids)
    assert 2 == again.returncode
    assert "error: the cluster runs already\nhint: End it first: make down.\n" == again.stderr
    assert (0, "ended: services, servers\n") == (ended.returncode, ended.stdout)
    assert not any(is_running(pid) for pid in pids)
    with socket.socket() as line:
        assert line.connect_ex((settings["PGHOST"], int(settings["PGPORT"]))) != 0
    assert not folder.exists()


def test_nothing_to_end(tmp_path: Path):
    ended = cluster(tmp_path / "run", "down")

    assert (0, "nothing was running\n") == (ended.returncode, ended.stdout)


def test_no_command_that_starts_servers(tmp_path: Path):
    started = cluster(tmp_path / "run", "up", PLIMSOLL="/nowhere/plimsoll")

    assert 2 == started.returncode
    assert started.stderr.startswith("error: there is no '/nowhere/plimsoll'")
    assert not (tmp_path / "run").exists()


def test_servers_that_do_not_start(tmp_path: Path):
    """The reason of the command that failed is told on; its log stays."""
    command = tmp_path / "plimsoll"
    command.write_text("#!/bin/sh\necho 'error: no apt' >&2\necho 'hint: Use Debian.' >&2\nexit 2\n")
    command.chmod(0o700)
    started = cluster(tmp_path / "run", "up", PLIMSOLL=str(command))

    assert 2 == started.returncode
    assert "error: the servers did not start: no apt\nhint: Use Debian. The log is " in started.stderr
    assert (tmp_path / "run/servers.log").exists()
    assert "Traceback" not in started.stderr
