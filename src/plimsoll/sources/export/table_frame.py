"""
Read samples from a table of any format: find the role of each column, and parse its cells.

Long: a column of times, one of metric names, one of values (or one per statistic), and if need be
columns of units, instances and statistics. Wide: a column of times and one per metric. Every cell
is read as text first, so that one bad cell costs one sample and not the column.
"""

import re
from collections import Counter
from pathlib import Path

import numpy as np

from plimsoll.errors import DataError
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.export.columns import (
    Column,
    Numbers,
    TableColumns,
    TableTimes,
    Words,
    number_in,
    texts_of,
    times_of,
)
from plimsoll.sources.export.formatted import SHORT, number_of
from plimsoll.sources.prometheus.names import called
from plimsoll.sources.reading.names import recognise
from plimsoll.sources.reading.reading import Block, Reading, Statistic, statistic_of
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.steps import usual_step_s
from plimsoll.sources.values.times import BoolArray, parse_time

TIME_NAMES = frozenset({"timestamp", "time", "datetime", "date", "ts", "timestamps", "periodstart", "starttime"})
METRIC_NAMES = frozenset({"metric", "metricname", "name", "label", "series", "field"})
VALUE_NAMES = frozenset({"value", "values", "val"})
UNIT_NAMES = frozenset({"unit", "units"})
STATISTIC_NAMES = frozenset({"statistic", "stat", "statistics", "aggregation"})
INSTANCE_NAMES = frozenset(
    {"instance", "instanceid", "dbinstanceidentifier", "dbidentifier", "identifier", "dbinstance"}
    | {"dimensiondbinstanceidentifier", "database"}
)
_PASSED_OVER = frozenset(
    {"namespace", "region", "accountid", "account", "metricstreamname", "awsaccountid", "awsregion"}
)
"""Columns that other tools add and that name neither metric nor instance."""

_MISSING = ("", "-", "na", "n/a", "null", "none", "nil", "\\n")
"""What tools write for a sample that does not exist; no sample is lost with it."""

_PANEL = re.compile(r"(.+?)-data-(?:as-.+-)?\d{4}-\d{2}-\d{2}.*\.csv\Z", re.IGNORECASE)
"""How Grafana calls the download of a panel: `Read IOPS-data-2026-11-20 10_12_13.csv`."""

MOST_GROUPS = 10_000
"""Five hundred instances of twenty metrics; more names than that are not names."""

_MOST_COLUMNS = 2_000
"""CloudWatch draws and downloads 500 metrics at once; each column costs a pass over the table."""

HINT = (
    "Use columns timestamp, metric, value, or timestamp and one column per metric; see 'plimsoll docs export-metrics'."
)


# --- what the columns are ------------------------------------------------------------------------


class Roles:
    """Which column is what; places in the table."""

    def __init__(self, names: list[str], frame: TableColumns) -> None:
        self.time: int | None = None
        self.metric: int | None = None
        self.unit: int | None = None
        self.statistic: int | None = None
        self.instance: int | None = None
        self.values: list[int] = []
        for index, name in enumerate(names):
            head = plain(name)
            if head in TIME_NAMES and self.time is None:
                self.time = index
            elif head in METRIC_NAMES and self.metric is None:
                self.metric = index
            elif head in UNIT_NAMES and self.unit is None:
                self.unit = index
            elif head in STATISTIC_NAMES and self.statistic is None:
                self.statistic = index
            elif head in INSTANCE_NAMES and self.instance is None:
                self.instance = index
            elif head not in _PASSED_OVER:
                self.values.append(index)
        if self.time is None:
            self.time = _first_of_times(frame)
            self.values = [v for v in self.values if v != self.time]
        if self.metric is not None:
            self._keep_values(names)

    def _keep_values(self, names: list[str]) -> None:
        """In a long table a value stands under `value` or under the name of a statistic."""
        heads = {i: plain(names[i]) for i in self.values}
        named = [i for i in self.values if heads[i] in VALUE_NAMES]
        by_statistic = [i for i in self.values if statistic_of(heads[i]) is not None]
        self.values = named or by_statistic


def read_frame(
    frame: TableColumns, names: list[str], reading: Reading, *, where: str, path: Path, comma_is_decimal: bool
) -> None:
    """
    Add the samples of a table.

    Args:
        names: headers of the columns, as written.
        where: name of the file, for messages.
        path: the file; a single column of values gets its name.
        comma_is_decimal: whether `1,5` is one and a half; otherwise it is fifteen.

    Raises:
        DataError: there is no column of times, or none that can be a metric.
    """
    if not frame.height:
        raise not_a_table(where, "it has no row")
    roles = Roles(names, frame)
    if roles.time is None:
        raise not_a_table(where, "it has no column of times")
    if not roles.values:
        raise not_a_table(where, "it has no column of values")
    if not read_rows(frame, names, roles, reading, where=where, path=path, comma_is_decimal=comma_is_decimal):
        raise not_a_table(where, f"no cell of column '{shown(names[roles.time])}' is a time")


def read_rows(
    frame: TableColumns,
    names: list[str],
    roles: Roles,
    reading: Reading,
    *,
    where: str,
    path: Path,
    comma_is_decimal: bool,
) -> bool:
    """
    Add the samples of some rows whose columns have these roles, and return whether any has a time.

    Raises:
        DataError: there are more metrics or instances than an export has.
    """
    assert roles.time is not None
    time_s, readable = times_of(frame.columns[roles.time])
    reading.bad_times += int((~readable).sum())
    if not readable.any():
        return False
    groups = _groups(frame, roles, where)
    # The columns of a wide table share its rows, so a sparse column has the step of the table.
    period_s = usual_step_s(time_s[readable]) if roles.metric is None else None
    kept_times = [_KeptTimes(time_s) for _ in groups]
    for index in roles.values:
        value, given, cell_unit = _values(frame.columns[index], comma_is_decimal=comma_is_decimal)
        usable = readable & given
        head = called(names[index]) if roles.metric is None else None
        for (metric, instance, unit, statistic), rows, times in (
            (group, rows, times) for (group, rows), times in zip(groups, kept_times, strict=True)
        ):
            keep = np.flatnonzero(usable) if rows is None else rows[usable[rows]]
            if keep.size:
                reading.blocks.append(
                    Block(
                        name=metric or (head and head.name) or _wide_name(names[index], path),
                        instance=instance or (head and head.instance) or None,
                        unit=unit or cell_unit,
                        statistic=statistic
                        or (head and head.statistic)
                        or (statistic_of(names[index]) if metric else None),
                        time_s=times.at(keep),
                        value=value if keep.size == value.size else value[keep],
                        period_s=period_s,
                        folder=path.parent,
                    )
                )
    return True


class _KeptTimes:
    """The times of a group of rows; columns that lack the same cells share one array."""

    def __init__(self, time_s: IntArray) -> None:
        self.every = time_s
        self.keep: IntArray | None = None
        self.time_s = time_s

    def at(self, keep: IntArray) -> IntArray:
        """Return the times of these rows, in rising order and distinct, shape (n,)."""
        if keep.size == self.every.size:
            return self.every
        if self.keep is None or not np.array_equal(self.keep, keep):
            self.keep, self.time_s = keep, self.every[keep]
        return self.time_s


Group = tuple[str | None, str | None, str | None, Statistic | None]


def _groups(frame: TableColumns, roles: Roles, where: str) -> list[tuple[Group, IntArray | None]]:
    """Return rows that share metric, instance, unit and statistic; None for all rows."""
    keys = [roles.metric, roles.instance, roles.unit, roles.statistic]
    if roles.metric is None:  # in a wide table a lone unit or statistic column means nothing
        keys = [None, roles.instance, None, None]
    words = [None if k is None else texts_of(frame.columns[k]) for k in keys]
    present = [w for w in words if w is not None]
    if not present:
        return [((None, None, None, None), None)]
    group, firsts = joined(present)
    if firsts.size > MOST_GROUPS:
        raise not_a_table(where, f"it names {firsts.size:,} different metrics or instances")
    # Radix sorting takes one pass over the rows where groups are few.
    order = np.argsort(group.astype(np.uint16), kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=firsts.size))
    found: list[tuple[Group, IntArray | None]] = []
    for at in np.argsort(firsts).tolist():
        metric, instance, unit, statistic = (
            None if w is None else w.texts[int(w.codes[firsts[at]])].strip() or None for w in words
        )
        if roles.metric is not None and metric is None:
            continue
        text = statistic_of(statistic) or (Statistic.OTHER if statistic else None)
        rows = order[0 if at == 0 else ends[at - 1] : ends[at]]
        found.append(((metric, instance, unit, text), rows))
    return found


def joined(words: list[Words]) -> tuple[IntArray, IntArray]:
    """Return a number for each row, equal where all words are, from 0; and the first row of each number."""
    group, count = words[0].codes, len(words[0].texts)
    for other in words[1:]:
        pair = group * len(other.texts) + other.codes
        count *= len(other.texts)
        if count > 4 * pair.size:
            distinct, group = np.unique(pair, return_inverse=True)
            count = distinct.size
            continue
        used = np.bincount(pair, minlength=count) > 0
        group, count = (np.cumsum(used) - 1)[pair], int(used.sum())
    firsts = np.full(count, group.size)
    firsts[group[::-1]] = np.arange(group.size)[::-1]
    return group, firsts


def _wide_name(head: str, path: Path) -> str:
    """Return the metric of a wide column; a lone `value` column takes the name of its file."""
    short, file = plain(head), path.name.split(".")[0]
    # The word `value` names no metric, so no name is derived from it.
    if short in VALUE_NAMES:
        return file
    if statistic_of(short) is not None:
        return f"{file} {head}"
    title = _PANEL.match(path.name)
    if title is not None and recognise(title[1]).metric is not None:
        named = recognise(head)
        # Grafana names the file after the panel, and the column after the legend: the instance.
        if named.metric is None and named.ignored is None:
            return f"{title[1].replace(' ', '')} {head}"
    return head


# --- cells ---------------------------------------------------------------------------------------


def _values(column: Column, *, comma_is_decimal: bool) -> tuple[FloatArray, BoolArray, str | None]:
    """Return numbers of a column, NaN where none; which cells hold anything; the unit that cells name."""
    if isinstance(column, Numbers):
        return column.value, column.given, None
    words = texts_of(column)
    numbers: list[float] = []
    given: list[bool] = []
    for text in words.texts:
        bare = text.strip(" \t'\"%")
        number = number_in(bare)
        if number is None:
            number = number_in(bare.replace(",", "." if comma_is_decimal else ""))
        numbers.append(np.nan if number is None else number)
        given.append(bare.lower() not in _MISSING)
    value, is_given = np.array(numbers), np.array(given, dtype=np.bool_)
    odd = np.flatnonzero(np.isnan(value) & is_given)
    unit = None
    if odd.size:
        rows = np.bincount(words.codes, minlength=value.size)
        value, unit = _formatted(words.texts, value, odd, rows, comma_is_decimal=comma_is_decimal)
    return value[words.codes], is_given[words.codes], unit


def _formatted(
    texts: list[str], value: FloatArray, odd: IntArray, rows: IntArray, *, comma_is_decimal: bool
) -> tuple[FloatArray, str | None]:
    """
    Return the values, including those of cells with a unit, and the unit of most rows.

    Args:
        texts: distinct cells, length n.
        value: numbers of the cells, NaN if unreadable, shape (n,).
        odd: indexes of the texts to parse.
        rows: number of rows with each text, shape (n,).
    """
    found: list[tuple[int, float, str]] = []
    units: Counter[str] = Counter()
    for at in odd.tolist():
        one = number_of(texts[at], comma_is_decimal=comma_is_decimal)
        if one is not None:
            found.append((at, *one))
            units[one[1]] += int(rows[at])
    if not found:
        return value, None
    unit = units.most_common(1)[0][0]
    # If other cells have a unit, a number without one has an unknown size, unless it is zero.
    completed = value.copy() if unit == SHORT else np.where(value == 0, 0.0, np.nan)
    for at, number, cell_unit in found:
        if cell_unit == unit:
            completed[at] = number
    return completed, unit


def _first_of_times(frame: TableColumns) -> int | None:
    """Return the first column if its first filled cell is a time."""
    column = frame.columns.get(0)
    if column is None or not frame.height:
        return None
    if isinstance(column, TableTimes):
        return 0
    if isinstance(column, Numbers):
        given = column.value[column.given]
        return 0 if given.size and parse_time(float(given[0])) is not None else None
    first = next((text for text in column.texts if text), "")
    return 0 if parse_time(first) is not None else None


def plain(text: str) -> str:
    """Return a head without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def few(names: list[str], where: str) -> list[str]:
    """
    Return the names again.

    Raises:
        DataError: there are more columns than a table of samples has.
    """
    if len(names) > _MOST_COLUMNS:
        raise not_a_table(where, f"it has {len(names):,} columns")
    return names


def unreadable(where: str, detail: str) -> DataError:
    """Return the error for a table that is not written as its format asks."""
    reason = shown(" ".join(detail.split()), 120).rstrip(".") or "it is damaged"
    return DataError(f"{where} is not a readable table: {reason}", HINT)


def not_a_table(where: str, cause: str) -> DataError:
    """Return the error that says why a file holds no samples."""
    return DataError(f"{where} is not a table of samples: {cause}", HINT)
