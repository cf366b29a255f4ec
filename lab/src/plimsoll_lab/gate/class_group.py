"""
Limit a command or a server to the CPU and memory of an instance class, with a cgroup (cgroup v2).

Rule 1: what this machine cannot enforce is refused with a reason, before anything runs.
Rule 2: the group is removed at the end; processes still in it are killed first.

A quota of N processors is N times the period, in each period of 100 ms. The kernel chooses the processors.
Memory counts what the programs allocate and what they read into the page cache.
CPU credits of burstable classes are not emulated: the quota is always all vCPUs of the class.
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

# The kernel's default period (Linux, admin-guide/cgroup-v2.rst, cpu.max).
_PERIOD_US = 100_000
_NEEDED = frozenset({"cpu", "memory"})
_DELEGATE = "On a system with systemd, run it with 'systemd-run --user --scope -p Delegate=yes', or as root."
# Killed processes leave a group within milliseconds; a process waiting for a slow disk takes longer.
_END_S = 5.0


class ClassGroup:
    """Hold processes within the vCPUs and the memory of a class while the `with` block lasts."""

    def __init__(
        self,
        limits: InstanceLimits,
        *,
        # Not os.cpu_count(): a container or taskset may allow fewer than the machine has.
        cpu_count: Callable[[], int] = lambda: len(os.sched_getaffinity(0)),
    ) -> None:
        """
        Check that this machine can enforce the class; nothing is created yet.

        Args:
            limits: vCPUs and memory of the class.
            cpu_count: returns how many processors this process may use.

        Raises:
            UsageError: the class's vCPUs or memory are unknown, this machine is smaller, or its cgroups
                cannot be used.
        """
        name, vcpus, memory = limits.db_class, limits.vcpu_count, limits.memory_bytes
        if vcpus is None or memory is None:
            raise UsageError(f"the vCPUs and the memory of {name} are not documented", "Leave out --with-cpu.")
        # A quota can only take away. On a smaller machine the class would seem slower than it is.
        if vcpus > cpu_count():
            raise UsageError(
                f"{name} has {vcpus} vCPUs but this machine has {cpu_count()}, so it cannot emulate the class",
                "Leave out --with-cpu, or give a smaller class.",
            )
        if memory > host_memory_bytes():
            raise UsageError(
                f"{name} has {format_bytes(memory)} of memory, more than this machine has",
                "Leave out --with-cpu, or give a smaller class.",
            )
        self.vcpu_count, self.memory_bytes = vcpus, memory
        self._parent = _parent()
        self.folder = self._parent / f"plimsoll-{os.getpid()}"

    def __enter__(self) -> Self:
        """
        Create the group and set its limits.

        Raises:
            UsageError: the system refuses to create the group.
        """
        try:
            self.folder.mkdir()
            (self.folder / "cpu.max").write_text(f"{self.vcpu_count * _PERIOD_US} {_PERIOD_US}")
            (self.folder / "memory.max").write_text(str(self.memory_bytes))
        except OSError as error:
            # Remove a half-made group; it is empty, so rmdir works.
            with suppress(OSError):
                self.folder.rmdir()
            raise UsageError(
                f"unable to create a control group in '{self._parent}': {(error.strerror or str(error)).lower()}",
                _DELEGATE,
            ) from error
        return self

    def __exit__(self, *exception: object) -> None:
        """Kill the processes still in the group, and remove it."""
        end = time.monotonic() + _END_S
        while time.monotonic() < end:
            with suppress(OSError):
                # The kernel only removes an empty group (Linux, admin-guide/cgroup-v2.rst).
                (self.folder / "cgroup.kill").write_text("1")
            try:
                self.folder.rmdir()
            except FileNotFoundError:
                return
            except OSError:
                time.sleep(_END_S / 100)

    @property
    def members(self) -> Path:
        """Return the file to which a process writes its id to join."""
        return self.folder / "cgroup.procs"

    def joining(self, argv: tuple[str, ...]) -> tuple[str, ...]:
        """Return a command that joins the group and then executes `argv`."""
        # The shell joins first and then execs the command, so that no instruction of it runs outside.
        join = 'echo $$ > "$0" && exec "$@"'
        return ("sh", "-c", join, str(self.members), *argv)


def _parent() -> Path:
    """
    Return the nearest group below which a group with a quota can be created.

    Raises:
        UsageError: there is no such group.
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
            f"cgroup v2 on this machine does not control {' and '.join(sorted(missing))}: cgroup v1 "
            "controls it, or the container was not given it",
            "Start Linux with 'systemd.unified_cgroup_hierarchy=1', or leave out --with-cpu.",
        )
    own = root / _own_path().lstrip("/")
    # A group can set a quota only if its parent enables the controllers in cgroup.subtree_control
    # (Linux, admin-guide/cgroup-v2.rst), so search from our own group upwards.
    for folder in (own, *own.parents):
        if not folder.is_relative_to(root):
            break
        if _words(folder / "cgroup.subtree_control") >= _NEEDED and os.access(folder, os.W_OK):
            return folder
    raise UsageError(
        "this account may not create a control group with a quota: no group was delegated to it", _DELEGATE
    )


def _mounted() -> Path | None:
    for line in MOUNTS.read_text(errors="surrogateescape").splitlines():
        before, _, after = line.partition(" - ")
        if after.startswith("cgroup2 "):
            return Path(before.split(" ")[4])
    return None


def _own_path() -> str:
    # For example "0::/user.slice/user-1000.slice/session-2.scope"; lines of cgroup v1 have other numbers.
    for line in OWN.read_text().splitlines():
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _words(file: Path) -> frozenset[str]:
    with suppress(OSError):
        return frozenset(file.read_text().split())
    return frozenset()


def host_memory_bytes(field: str = "MemTotal") -> int:
    """Return a field of /proc/meminfo, bytes; 0 if the kernel does not have it."""
    for line in MEMORY.read_text().splitlines():
        # In kB, which are 1,024 bytes here (proc(5)).
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0
