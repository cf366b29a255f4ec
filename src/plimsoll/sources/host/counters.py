"""
Parse Linux's counters. Nothing here opens a file or reads a clock.

Rule 1: a parse function takes the text of one file under /proc, and returns frozen counters.
Rule 2: counters stay in the kernel's units (sectors, milliseconds, ticks); `rates.py` converts two
        readings to rates in our units.

Source: Linux documentation, admin-guide/iostats.rst and filesystems/proc.rst.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.errors import DataError

SECTOR_BYTES = 512
"""Unit of /proc/diskstats, independent of the device's own sector size (iostats.rst)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskCounters:
    """One line of /proc/diskstats: counters of a block device since it appeared."""

    read_ops: int
    """Reads completed, after neighbouring requests were merged."""
    read_sectors: int
    """Sectors of 512 bytes read."""
    read_ms: int
    """Total milliseconds of all reads; 32 bits wide, so it wraps."""
    write_ops: int
    """Writes completed, after merging."""
    write_sectors: int
    """Sectors of 512 bytes written."""
    write_ms: int
    """Total milliseconds of all writes; 32 bits wide, so it wraps."""
    weighted_ms: int
    """Total milliseconds of all requests; 32 bits wide, so it wraps."""

    @property
    def sectors(self) -> int:
        """Sectors read and written."""
        return self.read_sectors + self.write_sectors


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuCounters:
    """The first line of /proc/stat in clock ticks, and the number of processors that it sums."""

    busy_ticks: int
    """User, nice, system, interrupts and steal; user already includes guests (proc.rst)."""
    idle_ticks: int
    """Idle, and idle while a request to a disk was outstanding (iowait)."""
    cpu_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryBytes:
    """The fields of /proc/meminfo in bytes."""

    total_bytes: int
    available_bytes: int
    """Memory that programs can get without swapping: free and reclaimable."""
    swap_bytes: int
    """Swap in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCounters:
    """One interface of /proc/net/dev."""

    received_bytes: int
    sent_bytes: int


def parse_diskstats(text: str) -> dict[str, DiskCounters]:
    """
    Return the counters of every block device by name, in the order of the file.

    Raises:
        DataError: a line has none of the known forms.
    """
    disks: dict[str, DiskCounters] = {}
    for place, line in enumerate(text.splitlines(), 1):
        fields = line.split()
        # Before Linux 2.6.25 partitions had seven fields and no times (iostats.rst), so skip them.
        if not fields or len(fields) == 7:
            continue
        if len(fields) < 14:
            raise _broken("/proc/diskstats", place, f"{len(fields)} fields instead of 14")
        n = _integers(fields[3:14], "/proc/diskstats", place)
        disks[fields[2]] = DiskCounters(
            read_ops=n[0],
            read_sectors=n[2],
            read_ms=n[3],
            write_ops=n[4],
            write_sectors=n[6],
            write_ms=n[7],
            weighted_ms=n[10],
        )
    return disks


def parse_stat(text: str) -> CpuCounters:
    """
    Return the processor time of the whole machine.

    Stolen time counts as busy: the machine needed this processor time but did not get it.

    Raises:
        DataError: no line `cpu` with at least user, nice, system and idle.
    """
    cpu_count = 0
    ticks: list[int] = []
    for place, line in enumerate(text.splitlines(), 1):
        name, *fields = line.split() or [""]
        if name == "cpu":
            ticks = _integers(fields[:8], "/proc/stat", place)
        elif name.startswith("cpu"):
            cpu_count += 1
    if len(ticks) < 4:
        raise DataError("/proc/stat has no line 'cpu'", "Record on a Linux host with /proc mounted.")
    user, nice, system, idle, iowait, irq, softirq, steal = (*ticks, *([0] * (8 - len(ticks))))
    return CpuCounters(
        busy_ticks=user + nice + system + irq + softirq + steal, idle_ticks=idle + iowait, cpu_count=max(cpu_count, 1)
    )


def parse_meminfo(text: str) -> MemoryBytes:
    """
    Return memory and swap.

    Raises:
        DataError: MemTotal or MemAvailable (Linux 3.14 and later) is missing.
    """
    kibibytes: dict[str, int] = {}
    for place, line in enumerate(text.splitlines(), 1):
        name, _, rest = line.partition(":")
        if name in {"MemTotal", "MemAvailable", "SwapTotal", "SwapFree"}:
            kibibytes[name] = _integers(rest.split()[:1] or [""], "/proc/meminfo", place)[0]
    for name in ("MemTotal", "MemAvailable"):
        if name not in kibibytes:
            raise DataError(f"/proc/meminfo has no line '{name}'", "Record on a host with Linux 3.14 or later.")
    swap = kibibytes.get("SwapTotal", 0) - kibibytes.get("SwapFree", 0)
    # The unit kB in this file means KiB (proc.rst).
    return MemoryBytes(
        total_bytes=kibibytes["MemTotal"] * 1024,
        available_bytes=kibibytes["MemAvailable"] * 1024,
        swap_bytes=max(swap, 0) * 1024,
    )


def parse_loadavg(text: str) -> float:
    """
    Return the load average of the last minute.

    Raises:
        DataError: the text does not begin with a number ≥ 0.
    """
    first = (text.split() or [""])[0]
    whole, _, fraction = first.partition(".")
    if not (first.isascii() and whole.isdigit() and (fraction + "0").isdigit()):
        raise _broken("/proc/loadavg", 1, f"'{first[:20]}' is not a load")
    return float(first)


def parse_net_dev(text: str) -> dict[str, NetworkCounters]:
    """
    Return the bytes that every interface received and sent.

    Raises:
        DataError: a line is not in the known form.
    """
    found: dict[str, NetworkCounters] = {}
    for place, line in enumerate(text.splitlines(), 1):
        name, colon, rest = line.partition(":")
        if not colon:
            continue
        fields = rest.split()
        if len(fields) < 9:
            raise _broken("/proc/net/dev", place, f"{len(fields)} fields instead of 9")
        received, sent = _integers([fields[0], fields[8]], "/proc/net/dev", place)
        found[name.strip()] = NetworkCounters(received_bytes=received, sent_bytes=sent)
    return found


def parse_mountinfo(text: str) -> dict[str, str]:
    """
    Return the source of every mount point (`/` → `/dev/vda1`); the last mount on a point wins.

    Lines of an unknown form are skipped: the result only helps to choose a device.
    """
    sources: dict[str, str] = {}
    for line in text.splitlines():
        before, dash, after = line.partition(" - ")
        left, right = before.split(), after.split()
        if dash and len(left) >= 5 and len(right) >= 2:
            # The kernel writes a space in a mount point as \040 (proc.rst, mountinfo).
            sources[left[4].replace("\\040", " ")] = right[1]
    return sources


def summed(counters: Mapping[str, NetworkCounters]) -> NetworkCounters:
    """Return the sum of all interfaces."""
    return NetworkCounters(
        received_bytes=sum(c.received_bytes for c in counters.values()),
        sent_bytes=sum(c.sent_bytes for c in counters.values()),
    )


def _integers(fields: list[str], file: str, place: int) -> list[int]:
    numbers = []
    for field in fields:
        if not (field.isascii() and field.isdigit()):
            raise _broken(file, place, f"'{field[:20]}' is not a counter")
        numbers.append(int(field))
    return numbers


def _broken(file: str, place: int, reason: str) -> DataError:
    return DataError(
        f"line {place} of {file} cannot be read: {reason}",
        "Record on a Linux host; the kernel documents the form of this file.",
    )
