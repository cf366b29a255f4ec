"""A command gets the vCPUs and the memory of a class, or a sentence why this machine cannot provide them."""

from pathlib import Path

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.units import GIB
from plimsoll_lab.gate.class_group import ClassGroup
from unit.gate.cgroup_double import simulate_cgroup

M6G = catalog().instance_limits("db.m6g.large")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine whose cgroup v2 delegates cpu and memory to one account, with a folder."""
    return simulate_cgroup(tmp_path, monkeypatch)


def group(count: int = 8) -> ClassGroup:
    return ClassGroup(M6G, cpu_count=lambda: count)


def test_a_group_has_the_quota_and_the_memory_of_the_class(root: Path):
    """db.m6g.large has two vCPUs and 8 GiB: 200 ms in every 100 ms, in the nearest usable group."""
    with group() as made:
        assert root / "user.slice" == made.folder.parent
        found = {path.name: path.read_text() for path in made.folder.iterdir()}
        argv = made.joining(("true", "now"))
        for path in made.folder.iterdir():
            path.unlink()

    assert {"cpu.max": "200000 100000", "memory.max": str(8 * GIB)} == found
    assert (str(made.folder / "cgroup.procs"), "true", "now") == argv[3:]


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("../MOUNTS", "30 1 0:26 / /x rw - tmpfs tmpfs rw\n", "this machine has no cgroup v2"),
        ("cgroup.controllers", "hugetlb\n", "does not control cpu and memory: cgroup v1"),
        ("user.slice/cgroup.subtree_control", "pids\n", "no group was delegated to it"),
        ("../MEMORY", "MemTotal: 4194304 kB\n", "of memory, more than this machine"),
    ],
    ids=["no cgroup v2", "controllers elsewhere", "not delegated", "too little memory"],
)
def test_what_this_machine_cannot_give_is_refused_with_the_reason(root: Path, file: str, text: str, expected: str):
    """Nothing is created; the error has the cause, the hint a way out."""
    (root / file).write_text(text)

    with pytest.raises(UsageError) as raised:
        group()
    assert expected in raised.value.message
    assert raised.value.hint.endswith(".")


def test_a_machine_with_fewer_processors_is_refused(root: Path):
    """A quota above the number of processors would limit nothing."""
    with pytest.raises(UsageError, match=r"db\.m6g\.large has 2 vCPUs but this machine has 1"):
        group(1)
