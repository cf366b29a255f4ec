"""The server of the lab has the processors and the memory of the class, or one sentence says why not."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live.installed import mariadb_folder
from live.machine import Run
from plimsoll.catalog.load import catalog
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.servers.mysql import MariaDb
from plimsoll_lab.servers.postgres import Postgres
from unit.gate.cgroup_double import simulate_cgroup

MICRO = ("--with-cpu", "--class", "db.t3.micro", "--storage", "gp2", "--size-gib", "100")
SMALL = ("--memory", "128MiB", "--for", "4s", "--clients", "2")


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that the servers' account can reach."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as name:
        Path(name).chmod(0o711)
        yield Path(name)


def postgres(folder: Path) -> Postgres:
    return Postgres({}, data_directory=folder / "data")


def mariadb(folder: Path) -> MariaDb:
    return MariaDb({}, data_directory=folder / "data", binaries=mariadb_folder())


@pytest.mark.parametrize("make", [postgres, mariadb])
def test_a_server_and_all_it_starts_are_in_the_group(
    make: Callable[[Path], Postgres | MariaDb], folder: Path, monkeypatch: pytest.MonkeyPatch
):
    """Its keeper joined before it was started; the clients, and we, did not. The group is simulated."""
    simulate_cgroup(folder, monkeypatch)
    group = ClassGroup(catalog().instance_limits("db.t3.micro"))
    group.folder.mkdir()
    with make(folder).relocated(folder / "data", {}, group) as server:
        joined = group.members.read_text()
        parents = {
            line.split()[1]
            for task in Path("/proc").glob("[0-9]*/status")
            for line in texts(task)
            if line.startswith("PPid:")
        }
        server.stop()

    assert joined in parents
    assert joined.isdigit()


def texts(task: Path) -> list[str]:
    """The lines of a process's status; none once it has ended."""
    try:
        return task.read_text().splitlines()
    except OSError:
        return []


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_what_this_machine_cannot_give_is_refused_before_tables_are_made(run: Run, engine: str):
    """Where cgroup v2 has no processors to give, one sentence says so; else the run goes its way."""
    own = ("--mysql-bin", str(mariadb_folder())) if engine == "mysql" else ()
    done = run("lab", engine, *MICRO, *SMALL, *own)

    if "hint: " not in done.stderr:
        assert "GROUND TRUTH" in done.stdout
        return
    assert 2 == done.returncode
    assert "error: " in done.stderr
    assert "making" not in done.stderr
    assert "--with-cpu" in done.stderr
