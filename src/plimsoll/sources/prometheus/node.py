"""
Convert node_exporter's counters of a Linux host to rates. No network, no clock.

Rule 1: a rate is the growth of a counter between two scrapes of one target, divided by the time.
Rule 2: a counter that decreased was reset (restart, another device) or, if it counts the kernel's
32-bit milliseconds, wrapped. A wrap is corrected; a reset is a gap, never a negative rate.
Rule 3: without events there is no sample: if no read completed, there is no read latency.

Source: Linux documentation, admin-guide/iostats.rst; node_exporter, collector/diskstats_linux.go.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, IntArray

NODE_NAMES = (
    "node_disk_(reads|writes)_completed_total",
    "node_disk_(read|written)_bytes_total",
    "node_disk_(read|write)_time_seconds_total",
    "node_disk_io_time_weighted_seconds_total",
    "node_cpu_seconds_total",
    "node_memory_(MemTotal|MemAvailable|SwapTotal|SwapFree)_bytes",
    "node_network_(receive|transmit)_bytes_total",
    "node_load1",
)
"""Names to query, as regular expressions."""

# Not disks: devices of memory and images. Also RDS devices of rds_exporter, whose values are amounts of an
# interval under the names of counters.
DISK_DEVICES_LEFT_OUT = re.compile(r"(loop|z?ram|sr|fd|nbd)\d|rds|filesystem\Z")
_PARTITION = re.compile(r"(?:(.*\d)p\d+|([hsv]d[a-z]+|xvd[a-z]+)\d+)\Z")
_STACKED = re.compile(r"(dm-|md)\d")
_HARDWARE = re.compile(r"(eth|en[opsx]|ib|wl)")

# The kernel prints the times of /proc/diskstats as unsigned 32-bit milliseconds (admin-guide/iostats.rst),
# so they wrap after 49.7 days.
_TIME_WRAP_S = 2**32 / 1000

# A judgement: a mean over a few missed scrapes is still a rate, but over half an hour it hides the time.
LONGEST_PAUSE_STEPS = 4
LONGEST_PAUSE_S = 300


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Counted:
    """One series as stored on the server."""

    labels: Mapping[str, str]
    time_ms: IntArray
    """Epoch milliseconds, strictly increasing, shape (n,)."""
    value: FloatArray

    @property
    def name(self) -> str:
        """Name of the metric."""
        return self.labels["__name__"]

    @property
    def device(self) -> str:
        """Disk or interface; empty if neither."""
        return self.labels.get("device", "")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeRates:
    """Rates of one host from one scrape target; every column has the shape (n,)."""

    time_s: IntArray
    """Start of each step, epoch seconds."""
    step_s: int
    columns: Mapping[Metric, FloatArray]
    """Values by metric; NaN if not measured."""


def disks_of(series: Sequence[Counted]) -> list[str]:
    """
    Return the names of the whole disks, in order.

    A partition is dropped if its disk is present, and LVM and RAID devices if any disk is present, because
    the disks below count the same requests again.
    """
    names = sorted({s.device for s in series if s.name.startswith("node_disk_") and s.device})
    whole = [n for n in names if not _is_part(n, names)]
    return [n for n in whole if not _STACKED.match(n)] or whole


def _is_part(name: str, names: Sequence[str]) -> bool:
    match = _PARTITION.match(name)
    return match is not None and (match.group(1) or match.group(2)) in names


def busiest(series: Sequence[Counted], disks: Sequence[str]) -> str:
    """Return the disk with the most bytes in the window; of equal ones the first by name."""
    moved = dict.fromkeys(disks, 0.0)
    for one in series:
        if one.device in moved and one.name.endswith(("read_bytes_total", "written_bytes_total")):
            moved[one.device] += float(np.maximum(np.diff(one.value), 0).sum())
    return max(disks, key=lambda name: (moved[name], -list(disks).index(name)))


def cpu_count(series: Sequence[Counted]) -> int | None:
    """Return the number of processors; None if none was counted."""
    return len({s.labels.get("cpu") for s in series if s.name == "node_cpu_seconds_total"}) or None


def latest(series: Sequence[Counted], name: str) -> float | None:
    """Return the last value of a name; None if there is none."""
    ends = [(int(s.time_ms[-1]), float(s.value[-1])) for s in series if s.name == name]
    return max(ends)[1] if ends else None


def rates_of(series: Sequence[Counted], devices: Sequence[str]) -> list[NodeRates]:
    """
    Return the rates of one host, one part for each scrape target, without overlap.

    Two servers scrape the same host at different times. The longer history is used, and the other one
    only where it has none.

    Args:
        series: all counters of the host.
        devices: disks whose rates are added.
    """
    found = [_of_target(part, devices) for part in _targets(series)]
    parts = sorted((p for p in found if p is not None), key=lambda p: -p.time_s.size)
    kept: list[NodeRates] = []
    for part in parts:
        free = np.ones(part.time_s.size, dtype=np.bool_)
        for other in kept:
            first, last = int(other.time_s[0]), int(other.time_s[-1])
            free &= (part.time_s + part.step_s <= first) | (part.time_s >= last + other.step_s)
        if free.any():
            columns = {metric: values[free] for metric, values in part.columns.items()}
            kept.append(NodeRates(time_s=part.time_s[free], step_s=part.step_s, columns=columns))
    return kept


def differing_labels(series: Sequence[Counted]) -> dict[str, list[str]]:
    """
    Return the labels and values by which two hosts of one name differ; empty if there is one host.

    Two targets at the same time are one host that is scraped twice, or two hosts with the same address in
    different networks. Idle time counts from the boot, so it differs between hosts.
    """
    targets = _targets(series)
    for index, one in enumerate(targets):
        for other in targets[index + 1 :]:
            if _are_two_hosts(one, other):
                pairs = (_target_labels(one[0]), _target_labels(other[0]))
                names = sorted({n for p in pairs for n, _ in p})
                values = {n: [dict(p).get(n, "") for p in pairs] for n in names}
                return {n: v for n, v in values.items() if v[0] != v[1]}
    return {}


def _are_two_hosts(one: Sequence[Counted], other: Sequence[Counted]) -> bool:
    for mine in one:
        for theirs in other:
            if mine.name != "node_cpu_seconds_total" or mine.labels.get("mode") != "idle":
                continue
            if any(mine.labels.get(n) != theirs.labels.get(n) for n in ("__name__", *_INNER_LABELS)):
                continue
            first = max(int(mine.time_ms[0]), int(theirs.time_ms[0]))
            last = min(int(mine.time_ms[-1]), int(theirs.time_ms[-1]))
            if first > last:
                continue
            at = (first + last) / 2
            values = [float(np.interp(at, s.time_ms, s.value)) for s in (mine, theirs)]
            if abs(values[0] - values[1]) > max(IDLE_SLACK_S, 0.01 * max(values)):
                return True
    return False


def _targets(series: Sequence[Counted]) -> list[list[Counted]]:
    """Group the series by scrape target."""
    targets: dict[frozenset[tuple[str, str]], list[Counted]] = {}
    for one in series:
        targets.setdefault(_target_labels(one), []).append(one)
    return list(targets.values())


def _target_labels(series: Counted) -> frozenset[tuple[str, str]]:
    inner = ("__name__", *_INNER_LABELS)
    return frozenset(item for item in series.labels.items() if item[0] not in inner)


_INNER_LABELS = ("device", "mode", "cpu")

# A judgement: two scrapes of one counter are less than two intervals apart, and few intervals exceed a minute.
IDLE_SLACK_S = 120.0


class _Table:
    """Counters of one target, aligned at its scrapes."""

    def __init__(self, series: Sequence[Counted], time_ms: IntArray) -> None:
        self.time_ms = time_ms
        self.series = series

    def column(self, one: Counted) -> FloatArray:
        values = np.full(self.time_ms.size, np.nan)
        values[np.searchsorted(self.time_ms, one.time_ms)] = one.value
        return values

    def levels(self, name: str) -> FloatArray | None:
        found = [s for s in self.series if s.name == name]
        return self.column(found[0])[1:] if found else None

    def growths(self, name: str, keep: Callable[[Counted], bool]) -> list[FloatArray]:
        """Return the growth of each counter in each step; NaN at a reset."""
        found = []
        for one in self.series:
            if one.name == name and keep(one):
                grown = np.diff(self.column(one))
                if name.endswith("_time_seconds_total") or "weighted" in name:
                    # A decrease by about the whole 32-bit range is a wrap; a smaller one is a reset.
                    wrapped = grown + _TIME_WRAP_S
                    grown = np.where((grown < 0) & (wrapped < _TIME_WRAP_S / 2), wrapped, grown)
                found.append(np.where(grown < 0, np.nan, grown))
        return found


def _of_target(series: Sequence[Counted], devices: Sequence[str]) -> NodeRates | None:
    time_ms = np.unique(np.concatenate([s.time_ms for s in series]))
    pauses_ms = np.diff(time_ms)
    if not pauses_ms.size:
        return None
    step_s = max(round(float(np.median(pauses_ms)) / 1000), 1)
    longest_ms = 1000 * max(LONGEST_PAUSE_STEPS * step_s, LONGEST_PAUSE_S)
    table = _Table(series, time_ms)
    elapsed_s = np.where(pauses_ms <= longest_ms, pauses_ms / 1000, np.nan)
    is_known = np.isfinite(elapsed_s)
    columns = {
        metric: np.where(is_known, values, np.nan)
        for metric, values in (
            _disks(table, devices, elapsed_s) | _cpu(table, elapsed_s) | _network(table, elapsed_s) | _levels(table)
        ).items()
    }
    # Prometheus scrapes at a constant interval, so steps counted from the first scrape form a grid.
    steps = np.round((time_ms[:-1] - time_ms[0]) / (1000 * step_s)).astype(np.int64)
    first_s = int(time_ms[0]) // 1000
    is_first = np.append(True, np.diff(steps) > 0)
    return NodeRates(
        time_s=(first_s + steps * step_s)[is_first],
        step_s=step_s,
        columns={metric: values[is_first] for metric, values in columns.items()},
    )


def _sum(columns: Sequence[FloatArray], count: int) -> FloatArray | None:
    """Return the sum if every column is present; a sum without one of its devices would be too low."""
    return np.sum(columns, axis=0) if columns and len(columns) == count else None


def _disks(table: _Table, devices: Sequence[str], elapsed_s: FloatArray) -> dict[Metric, FloatArray]:
    def total(name: str) -> FloatArray | None:
        grown = table.growths(f"node_disk_{name}_total", lambda s: s.device in devices)
        return _sum(grown, len(devices))

    found: dict[Metric, FloatArray] = {}
    for metric, name in (
        (Metric.READ_BYTES_PER_S, "read_bytes"),
        (Metric.WRITE_BYTES_PER_S, "written_bytes"),
        (Metric.READ_OPS_PER_S, "reads_completed"),
        (Metric.WRITE_OPS_PER_S, "writes_completed"),
        # Total time of all requests divided by elapsed time is their mean number (Little's law).
        (Metric.QUEUE_DEPTH, "io_time_weighted_seconds"),
    ):
        grown = total(name)
        if grown is not None:
            found[metric] = grown / elapsed_s
    for metric, time, ops in (
        (Metric.READ_LATENCY_S, "read_time_seconds", "reads_completed"),
        (Metric.WRITE_LATENCY_S, "write_time_seconds", "writes_completed"),
    ):
        spent_s, done = total(time), total(ops)
        if spent_s is not None and done is not None:
            found[metric] = np.divide(spent_s, done, out=np.full(done.size, np.nan), where=(done > 0))
    return found


def _cpu(table: _Table, elapsed_s: FloatArray) -> dict[Metric, FloatArray]:
    """Return the CPU use. Waiting for a disk counts as idle time; stolen time does not."""
    idle = table.growths("node_cpu_seconds_total", lambda s: s.labels.get("mode") == "idle")
    wait = table.growths("node_cpu_seconds_total", lambda s: s.labels.get("mode") == "iowait")
    if not idle:
        return {}
    count = np.isfinite(idle).sum(axis=0)
    # iowait may decrease (Linux docs, filesystems/proc.rst), which counts as no waiting; idle never does.
    spare_s = np.nansum([*idle, *wait], axis=0)
    wanted_s = np.where(count > 0, count * elapsed_s, np.nan)
    return {Metric.CPU_RATIO: np.clip(1 - spare_s / wanted_s, 0, 1)}


def _network(table: _Table, elapsed_s: FloatArray) -> dict[Metric, FloatArray]:
    """Return the rates of hardware interfaces; bridges and tunnels would count the same bytes again."""
    names = {s.device for s in table.series if s.name.startswith("node_network_")} - {"lo", ""}
    counted = {n for n in names if _HARDWARE.match(n)} or names
    found: dict[Metric, FloatArray] = {}
    for metric, way in (
        (Metric.NETWORK_RECEIVE_BYTES_PER_S, "receive"),
        (Metric.NETWORK_TRANSMIT_BYTES_PER_S, "transmit"),
    ):
        grown = table.growths(f"node_network_{way}_bytes_total", lambda s: s.device in counted)
        total = _sum(grown, len(counted))
        if total is not None:
            found[metric] = total / elapsed_s
    return found


def _levels(table: _Table) -> dict[Metric, FloatArray]:
    """Return the gauges at the end of each step."""
    found: dict[Metric, FloatArray] = {}
    available = table.levels("node_memory_MemAvailable_bytes")
    if available is not None:
        found[Metric.FREEABLE_MEMORY_BYTES] = available
    total, free = (table.levels(f"node_memory_Swap{w}_bytes") for w in ("Total", "Free"))
    if total is not None and free is not None:
        found[Metric.SWAP_BYTES] = np.maximum(total - free, 0)
    load = table.levels("node_load1")
    if load is not None:
        found[Metric.LOAD_AVERAGE] = load
    return found
