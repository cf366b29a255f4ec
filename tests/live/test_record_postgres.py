"""A real pgbench against a real PostgreSQL, recorded by the command line and diagnosed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from live.machine import Run, clean_environment, disk_bytes
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll_lab.servers.postgres import Postgres

SECONDS = 8
DISKSTATS = Path("/proc/diskstats")


def total(snapshot: Snapshot, metric: Metric) -> float:
    """Rate times step, summed: what was done in all."""
    series = snapshot.series[metric]
    return float(np.nansum(series.value) * series.step_s)


@pytest.fixture(scope="module")
def recorded(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory):
    """A snapshot of pgbench at work, what pgbench said, and the disk's counters around it."""
    folder = tmp_path_factory.mktemp("recorded")
    # What initialising left to be written is written first, by PostgreSQL and by the system.
    postgres.run("psql", "-qc", "checkpoint")
    os.sync()
    script = (
        f"cat /proc/diskstats > {folder}/before; pgbench -n -c 3 -T {SECONDS} > {folder}/said "
        f"2> {folder}/errors; status=$?; cat /proc/diskstats > {folder}/after; exit $status"
    )
    (folder / "started").write_text(DISKSTATS.read_text())
    done = subprocess.run(
        [
            *(sys.executable, "-m", "plimsoll", "record", "host"),
            *("-o", f"{folder}/pgbench.json", "--", "sh", "-c", script),
        ],
        env={**clean_environment(), **postgres.environment, "PLIMSOLL_DSN": postgres.dsn},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    (folder / "ended").write_text(DISKSTATS.read_text())
    assert 0 == done.returncode, done.stderr
    assert "Traceback" not in done.stderr
    return folder, decode_snapshot((folder / "pgbench.json").read_bytes()), done


def test_every_metric_of_host_and_database_is_there(recorded):
    """Reads, writes, latency, queue, processor, memory, connections, transactions, PostgreSQL's bytes."""
    _, snapshot, _ = recorded
    expected = set(Metric) - {
        Metric.BYTE_BALANCE_RATIO,
        Metric.IO_BALANCE_RATIO,
        Metric.VOLUME_BALANCE_RATIO,
        Metric.CPU_CREDITS,
        Metric.CPU_SURPLUS_CREDITS,
        Metric.CPU_SURPLUS_CREDITS_CHARGED,
        # Of Aurora, and of Performance Insights.
        Metric.FREE_LOCAL_STORAGE_BYTES,
        Metric.CAPACITY_RATIO,
        Metric.IO_WAITING_SESSION_COUNT,
        # Of an application's own counters.
        Metric.WAITING_WORK_COUNT,
        Metric.ARRIVALS_PER_S,
        Metric.COMPLETIONS_PER_S,
    }
    # A container may have no network of its own; everywhere else the counters are there.
    network = {Metric.NETWORK_RECEIVE_BYTES_PER_S, Metric.NETWORK_TRANSMIT_BYTES_PER_S}

    assert expected - network <= set(snapshot.series)
    # A machine that is busy with other tests may miss a step; nothing else may be missing.
    assert {gap.metric for gap in snapshot.gaps} <= {
        *(metric.value for metric in network),
        *("host counters", "pg_stat views"),
    }
    assert snapshot.series[Metric.READ_BYTES_PER_S].time_s.size >= SECONDS
    assert snapshot.instance.engine == "postgres"
    assert snapshot.instance.engine_version is not None
    assert snapshot.instance.engine_version.startswith("18.")
    assert 100 == snapshot.instance.connection_max
    assert not snapshot.is_simulated


def test_transactions_agree_with_pgbench(recorded):
    """
    Within 10 % of the rate pgbench counted itself.

    A step that was missed counts as the mean of the others.
    """
    folder, snapshot, _ = recorded
    series, host = (snapshot.series[m] for m in (Metric.TRANSACTIONS_PER_S, Metric.READ_BYTES_PER_S))
    transactions = float(series.value.mean()) * host.time_s.size
    text = (folder / "said").read_text()
    own = float(re.search(r"^tps = ([\d.]+)", text, re.MULTILINE)[1])

    assert own == pytest.approx(transactions / SECONDS, rel=0.10)


def test_bytes_agree_with_the_disks_own_counters(recorded):
    """
    The recording covers the command, and is covered by the whole run of the recorder.

    So what it saw lies between what the disk counted in the one and in the other, within the 10 %
    that a reading late by a tenth of a step would cost.
    """
    folder, snapshot, _ = recorded
    device = re.search(r"device (\S+)$", snapshot.source)[1]
    started, before, after, ended = (
        disk_bytes((folder / name).read_text(), device) for name in ("started", "before", "after", "ended")
    )
    for side, metric in enumerate((Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S)):
        least, most = after[side] - before[side], ended[side] - started[side]

        assert least * 0.90 <= total(snapshot, metric) <= most * 1.10, metric


def test_postgresqls_own_bytes_are_recorded(recorded):
    """pgbench writes WAL and pages; the device wrote at least the WAL that PostgreSQL flushed."""
    _, snapshot, _ = recorded

    assert total(snapshot, Metric.DATABASE_WRITE_BYTES_PER_S) > 1e5
    assert total(snapshot, Metric.WRITE_BYTES_PER_S) > 1e5
    assert snapshot.series[Metric.CONNECTION_COUNT].value.max() == 3
    assert snapshot.series[Metric.ACTIVE_SESSION_COUNT].value.max() >= 1


def test_latency_queue_and_processor_are_plausible(recorded):
    """A write takes more than nothing and less than ten seconds; ratios are ratios."""
    _, snapshot, _ = recorded
    latency = snapshot.series[Metric.WRITE_LATENCY_S].value

    assert 0 <= np.nanmin(latency) <= np.nanmax(latency) < 10
    assert np.nanmax(snapshot.series[Metric.QUEUE_DEPTH].value) > 0
    cpu = snapshot.series[Metric.CPU_RATIO].value
    assert 0 < cpu.max() <= 1


def test_the_password_is_nowhere(recorded, postgres: Postgres):
    """Neither in what was printed nor in the snapshot."""
    folder, _, done = recorded
    password = postgres.environment["PGPASSWORD"]

    assert password not in done.stderr + done.stdout
    assert password not in (folder / "pgbench.json").read_text()


def test_one_command_does_it_all(run: Run, tmp_path: Path):
    """--embedded-postgres starts a server, fills it, runs pgbench, records, and leaves nothing."""
    done = run(
        *("record", "host", "--embedded-postgres", "--scale", "1", "--for", "3s"),
        *("-o", "one.json", "--class", "db.t3.xlarge", "--storage", "gp2"),
    )

    assert 0 == done.returncode, done.stderr
    assert "tps = " in done.stdout
    snapshot = decode_snapshot((tmp_path / "one.json").read_bytes())
    assert total(snapshot, Metric.TRANSACTIONS_PER_S) > 0
    assert "while pgbench ran" in snapshot.note
    assert ("db.t3.xlarge", "gp2") == (snapshot.instance.db_class, snapshot.instance.storage.kind)
    directory = re.search(r"holds (\S+)/data\)", done.stderr)
    assert directory is not None
    assert not Path(directory[1]).exists()
    assert ["one.json"] == [path.name for path in tmp_path.iterdir()]
