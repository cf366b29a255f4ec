"""Failovers on a real cluster under load: nothing acknowledged is lost in strict mode, and a loss would be seen."""

import json
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import psycopg
import pytest

from live.machine import clean_environment
from plimsoll_lab.experiments.failover.checker import SetChecker
from plimsoll_lab.experiments.failover.database import create_table, read_all
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.experiment

COMMAND = [sys.executable, "-m", "plimsoll", "lab", "run", "failover"]
PATIENCE_S = 900


def run(folder: Path, *options: str) -> tuple[int, dict]:
    """The exit status and the JSON report of a run."""
    file = folder / "failover.json"
    done = subprocess.run(
        [*COMMAND, *options, "-o", file],
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert file.exists(), done.stderr
    return done.returncode, json.loads(file.read_text(encoding="utf-8"))


def test_nothing_acknowledged_is_lost_whatever_happens_to_the_leader(tmp_path: Path):
    """
    Killed, cut off and switched over: each time another node takes over, the cluster heals by itself, the pooler uses
    all nodes, and the services do their work again.
    """
    status, found = run(tmp_path, "--kills", "1", "--partitions", "1", "--switchovers", "1")

    assert (0, 0, 0) == (status, found["lost"], found["refused_there"])
    assert found["is_healed"]
    assert ["kill", "partition", "switchover"] == [one["fault"] for one in found["rounds"]]
    for one in found["rounds"]:
        assert one["from_node"] != one["to_node"]
        assert one["writes"]["acknowledged"] > 0
        assert one["no_write_s"] > 0
        assert one["problem"] is None
        assert one["pooler"]["primary_found_s"] > 0
        states = one["pooler"]["states"]
        assert "up, primary" == states.pop(one["to_node"])
        assert ["up, standby"] * 2 == list(states.values())
        assert one["services"]["done"] > 0
        assert one["services"]["gap_s"] > 0
    killed = found["rounds"][0]["pooler"]
    assert {"down", "primary", "standby"} <= {w for line in killed["changes"] for w in line.split()}
    assert killed["refused_s"] + killed["hung_s"] > 0
    assert found["services"]["done"] >= sum(one["services"]["done"] for one in found["rounds"])


def test_losses_of_asynchronous_replication_are_counted(tmp_path: Path):
    """Whether something is lost hangs on the moment; the status says so."""
    status, found = run(
        tmp_path,
        *("--kills", "1", "--partitions", "0", "--switchovers", "0"),
        *("--services", "0", "--mode", "asynchronous"),
    )

    assert int(found["lost"] > 0) == status
    assert 0 == found["refused_there"]
    assert found["is_healed"]
    assert found["services"] is None


@pytest.fixture(scope="module")
def server():
    with Postgres({"fsync": "off"}) as running:
        yield running


def test_a_lost_write_is_found(server: Postgres):
    """Three acknowledged rows are taken away behind the writers' back, and a fourth is one that nobody wrote."""
    create_table(server.dsn)
    checker = SetChecker(server.dsn, writers=2)
    with checker.writing():
        while len(checker.times_since(0)) < 20:
            time.sleep(0.01)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("delete from written where number in (select min(number) from written)")
    there = read_all(server.dsn)

    assert 1 == len(checker.acknowledged - there)
    assert not checker.refused & there


def test_a_connection_that_is_lost_in_a_write_leaves_it_unknown(server: Postgres):
    """The writers wait for a lock when their sessions are ended."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop table if exists written")
        create_table(server.dsn)
        checker = SetChecker(server.dsn, writers=2)
        with checker.writing():
            while not checker.times_since(0):
                time.sleep(0.01)
            with admin.transaction():
                admin.execute("lock table written in access exclusive mode")
                waiting = "select pid from pg_stat_activity where wait_event_type = 'Lock'"
                while len(pids := admin.execute(waiting).fetchall()) < 2:
                    time.sleep(0.01)
                for (pid,) in pids:
                    admin.execute("select pg_terminate_backend(%s)", [pid])
                while checker.counts.unknown < 2:
                    time.sleep(0.01)

    assert checker.counts.unknown >= 2
    assert "terminating connection due to administrator command" in checker.errors


def test_ctrl_c_reports_the_rounds_that_are_over_and_leaves_nothing(tmp_path: Path):
    """Neither a server, a service nor a folder, also after a round in which a node was killed."""
    report = tmp_path / "failover.json"
    with subprocess.Popen(
        [*COMMAND, *("--kills", "5", "--partitions", "0", "--switchovers", "0"), *("-o", report)],
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        is_reached = any(line.startswith("1 of 5") for line in running.stderr)
        servers = psutil.Process(running.pid).children(recursive=True)
        names, folders = set(), set()
        for server in servers:
            # A program that only looks something up may be gone by now.
            with suppress(psutil.NoSuchProcess):
                names.add(server.name())
                words = (word for word in server.cmdline() if word.startswith("/var/tmp/plimsoll-"))
                folders |= {Path(*Path(word).parts[:4]) for word in words}
        running.send_signal(signal.SIGINT)
        status = running.wait(PATIENCE_S)
    gone, alive = psutil.wait_procs(servers, timeout=120)

    assert is_reached
    assert (130, []) == (status, alive)
    assert {"java", "postgres", "pgpool", "etcd"} <= names
    assert gone
    assert folders
    assert not [folder for folder in folders if folder.exists()]
    found = json.loads(report.read_text(encoding="utf-8"))
    assert (1, 5, True) == (len(found["rounds"]), found["round_count"], found["is_interrupted"])
    assert 0 == found["lost"]
    assert found["writes"]["acknowledged"] > 0
