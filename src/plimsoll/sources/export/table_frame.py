"""
Samples out of a table, however it was stored: which column is what, and what its cells say.

Long: a column of times, one of metric names, one of values (or one per statistic), and if need be
columns of units, instances and statistics. Wide: a column of times and one per metric. Every cell
is read as text first, so that one bad cell costs one sample and not the column.
"""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from plimsoll.errors import DataError
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.sources.export.formatted import SHORT, number_of
from plimsoll.sources.prometheus.names import called
from plimsoll.sources.reading.names import recognise
from plimsoll.sources.reading.reading import Block, Reading, Statistic, statistic_of
from plimsoll.sources.values.shown import shown
from plimsoll.sources.values.steps import usual_step_s
from plimsoll.sources.values.times import (
    EARLIEST_S,
    LATEST_S,
    BoolArray,
    epoch_seconds,
    of_numbers,
    parse_time,
)

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")

TIME_NAMES = frozenset(
    {"timestamp", "time", "datetime", "date", "ts", "timestamps", "periodstart", "starttime"}
)
_METRIC_NAMES = frozenset({"metric", "metricname", "name", "label", "series", "field"})
VALUE_NAMES = frozenset({"value", "values", "val"})
_UNIT_NAMES = frozenset({"unit", "units"})
_STATISTIC_NAMES = frozenset({"statistic", "stat", "statistics", "aggregation"})
_INSTANCE_NAMES = frozenset(
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
    "Use columns timestamp, metric, value, or timestamp and one column per metric; "
    "see docs/guides/export-metrics.md."
)


# --- what the columns are ------------------------------------------------------------------------


class Roles:
    """Which column is what; indices into the frame."""

    def __init__(self, names: list[str], frame: "pl.DataFrame") -> None:
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
            elif head in _METRIC_NAMES and self.metric is None:
                self.metric = index
            elif head in _UNIT_NAMES and self.unit is None:
                self.unit = index
            elif head in _STATISTIC_NAMES and self.statistic is None:
                self.statistic = index
            elif head in _INSTANCE_NAMES and self.instance is None:
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
    frame: "pl.DataFrame",
    names: list[str],
    reading: Reading,
    *,
    where: str,
    path: Path,
    comma_is_decimal: bool,
) -> None:
    """
    Add the samples of a frame whose columns are called c0, c1, …

    Args:
        names: heads of the columns, as written.
        where: the file, for messages.
        path: the file; a lone column of values takes its name.
        comma_is_decimal: `1,5` is one and a half, else fifteen.

    Raises:
        DataError: no column of times, or none that could hold a metric.
    """
    if not frame.height:
        raise not_a_table(where, "it has no row")
    roles = Roles(names, frame)
    if roles.time is None:
        raise not_a_table(where, "it has no column of times")
    if not roles.values:
        raise not_a_table(where, "it has no column of values")
    if not read_rows(
        frame, names, roles, reading, where=where, path=path, comma_is_decimal=comma_is_decimal
    ):
        raise not_a_table(where, f"no cell of column '{shown(names[roles.time])}' is a time")


def read_rows(
    frame: "pl.DataFrame",
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
        DataError: more metrics or instances than there can be.
    """
    assert roles.time is not None
    time_s, readable = times_of(frame.get_column(f"c{roles.time}"))
    reading.bad_times += int((~readable).sum())
    if not readable.any():
        return False
    groups = _groups(frame, roles, where)
    # The columns of a wide table share its rows, so a sparse column has the step of the table.
    period_s = usual_step_s(time_s[readable]) if roles.metric is None else None
    kept_times = [_KeptTimes(time_s) for _ in groups]
    for index in roles.values:
        value, given, cell_unit = _values(
            frame.get_column(f"c{index}"), comma_is_decimal=comma_is_decimal
        )
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


def _groups(frame: "pl.DataFrame", roles: Roles, where: str) -> list[tuple[Group, IntArray | None]]:
    """Return rows that share metric, instance, unit and statistic; None for all rows."""
    keys = [roles.metric, roles.instance, roles.unit, roles.statistic]
    if roles.metric is None:  # in a wide table a lone unit or statistic column means nothing
        keys = [None, roles.instance, None, None]
    present = [f"c{k}" for k in keys if k is not None]
    if not present:
        return [((None, None, None, None), None)]
    grouped = guarded(
        lambda: (
            frame.select(_texts(frame.get_column(name)).alias(name) for name in present)
            .with_row_index("row")
            .group_by(present, maintain_order=True)
            .agg("row")
        ),
        where,
    )
    if grouped.height > MOST_GROUPS:
        raise not_a_table(where, f"it names {grouped.height:,} different metrics or instances")
    found: list[tuple[Group, IntArray | None]] = []
    for row in grouped.iter_rows(named=True):
        metric, instance, unit, statistic = (
            None if k is None else (row[f"c{k}"] or "").strip() or None for k in keys
        )
        if roles.metric is not None and metric is None:
            continue
        text = statistic_of(statistic) or (Statistic.OTHER if statistic else None)
        found.append(((metric, instance, unit, text), np.array(row["row"], dtype=np.int64)))
    return found


def _wide_name(head: str, path: Path) -> str:
    """Return the metric of a wide column; a lone `value` column takes the name of its file."""
    short, file = plain(head), path.name.split(".")[0]
    # The word `value` says nothing, so nobody's name may be read out of it.
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


def times_of(column: "pl.Series") -> tuple[IntArray, BoolArray]:
    """Return epoch seconds of a column of times, negative or 0 where none; and which cells are times."""
    import polars as pl

    if isinstance(column.dtype, (pl.Date, pl.Datetime)):
        # Days, or ticks of the unit, in UTC. Casting between units would panic on the year 300,000.
        unit = getattr(column.dtype, "time_unit", "day")
        scale = {"day": 86_400, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
        ticks = column.to_physical().cast(pl.Float64).fill_null(float("nan")).to_numpy()
        in_century = (ticks * scale >= EARLIEST_S) & (ticks * scale < LATEST_S)
        seconds, readable = of_numbers(np.where(in_century, ticks * scale, np.nan))
        return seconds, readable
    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64, strict=False).fill_null(float("nan"))
        return of_numbers(numbers.to_numpy())
    # A long table repeats each time for every metric: read each text once.
    texts = _texts(column)
    distinct = texts.unique(maintain_order=True)
    seconds, readable = epoch_seconds(distinct.str.strip_chars(" '\"").to_list())
    if distinct.len() == texts.len():
        return seconds, readable
    seconds = np.where(readable, seconds, -1)
    rows = texts.replace_strict(distinct, pl.Series(seconds), return_dtype=pl.Int64).to_numpy()
    return rows, rows >= 0


def _values(
    column: "pl.Series", *, comma_is_decimal: bool
) -> tuple[FloatArray, BoolArray, str | None]:
    """Return numbers of a column, NaN where none; which cells hold anything; the unit that cells name."""
    import polars as pl

    if column.dtype.is_numeric():
        numbers = column.cast(pl.Float64, strict=False)
        given = numbers.is_not_null().to_numpy()
        return numbers.fill_null(float("nan")).to_numpy(), given, None
    bare = _texts(column)
    texts = bare.str.strip_chars(" \t'\"%")
    given = ~texts.str.to_lowercase().is_in(list(_MISSING)).to_numpy()
    numbers = texts.cast(pl.Float64, strict=False)
    if int(numbers.is_null().sum()) > int((~given).sum()):
        mended = (
            texts.str.replace_all(",", ".", literal=True)
            if comma_is_decimal
            else texts.str.replace_all(",", "", literal=True)
        )
        numbers = numbers.fill_null(mended.cast(pl.Float64, strict=False))
    value = numbers.fill_null(float("nan")).to_numpy().astype(np.float64)
    odd = np.flatnonzero(np.isnan(value) & given)
    if not odd.size:
        return value, given, None
    value, unit = _formatted(bare, value, odd, comma_is_decimal=comma_is_decimal)
    return value, given, unit


def _formatted(
    texts: "pl.Series", value: FloatArray, odd: IntArray, *, comma_is_decimal: bool
) -> tuple[FloatArray, str | None]:
    """Return the values, with cells read that carry their units; the unit is that of most of them."""
    known: dict[str, tuple[float, str] | None] = {}
    found: list[tuple[int, float, str]] = []
    for at, text in zip(odd.tolist(), texts.gather(odd).to_list(), strict=True):
        if text not in known:
            known[text] = number_of(text, comma_is_decimal=comma_is_decimal)
        if (one := known[text]) is not None:
            found.append((at, *one))
    if not found:
        return value, None
    unit = Counter(u for _, _, u in found).most_common(1)[0][0]
    # A number without a unit beside others that have one is of an unknown size, but for zero.
    mended = value.copy() if unit == SHORT else np.where(value == 0, 0.0, np.nan)
    for at, number, cell_unit in found:
        if cell_unit == unit:
            mended[at] = number
    return mended, unit


def _texts(column: "pl.Series") -> "pl.Series":
    """Return cells as text, empty where null; lists, structures, bytes and dates hold no number."""
    import polars as pl

    kind = column.dtype
    if kind.is_nested() or kind.is_temporal() or kind in (pl.Binary, pl.Object):
        return column.is_null().replace_strict({True: "", False: "?"}, return_dtype=pl.String)
    return column.cast(pl.String, strict=False).fill_null("")


def _first_of_times(frame: "pl.DataFrame") -> int | None:
    """Return the first column, if its first filled cell is a time."""
    if not frame.width or not frame.height:
        return None
    column = frame.get_column("c0")
    if column.dtype.is_temporal():
        return 0
    cells = column.drop_nulls().head(1).to_list() if not column.dtype.is_nested() else []
    return 0 if cells and parse_time(cells[0]) is not None else None


def plain(text: str) -> str:
    """Return a head without case and punctuation."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def few(names: list[str], where: str) -> list[str]:
    """
    Return the names again.

    Raises:
        DataError: more than a table of samples has.
    """
    if len(names) > _MOST_COLUMNS:
        raise not_a_table(where, f"it has {len(names):,} columns")
    return names


def guarded(read: Callable[[], T], where: str) -> T:
    """
    Run a step of polars.

    Raises:
        DataError: polars dislikes the data, or panics on it.
    """
    import polars as pl

    try:
        return read()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        detail = shown(" ".join(str(error).split()), 120) or "it is damaged"
        raise DataError(f"{where} is not a readable table: {detail}", HINT) from error


def not_a_table(where: str, cause: str) -> DataError:
    """Return the error that says why a file holds no samples."""
    return DataError(f"{where} is not a table of samples: {cause}", HINT)
