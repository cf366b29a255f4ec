"""Simulate a machine whose cgroup v2 delegates processors and memory to one account, with folders."""

from pathlib import Path

import pytest

from plimsoll_lab.gate import class_group


def simulate_cgroup(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point `class_group` at a tree below a folder, and at 32 GiB of memory; return its root. Simulated."""
    place = folder / "cgroup"
    own = place / "user.slice/run.scope"
    own.mkdir(parents=True)
    (place / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (place / "user.slice/cgroup.subtree_control").write_text("cpu memory\n")
    (own / "cgroup.subtree_control").write_text("\n")
    for name, text in {
        "MOUNTS": f"30 1 0:26 / {place} rw - cgroup2 cgroup2 rw\n",
        "OWN": "1:name=systemd:/\n0::/user.slice/run.scope\n",
        "MEMORY": "MemTotal:       33554432 kB\n",
    }.items():
        (folder / name).write_text(text)
        monkeypatch.setattr(class_group, name, folder / name)
    return place
