"""A plain table of descriptions says class and storage of each instance, and from when to when."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.errors import DataError
from plimsoll.fleet.verdict import snapshot_of
from plimsoll.model.instance import Instance
from plimsoll.units import mib_per_s
from unit.app.lake.streams import START_S, json_file, record
from unit.sources.points.fleet_files import ROWS, descriptions

DAY_S = 86_400


def described(folder: Path) -> list[dict]:
    lake = open_lake(str(folder.parent / f"lake-{folder.name}"))
    ingest(str(folder), lake)
    return lake.described(lake.manifest()).to_dicts()


@pytest.mark.parametrize("form", ["csv", "parquet", "json", "jsonl"])
def test_every_form_says_the_same(tmp_path: Path, form: str):
    first, second = described(descriptions(tmp_path / form, ROWS, form))
    instance = json.loads(first["described"])

    assert ("012345678901", "eu-central-1", "orders") == (*(first["account"], first["region"], first["instance"]),)
    assert ["db.r5.2xlarge", "db.r5.4xlarge"] == [first["db_class"], second["db_class"]]
    assert (START_S + 1800, None) == (first["valid_to_s"], second["valid_to_s"])
    assert START_S + 1800 == second["valid_from_s"]
    assert 12000 == instance["storage"]["provisioned_ops_per_s"]
    assert mib_per_s(500) == instance["storage"]["provisioned_bytes_per_s"]
    assert ("15.4", True) == (instance["engine_version"], instance["multi_az"])


def test_points_before_the_change_are_left_out(tmp_path: Path):
    descriptions(tmp_path / "in", ROWS, "csv")
    json_file(tmp_path / "in/a.gz", [record("ReadIOPS", m, 100.0) for m in range(60)])
    lake = open_lake(str(tmp_path / "lake"))
    ingest(str(tmp_path / "in"), lake, bucket_count=1)
    rows = [{**ROWS[0], "account": "123456789012"}, {**ROWS[1], "account": "123456789012"}]
    ingest(str(descriptions(tmp_path / "more", rows, "json")), lake)
    ((points, about),) = lake.instances(lake.manifest(), 0, None)
    snapshot = snapshot_of(points, about)

    assert "db.r5.4xlarge" == snapshot.instance.db_class
    assert (START_S + 1800, START_S + 3600) == snapshot.window_s


def test_after_a_stated_end_nothing_is_known(tmp_path: Path):
    """Class and storage of a description are not taken for a time of which it says that it no longer holds."""
    only = {**ROWS[0], "account": None}
    first, second = described(descriptions(tmp_path / "in", [only], "json"))

    assert (START_S + 1800, "db.r5.2xlarge") == (first["valid_to_s"], first["db_class"])
    assert (START_S + 1800, None, None) == (*(second["valid_from_s"], second["valid_to_s"], second["db_class"]),)


def test_a_table_without_times_holds_from_the_time_of_its_file(tmp_path: Path):
    folder = descriptions(tmp_path / "in", [{"Name": "orders", "DB class": "db.t3.micro"}], "csv")
    (found,) = described(folder)

    assert (folder / "described.csv").stat().st_mtime_ns // 10**9 == found["valid_from_s"]
    assert Instance(identifier="orders", db_class="db.t3.micro") == Instance(
        identifier=found["instance"], db_class=found["db_class"]
    )
    assert ("", "") == (found["account"], found["region"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"valid_to": "2026-09-08"}, "has two rows for 'orders' that are valid at 2026-09-07T00:30:00Z"),
        ({"valid_from": "2026-09-07T00:30:00Z", "valid_to": None}, "has two rows for 'orders'"),
        ({"valid_to": "2026-08-01"}, "row 1 of 'described.json' ends before it begins"),
        ({"valid_from": "soon"}, "valid_from in row 1 of 'described.json' is 'soon'"),
        ({"iops": "many"}, "iops in row 1 of 'described.json' is 'many'"),
        ({"multi_az": "perhaps"}, "multi_az in row 1 of 'described.json' is 'perhaps'"),
        ({"tags": "team search"}, "tags in row 1 of 'described.json' are neither"),
        ({"instance": None}, "row 1 of 'described.json' names no instance"),
    ],
)
def test_what_contradicts_itself_is_one_error(tmp_path: Path, changes: dict, sentence: str):
    rows = [{**ROWS[0], **changes}, ROWS[1]]
    with pytest.raises(DataError) as raised:
        described(descriptions(tmp_path / "in", rows, "json"))
    assert sentence in raised.value.hint


def test_times_and_maps_of_parquet(tmp_path: Path):
    table = pa.table(
        {
            "identifier": ["orders"],
            "db_instance_class": ["db.r5.large"],
            "valid_from": [datetime(2026, 9, 1, tzinfo=UTC)],
            "tags": pa.array([[("team", "search")]], pa.map_(pa.string(), pa.string())),
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in/described.parquet")
    (found,) = described(tmp_path / "in")

    assert START_S - 6 * DAY_S == found["valid_from_s"]
