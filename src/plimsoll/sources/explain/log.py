"""
Parse plans of `auto_explain` in a server's log: text or JSON, after any line prefix.

Rule 1: an entry begins at a line that ends with `duration: N ms  plan:`, after any prefix. It ends before the
        next line with such a prefix. CSV and JSON logs have entries of their own.
Rule 2: literals and parameters of statements are not kept; they are replaced by `?`.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from plimsoll.errors import DataError
from plimsoll.model.explain import Capture, Node, Source, without_literals
from plimsoll.sources.explain.json_plan import capture_of
from plimsoll.sources.explain.text_plan import capture_of_text, is_plan_line

_BEGIN = re.compile(r"duration: (?P<ms>\d+(?:\.\d+)?) ms\s+plan:\s*(?P<rest>.*)$")
_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[ T](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d+)?)"
    r"(?: ?(?P<zone>UTC|GMT|Z|[+-]\d\d(?::?\d\d)?))?"
)
_EPOCH = re.compile(r"(?<![\d.])(?P<epoch>1\d{9}\.\d{3})(?![\d.])")
_SEVERITY = re.compile(
    r"\b(?:LOG|DETAIL|HINT|STATEMENT|CONTEXT|QUERY|LOCATION|ERROR|FATAL|PANIC|WARNING|NOTICE|INFO"
    r"|DEBUG[1-5]?): "
)
# A syslog line has its own prefix with the number of the part, and #011 instead of a tab.
_SYSLOG = re.compile(r"^.*?\[\d+-\d+\] ?(?P<text>.*)$")
_QUERY = re.compile(r"^Query Text: ?(?P<text>.*)$")
_PARAMETERS = re.compile(r"^Query Parameters: ")
# An EXPLAIN ANALYZE that somebody ran is an execution of the statement after it.
_EXPLAINED = re.compile(r"^(?:explain(?:\s*\([^)]*\)|\s+(?:analyze|verbose)\b)*\s+)", re.IGNORECASE)
# In a CSV log the time is the first column, and the message has the same column since 9.0.
_CSV_COLUMNS_LEAST, _CSV_MESSAGE = 14, 13


@dataclass(frozen=True, slots=True)
class _Entry:
    """One logged plan: duration, time, and its lines without the log's indentation."""

    execution_s: float
    time_s: float | None
    lines: list[str]


def captures_in_log(text: str) -> tuple[list[Capture], int]:
    """
    Return every execution in a log, in order, and the number of entries that could not be read.

    The times are those of the whole execution: `auto_explain` logs them even if it does not time the nodes.
    """
    captures: list[Capture] = []
    unread = 0
    for entry in _entries(text):
        capture = _capture(entry)
        if capture is None:
            unread += 1
        else:
            captures.append(capture)
    if any(capture.settings_known for capture in captures):
        # If one entry has settings, auto_explain.log_settings was on, so an entry without any has the defaults.
        captures = [replace(capture, settings_known=True) for capture in captures]
    return captures, unread


def _entries(text: str) -> Iterator[_Entry]:
    head = text.lstrip()[:1]
    if head == "{":
        messages = _of_json_log(text)
    elif _is_csv(text):
        messages = _of_csv_log(text)
    else:
        yield from _of_lines(text.splitlines())
        return
    for moment, message in messages:
        lines = message.splitlines()
        if lines and (match := _BEGIN.search(lines[0])):
            rest = [match["rest"]] if match["rest"] else []
            yield _Entry(float(match["ms"]) / 1000, _moment(moment), _bare([*rest, *lines[1:]]))


def _of_json_log(text: str) -> Iterator[tuple[str, str]]:
    """Yield lines of `jsonlog`, and of what else logs one JSON object per line with a message."""
    for line in text.splitlines():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and isinstance(found.get("message"), str):
            yield str(found.get("timestamp", "")), found["message"]


def _is_csv(text: str) -> bool:
    try:
        first = next(csv.reader(io.StringIO(text)), [])
    except csv.Error:
        return False
    return len(first) >= _CSV_COLUMNS_LEAST and _MOMENT.match(first[0]) is not None


def _of_csv_log(text: str) -> Iterator[tuple[str, str]]:
    rows = csv.reader(io.StringIO(text))
    while True:
        try:
            row = next(rows, None)
        except csv.Error:
            continue
        if row is None:
            return
        if len(row) >= _CSV_COLUMNS_LEAST:
            yield row[0], row[_CSV_MESSAGE]


def _of_lines(lines: Sequence[str]) -> Iterator[_Entry]:
    at = 0
    while at < len(lines):
        match = _BEGIN.search(lines[at])
        at += 1
        if match is None:
            continue
        opening = lines[at - 1]
        body = [match["rest"]] if match["rest"] else []
        while at < len(lines) and (part := _continued(lines[at], opening)) is not None:
            body.append(part)
            at += 1
        yield _Entry(float(match["ms"]) / 1000, _moment(opening), _bare(body))


def _continued(line: str, opening: str) -> str | None:
    """Return the text that a line adds to the entry above it; None if the line begins another entry."""
    if line.startswith(("\t", " ", "{", "}", "]")) or not line.strip():
        return line
    syslog = _SYSLOG.match(line)
    if syslog and _SYSLOG.match(opening) and not _SEVERITY.search(line):
        return syslog["text"].replace("#011", "\t")
    if _SEVERITY.search(line) or _BEGIN.search(line) or _begins_alike(line, opening):
        return None
    # A collector that strips the tabs leaves lines that begin like no other entry.
    return line


def _begins_alike(line: str, opening: str) -> bool:
    """Return whether two lines begin with the same pattern of digits and punctuation, as prefixes do."""
    pattern = re.sub(r"\d", "0", opening[:12])
    return any(c.isdigit() for c in opening[:12]) and re.sub(r"\d", "0", line[:12]) == pattern


def _bare(lines: Sequence[str]) -> list[str]:
    """Return a line without the tab that a log puts before continued lines."""
    return [line.replace("#011", "\t").removeprefix("\t") for line in lines]


def _capture(entry: _Entry) -> Capture | None:
    body = "\n".join(entry.lines).strip()
    capture = _of_json(body, entry) if body.startswith("{") else _of_text(entry)
    if capture is None:
        return None
    return _without_literals(capture, entry.execution_s)


def _of_json(body: str, entry: _Entry) -> Capture | None:
    try:
        found: Any = json.JSONDecoder().raw_decode(body)[0]
        statement = str(found.get("Query Text", ""))
        return capture_of(found, statement=statement, source=Source.AUTO_EXPLAIN, where="an entry", time_s=entry.time_s)
    except (ValueError, RecursionError, DataError):
        return None


def _of_text(entry: _Entry) -> Capture | None:
    start = next((i for i, line in enumerate(entry.lines) if is_plan_line(line)), None)
    if start is None:
        return None
    statement: list[str] = []
    for line in entry.lines[:start]:
        match = _QUERY.match(line)
        if _PARAMETERS.match(line):
            break
        statement.append(match["text"] if match and not statement else line)
    return capture_of_text(
        entry.lines[start:], statement="\n".join(statement).strip(), source=Source.AUTO_EXPLAIN, time_s=entry.time_s
    )


def _without_literals(capture: Capture, execution_s: float) -> Capture:
    return replace(
        capture,
        statement=_EXPLAINED.sub("", " ".join(without_literals(capture.statement).split())),
        plan=None if capture.plan is None else _masked(capture.plan),
        execution_s=execution_s,
    )


def _masked(node: Node) -> Node:
    details = tuple(
        f"{name}: {value if name == 'Workers Planned' else without_literals(value)}"
        for name, _, value in (detail.partition(": ") for detail in node.details)
    )
    return replace(node, details=details, children=tuple(_masked(c) for c in node.children))


def _moment(text: str) -> float | None:
    """Return epoch seconds of the first moment in a line; one without a zone is taken as UTC."""
    match = _MOMENT.search(text)
    if match is None:
        epoch = _EPOCH.search(text)
        return float(epoch["epoch"]) if epoch else None
    zone = match["zone"] or "Z"
    if zone in ("UTC", "GMT", "Z"):
        zone = "+00:00"
    elif len(zone) == 3:
        zone += ":00"
    try:
        parsed = datetime.fromisoformat(f"{match['day']}T{match['clock'].replace(',', '.')}{zone}")
    except ValueError:
        return None
    return parsed.astimezone(UTC).timestamp()
