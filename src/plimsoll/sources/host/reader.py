"""The rim of the recorder: the machine's clock and the files under /proc."""

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
    """What a recording may know of time."""

    def wall_s(self) -> float:
        """Return epoch seconds."""

    def moment_s(self) -> float:
        """Return seconds of a clock that never steps."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The machine's own clock; its moments go on while the machine sleeps."""

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
    """Reads all counters of one moment; what cannot be read is None."""

    devices: tuple[str, ...]
    mount: str | None
    """A directory whose file system tells the free space; None where none is known."""
    clock: Clock
    root: Path = Path("/")
    """Where /proc and /sys are; another one in tests."""

    def read(self) -> HostReading:
        """
        Return all counters, now.

        Raises:
            DataError: a file under /proc is not in the form the kernel documents.
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
        Return the interfaces with hardware behind them, together.

        Bridges, tunnels and bonds carry the same bytes again; loopback is no network. Where no
        interface has hardware (a container), all but loopback are counted.
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
        # What an unprivileged writer can still have; the reserve of root is not free to a database.
        return space.f_bavail * space.f_frsize
