"""
Count the processors of a server that runs on this machine.

Rule: only where the very process that serves us is seen here, under our name and on our database; a
server behind a tunnel, a container's port or a pooler is not, and stays unknown.
Sources: proc(5) and sched_getaffinity(2) of the Linux man-pages; Linux, "Control Group v2", cpu.max, and "CFS Bandwidth Control".
"""

import os
from pathlib import Path

_PROC, _CGROUPS = Path("/proc"), Path("/sys/fs/cgroup")


def processors_of(pid: int, role: str, database: str, *, proc: Path = _PROC, cgroups: Path = _CGROUPS) -> int | None:
    """
    Return the processors that the server's process may use; None if it does not run on this machine.

    Args:
        pid: of the process that serves a connection, as the server reported it.
        role: who connected.
        database: to which one.
        proc: where the kernel shows processes.
        cgroups: where it shows groups of them, with their shares of processors.
    """
    try:
        title = (proc / str(pid) / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return None
    # PostgreSQL names its processes `postgres: [cluster: ]role database address(port) state`.
    if not title.startswith("postgres: ") or f" {role} {database} " not in title:
        return None
    try:
        count = len(os.sched_getaffinity(pid))
    except (AttributeError, OSError):
        return None
    quota = _quota(proc / str(pid) / "cgroup", cgroups)
    return count if quota is None else max(min(count, round(quota)), 1)


def _quota(groups: Path, cgroups: Path) -> float | None:
    """Return the CPU quota of the process's cgroup and its parents, in processors; None if there is none."""
    try:
        lines = groups.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    found = []
    for line in lines:
        # `0::/path` in the unified hierarchy, `4:cpu,cpuacct:/path` in the older one.
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        names = controllers.split(",")
        if controllers and "cpu" not in names:
            continue
        inner = Path(path.lstrip("/"))
        quota_of, root = (_older, cgroups / "cpu") if controllers else (_unified, cgroups)
        found += [quota_of(root / folder) for folder in (inner, *inner.parents)]
    return min((quota for quota in found if quota is not None), default=None)


def _unified(folder: Path) -> float | None:
    """Return 2 of `200000 100000`; None for `max 100000`, and for the root, which has none."""
    return _ratio(_words(folder / "cpu.max"))


def _older(folder: Path) -> float | None:
    """Return the same in two files; −1 bounds nothing."""
    return _ratio([*_words(folder / "cpu.cfs_quota_us"), *_words(folder / "cpu.cfs_period_us")])


def _words(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return []


def _ratio(words: list[str]) -> float | None:
    try:
        quota_us, period_us = map(float, words)
    except ValueError:
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None
