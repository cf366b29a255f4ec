"""
Parse the output of `sadf -j` for sysstat's binary files.

Rule 1: each entry has its own time and length, in UTC unless -t or -T was given (sadf(1)).
Source: sadf(1), json_stats.c and sadf_misc.c of sysstat 10 to 12.7.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from plimsoll.errors import DataError
from plimsoll.sources.sysstat.capture import value_of
from plimsoll.sources.sysstat.json_documents import hosts_of
from plimsoll.sources.sysstat.moments import (
    HOW,
    Moment,
    SarCapture,
    cpu_level,
    disk_line,
    io_line,
    load_level,
    memory_level,
    network_level,
)
from plimsoll.sources.values.shown import shown

_UTC = frozenset({"UTC", "GMT", "Z"})


def is_sadf_json(text_head: bytes) -> bool:
    """Return whether the first bytes of a file are output of `sadf -j`."""
    head = text_head.lstrip()
    says_its_file = b'"file-date"' in head or b'"sysdata-version"' in head
    return head.startswith(b"{") and b'"sysstat"' in head and says_its_file


def capture_of_json(data: bytes, where: str) -> SarCapture:
    """
    Parse the documents of sadf, one day after the other.

    Raises:
        DataError: not JSON, not from sadf, or from several hosts.
    """
    hosts, is_cut = hosts_of(data, where)
    if not hosts:
        raise DataError(f"{where} is not what 'sadf -j' writes", HOW)
    names = sorted({host.name for host in hosts if host.name is not None})
    if len(names) > 1:
        listed = ", ".join(shown(name) for name in names[:5])
        raise DataError(f"{where} has several hosts: {listed}", "Give files of a single host.")
    capture = SarCapture(program="sadf", host=hosts[0].name, is_cut=is_cut)
    capture.cpu_count = hosts[0].cpu_count
    moments: dict[int, Moment] = {}
    restarts: set[int] = set()
    for host in hosts:
        restarts |= set(_restarts(host.facts.get("restarts")))
        for entry in host.entries:
            stamp = entry.get("timestamp")
            end_s = _epoch(stamp)
            if end_s is None or not isinstance(stamp, dict):
                continue
            if end_s in moments:
                capture.repeated += 1
                continue
            capture.has_zone &= _is_utc(stamp)
            moments[end_s] = _moment(entry, end_s, value_of(stamp.get("interval")))
    capture.moments = [moments[end_s] for end_s in sorted(moments)]
    capture.restarts_s = sorted(restarts)
    return capture


def _moment(entry: Mapping[str, Any], end_s: int, length_s: float) -> Moment:
    moment = Moment(end_s, length_s=int(length_s) if 0 < length_s < 1e9 else 0)
    for disk in _rows(entry.get("disk")):
        name = disk.get("disk-device")
        if isinstance(name, str) and name:
            moment.disks[name] = disk_line(_numbers(disk))
    for name in ("cpu-load", "cpu-load-all"):
        for cpu in _rows(entry.get(name)):
            if cpu.get("cpu") in ("all", "-1"):
                moment.levels |= cpu_level(_numbers(cpu))
    io = entry.get("io")
    if isinstance(io, dict):
        # Reads and writes are one level deeper, each in an object of its own.
        flat = {k: v for part in (io, *io.values()) if isinstance(part, dict) for k, v in part.items()}
        moment.io = io_line(_numbers(flat))
    moment.levels |= memory_level(_numbers(entry.get("memory")))
    moment.levels |= load_level(_numbers(entry.get("queue")))
    network = entry.get("network")
    for device in _rows(network.get("net-dev") if isinstance(network, dict) else None):
        for metric, value in network_level(str(device.get("iface")), _numbers(device)).items():
            moment.levels[metric] = moment.levels.get(metric, 0.0) + value
    return moment


def _numbers(row: object) -> dict[str, float]:
    if not isinstance(row, dict):
        return {}
    return {name: value_of(value) for name, value in row.items() if not isinstance(value, str)}


def _rows(rows: object) -> Iterator[dict[str, Any]]:
    if isinstance(rows, list):
        yield from (row for row in rows if isinstance(row, dict))


def _restarts(restarts: object) -> Iterator[int]:
    for restart in _rows(restarts):
        moment_s = _epoch(restart.get("boot"))
        if moment_s is not None:
            yield moment_s


def _epoch(stamp: object) -> int | None:
    """Return epoch seconds of `{"date": …, "time": …}`, taken as UTC; None if it is not a time."""
    if not isinstance(stamp, dict):
        return None
    try:
        moment = datetime.fromisoformat(f"{stamp.get('date')}T{stamp.get('time')}")
    except ValueError:
        return None
    return int(moment.replace(tzinfo=UTC).timestamp()) if 1970 <= moment.year < 2100 else None


def _is_utc(stamp: Mapping[str, Any]) -> bool:
    """Return whether a time is marked as UTC: `"utc": 1`, since sysstat 12.7 `"tz": "UTC"`."""
    return stamp.get("utc") == 1 or stamp.get("tz") in _UTC
