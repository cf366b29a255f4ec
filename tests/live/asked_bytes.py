"""
What all processes of a server asked the system to read and write, as the kernel counted it.

Truth is `rchar` and `wchar` of /proc/PID/io, summed over the postmaster and its children. They count what
was asked for by read and write calls, whether the page cache or the disk served it: the same thing that an
inspection calls the load. `read_bytes` and `write_bytes` would count what reached the disk, which depends
on what else this machine caches and on when the kernel writes back; they are no truth for a share.

Nothing is sampled: when a child ends, the kernel adds its counts to those of the postmaster that waited for
it, so the sum only grows, and a process that lived for a millisecond is in it. Sockets are not counted, for
PostgreSQL uses send and recv.
"""

import os
from pathlib import Path
from typing import NamedTuple


class Asked(NamedTuple):
    """Bytes that processes asked the system for."""

    read: int
    written: int

    @property
    def all(self) -> int:
        """Both together."""
        return self.read + self.written

    def since(self, before: "Asked") -> "Asked":
        """What was asked for between two moments."""
        return Asked(self.read - before.read, self.written - before.written)


def asked_by(postmaster: int) -> Asked:
    """The sum so far over a postmaster and its children, those that have ended among them."""
    while True:
        before = _children(postmaster)
        try:
            counted = [_io_of(pid) for pid in (postmaster, *before)]
        except (FileNotFoundError, ProcessLookupError):
            continue
        # A child that ends between two looks would be counted twice, or not at all.
        if before == _children(postmaster):
            return Asked(*(sum(column) for column in zip(*counted, strict=True)))


def postmaster_of(data_directory: Path) -> int:
    """The process that a data directory names as its server."""
    return int((data_directory / "postmaster.pid").read_text(encoding="utf-8").split()[0])


def _children(parent: int) -> tuple[int, ...]:
    found = []
    for folder in os.scandir("/proc"):
        if not folder.name.isdigit():
            continue
        try:
            stat = Path(folder.path, "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The name stands in brackets and may hold anything; behind it come the state and the parent.
        if int(stat.rpartition(")")[2].split()[1]) == parent:
            found.append(int(folder.name))
    return tuple(sorted(found))


def _io_of(pid: int) -> tuple[int, int]:
    text = Path(f"/proc/{pid}/io").read_text(encoding="utf-8")
    found = dict(line.split(": ") for line in text.splitlines())
    return int(found["rchar"]), int(found["wchar"])
