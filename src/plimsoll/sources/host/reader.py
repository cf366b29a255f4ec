"""Read the machine's clock and the files under /proc."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from plimsoll.sources.host.counters import (
    NetworkCounters,
    parse_diskstats,
    parse_loadavg,
    parse_meminfo,
    parse_net_dev,
    parse_stat,
    summed,
)
from plimsoll.sources.host.rates import HostReading


class Clock(Protocol):
    """Clock of a recording."""

    def wall_s(self) -> float:
        """Return epoch seconds."""

    def moment_s(self) -> float:
        """Return seconds of a monotonic clock."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's clock; its monotonic seconds include time asleep."""

    def wall_s(self) -> float:
        """Return epoch seconds."""
        return time.time()

    def moment_s(self) -> float:
        """Return seconds since boot, suspended time included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReader:
    """Reads all counters at one time; None for those that cannot be read."""

    devices: tuple[str, ...]
    mount: str | None
    """A directory whose file system shows the free space; None if none is known."""
    clock: Clock
    root: Path = Path("/")
    """Parent of /proc and /sys; another one in tests."""

    def read(self) -> HostReading:
        """
        Read all counters now.

        Raises:
            DataError: a file under /proc does not have its documented form.
        """
        text = self._text("diskstats")
        moment_s = self.clock.moment_s()
        disks = parse_diskstats(text) if text is not None else {}
        stat, memory, load = (self._text(name) for name in ("stat", "meminfo", "loadavg"))
        return HostReading(
            moment_s=moment_s,
            disks={name: disks[name] for name in self.devices if name in disks},
            cpu=parse_stat(stat) if stat is not None else None,
            memory=parse_meminfo(memory) if memory is not None else None,
            network=self._network(),
            load_average=parse_loadavg(load) if load is not None else None,
            free_storage_bytes=self._free_bytes(),
        )

    def _text(self, name: str) -> str | None:
        try:
            return (self.root / "proc" / name).read_text()
        except OSError:
            return None

    def _network(self) -> NetworkCounters | None:
        """
        Return the sum of the hardware interfaces.

        Bridges, tunnels and bonds would count the same bytes again, and loopback is not a network. If no
        interface has hardware, as in a container, all except loopback count.
        """
        text = self._text("net/dev")
        if text is None:
            return None
        found = {name: c for name, c in parse_net_dev(text).items() if name != "lo"}
        hardware = {
            name: counters
            for name, counters in found.items()
            if (self.root / "sys/class/net" / name / "device").exists()
        }
        return summed(hardware or found) if found else None

    def _free_bytes(self) -> int | None:
        if self.mount is None:
            return None
        try:
            space = os.statvfs(self.mount)
        except OSError:
            return None
        # f_bavail, not f_bfree: the blocks reserved for root are not available to a database (statvfs(3)).
        return space.f_bavail * space.f_frsize
