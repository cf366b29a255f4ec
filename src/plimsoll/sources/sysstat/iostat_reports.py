"""
Parse the reports of an `iostat -x -t` capture, from text or JSON.

Rule 1: columns are found by name: sysstat has renamed and added some over the years, and --pretty puts
        the device last and splits a report into several tables.
Rule 2: a row whose number of words differs from the columns of its table is broken, and skipped.
Rule 3: the order of dates is that of the capture's locale, decided once for the whole capture.
Source: iostat(1) of sysstat 10 to 12, and its iostat.c for the JSON form.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from plimsoll.errors import DataError
from plimsoll.sources.sysstat.capture import Header, header_of, is_human, lines_of, value_of
from plimsoll.sources.sysstat.dates import DATE, Date, midnight_s, order_of, second_of_day
from plimsoll.sources.sysstat.json_documents import hosts_of
from plimsoll.sources.values.shown import shown

HOW = "Capture with 'S_TIME_FORMAT=ISO iostat -x -t -k 1', and give that file."

_TIME = re.compile(
    rf"^{DATE}[\sT](\d{{1,2}}):(\d{{2}}):(\d{{2}})"
    r"(?:\s*([AP]M))?(?:\s?(Z|UTC|GMT|[+-]\d{2}:?\d{2}|[A-Z]{2,5}))?$"
)
# Other columns (merges, request sizes, utilisation) are not used; for a year they would take gigabytes.
_COLUMNS = frozenset(
    {"r/s", "w/s", "rkB/s", "wkB/s", "rMB/s", "wMB/s", "rsec/s", "wsec/s"}
    | {"r_await", "w_await", "await", "aqu-sz", "avgqu-sz"}
)


@dataclass(slots=True, kw_only=True)
class IostatReport:
    """One report of iostat, about the time since the previous report."""

    stamp: str | None
    """The time as written; None if there is none."""
    is_since_boot: bool
    """Whether it is the first report of a run, which covers the time since boot."""
    cpu: dict[str, float] = field(default_factory=dict)
    """Percent by column (`user`, `idle` …)."""
    disks: dict[str, dict[str, float]] = field(default_factory=dict)
    """Values as written, by device and column (`r/s`, `rkB/s` …)."""


@dataclass(slots=True, kw_only=True)
class IostatCapture:
    """A whole file."""

    host: str | None = None
    cpu_count: int | None = None
    date: Date | None = None
    """The start date in its first line."""
    reports: list[IostatReport] = field(default_factory=list)
    is_cut: bool = False
    """Whether it ends in the middle of a report."""
    is_rounded: bool = False
    """Whether its numbers were rounded by -h."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """When the reports were printed."""

    time_s: list[int]
    """Epoch seconds, one for each report."""
    has_zone: bool
    """Whether the capture states its time zone; otherwise UTC is assumed."""
    is_ambiguous: bool
    """Whether the order of day and month is unknown."""


def reports_of_text(data: bytes) -> IostatCapture:
    """Return the reports of iostat's text; skip lines of an unknown form."""
    lines, is_cut = lines_of(data)
    reader = _TextReader(IostatCapture(is_cut=is_cut))
    for line in lines:
        reader.take(line.strip())
    return reader.capture


class _TextReader:
    """Parses line by line, and keeps the current table."""

    def __init__(self, capture: IostatCapture) -> None:
        self.capture = capture
        self._stamp: str | None = None
        self._is_first = True
        self._report: IostatReport | None = None
        self._section = ""
        self._columns: list[str] = []

    def take(self, line: str) -> None:
        words = line.split()
        header = header_of(line)
        if header is not None:
            self._begin_run(header)
        elif not words:
            self._section = ""
        elif line[0].isdigit() and _TIME.match(line):
            self._stamp, self._report, self._section = line, None, ""
        elif words[0] == "avg-cpu:":
            self._begin_report()
            self._section, self._columns = "cpu", [c.lstrip("%") for c in words[1:]]
        elif words[0] in {"Device", "Device:"} or words[-1] == "Device":
            self._begin_disks(is_last=words[-1] == "Device" and len(words) > 1, words=words)
        elif self._report is not None and self._section == "cpu":
            self._report.cpu = self._row(words) or {}
        elif self._report is not None and self._section:
            is_last = self._section == "disks, named last"
            name = words[-1] if is_last else words[0]
            row = self._row(words[:-1] if is_last else words[1:])
            if row is not None:
                self._report.disks.setdefault(name, {}).update(row)

    def _begin_run(self, header: Header) -> None:
        capture = self.capture
        capture.host = capture.host or header.host
        capture.cpu_count = capture.cpu_count or header.cpu_count
        capture.date = capture.date or header.date
        self._is_first, self._report, self._section = True, None, ""

    def _begin_report(self) -> None:
        self._report = IostatReport(stamp=self._stamp, is_since_boot=self._is_first)
        self.capture.reports.append(self._report)
        self._is_first, self._stamp = False, None

    def _begin_disks(self, *, is_last: bool, words: list[str]) -> None:
        columns = words[:-1] if is_last else words[1:]
        # A table with columns that the report already has belongs to the next one (iostat -d, without -t).
        had = {name for row in self._report.disks.values() for name in row} if self._report else ()
        if self._report is None or not set(columns).isdisjoint(had):
            self._begin_report()
        self._section, self._columns = "disks, named last" if is_last else "disks", columns

    def _row(self, words: list[str]) -> dict[str, float] | None:
        if len(words) != len(self._columns):
            return None
        wanted = [
            (column, word)
            for column, word in zip(self._columns, words, strict=True)
            if self._section == "cpu" or column in _COLUMNS
        ]
        if not self.capture.is_rounded and self._section != "cpu":
            self.capture.is_rounded = any(is_human(word) for _, word in wanted)
        return {column: value_of(word, column) for column, word in wanted}


def reports_of_json(data: bytes, where: str) -> IostatCapture:
    """
    Return the reports of `iostat -o JSON`.

    Raises:
        DataError: not JSON, or not iostat's.
    """
    hosts, is_cut = hosts_of(data, where)
    if not hosts:
        raise DataError(f"{where} is not what 'iostat -o JSON' writes", HOW)
    return IostatCapture(
        host=hosts[0].name,
        cpu_count=hosts[0].cpu_count,
        reports=[
            _entry(entry, is_first=at == 0)
            for host in hosts
            if host.name == hosts[0].name
            for at, entry in enumerate(host.entries)
        ],
        is_cut=is_cut,
    )


def moments_of(stamps: list[str], where: str) -> Moments:
    """
    Return epoch seconds of the times of a capture.

    Raises:
        DataError: a time that does not exist, or is outside 1970–2099.
    """
    matches = [_TIME.match(stamp) for stamp in stamps]
    for stamp, match in zip(stamps, matches, strict=True):
        if match is None:
            raise DataError(f"{where} has a time that cannot be read: '{shown(stamp, 40)}'", HOW)
    found: list[tuple[Any, ...]] = [match.groups() for match in matches if match is not None]
    order, is_ambiguous = order_of(
        [(g[0], g[1], g[2], g[3]) for g in found], has_halves=any(groups[7] for groups in found)
    )
    zones = {groups[8] for groups in found}
    try:
        time_s = [_epoch(groups, order) for groups in found]
    except (ValueError, OverflowError):
        raise DataError(f"{where} has a date that does not exist", HOW) from None
    known = all(zone is not None and _offset(zone) is not None for zone in zones)
    return Moments(time_s=time_s, has_zone=known, is_ambiguous=is_ambiguous)


def _epoch(groups: tuple[Any, ...], order: str) -> int:
    moment_s = midnight_s((groups[0], groups[1], groups[2], groups[3]), order) + second_of_day(*groups[4:8])
    east = _offset(groups[8]) or timedelta()
    return moment_s - int(east.total_seconds())


def _offset(zone: str | None) -> timedelta | None:
    """Return the offset east of UTC; None for a name like CET, which several zones share."""
    if zone in {"Z", "UTC", "GMT"}:
        return timedelta()
    if zone is None or zone[0] not in "+-":
        return None
    digits = zone[1:].replace(":", "")
    east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -east if zone[0] == "-" else east


def _entry(entry: dict[str, Any], *, is_first: bool) -> IostatReport:
    stamp, cpu, disks = (entry.get(name) for name in ("timestamp", "avg-cpu", "disk"))
    report = IostatReport(
        stamp=stamp.strip() if isinstance(stamp, str) else None,
        is_since_boot=is_first,
        cpu={str(k): value_of(v) for k, v in cpu.items()} if isinstance(cpu, dict) else {},
    )
    for disk in _dictionaries(disks):
        name = disk.get("disk_device")
        if isinstance(name, str):
            report.disks[name] = {k: value_of(v) for k, v in disk.items() if k in _COLUMNS}
    return report


def _dictionaries(values: object) -> Iterator[dict[str, Any]]:
    if isinstance(values, list):
        yield from (value for value in values if isinstance(value, dict))
