"""
Who spends the processors of this machine: the server's backends, the pooler, the services, Plimsoll, all others.

Rule 1: the kernel's own counters are read (proc(5), `stat` of the machine and of each process), nothing is sampled.
Rule 2: what a process spent counts after its end, because its parent keeps the sum (`cutime`, `cstime`).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

POSTGRES = "PostgreSQL"
SERVICES = "services (JVMs)"
CLUSTER = "Patroni, etcd"
PLIMSOLL = "Plimsoll"
OTHERS = "other programs"
POOLERS = ("Pgpool-II", "PgBouncer")
WORK = (POSTGRES, *POOLERS, SERVICES)
"""Those that work for business transactions; the rest would run without any."""
_BY_NAME = {
    "postgres": POSTGRES,
    "pgpool": POOLERS[0],
    "pgbouncer": POOLERS[1],
    "java": SERVICES,
    "etcd": CLUSTER,
    "patroni": CLUSTER,
}
# Fields of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. The third and fourth are no work.
_IDLE = (3, 4)
_FIELDS = 8
# Fields of /proc/PID/stat after the name: state, parent, … utime, stime, cutime, cstime.
_PARENT, _TIMES = 1, slice(11, 15)


class ProcessorReading(Struct, frozen=True, kw_only=True):
    """Processor time since the machine or the process began, in clock ticks."""

    busy: int
    """Of the whole machine."""
    spent: dict[str, int]
    """Of the programs that we started, by what they are."""


class _Process(Struct, frozen=True):
    pid: int
    parent: int
    name: str
    ticks: int


def read_processors(root: int | None = None, proc: Path = Path("/proc")) -> ProcessorReading:
    """
    Read what was spent up to now.

    Args:
        root: process whose descendants are ours (default: this one).
        proc: where the kernel shows processes.
    """
    lines = (proc / "stat").read_text().splitlines()
    ticks = [int(word) for word in lines[0].split()[1 : _FIELDS + 1]]
    busy = sum(count for place, count in enumerate(ticks) if place not in _IDLE)
    spent: dict[str, int] = {}
    for process in _family(_processes(proc), os.getpid() if root is None else root):
        kind = _BY_NAME.get(process.name, PLIMSOLL)
        spent[kind] = spent.get(kind, 0) + process.ticks
    return ProcessorReading(busy=busy, spent=spent)


def shares_of(first: ProcessorReading, last: ProcessorReading, seconds: float) -> dict[str, float]:
    """
    Return which share of all processors each program took, 0–1, the largest first.

    Args:
        first: at the beginning.
        last: at the end.
        seconds: between the two, > 0.
    """
    whole = seconds * os.sysconf("SC_CLK_TCK") * (os.cpu_count() or 1)
    # A program that ended meanwhile has left its time to a parent, which may be one of another kind.
    spent = {kind: max(ticks - first.spent.get(kind, 0), 0) / whole for kind, ticks in last.spent.items()}
    ours = sum(spent.values())
    spent[OTHERS] = max((last.busy - first.busy) / whole - ours, 0.0)
    return dict(sorted(spent.items(), key=lambda one: -one[1]))


def work_of(shares: Mapping[str, float]) -> float:
    """Return the share of the processors that worked for business transactions."""
    return sum(share for kind, share in shares.items() if kind in WORK)


def _processes(proc: Path) -> Iterator[_Process]:
    for entry in proc.glob("[0-9]*"):
        # It may end while it is read.
        with suppress(OSError, ValueError, IndexError):
            before, _, after = (entry / "stat").read_text().rpartition(")")
            fields = after.split()
            ticks = sum(int(word) for word in fields[_TIMES])
            name = before.partition("(")[2]
            if name.startswith("python"):
                name = _script(entry) or name
            yield _Process(int(entry.name), int(fields[_PARENT]), name, ticks)


def _script(entry: Path) -> str:
    """Return the name of the program that a Python runs; empty if it is a module."""
    words = (entry / "cmdline").read_bytes().split(b"\0")
    return Path(words[1].decode(errors="replace")).name if len(words) > 1 else ""


def _family(processes: Iterator[_Process], root: int) -> list[_Process]:
    """Return a process and all that descend from it."""
    by_pid = {process.pid: process for process in processes}
    children: dict[int, list[int]] = {}
    for process in by_pid.values():
        children.setdefault(process.parent, []).append(process.pid)
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        if pid in by_pid:
            found.append(by_pid[pid])
        waiting += children.get(pid, [])
    return found
