"""
Parse sar's text: `sar -d`, `sar -A`, or any mix of activities, live or from a file.

Rule 1: only the first line of a run has a date; rows have a time of day. A time half a day or more before
        the previous one of the same activity is on the next day. Each activity starts at the first day.
Rule 2: a table's header has the time before its first row, which gives the length of that step.
Rule 3: a row that does not begin with a time (`Average:`, in any language) is not a sample.
Source: sar(1) and pr_stats.c of sysstat 9 to 12.
"""

import re
from collections.abc import Callable

from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.sources.sysstat.capture import FIRST_LINES, header_of, is_human, lines_of, value_of
from plimsoll.sources.sysstat.dates import midnight_s, order_of, second_of_day
from plimsoll.sources.sysstat.moments import (
    HOW,
    Moment,
    SarCapture,
    cpu_level,
    disk_line,
    io_line,
    load_level,
    memory_level,
    names_of,
    network_level,
)

_TIMED = re.compile(r"^(\d{1,2})[:.](\d{2})[:.](\d{2})(?:\s?([AP]M))?\s+(\S.*)$")
_HALF_A_DAY_S = 43_200
_DAY_S = 86_400

# Activity, the columns that identify its header, and the column with the item's name, if any.
_TABLES: tuple[tuple[str, frozenset[str], str | None], ...] = (
    ("disk", frozenset({"DEV", "tps"}), "DEV"),
    ("cpu", frozenset({"CPU", "idle"}), "CPU"),
    ("network", frozenset({"IFACE", "rxkB", "txkB"}), "IFACE"),
    ("io", frozenset({"tps", "rtps", "wtps"}), None),
    ("memory", frozenset({"memfree", "memused"}), None),
    ("swap", frozenset({"swpfree", "swpused"}), None),
    ("load", frozenset({"ldavg-1"}), None),
)
_LEVELS: dict[str, Callable[[dict[str, float]], dict[Metric, float]]] = {
    "cpu": cpu_level,
    "memory": memory_level,
    "swap": memory_level,
    "load": load_level,
}


def is_sar_text(text_head: bytes) -> bool:
    """Return whether the first bytes of a file are sar's text; iostat's text has the same first line."""
    lines = text_head.decode(errors="replace").splitlines()[:FIRST_LINES]
    return any(header_of(line) is not None for line in lines)


def capture_of_text(data: bytes, where: str) -> SarCapture:
    """
    Parse sar's text.

    Raises:
        DataError: a run without a date that can be read.
    """
    lines, is_cut = lines_of(data)
    headers = [header for line in lines if (header := header_of(line)) is not None]
    dates = [header.date for header in headers if header.date is not None]
    for header in headers:
        if header.date is None:
            raise DataError(f"{where} has a date that cannot be read: '{header.written}'", HOW)
    if not dates:
        raise DataError(f"{where} lacks sar's first line, which has the date", HOW)
    halves = (_TIMED.match(line) for line in lines)
    has_halves = any(match[4] for match in halves if match is not None)
    order, is_ambiguous = order_of(dates, has_halves=has_halves)
    try:
        days_s = [midnight_s(date, order) for date in dates]
    except ValueError:
        raise DataError(f"{where} has a date that does not exist", HOW) from None
    capture = SarCapture(
        program="sar",
        host=headers[0].host,
        cpu_count=headers[0].cpu_count,
        has_zone=False,
        is_ambiguous=is_ambiguous,
        is_cut=is_cut,
    )
    reader = _Reader(capture, days_s)
    for line in lines:
        reader.take(line.rstrip())
    reader.finish()
    return capture


class _Clock:
    """Times of one activity, across midnight."""

    def __init__(self, day_s: int) -> None:
        self._day_s = day_s
        self._last = 0

    def at(self, second: int) -> int:
        if second < self._last - _HALF_A_DAY_S:
            self._day_s += _DAY_S
        self._last = second
        return self._day_s + second


class _Reader:
    """Parses line by line, and keeps the current table."""

    def __init__(self, capture: SarCapture, days_s: list[int]) -> None:
        self._capture = capture
        self._days = iter(days_s)
        self._day_s = 0
        self._moments: dict[int, Moment] = {}
        self._seen: set[tuple[str, str, int]] = set()
        self._restarts: set[int] = set()
        self._clocks: dict[str, _Clock] = {}
        self._before: dict[str, int] = {}
        """Time of the activity's last row, or of its header."""
        self._length_s = 0
        """Length of the previous row's step."""
        self._table: str | None = None
        self._columns: list[str] = []
        self._name_at: int | None = None

    def take(self, line: str) -> None:
        if header_of(line) is not None:
            self._day_s = next(self._days)
            self._clocks, self._before, self._table = {}, {}, None
            return
        timed = _TIMED.match(line)
        if timed is None:
            return
        try:
            second = second_of_day(timed[1], timed[2], timed[3], timed[4])
        except ValueError:
            return
        words = timed[5].split()
        if words[0] == "LINUX":
            # Tables that are not read have no clock, so their times are on the first day.
            known = self._table is not None
            self._restarts.add(self._now(second) if known else self._day_s + second)
        elif words[0] != "COM":
            if any(word[0].isdigit() and value_of(word) == value_of(word) for word in words):
                self._row(words, second)
            else:
                self._header(words, second)

    def finish(self) -> None:
        """Sort the moments."""
        self._capture.moments = [self._moments[end_s] for end_s in sorted(self._moments)]
        self._capture.restarts_s = sorted(self._restarts)

    def _now(self, second: int) -> int:
        assert self._table is not None
        return self._clocks.setdefault(self._table, _Clock(self._day_s)).at(second)

    def _header(self, words: list[str], second: int) -> None:
        names = names_of(words)
        found = ((t, item) for t, needed, item in _TABLES if needed <= set(names))
        self._table, item = next(found, (None, None))
        self._columns = names
        self._name_at = names.index(item) if item is not None else None
        if self._table is not None:
            self._before[self._table] = self._now(second)

    def _row(self, words: list[str], second: int) -> None:
        table = self._table
        if table is None or len(words) != len(self._columns):
            return
        end_s = self._now(second)
        if end_s != self._before[table]:
            self._length_s, self._before[table] = end_s - self._before[table], end_s
        item = words[self._name_at] if self._name_at is not None else ""
        if (table, item, end_s) in self._seen:
            self._capture.repeated += table == "disk"
            return
        self._seen.add((table, item, end_s))
        row = {c: value_of(w, c) for c, w in zip(self._columns, words, strict=True)}
        if not self._capture.is_rounded:
            self._capture.is_rounded = any(is_human(w) for w in words if w != item)
        moment = self._moments.setdefault(end_s, Moment(end_s))
        if table == "disk":
            moment.disks[item] = disk_line(row)
            moment.length_s = self._length_s
        elif table == "io":
            moment.io = io_line(row)
        elif table == "network":
            for metric, value in network_level(item, row).items():
                moment.levels[metric] = moment.levels.get(metric, 0.0) + value
        elif table != "cpu" or item in {"all", "-1"}:
            moment.levels |= _LEVELS[table](row)
