"""Tables of many instances give the points of the same numbers in other forms, column by column."""

from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from plimsoll.errors import DataError
from unit.app.lake.lakes import ingested
from unit.app.lake.streams import ACCOUNT, REGION, START_S, json_file
from unit.sources.points.fleet_files import DIMENSIONS, firehose, long_table, records, wide_table


def write(folder: Path, table: pa.Table, name: str = "a.parquet") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if name.endswith(".csv"):
        pyarrow.csv.write_csv(table, folder / name)
    else:
        pq.write_table(table, folder / name)
    return folder


@pytest.mark.parametrize("form", DIMENSIONS)
@pytest.mark.parametrize("time", [pa.int64(), pa.timestamp("ms"), pa.timestamp("ns", "UTC")])
def test_parquet_by_firehose_gives_the_lake_of_json_lines(tmp_path: Path, form: str, time: pa.DataType):
    json_file(tmp_path / "json/a.gz", records())
    expected, _ = ingested(tmp_path / "json", "lake-json")
    write(tmp_path / "parquet", firehose(DIMENSIONS[form], time))
    found, done = ingested(tmp_path / "parquet", "lake-parquet")

    assert 27 == expected.height
    assert expected.equals(found)
    assert (0, []) == (done.bad_points, done.unread)


def test_a_value_in_columns_of_its_own_is_read_too(tmp_path: Path):
    """Athena writes a flat table if the query selects value.sum AS value_sum, and so on."""
    json_file(tmp_path / "json/a.gz", records())
    expected, _ = ingested(tmp_path / "json", "lake-json")
    whole = firehose(DIMENSIONS["struct"], pa.int64())
    flat = whole.drop_columns(["value", "dimensions"])
    instance = pa.array([r["dimensions"].get("DBInstanceIdentifier") for r in records()])
    flat = flat.append_column("dbinstanceidentifier", instance)
    for name in ("sum", "count", "min", "max"):
        flat = flat.append_column(f"value_{name}", pa.array([r["value"][name] for r in records()]))
    write(tmp_path / "flat", flat)
    found, _ = ingested(tmp_path / "flat", "lake-flat")

    assert expected.equals(found)


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
@pytest.mark.parametrize("table", [long_table, wide_table])
def test_long_and_wide_tables_hold_a_fleet(tmp_path: Path, table, name: str):
    """An average has no count: the point is one sample, which is its own minimum and maximum."""
    write(tmp_path / "in", table(), name)
    found, done = ingested(tmp_path / "in")
    seconds = found.filter(pl.col("instance") == "search", pl.col("metric") == "read_ops_per_s")

    assert (27, 27, []) == (found.height, done.point_count, done.unread)
    assert {ACCOUNT} == set(found["account"])
    assert {REGION} == set(found["region"])
    assert [300.0, 301.0, 302.0] == seconds["sum"].to_list()
    assert [START_S, START_S + 60, START_S + 120] == seconds["time_s"].to_list()
    assert [1.0] * 3 == seconds["count"].to_list()
    assert seconds["sum"].equals(seconds["min"].rename("sum"))


def test_account_and_region_are_optional_and_a_number_keeps_its_zeros(tmp_path: Path):
    write(tmp_path / "in", long_table().drop_columns(["account_id", "region"]))
    found, _ = ingested(tmp_path / "in")
    write(tmp_path / "more", long_table().set_column(0, "account", pa.array([12345678] * 27)))
    numbered, _ = ingested(tmp_path / "more", "lake-more")

    assert (27, {""}, {""}) == (found.height, set(found["account"]), set(found["region"]))
    assert {"000012345678"} == set(numbered["account"])


def test_sum_and_sample_count_make_a_mean_and_a_maximum_alone_does_not(tmp_path: Path):
    rows = [
        ("orders", "ReadIOPS", "Sum", 6000.0),
        ("orders", "ReadIOPS", "Maximum", 200.0),
        ("orders", "ReadIOPS", "SampleCount", 60.0),
        ("billing", "ReadIOPS", "Maximum", 10.0),
        ("search", "ReadIOPS", "Average", 7.0),
        ("search", "ReadIOPS", "p99", 70.0),
    ]
    columns = zip(*rows, strict=True)
    names = ("DBInstanceIdentifier", "MetricName", "Statistic", "Value")
    table = pa.table(dict(zip(names, map(list, columns), strict=True)))
    table = table.append_column("Timestamp", pa.array(["2026-09-07T00:00:00Z"] * 6))
    write(tmp_path / "in", table)
    found, done = ingested(tmp_path / "in")

    assert ["orders", "search"] == found["instance"].to_list()
    assert [6000.0, 7.0] == found["sum"].to_list()
    assert [60.0, 1.0] == found["count"].to_list()
    assert [200.0, 7.0] == found["max"].to_list()
    assert 1 == done.without_mean


def test_more_series_than_an_export_of_one_instance_has(tmp_path: Path):
    """Twelve thousand instances in one file, which is committed in pieces."""
    count = 12_000
    table = pa.table(
        {
            "instance": [f"db-{i:05d}" for i in range(count)] * 2,
            "time": [START_S] * count + [START_S + 60] * count,
            "ReadIOPS": [float(i) for i in range(count)] * 2,
        }
    )
    write(tmp_path / "in", table)
    found, done = ingested(tmp_path / "in", bucket_count=4)

    assert (2 * count, count) == (found.height, found["instance"].n_unique())
    assert 2 * count == done.point_count


def test_cells_that_are_no_values_are_counted(tmp_path: Path):
    table = pa.table(
        {
            "instance": ["orders", "orders", "orders", None, "orders"],
            "metric": ["ReadIOPS"] * 5,
            "time": [START_S, 5, START_S + 60, START_S, START_S + 120],
            "value": [1.0, 2.0, -3.0, 4.0, None],
        }
    )
    write(tmp_path / "in", table)
    found, done = ingested(tmp_path / "in")

    assert [1.0] == found["sum"].to_list()
    assert (2, 1) == (done.bad_points, done.unnamed)


def test_values_in_another_unit_are_not_taken(tmp_path: Path):
    """Megabytes per second under the name of bytes per second would be told as a limit of that size."""
    minutes = range(5)
    table = pa.table(
        {
            "instance": ["orders"] * 5 + ["billing"] * 5,
            "time": [START_S + 60 * i for i in minutes] * 2,
            "ReadIOPS": [1000.0] * 10,
            "ReadThroughput": [80.0] * 5 + [8e6] * 5,
            "ReadLatency": [0.001] * 5 + [2.0] * 5,
        }
    )
    write(tmp_path / "in", table)
    found, done = ingested(tmp_path / "in")
    counts = dict(found.group_by("instance", "metric").len().select("instance", "len").rows())
    latency = found.filter(pl.col("instance") == "billing", pl.col("metric") == "read_latency_s")

    assert {"read_latency_s"} == set(found.filter(pl.col("instance") == "orders")["metric"])
    assert {"orders", "billing"} == set(counts)
    assert [0.002] * 5 == latency["sum"].to_list()
    assert any(line.startswith("orders: ReadThroughput and ReadIOPS") for line in done.unread)


def test_damaged_parquet_is_one_sentence_and_is_read_again_next_time(tmp_path: Path):
    write(tmp_path / "in", long_table(), "good.parquet")
    whole = (tmp_path / "in/good.parquet").read_bytes()
    (tmp_path / "in/bad.parquet").write_bytes(whole[: len(whole) // 2])
    _, first = ingested(tmp_path / "in")
    _, second = ingested(tmp_path / "in")

    assert 1 == len(first.unread)
    assert first.unread[0].startswith("'bad.parquet' is not a readable table: ")
    assert (1, 0, first.unread) == (second.known_count, second.file_count, second.unread)


def test_a_table_of_other_names_is_refused(tmp_path: Path):
    table = long_table().set_column(3, "metric", pa.array(["temperature"] * 27))
    write(tmp_path / "in", table)

    with pytest.raises(DataError) as raised:
        ingested(tmp_path / "in")
    assert "no known metric in 'a.parquet'; its names are 'temperature'" in raised.value.hint


def test_times_as_text_and_as_dates(tmp_path: Path):
    moment = datetime.fromtimestamp(START_S, UTC)
    for name, time in {
        "iso": moment.isoformat(),
        "athena": f"{moment:%Y-%m-%d %H:%M:%S}.000 UTC",
        "date": moment.date(),
    }.items():
        table = pa.table({"instance": ["orders"], "ReadIOPS": [1.0], "time": [time]})
        write(tmp_path / name, table)
        found, _ = ingested(tmp_path / name, f"lake-{name}")

        assert [START_S] == found["time_s"].to_list()


def test_files_of_a_lake_are_a_source_too(tmp_path: Path):
    """Names of metrics and units are then Plimsoll's own."""
    json_file(tmp_path / "json/a.gz", records())
    expected, _ = ingested(tmp_path / "json", "lake-json")
    found, _ = ingested(tmp_path / "lake-json/points", "lake-again")

    assert expected.equals(found)
