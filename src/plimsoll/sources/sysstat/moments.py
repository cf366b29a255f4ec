"""
Convert rows of sar and sadf to samples, in the same way for every form.

Rule 1: columns have the names of sadf's JSON; `names_of` converts those of sar's text. Units: sar's kB is
        1,024 bytes, a sector 512 (sar(1)).
Rule 2: a value that sar does not have is absent or NaN, never zero.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import NamedTuple

from plimsoll.model.metric import Metric

HOW = (
    "Capture with 'S_TIME_FORMAT=ISO sar -d -b -u -r -S -q -n DEV 1 600', or give the output of "
    "'sadf -j FILE -- -d -b -u -r -S -q -n DEV'."
)

# sysstat's kB are 1,024 bytes, and its sectors 512 (sar(1), iostat(1)).
_KB = 1024.0
_SECTOR_BYTES = 512.0

# Interfaces without hardware: their bytes also pass a real interface, or none.
_NOT_HARDWARE = (
    *("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "tun", "tap", "ifb"),
    *("dummy", "bond", "team", "wg", "vlan", "vxlan", "gre", "sit", "ip6tnl"),
)


class DiskLine(NamedTuple):
    """One device in one step."""

    ops_per_s: float
    """Reads, writes and, since sysstat 12.2, discards together (`tps`)."""
    read_bytes_per_s: float
    write_bytes_per_s: float
    discard_bytes_per_s: float
    """Zero if this sysstat does not count discards; then `ops_per_s` does not contain them."""
    wait_s: float
    """Mean time of a request of any kind, in seconds."""
    queue_depth: float


ABSENT = DiskLine(nan, nan, nan, nan, nan, nan)
"""Values of a device that is missing in a moment."""


class IoLine(NamedTuple):
    """All disks of the host in one step (`sar -b`), reads and writes separately."""

    ops_per_s: float
    read_ops_per_s: float
    write_ops_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float


@dataclass(slots=True)
class Moment:
    """Values of the step that ends at one time."""

    end_s: int
    """Epoch seconds."""
    length_s: int = 0
    """Seconds since the previous moment; 0 if unknown."""
    disks: dict[str, DiskLine] = field(default_factory=dict)
    io: IoLine | None = None
    levels: dict[Metric, float] = field(default_factory=dict)
    """CPU, memory, swap, load, network."""


@dataclass(slots=True, kw_only=True)
class SarCapture:
    """Content of a capture of sar or sadf."""

    program: str
    """`sar` or `sadf`."""
    host: str | None = None
    cpu_count: int | None = None
    moments: list[Moment] = field(default_factory=list)
    """In the order of their ends."""
    restarts_s: list[int] = field(default_factory=list)
    """Epoch seconds at which Linux booted."""
    has_zone: bool = True
    is_ambiguous: bool = False
    """Whether the order of day and month is unknown."""
    is_rounded: bool = False
    is_cut: bool = False
    repeated: int = 0
    """Number of samples with a time that was already read: a clock set back, or a file given twice."""


def names_of(columns: Iterable[str]) -> list[str]:
    """Convert column names of sar to those of sadf: `%idle` to `idle`, `rkB/s` to `rkB`, `kbavail` to `avail`."""
    return [column.removesuffix("/s").lstrip("%").removeprefix("kb") for column in columns]


def disk_line(row: Mapping[str, float]) -> DiskLine:
    """Convert a row of `sar -d`."""
    discarded = _bytes(row, "dc_sec", "dkB")
    return DiskLine(
        ops_per_s=row.get("tps", nan),
        read_bytes_per_s=_bytes(row, "rd_sec", "rkB"),
        write_bytes_per_s=_bytes(row, "wr_sec", "wkB"),
        discard_bytes_per_s=0.0 if isnan(discarded) else discarded,
        wait_s=row.get("await", nan) / 1000,
        queue_depth=row.get("aqu-sz", row.get("avgqu-sz", nan)),
    )


def io_line(row: Mapping[str, float]) -> IoLine:
    """Convert a row of `sar -b`, whose blocks are sectors of 512 bytes (sar(1))."""
    return IoLine(
        ops_per_s=row.get("tps", nan),
        read_ops_per_s=row.get("rtps", nan),
        write_ops_per_s=row.get("wtps", nan),
        read_bytes_per_s=row.get("bread", nan) * _SECTOR_BYTES,
        write_bytes_per_s=row.get("bwrtn", nan) * _SECTOR_BYTES,
    )


def cpu_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Convert the row of `sar -u` for all processors; iowait counts as idle."""
    idle = row.get("idle", nan) + row.get("iowait", nan)
    return {} if isnan(idle) else {Metric.CPU_RATIO: min(max(1 - idle / 100, 0.0), 1.0)}


def memory_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Convert a row of `sar -r` or `sar -S`; `avail` needs sysstat 11.7, `swpused` needs -S."""
    return _known(
        {Metric.FREEABLE_MEMORY_BYTES: row.get("avail", nan) * _KB, Metric.SWAP_BYTES: row.get("swpused", nan) * _KB}
    )


def load_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Convert a row of `sar -q`."""
    return _known({Metric.LOAD_AVERAGE: row.get("ldavg-1", nan)})


def network_level(interface: str, row: Mapping[str, float]) -> dict[Metric, float]:
    """Convert a row of `sar -n DEV`; return nothing for an interface without hardware."""
    if interface.startswith(_NOT_HARDWARE) or "." in interface or "@" in interface:
        return {}
    return _known(
        {
            Metric.NETWORK_RECEIVE_BYTES_PER_S: row.get("rxkB", nan) * _KB,
            Metric.NETWORK_TRANSMIT_BYTES_PER_S: row.get("txkB", nan) * _KB,
        }
    )


def _bytes(row: Mapping[str, float], sectors: str, kb: str) -> float:
    return row[sectors] * _SECTOR_BYTES if sectors in row else row.get(kb, nan) * _KB


def _known(levels: dict[Metric, float]) -> dict[Metric, float]:
    return {metric: value for metric, value in levels.items() if not isnan(value)}
