"""Processors of a server that is seen to run on this machine; everything else is unknown."""

import os
from pathlib import Path

import pytest

from plimsoll.sources.postgres.machine import processors_of

ALLOWED = len(os.sched_getaffinity(0))


def machine(tmp_path: Path, title: str, groups: str = "0::/\n", **files: str) -> dict[str, Path]:
    """A machine with one process, ours, which calls itself something else."""
    process = tmp_path / "proc" / str(os.getpid())
    process.mkdir(parents=True)
    (process / "cmdline").write_bytes(title.encode() + bytes(20))
    (process / "cgroup").write_text(groups)
    for name, text in files.items():
        file = tmp_path / "cgroup" / name.replace("__", "/").replace("cpu_max", "cpu.max")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"proc": tmp_path / "proc", "cgroups": tmp_path / "cgroup"}


def counted(places: dict[str, Path]) -> int | None:
    return processors_of(os.getpid(), "app", "orders", **places)


@pytest.mark.parametrize(
    ("title", "count"),
    [
        ("postgres: app orders [local] idle", ALLOWED),
        ("postgres: 15/main: app orders 127.0.0.1(4) idle", ALLOWED),
        ("postgres: app other [local] idle", None),
        ("postgres: other orders [local] idle", None),
        ("sshd: app orders x", None),
    ],
)
def test_a_server_of_this_machine_has_its_processors(tmp_path: Path, title: str, count):
    """
    Those that its process may run on, whatever the cluster is called. Behind a tunnel the number is of
    another machine: here it may be anybody's, or nobody's.
    """
    places = machine(tmp_path, title)

    assert count == counted(places)
    assert processors_of(2**22 + 1, "app", "orders", **places) is None


@pytest.mark.parametrize(
    ("quota", "groups", "count"),
    [
        ({"a__b__cpu_max": "max 100000", "a__cpu_max": "100000 100000"}, "0::/a/b", 1),
        ({"a__cpu_max": "10000 100000"}, "0::/a", 1),
        ({"a__cpu_max": "max 100000"}, "0::/a", ALLOWED),
        ({"a__cpu_max": "6400000 100000"}, "0::/a", ALLOWED),
        (
            {"cpu__a__cpu.cfs_quota_us": "50000", "cpu__a__cpu.cfs_period_us": "50000"},
            "4:memory:/x\n3:cpu,cpuacct:/a",
            1,
        ),
        ({"cpu__cpu.cfs_quota_us": "-1", "cpu__cpu.cfs_period_us": "100000"}, "1:cpu:/", ALLOWED),
    ],
    ids=["of the group above", "a tenth is one", "unbounded", "more than there are", "v1", "v1, none"],
)
def test_a_share_of_processors_is_what_it_has(tmp_path: Path, quota: dict[str, str], groups: str, count: int):
    """A container or a service that may use less than the machine has no more than that."""
    places = machine(tmp_path, "postgres: app orders [local] idle", groups, **quota)

    assert count == counted(places)
