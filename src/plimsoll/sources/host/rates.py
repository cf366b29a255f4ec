"""
Compute rates from two readings of a host. No file, no clock.

Rule 1: a counter that decreased wrapped (if it has 32 bits) or belongs to a new device. A wrap is
        corrected, a new device is a gap; neither is a negative rate.
Rule 2: without events the value is NaN, not zero: if no read completed, there is no read latency.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import nan

from plimsoll.model.metric import Metric
from plimsoll.sources.host.counters import SECTOR_BYTES, CpuCounters, DiskCounters, MemoryBytes, NetworkCounters

# The kernel prints the times of /proc/diskstats as unsigned 32-bit milliseconds and the other counters
# as long (block/genhd.c, diskstats_show). At a queue depth of 100 the times wrap every 12 hours.
_TIME_WRAP_MS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class HostReading:
    """All counters at one time; None for those that could not be read."""

    moment_s: float
    """Seconds of a monotonic clock; only differences have a meaning."""
    disks: Mapping[str, DiskCounters]
    """The recorded devices that were present."""
    cpu: CpuCounters | None = None
    memory: MemoryBytes | None = None
    network: NetworkCounters | None = None
    load_average: float | None = None
    free_storage_bytes: int | None = None


def rates_between(before: HostReading, after: HostReading, devices: tuple[str, ...]) -> dict[Metric, float]:
    """
    Return the rates of a host between two readings.

    Args:
        before: the earlier reading.
        after: the later reading, `after.moment_s > before.moment_s`.
        devices: names of the recorded devices, whose rates are added.

    Returns:
        A value for every metric that both readings have. Rates and latencies are means over the time
        between; memory, load and free storage are those at its end.
    """
    elapsed_s = after.moment_s - before.moment_s
    assert elapsed_s > 0
    return {
        **_disk_rates(before, after, devices, elapsed_s),
        **_cpu_ratio(before.cpu, after.cpu),
        **_network_rates(before.network, after.network, elapsed_s),
        **_levels(after),
    }


def disk_difference(before: DiskCounters, after: DiskCounters) -> DiskCounters | None:
    """
    Return the difference of a device's counters; None if it is not the same device.

    A device that was detached and attached again under the same name starts at zero.
    """
    pairs = (
        (before.read_ops, after.read_ops),
        (before.read_sectors, after.read_sectors),
        (before.write_ops, after.write_ops),
        (before.write_sectors, after.write_sectors),
    )
    if any(new < old for old, new in pairs):
        return None
    return DiskCounters(
        read_ops=after.read_ops - before.read_ops,
        read_sectors=after.read_sectors - before.read_sectors,
        read_ms=_elapsed_ms(before.read_ms, after.read_ms),
        write_ops=after.write_ops - before.write_ops,
        write_sectors=after.write_sectors - before.write_sectors,
        write_ms=_elapsed_ms(before.write_ms, after.write_ms),
        weighted_ms=_elapsed_ms(before.weighted_ms, after.weighted_ms),
    )


def _elapsed_ms(old: int, new: int) -> int:
    return new - old if new >= old else (new - old) % _TIME_WRAP_MS


def _disk_rates(
    before: HostReading, after: HostReading, devices: tuple[str, ...], elapsed_s: float
) -> dict[Metric, float]:
    done = []
    for name in devices:
        old, new = before.disks.get(name), after.disks.get(name)
        one = disk_difference(old, new) if old is not None and new is not None else None
        if one is None:
            return {}  # A sum without one of its devices would be too low: the step is a gap.
        done.append(one)
    read_ops, write_ops = sum(d.read_ops for d in done), sum(d.write_ops for d in done)
    read_ms, write_ms = sum(d.read_ms for d in done), sum(d.write_ms for d in done)
    return {
        Metric.READ_BYTES_PER_S: sum(d.read_sectors for d in done) * SECTOR_BYTES / elapsed_s,
        Metric.WRITE_BYTES_PER_S: sum(d.write_sectors for d in done) * SECTOR_BYTES / elapsed_s,
        Metric.READ_OPS_PER_S: read_ops / elapsed_s,
        Metric.WRITE_OPS_PER_S: write_ops / elapsed_s,
        Metric.READ_LATENCY_S: read_ms / 1000 / read_ops if read_ops else nan,
        Metric.WRITE_LATENCY_S: write_ms / 1000 / write_ops if write_ops else nan,
        # Total time of all requests divided by elapsed time is their mean number (Little's law).
        Metric.QUEUE_DEPTH: sum(d.weighted_ms for d in done) / 1000 / elapsed_s,
    }


def _cpu_ratio(before: CpuCounters | None, after: CpuCounters | None) -> dict[Metric, float]:
    if before is None or after is None:
        return {}
    # iowait may decrease (Linux docs, filesystems/proc.rst), which counts as zero, not as negative time.
    busy = max(after.busy_ticks - before.busy_ticks, 0)
    idle = max(after.idle_ticks - before.idle_ticks, 0)
    return {Metric.CPU_RATIO: busy / (busy + idle)} if busy + idle else {}


def _network_rates(
    before: NetworkCounters | None, after: NetworkCounters | None, elapsed_s: float
) -> dict[Metric, float]:
    if before is None or after is None:
        return {}
    received = after.received_bytes - before.received_bytes
    sent = after.sent_bytes - before.sent_bytes
    if received < 0 or sent < 0:
        return {}
    return {
        Metric.NETWORK_RECEIVE_BYTES_PER_S: received / elapsed_s,
        Metric.NETWORK_TRANSMIT_BYTES_PER_S: sent / elapsed_s,
    }


def _levels(after: HostReading) -> dict[Metric, float]:
    found: dict[Metric, float] = {}
    if after.memory is not None:
        found[Metric.FREEABLE_MEMORY_BYTES] = float(after.memory.available_bytes)
        found[Metric.SWAP_BYTES] = float(after.memory.swap_bytes)
    if after.load_average is not None:
        found[Metric.LOAD_AVERAGE] = after.load_average
    if after.free_storage_bytes is not None:
        found[Metric.FREE_STORAGE_BYTES] = float(after.free_storage_bytes)
    return found
