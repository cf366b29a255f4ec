"""Who spends the processors: processes below ours by what they are, and all others, in a drawn /proc."""

import os
from pathlib import Path

import pytest

from plimsoll_lab.experiments.pooled_cluster.processors import (
    OTHERS,
    ProcessorReading,
    read_processors,
    shares_of,
    work_of,
)


def process(proc: Path, pid: int, parent: int, name: str, times: str, *words: str) -> None:
    """A process with its times utime, stime, cutime and cstime."""
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1 4194560 1 1 1 1 {times} 20 0")
    (folder / "cmdline").write_text("\0".join(words))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Ours is 10; 90 is somebody else's."""
    (tmp_path / "stat").write_text("cpu  100 20 30 4000 500 1 2 3 0 0\ncpu0 1 2 3 4\n")
    process(tmp_path, 10, 1, "plimsoll", "5 5 0 0")
    process(tmp_path, 11, 10, "a (b) c", "1 1 0 0", "python", "-I", "keeper.py")
    # What backends spent that have ended is the postmaster's.
    process(tmp_path, 12, 11, "postgres", "1 2 30 7")
    process(tmp_path, 13, 12, "postgres", "9 1 0 0")
    process(tmp_path, 14, 10, "java", "7 0 0 0")
    process(tmp_path, 15, 10, "python3", "4 0 0 0", "python3", "/usr/bin/patroni", "x.yml")
    process(tmp_path, 90, 1, "postgres", "1000 0 0 0")
    return tmp_path


def test_processes_are_counted_by_what_they_are(proc: Path):
    """Descendants only; idle time and waiting for a disk are no work of the machine."""
    found = read_processors(10, proc)

    assert 156 == found.busy
    assert {"PostgreSQL": 50, "Plimsoll": 12, "services (JVMs)": 7, "Patroni, etcd": 4} == found.spent


def test_shares_are_of_all_processors_and_add_up_to_what_was_busy():
    """The rest of the machine is that of other programs."""
    whole = os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    first = ProcessorReading(busy=100, spent={"PostgreSQL": 50})
    last = ProcessorReading(busy=100 + whole, spent={"PostgreSQL": 50 + whole // 4, "Plimsoll": whole // 2})
    found = shares_of(first, last, 1.0)

    assert ["Plimsoll", "PostgreSQL", OTHERS] == list(found)
    assert pytest.approx(1.0) == sum(found.values())
    assert pytest.approx(0.25) == work_of(found)


def test_this_machine_has_counters():
    """Of the process that asks, at least."""
    found = read_processors()

    assert found.busy > 0
    assert found.spent["Plimsoll"] > 0
