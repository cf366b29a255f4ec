"""
Read a file of one's own events: CSV, JSON, or one JSON object per line.

Rule 1: a row that cannot be read is an error with its line; no event is left out silently.
Rule 2: a time needs a zone, in the text or given for the file; none is guessed.

Airflow's columns are those of `airflow dags list-runs` and `airflow tasks states-for-dag-run` with `-o json`
(Apache Airflow 2 command line, read 2026-11-27): dag_id, task_id, state, start_date, end_date.
"""

import csv
import json
from collections.abc import Iterator
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from plimsoll.errors import DataError, UsageError
from plimsoll.model.own_event import OwnEvent, OwnEventFile
from plimsoll.sources.files.bytes import load
from plimsoll.sources.files.json_text import decode
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.times import parse_time

MOST_EVENTS = 10_000
"""A year of hourly runs has 8,760; each one is compared with every other one."""
MOST_BYTES = 16 * 1024 * 1024
"""Ten thousand rows with 1,600 bytes each; Airflow writes about 250."""
NAME_LENGTH = 120
"""Longer names are cut: they would fill the report."""

# Names of columns, without case, blanks and underscores.
_START = ("start", "startdate", "starttime", "startedat", "time")
_END = ("end", "enddate", "endtime", "endedat", "finishedat")
_NAME = ("name", "title")
_KIND = ("kind", "type")

_HINT = (
    "Write columns start, end, name and kind, for example '2026-11-20T01:30:00Z,2026-11-20T03:10:00Z,load_claims,job'."
)

Row = dict[str, Any]


def read_own_events(path: Path, zone: str | None = None) -> OwnEventFile:
    """
    Return the events of a file.

    Args:
        path: CSV with a header, a JSON list, or a JSON object per line; packed or not.
        zone: of times without one: `UTC`, `Europe/Berlin`; None refuses such times.

    Raises:
        UsageError: the zone does not exist.
        SourceError: the file cannot be read.
        DataError: it is too large, or a row is not an event; the message has file, line and reason.
    """
    given = None if zone is None else _zone(zone)
    where = f"'{path}'"
    data = load(path)
    if len(data) > MOST_BYTES:
        raise DataError(
            f"{where} contains more than {MOST_BYTES // 1024 // 1024} MiB of events",
            "Give only the events of the window.",
        )
    events, not_begun = [], 0
    for place, row in _rows(data, where):
        event = _event({_key(k): v for k, v in row.items()}, given, f"{where}, {place}")
        if event is None:
            not_begun += 1
        else:
            events.append(event)
        if len(events) > MOST_EVENTS:
            raise DataError(f"{where} contains more than {MOST_EVENTS:,} events", "Give only the events of the window.")
    if not events and not not_begun:
        raise DataError(f"{where} contains no event", _HINT)
    return OwnEventFile(name=shown(path.name, NAME_LENGTH), events=tuple(events), not_begun=not_begun)


def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError) as error:
        raise UsageError(f"there is no time zone '{shown(name)}'", "Write for example UTC or Europe/Berlin.") from error


def _rows(data: bytes, where: str) -> Iterator[tuple[str, Row]]:
    """Yield each row with its place: `line 3`, or `record 3` of a JSON list."""
    head = data.lstrip()[:1]
    if head == b"[":
        yield from _records(decode(data, where), where)
    elif head == b"{":
        yield from _json_lines(data, where)
    else:
        yield from _csv_rows(data, where)


def _records(document: Any, where: str) -> Iterator[tuple[str, Row]]:
    for number, record in enumerate(document, 1):
        if not isinstance(record, dict):
            raise DataError(f"{where}, record {number}: it is no JSON object", _HINT)
        yield f"record {number}", record


def _json_lines(data: bytes, where: str) -> Iterator[tuple[str, Row]]:
    """Yield the object of each line; a document of one list, such as `{"dag_runs": [...]}`, is that list."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict):
        lists = [value for value in whole.values() if isinstance(value, list)]
        yield from _records(lists[0] if len(lists) == 1 else [whole], where)
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            raise DataError(f"{where}, line {number}: it is no JSON object", _HINT)
        yield f"line {number}", record


def _csv_rows(data: bytes, where: str) -> Iterator[tuple[str, Row]]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is neither UTF-8 nor UTF-16 text", "Save it as UTF-8.") from error
    lines = text.splitlines()
    head = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    delimiter = max(",;\t|", key=head.count)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    header: list[str] | None = None
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{where}, line {reader.line_num}: {error}", _HINT) from error
        if not any(cell.strip() for cell in row) or row[0].startswith("#"):
            continue
        if header is None:
            header = row
            if not {_key(name) for name in header} & set(_START):
                raise DataError(f"{where}, line {reader.line_num}: there is no column 'start' in the header", _HINT)
            continue
        if len(row) > len(header):
            raise DataError(
                f"{where}, line {reader.line_num}: it has {len(row)} fields, and the header has {len(header)}", _HINT
            )
        yield f"line {reader.line_num}", dict(zip(header, row, strict=False))


def _key(name: object) -> str:
    return str(name).strip().lower().replace("_", "").replace(" ", "")


def _event(row: Row, zone: tzinfo | None, place: str) -> OwnEvent | None:
    """Return the event of a row; None for a run of Airflow that had not begun."""
    is_airflow = "dagid" in row
    start, end = _first(row, _START), _first(row, _END)
    if start is None:
        if is_airflow:
            return None
        raise DataError(f"{place}: it has no start", _HINT)
    start_s = _moment(start, zone, place, "start")
    end_s = None if end is None else _moment(end, zone, place, "end")
    if end_s is not None and end_s < start_s:
        raise DataError(
            f"{place}: the end {shown(end)} is before the start {shown(start)}",
            "Check the two columns and their zones.",
        )
    name, kind = _named(row)
    if not name:
        raise DataError(f"{place}: it has no name", _HINT)
    return OwnEvent(
        name=name,
        start_s=start_s,
        # A second is the finest that is kept: what took no second is a moment.
        end_s=None if end_s == start_s and not is_airflow else end_s,
        kind=kind,
        is_running=is_airflow and end_s is None,
    )


def _first(row: Row, names: tuple[str, ...]) -> Any:
    """Return the first value that is given; Airflow writes an empty text or null for none."""
    for name in names:
        value = row.get(name)
        if value is not None and str(value).strip() not in ("", "None", "null"):
            return value
    return None


def _named(row: Row) -> tuple[str, str]:
    kind, name = _text(_first(row, _KIND)), _text(_first(row, _NAME))
    dag, task = _text(row.get("dagid")), _text(row.get("taskid"))
    if dag and not name:
        return (f"{dag}.{task}", kind or "task") if task else (dag, kind or "DAG run")
    return name, kind


def _text(value: Any) -> str:
    return "" if value is None else shown(" ".join(str(value)[: 4 * NAME_LENGTH].split()), NAME_LENGTH)


def _moment(value: Any, zone: tzinfo | None, place: str, column: str) -> int:
    """Return epoch seconds of an ISO time with a zone, or of an epoch number."""
    text = str(value).strip() if isinstance(value, str) else value
    if isinstance(text, str) and not text.replace(".", "", 1).isdigit():
        try:
            parsed = datetime.fromisoformat(text.replace("/", "-").removesuffix(" UTC"))
        except ValueError as error:
            raise _no_time(value, place, column) from error
        if parsed.tzinfo is None and not text.endswith(" UTC"):
            if zone is None:
                raise DataError(
                    f"{place}: the {column} {shown(value)} has no time zone",
                    "Write 2026-11-20T01:30:00Z, or give --events-zone, for example UTC.",
                )
            text = parsed.replace(tzinfo=zone).isoformat()
    found = parse_time(text)
    if found is None:
        raise _no_time(value, place, column)
    return found


def _no_time(value: Any, place: str, column: str) -> DataError:
    return DataError(f"{place}: the {column} {shown(value)!r} is no time", "Write for example 2026-11-20T01:30:00Z.")
