"""
The reports of an `iostat -x -t` capture, from its text or its JSON.

Rule 1: columns are found by name; sysstat has renamed and added some over the years.
Rule 2: a number that is not one, or is negative, is NaN; a report that says nothing is still one.
Rule 3: dates are read as the capture's locale wrote them, decided once for the whole capture.
Source: iostat(1) of sysstat 12, and its rd_stats/iostat.c for the JSON form.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import nan
from typing import Any

from plimsoll.errors import DataError
from plimsoll.sources.json_text import decode

HOW = "Capture with 'S_TIME_FORMAT=ISO iostat -x -t -k 1', and give that file."

_HEADER = re.compile(r"^Linux \S+ \((?P<host>[^)]*)\)\s+\S+.*\((?P<cpus>\d+) CPU\)\s*$")
_TIME = re.compile(
    r"^(\d{1,4})([/.-])(\d{1,2})[/.-](\d{1,4})[\sT](\d{1,2}):(\d{2}):(\d{2})"
    r"(?:\s*([AP]M))?(?:\s?(Z|UTC|GMT|[+-]\d{2}:?\d{2}|[A-Z]{2,5}))?$"
)
_VALUE = re.compile(r"^\d+(?:[.,]\d+)?$")


@dataclass(slots=True, kw_only=True)
class Report:
    """What iostat printed at one moment, about the time since the report before."""

    stamp: str | None
    """The moment as written; None where there is none."""
    is_since_boot: bool
    """The first report of a run is about the time since boot."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Per column (`user`, `idle` …), percent."""
    disks: dict[str, dict[str, float]] = field(default_factory=dict)
    """Per device and column (`r/s`, `rkB/s` …), as written."""


@dataclass(slots=True, kw_only=True)
class Capture:
    """A whole file."""

    host: str | None = None
    cpu_count: int | None = None
    reports: list[Report] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """When the reports were printed."""

    time_s: list[int]
    """Epoch seconds, one for each report."""
    has_zone: bool
    """Whether the capture says its time zone; without one it is taken as UTC."""
    is_ambiguous: bool
    """Whether day and month could be the other way round."""


def reports_of_text(text: str) -> Capture:
    """The reports of iostat's own text; lines that are none of its forms are passed over."""
    capture = Capture()
    stamp: str | None = None
    is_first, section, columns = True, "", list[str]()
    report: Report | None = None
    for line in text.splitlines():
        words = line.split()
        header = _HEADER.match(line.strip())
        if header:
            capture.host = capture.host or header["host"]
            capture.cpu_count = capture.cpu_count or int(header["cpus"][:6])
            is_first, report, section = True, None, ""
        elif not words:
            section = ""
        elif _TIME.match(line.strip()):
            stamp, report, section = line.strip(), None, ""
        elif words[0] in {"avg-cpu:", "Device", "Device:"}:
            if report is None or words[0] == "avg-cpu:" or report.disks:
                report = Report(stamp=stamp, is_since_boot=is_first)
                capture.reports.append(report)
                is_first, stamp = False, None
            section, columns = words[0], words[1:]
        elif report is not None and section == "avg-cpu:":
            report.cpu = _row([c.lstrip("%") for c in columns], words)
        elif report is not None and section:
            report.disks[words[0]] = _row(columns, words[1:])
    return capture


def reports_of_json(data: bytes, where: str) -> Capture:
    """
    The reports of `iostat -o JSON`.

    Raises:
        DataError: not JSON, cut off, or not iostat's.
    """
    hosts = _within(decode(data, where), "sysstat", "hosts")
    if not isinstance(hosts, list) or not hosts or not isinstance(hosts[0], dict):
        raise DataError(f"{where} is not what 'iostat -o JSON' writes", HOW)
    name, cpus = hosts[0].get("nodename"), hosts[0].get("number-of-cpus")
    statistics = hosts[0].get("statistics")
    entries = [e for e in statistics if isinstance(e, dict)] if isinstance(statistics, list) else []
    return Capture(
        host=name if isinstance(name, str) else None,
        cpu_count=cpus if isinstance(cpus, int) and not isinstance(cpus, bool) else None,
        reports=[_entry(entry, is_first=at == 0) for at, entry in enumerate(entries)],
    )


def moments_of(stamps: list[str], where: str) -> Moments:
    """
    Epoch seconds of the moments of a capture.

    Raises:
        DataError: a moment that is none, or lies outside 1970–2099.
    """
    matches = [_TIME.match(stamp) for stamp in stamps]
    for stamp, match in zip(stamps, matches, strict=True):
        if match is None:
            raise DataError(f"{where} has a time that cannot be read: '{stamp[:40]}'", HOW)
    found = [match.groups() for match in matches if match is not None]
    order, is_ambiguous = _order(found)
    zones = {groups[8] for groups in found}
    try:
        time_s = [_epoch(groups, order) for groups in found]
    except (ValueError, OverflowError):
        raise DataError(f"{where} has a date that no calendar has", HOW) from None
    known = all(zone is not None and _offset(zone) is not None for zone in zones)
    return Moments(time_s=time_s, has_zone=known, is_ambiguous=is_ambiguous)


def _order(found: list[tuple[Any, ...]]) -> tuple[str, bool]:
    """
    The order of year, month and day (`ymd`, `dmy`, `mdy`), and whether it is a guess.

    Locales: 2026-11-20 is ISO; 20.11.2026 and 20-11-2026 begin with the day; with slashes, AM and PM
    go with the month first, a number above twelve is a day, and else it is the C locale's order.
    """
    first, mark, second = found[0][0], found[0][1], [int(g[2]) for g in found]
    if len(first) == 4:
        return "ymd", False
    if mark != "/":
        return "dmy", False
    if any(groups[7] for groups in found) or max(second) > 12:
        return "mdy", False
    if max(int(groups[0]) for groups in found) > 12:
        return "dmy", False
    same = all(int(groups[0]) == int(groups[2]) for groups in found)
    return "mdy", not same


def _epoch(groups: tuple[Any, ...], order: str) -> int:
    parts = dict(zip(order, (groups[0], groups[2], groups[3]), strict=True))
    year = int(parts["y"]) + (2000 if len(parts["y"]) <= 2 else 0)
    hour = int(groups[4])
    if groups[7]:
        hour = hour % 12 + (12 if groups[7] == "PM" else 0)
    moment = datetime(
        year, int(parts["m"]), int(parts["d"]), hour, int(groups[5]), int(groups[6]), tzinfo=UTC
    )
    if not 1970 <= year < 2100:
        raise ValueError
    return int((moment - (_offset(groups[8]) or timedelta())).timestamp())


def _offset(zone: str | None) -> timedelta | None:
    """East of UTC; None for a name such as CET, which is more than one zone."""
    if zone in {"Z", "UTC", "GMT"}:
        return timedelta()
    if zone is None or zone[0] not in "+-":
        return None
    digits = zone[1:].replace(":", "")
    east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -east if zone[0] == "-" else east


def _row(columns: list[str], words: list[str]) -> dict[str, float]:
    return {column: _value(word) for column, word in zip(columns, words, strict=False)}


def _value(word: object) -> float:
    if isinstance(word, str):
        return float(word.replace(",", ".")) if word.isascii() and _VALUE.match(word) else nan
    if isinstance(word, (int, float)) and not isinstance(word, bool) and 0 <= word < 1e18:
        return float(word)
    return nan


def _within(document: Any, *names: str) -> Any:
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _entry(entry: dict[str, Any], *, is_first: bool) -> Report:
    stamp, cpu, disks = (entry.get(name) for name in ("timestamp", "avg-cpu", "disk"))
    report = Report(
        stamp=stamp.strip() if isinstance(stamp, str) else None,
        is_since_boot=is_first,
        cpu={str(k): _value(v) for k, v in cpu.items()} if isinstance(cpu, dict) else {},
    )
    for disk in _dictionaries(disks):
        name = disk.get("disk_device")
        if isinstance(name, str):
            report.disks[name] = {k: _value(v) for k, v in disk.items() if k != "disk_device"}
    return report


def _dictionaries(values: object) -> Iterator[dict[str, Any]]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))
