"""An earlier table is the window before, or a Parquet file of an earlier run."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from plimsoll.app.lake.earlier import table_before, table_in, with_changes
from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.app.lake.run import Window, run_fleet, table_bytes
from plimsoll.errors import DataError, UsageError
from plimsoll.fleet.lake import Lake
from plimsoll.model.fleet import FleetReport

DAY = ("1d", None, None)
ROW = {"account": [""], "region": [""], "instance": ["a"], "verdict": ["slack"]}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Two days of one instance."""
    made = open_lake(str(tmp_path_factory.mktemp("earlier") / "lake"))
    ingest("examples/search-service", made)
    return made


def judged(lake: Lake, window: Window) -> FleetReport:
    return run_fleet(lake, window, processes=1, has_plan=False)[1]


def test_the_window_before_has_the_same_length(lake: Lake):
    after = judged(lake, DAY)
    earlier = table_before(lake, DAY, lambda window: judged(lake, window))
    start_s, end_s = after.window_s

    assert (2 * start_s - end_s, start_s) == earlier.window_s
    assert "" == earlier.note
    assert ["search-service"] == [row.instance for row in earlier.rows]
    assert 0 < (earlier.rows[0].measured_s or 0) <= 86_400
    changes = with_changes(after, earlier).changes
    assert changes is not None
    assert (1, 0) == (changes.totals_before.instance_count, len(changes.changes))


def test_a_window_before_that_lacks_points_says_so(lake: Lake):
    earlier = table_before(lake, ("30h", None, None), lambda window: judged(lake, window))

    assert "The points begin at 2021-03-08 18:00 UTC, so the window before is not complete." == earlier.note


@pytest.mark.parametrize(
    ("last", "error", "cause"),
    [(None, UsageError, "--changes needs a window"), ("2d", DataError, "has no point in the window before")],
)
def test_changes_need_a_window_and_points_before_it(lake: Lake, last, error, cause):
    with pytest.raises(error, match=cause):
        table_before(lake, (last, None, None), lambda window: judged(lake, window))


def test_a_table_of_an_earlier_run_is_read_as_it_was(lake: Lake, tmp_path: Path):
    table, report = run_fleet(lake, DAY, processes=1, has_plan=False)
    file = tmp_path / "account=1" / "old.parquet"
    file.parent.mkdir()
    file.write_bytes(table_bytes(table, report, "parquet"))

    assert report.rows == table_in(file).rows
    assert "the table in old.parquet" == table_in(file).named


def test_a_table_of_an_older_version_lacks_columns(tmp_path: Path):
    file = tmp_path / "old.parquet"
    pl.DataFrame(ROW | {"new": [1]}).write_parquet(file)
    [row] = table_in(file).rows

    assert ("a", None, None) == (row.instance, row.tags, row.at_ceiling_s)


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"account": [""], "region": [""], "instance": ["a"]}, "it has no column 'verdict'"),
        (ROW | {"instance": [None]}, "is not a table"),
        (ROW | {"start_s": ["x"]}, "is not a table"),
        ({name: [] for name in ROW}, "has no row"),
    ],
)
def test_another_table_is_refused_in_one_sentence(tmp_path: Path, columns: dict, cause: str):
    file = tmp_path / "other.parquet"
    schema = None if columns["account"] else dict.fromkeys(columns, pl.String)
    pl.DataFrame(columns, schema=schema).write_parquet(file)

    with pytest.raises(DataError, match=cause):
        table_in(file)


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(DataError, match="is not a table of a fleet"):
        table_in(tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="there is no file"):
        table_in(tmp_path)


def test_the_columns_of_the_table_are_arrow_types_of_the_rows(lake: Lake):
    table, _ = run_fleet(lake, DAY, processes=1, has_plan=False)

    assert pa.types.is_string(table.schema.field("tags").type)
