"""A table of Iceberg, in a real catalog, has the points of the lake, whatever happened on the way."""

from pathlib import Path

import polars as pl
import pyiceberg.catalog
import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.utils.config import Config

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.errors import UsageError
from plimsoll.fleet import iceberg
from plimsoll.fleet.iceberg import IcebergCopy
from plimsoll.fleet.lake import Lake
from unit.app.lake.lakes import all_points
from unit.app.lake.streams import json_file, record

TABLE = "lab.rds.points"
ORDER = ["account", "region", "instance", "metric", "time_s"]


@pytest.fixture(autouse=True)
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalog in SQLite, described by variables as a user does."""
    monkeypatch.setenv("PYICEBERG_CATALOG__LAB__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__LAB__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr(pyiceberg.catalog, "_ENV_CONFIG", Config())


def rows_of_table() -> pl.DataFrame:
    """Rows as a query engine reads them, with the columns of the lake."""
    frame = pl.DataFrame(load_catalog("lab").load_table("rds.points").scan().to_arrow())
    seconds = (pl.col("time").dt.timestamp("us") // 1_000_000).alias("time_s")
    named = frame.with_columns(seconds).select(*ORDER, "sum", "count", "min", "max")
    return named.sort(ORDER)


def same(lake: Lake) -> bool:
    return all_points(lake).equals(rows_of_table())


def minutes(first: int, count: int, mean: float = 100.0, instance: str = "orders") -> list[dict]:
    return [record("ReadIOPS", minute, mean + minute, instance) for minute in range(first, first + count)]


def test_the_table_has_the_points_of_the_lake(tmp_path: Path):
    """After new points, points that come again, late ones on a day before, and a part that was compacted."""
    lake = open_lake(str(tmp_path / "lake"))
    counts = []
    for number in range(9):
        late = minutes(0, 10, mean=500.0 + number) if number == 5 else []
        rows = [*minutes(1400 + 30 * number, 60), *late, *minutes(0, 3, 7.0, "billing")]
        json_file(tmp_path / f"in/{number}.gz", rows)
        done = ingest(str(tmp_path / "in"), lake, bucket_count=2, iceberg=TABLE)
        counts.append(done.copied_count)
        assert same(lake)

    assert 9 == lake.manifest().commit
    assert all(counts)
    table = load_catalog("lab").load_table("rds.points")
    assert "9" == table.properties["plimsoll.commit"]
    assert ["date", "bucket"] == [field.name for field in table.spec().fields]
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary is not None
    assert "9" == snapshot.summary["plimsoll.commit"]


def test_what_is_there_is_copied_once(tmp_path: Path):
    """A lake that was there before is copied whole; without new points nothing is written."""
    json_file(tmp_path / "in/a.gz", minutes(0, 5))
    lake = open_lake(str(tmp_path / "lake"))
    ingest(str(tmp_path / "in"), lake)
    first, second = (ingest(str(tmp_path / "in"), lake, iceberg=TABLE) for _ in range(2))

    assert (1, 5) == (first.known_count, first.copied_count)
    assert 0 == second.copied_count
    assert same(lake)
    assert 1 == len(load_catalog("lab").load_table("rds.points").snapshots())


class Killed(BaseException):
    """Stands for SIGKILL: nothing that the package has handles it."""


@pytest.mark.parametrize("kill_at", [0, 1, 2, 3])
def test_killed_between_the_commits_the_next_ingest_makes_it_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kill_at: int
):
    """The lake has the points, and the table has none, some, or all of them without saying so."""
    json_file(tmp_path / "in/a.gz", [*minutes(0, 5), *minutes(1440, 5), *minutes(2880, 5)])
    lake = open_lake(str(tmp_path / "lake"))
    monkeypatch.setattr(iceberg, "ROWS_A_TRANSACTION", 1)
    real, left = IcebergCopy._write, [kill_at]

    def write(self: IcebergCopy, rows, said) -> None:
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        real(self, rows, said)
        if kill_at == 3 and left[0] == 0:
            raise Killed

    monkeypatch.setattr(IcebergCopy, "_write", write)
    with pytest.raises(Killed):
        ingest(str(tmp_path / "in"), lake, iceberg=TABLE)
    before = rows_of_table().height
    monkeypatch.setattr(IcebergCopy, "_write", real)
    done = ingest(str(tmp_path / "in"), lake, iceberg=TABLE)

    assert 5 * kill_at == before
    assert (1, 15) == (done.known_count, done.copied_count)
    assert same(lake)


def test_a_table_is_a_copy_of_one_lake(tmp_path: Path):
    json_file(tmp_path / "in/a.gz", minutes(0, 5))
    ingest(str(tmp_path / "in"), open_lake(str(tmp_path / "lake")), iceberg=TABLE)

    with pytest.raises(UsageError, match="is a copy of another lake"):
        ingest(str(tmp_path / "in"), open_lake(str(tmp_path / "other")), iceberg=TABLE)


def test_a_catalog_that_is_not_described_is_refused(tmp_path: Path):
    with pytest.raises(UsageError, match="unable to open the Iceberg catalog 'nowhere'"):
        ingest("examples/quiet", open_lake(str(tmp_path / "lake")), iceberg="nowhere.rds.points")
