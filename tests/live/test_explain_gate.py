"""The published case, for real: the same plan over the same blocks, before and after the credits are gone."""

from pathlib import Path

import psycopg
import pytest

from live.gate_machine import quick_folder
from plimsoll.explain import plans
from plimsoll.model.ceiling import Family
from plimsoll.model.explain import Capture, CaptureFile, PairOutcome
from plimsoll.model.instance import Instance, Storage
from plimsoll.sources.explain.record import Recorder
from plimsoll.sources.explain.statements import StatementToRun
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.realtime

# 87 Mbit/s for ever, 2,085 Mbit/s while credits last: a factor of 24.
MICRO = Instance(db_class="db.t3.micro", engine="postgres", storage=Storage(kind="gp2", size_gib=1000))
SCAN = "select count(*) from orders where customer = 7"
SETTINGS = {
    "shared_buffers": "16MB",
    "max_connections": "10",
    "autovacuum": "off",
    "max_parallel_workers_per_gather": "0",
    # Past the system's page cache, so that every block is read from behind the limits.
    "debug_io_direct": "data",
    "io_method": "sync",
    "fsync": "off",
}


def made(folder: Path) -> Postgres:
    """A server's data with a table of 24 MB, made without limits; the server is stopped."""
    server = Postgres(SETTINGS, data_directory=folder / "disk" / "data", also_remove=(folder,))
    with server, psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(
            "create table orders as select g as id, g % 1000 as customer, repeat('x', 200) as note "
            "from generate_series(1, 100000) g"
        )
        connection.execute("vacuum (freeze, analyze) orders")
        connection.execute("checkpoint")
    return server


def test_the_same_plan_without_credits_is_not_the_query():
    """The blocks are the same and each takes many times as long: storage, named by the I/O time."""
    with quick_folder() as folder:
        folder.chmod(0o755)
        (folder / "disk").mkdir(mode=0o777)
        (folder / "disk").chmod(0o777)
        loader = made(folder)
        with (
            Gate(GateSetup(instance=MICRO), folder / "disk", folder / "mount", also_remove=(folder,)) as gate,
            loader.relocated(folder / "mount" / "data", SETTINGS) as server,
        ):
            recorder = Recorder(server.dsn)
            before = explained(recorder)
            gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
            after = explained(recorder)
            recorder.close()
    files = [CaptureFile(captures=(capture,)) for capture in (before, after)]
    (pair,) = plans.compare(*files, names=("before", "after")).pairs

    assert PairOutcome.NOT_THE_QUERY is pair.outcome, pair.title
    assert before.blocks.touched == pytest.approx(after.blocks.touched, rel=0.1)
    assert pair.io_time_ratio > 3
    assert pair.block_time_ratio > 3
    assert "storage" in pair.advice


def explained(recorder: Recorder) -> Capture:
    """One execution."""
    found = recorder.explain(StatementToRun(statement=SCAN), timeout_s=60, allows_writes=False, is_generic=False)
    assert isinstance(found, Capture), found
    return found
