"""
What sar and sadf say, moment by moment, whichever of them said it and in whatever form.

Rule 1: columns are called as sadf's JSON calls them; `names_of` turns those of sar's text into
        these. Units: sar's kB is 1024 bytes, a sector 512 (sar(1)).
Rule 2: what sar does not say is absent or NaN, never zero.
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

# Interfaces without hardware behind them: what passes them passes a real one too, or none.
_NOT_HARDWARE = (
    *("lo", "veth", "docker", "br-", "virbr", "cni", "flannel", "cali", "tun", "tap", "ifb"),
    *("dummy", "bond", "team", "wg", "vlan", "vxlan", "gre", "sit", "ip6tnl"),
)


class DiskLine(NamedTuple):
    """A device over one step."""

    ops_per_s: float
    """Reads, writes and, since sysstat 12.2, discards together (`tps`)."""
    read_bytes_per_s: float
    write_bytes_per_s: float
    discard_bytes_per_s: float
    """Zero where that sysstat does not count them: they are not in `ops_per_s` then."""
    wait_s: float
    """Mean time of a request of any kind."""
    queue_depth: float


ABSENT = DiskLine(nan, nan, nan, nan, nan, nan)
"""A device that a moment does not name."""


class IoLine(NamedTuple):
    """All disks of the host over one step (`sar -b`), reads told from writes."""

    ops_per_s: float
    read_ops_per_s: float
    write_ops_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float


@dataclass(slots=True)
class Moment:
    """What was said at one moment about the step that ends with it."""

    end_s: int
    """Epoch seconds."""
    length_s: int = 0
    """Seconds since the moment before; 0 where unknown."""
    disks: dict[str, DiskLine] = field(default_factory=dict)
    io: IoLine | None = None
    levels: dict[Metric, float] = field(default_factory=dict)
    """CPU, memory, swap, load, network."""


@dataclass(slots=True, kw_only=True)
class SarCapture:
    """All that was read."""

    program: str
    """`sar` or `sadf`."""
    host: str | None = None
    cpu_count: int | None = None
    moments: list[Moment] = field(default_factory=list)
    """In the order of their ends."""
    restarts_s: list[int] = field(default_factory=list)
    """Epoch seconds at which Linux came up."""
    has_zone: bool = True
    is_ambiguous: bool = False
    """Whether day and month could be the other way round."""
    is_rounded: bool = False
    is_cut: bool = False
    repeated: int = 0
    """Readings of a moment that was read already: a clock set back, or a file twice."""


def names_of(columns: Iterable[str]) -> list[str]:
    """Column names of sar as sadf has them: `%idle` is `idle`, `rkB/s` is `rkB`, `kbavail` is `avail`."""
    return [column.removesuffix("/s").lstrip("%").removeprefix("kb") for column in columns]


def disk_line(row: Mapping[str, float]) -> DiskLine:
    """Return a row of `sar -d`."""
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
    """Return a row of `sar -b`, whose blocks are sectors."""
    return IoLine(
        ops_per_s=row.get("tps", nan),
        read_ops_per_s=row.get("rtps", nan),
        write_ops_per_s=row.get("wtps", nan),
        read_bytes_per_s=row.get("bread", nan) * _SECTOR_BYTES,
        write_bytes_per_s=row.get("bwrtn", nan) * _SECTOR_BYTES,
    )


def cpu_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Return the row of `sar -u` about all processors; waiting for disks is not work."""
    idle = row.get("idle", nan) + row.get("iowait", nan)
    return {} if isnan(idle) else {Metric.CPU_RATIO: min(max(1 - idle / 100, 0.0), 1.0)}


def memory_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Return a row of `sar -r` or `sar -S`; `avail` came with sysstat 11.7, `swpused` needs -S."""
    return _known(
        {
            Metric.FREEABLE_MEMORY_BYTES: row.get("avail", nan) * _KB,
            Metric.SWAP_BYTES: row.get("swpused", nan) * _KB,
        }
    )


def load_level(row: Mapping[str, float]) -> dict[Metric, float]:
    """Return a row of `sar -q`."""
    return _known({Metric.LOAD_AVERAGE: row.get("ldavg-1", nan)})


def network_level(interface: str, row: Mapping[str, float]) -> dict[Metric, float]:
    """Return a row of `sar -n DEV`; nothing for an interface without hardware."""
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
