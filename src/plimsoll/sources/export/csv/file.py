"""Read tables of text: CSV with any usual delimiter, long or wide, and downloads of CloudWatch's console."""

import csv
import io
import re
from pathlib import Path

from plimsoll.sources.export.csv.long import read_long
from plimsoll.sources.export.csv.slices import TextTable
from plimsoll.sources.export.table_frame import TIME_NAMES, VALUE_NAMES, few, not_a_table, plain, read_frame
from plimsoll.sources.files.bounds import check_text_rows
from plimsoll.sources.files.text import Content
from plimsoll.sources.reading.reading import Reading
from plimsoll.sources.values.times import parse_time

_SEPARATOR = re.compile(rb'(?:\xef\xbb\xbf)?"?sep=([,;|\t])"?\r?\n')
"""The first line of a table for Excel."""

_LABEL_ROWS = frozenset(
    {"full label", "label", "id", "metric", "period", "statistic", "unit", "namespace", "region"}
    | {"account", "account id", "dimensions", "metric name", "instance"}
)
"""First cells of the rows above the samples in CloudWatch's console download."""


def read_csv(data: Content, reading: Reading, *, where: str, path: Path) -> None:
    """
    Add a table of text.

    Raises:
        DataError: there is no header, no column of times or no column that can be a metric, or there are
            more rows than the limit.
    """
    declared = _SEPARATOR.match(data[:64])
    start = 0 if declared is None else declared.end()
    head = data[start : start + (1 << 16)].decode("utf-8", errors="replace")
    delimiter = declared[1].decode() if declared is not None else _delimiter(head)
    if delimiter is None:
        raise not_a_table(where, "its first line has no delimiter")
    names, rows_above = _header(head, delimiter, where)
    few(names, where)
    check_text_rows(data, len(names), where)
    for _ in range(rows_above):
        end = data.find(b"\n", start)
        start = len(data) if end < 0 else end + 1
    table = TextTable(data=data, start=start, names=names, delimiter=delimiter, where=where)
    roles = table.roles()
    if read_long(table, roles, reading, path):
        return
    is_decimal = delimiter != ","
    read_frame(table.frame(roles), names, reading, where=where, path=path, comma_is_decimal=is_decimal)


def _delimiter(head: str) -> str | None:
    """Return the delimiter that the first line has most of, outside quotes."""
    first = next((line for line in head.splitlines() if line.strip()), "")
    bare = re.sub(r'"[^"]*"', "", first)
    best = max(",;\t|", key=bare.count)
    return best if bare.count(best) else None


def _header(head: str, delimiter: str, where: str) -> tuple[list[str], int]:
    """
    Return the names of the columns, and how many lines stand above the samples.

    CloudWatch's console writes several label rows; the fullest label comes first and is kept.
    """
    reader = csv.reader(io.StringIO(head), delimiter=delimiter)
    names: list[str] = []
    lines_above = 0
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                if not names:
                    names = [cell.strip() for cell in row]
                elif row[0].strip().lower() in _LABEL_ROWS:
                    _add_label_row(names, row)
                else:
                    break
            lines_above = reader.line_num
            if names and not _is_label_row(names):
                break
    except csv.Error as error:
        raise not_a_table(where, "its first lines are no table") from error
    if not names:
        raise not_a_table(where, "it is empty")
    if parse_time(names[0]) is not None:
        raise not_a_table(where, "it has no line of column names")
    if _is_label_row(names):
        names[0] = "timestamp"
    return names, lines_above


def _is_label_row(row: list[str]) -> bool:
    """Return whether a first row is the console's; a header that names a time or a value is not."""
    return row[0].lower() in _LABEL_ROWS and not {plain(cell) for cell in row} & (TIME_NAMES | VALUE_NAMES)


def _add_label_row(names: list[str], row: list[str]) -> None:
    """Units and statistics belong to the name; further labels say the same again."""
    if row[0].strip().lower() in ("unit", "statistic"):
        for index, cell in enumerate(row[1 : len(names)], start=1):
            names[index] += f" ({cell.strip()})"
