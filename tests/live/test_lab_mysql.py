"""A real MariaDB behind a real gate: what binds is what the diagnosis says by its engine's rules."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.installed import mariadb_folder
from live.machine import Run, clean_environment
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.units import MIB
from plimsoll_lab.gate.place import mounts
from plimsoll_lab.load.sysbench import LOADING, SysbenchClients, fill, load_of
from plimsoll_lab.servers.mysql import MariaDb

SMALL = ("--memory", "128MiB", "--tables", "128MiB", "--clients", "8")
T3 = ("--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the server's account can reach."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def left_behind() -> set[str]:
    """Folders and mounts of labs on this machine."""
    found = {str(p) for kind in ("lab", "mysql") for p in Path("/var/tmp").glob(f"plimsoll-{kind}-*")}
    return found | {str(m.place) for m in mounts() if "plimsoll-lab-" in str(m.place)}


@pytest.mark.parametrize("name", ["oltp", "select", "scan"])
def test_a_server_takes_each_load(folder: Path, name: str):
    """Its tables are there as large as asked, the clients get transactions done, and its data stays."""
    load = load_of(name, clients=2, rate_per_s=None, memory_bytes=0, size_bytes=32 * MIB)
    server = MariaDb(LOADING, data_directory=folder / "data", binaries=mariadb_folder())
    with server:
        fill(server, load)
        clients = SysbenchClients(load, server, duration_s=1, folder=folder)
        clients.start()
        time.sleep(2.5)
        assert clients.pace().transactions_per_s > 0
        pace = clients.end(10.0)
        count = int(server.run("select count(*) from lab.t1;"))

    files = sum(path.stat().st_size for path in (folder / "data/lab").glob("*.ibd"))
    assert server.version.startswith("1")
    assert load.row_count == count
    assert files == pytest.approx(32 * MIB, rel=0.6)
    assert name == "scan" or pace.transactions_per_s > 0
    assert not server.socket.exists()


@pytest.mark.realtime
def test_a_scan_is_held_by_the_limits_of_the_class(run: Run, tmp_path: Path):
    """InnoDB reads pages of 16 KiB, so that a scan meets 4,000 IOPS, and not 86.875 MB/s."""
    before = left_behind()
    for _ in range(3):
        done = run(
            *("lab", "mysql", *T3, "--workload", "scan", "--for", "16s", "--clock", "60"),
            *("--credits", "0", "--memory", "128MiB", "--mysql-bin", str(mariadb_folder())),
            *("-o", "run.json", "--width", "120"),
        )
        if done.returncode != 2:
            break
    snapshot = decode_snapshot((tmp_path / "run.json").read_bytes())
    truth = json.loads((tmp_path / "run.truth.json").read_bytes())

    assert 1 == done.returncode, done.stderr + done.stdout
    assert "mysql" == snapshot.instance.engine
    assert "instance_ebs_iops" == truth["bound"][0]["stage"]
    assert "4,000 IOPS (baseline)" in " ".join(done.stdout.split())
    assert "The diagnosis agrees with it." in " ".join(done.stdout.split())
    assert left_behind() <= before


def test_the_rules_are_those_of_the_engine(run: Run, tmp_path: Path):
    """gp3 of 400 GiB has 12,000 IOPS for MariaDB as for PostgreSQL; a run that was cut short leaves nothing."""
    before = left_behind()
    arguments = ["lab", "mysql", "--engine", "mariadb", "--class", "db.m6g.xlarge", "--storage", "gp3"]
    arguments += ["--size-gib", "400", "--for", "60s", *SMALL, "--mysql-bin", str(mariadb_folder())]
    with subprocess.Popen(
        [sys.executable, "-m", "plimsoll", *arguments, "-o", "run.json"],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as lab:
        texts = []
        for line in lab.stderr:
            texts.append(line)
            if line.startswith("emulated minute"):
                lab.send_signal(signal.SIGINT)
                break
        output, rest = lab.communicate(timeout=120)
    snapshot = decode_snapshot((tmp_path / "run.json").read_bytes())

    assert lab.returncode in {0, 1, 2}
    assert "interrupted; reporting what was measured" in rest
    assert "mariadb · gp3, 400 GiB" in output
    assert "volume IOPS, 12,000 IOPS" in " ".join(output.split()) or "12,000 IOPS" in output
    assert "mariadb" == snapshot.instance.engine
    assert left_behind() <= before
