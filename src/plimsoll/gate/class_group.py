"""
The processors and the memory of a class, for a command or a server: a control group of its own (cgroup v2).

Rule 1: what cannot be held to is refused with the reason, before anything runs.
Rule 2: the group is removed at the end; whoever is still in it is ended first.

A quota of N processors is N times the period, in each period of 100 ms; which processors they are is left
to the system. Memory counts what the command's programs have and what they read into the page cache.
CPU credits of burstable classes are not emulated: the quota is all vCPUs of the class.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from plimsoll.errors import UsageError
from plimsoll.model.limit import InstanceLimits
from plimsoll.units import format_bytes

MOUNTS = Path("/proc/self/mountinfo")
OWN = Path("/proc/self/cgroup")
MEMORY = Path("/proc/meminfo")

# The period that the kernel takes by itself (Linux, admin-guide/cgroup-v2.rst, cpu.max).
_PERIOD_US = 100_000
_NEEDED = frozenset({"cpu", "memory"})
_DELEGATE = "On a system with systemd, run it with 'systemd-run --user --scope -p Delegate=yes', or as root."
# Killed processes leave a group within milliseconds; a disk that hangs may hold one for longer.
_END_S = 5.0


class ClassGroup:
    """A group with the vCPUs and the memory of a class, for as long as the `with` block lasts."""

    def __init__(
        self,
        limits: InstanceLimits,
        *,
        # Not all processors of the machine: a container or taskset may have left us fewer.
        cpu_count: Callable[[], int] = lambda: len(os.sched_getaffinity(0)),
    ) -> None:
        """
        See whether this machine can hold to it; nothing is made yet.

        Args:
            limits: of the class.
            cpu_count: how many processors this process may use.

        Raises:
            UsageError: the class's size is not known, this machine is smaller, or its control groups
                cannot be used.
        """
        name, vcpus, memory = limits.db_class, limits.vcpu_count, limits.memory_bytes
        if vcpus is None or memory is None:
            raise UsageError(
                f"the vCPUs and the memory of {name} are not documented", "Leave out --with-cpu."
            )
        # A quota can only take away: on a smaller machine the class would be said to be slower than
        # it is.
        if vcpus > cpu_count():
            raise UsageError(
                f"{name} has {vcpus} vCPUs and this machine {cpu_count()}, so it cannot stand for it",
                "Leave out --with-cpu, or give a smaller class.",
            )
        if memory > _host_memory_bytes():
            raise UsageError(
                f"{name} has {format_bytes(memory)} of memory, more than this machine",
                "Leave out --with-cpu, or give a smaller class.",
            )
        self.vcpu_count, self.memory_bytes = vcpus, memory
        self._parent = _parent()
        self.folder = self._parent / f"plimsoll-{os.getpid()}"

    def __enter__(self) -> Self:
        """
        Make the group.

        Raises:
            UsageError: the system refuses.
        """
        try:
            self.folder.mkdir()
            (self.folder / "cpu.max").write_text(f"{self.vcpu_count * _PERIOD_US} {_PERIOD_US}")
            (self.folder / "memory.max").write_text(str(self.memory_bytes))
        except OSError as error:
            # A group that is half made must not stay; it is empty, so it can be removed.
            with suppress(OSError):
                self.folder.rmdir()
            raise UsageError(
                f"no control group can be made in '{self._parent}': "
                f"{(error.strerror or str(error)).lower()}",
                _DELEGATE,
            ) from error
        return self

    def __exit__(self, *exception: object) -> None:
        """End who is still in it, and remove it."""
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            with suppress(OSError):
                # A group with processes in it cannot be removed (Linux, admin-guide/cgroup-v2.rst).
                (self.folder / "cgroup.kill").write_text("1")
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(_END_S / 100)

    @property
    def members(self) -> Path:
        """The file to which a process writes its id to join."""
        return self.folder / "cgroup.procs"

    def within(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that joins the group and then becomes `argv`."""
        # The shell joins and then becomes the command, so that not even its first instruction runs
        # outside.
        join = 'echo $$ > "$0" && exec "$@"'
        return ("sh", "-c", join, str(self.members), *argv)


def _parent() -> Path:
    """
    Return the nearest group in which one with a quota can be made.

    Raises:
        UsageError: there is none.
    """
    root = _mounted()
    if root is None:
        raise UsageError(
            "this machine has no cgroup v2, which --with-cpu needs",
            "Start Linux with 'systemd.unified_cgroup_hierarchy=1'.",
        )
    missing = _NEEDED - _words(root / "cgroup.controllers")
    if missing:
        raise UsageError(
            f"cgroup v2 of this machine has no control of {' and '.join(sorted(missing))}: cgroup v1 "
            "has it, or the container was not given it",
            "Start Linux with 'systemd.unified_cgroup_hierarchy=1', or leave out --with-cpu.",
        )
    own = root / _own_path().lstrip("/")
    # A quota needs the controllers handed down by the group above, so groups are tried from ours
    # upwards.
    for folder in (own, *own.parents):
        if not folder.is_relative_to(root):
            break
        if _words(folder / "cgroup.subtree_control") >= _NEEDED and os.access(folder, os.W_OK):
            return folder
    raise UsageError(
        "no control group with a quota may be made from here: none was handed to this account",
        _DELEGATE,
    )


def _mounted() -> Path | None:
    for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split(" ")[4])
    return None


def _own_path() -> str:
    # "0::/user.slice/user-1000.slice/session-2.scope"; lines of cgroup v1 have other numbers.
    for line in OWN.read_text().splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _words(file: Path) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(file.read_text().split())
    return frozenset()


def _host_memory_bytes() -> int:
    for line in MEMORY.read_text().splitlines():
        # In kB, which are 1,024 bytes here (proc(5)).
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return 0
