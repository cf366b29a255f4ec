"""The server of the lab has the processors and the memory of the class, or one sentence says why not."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from live.installed import mariadb_folder
from plimsoll.catalog.load import catalog
from plimsoll_lab.gate.class_group import ClassGroup
from plimsoll_lab.servers.mysql import MariaDb
from plimsoll_lab.servers.postgres import Postgres
from unit.gate.cgroup_double import simulate_cgroup


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
