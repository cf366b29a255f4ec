"""Range exports of Prometheus and VictoriaMetrics hold many instances, as exporters label them."""

import json
from pathlib import Path

import pytest

from plimsoll.errors import DataError
from unit.app.lake.lakes import ingested
from unit.app.lake.streams import START_S
from unit.sources.points.fleet_files import cloudwatch, export, matrix, yace


@pytest.mark.parametrize("write", [matrix, export])
@pytest.mark.parametrize("labels", [yace, cloudwatch])
def test_each_series_goes_to_its_instance(tmp_path: Path, write, labels):
    rows = [
        (labels("read_iops_average", "orders"), [100.0, 101.0]),
        (labels("cpuutilization_average", "orders"), [50.0, 100.5]),
        (labels("read_iops_average", "billing"), [7.0, 8.0]),
    ]
    write(tmp_path / "in/answer.json", rows)
    found, done = ingested(tmp_path / "in")
    accounts = {"123456789012"} if labels is yace else {""}

    assert (1, 6, []) == (done.file_count, done.point_count, done.unread)
    assert ["billing"] * 2 + ["orders"] * 4 == found["instance"].to_list()
    assert [7.0, 8.0, 0.5, 1.0, 100.0, 101.0] == found["sum"].to_list()
    assert [START_S, START_S + 60] == found["time_s"].to_list()[:2]
    assert accounts == set(found["account"])


def test_sum_and_sample_count_are_kept_and_a_mean_alone_has_no_count(tmp_path: Path):
    """A mean that was averaged again has no count, so a sum with its count is the better export."""
    rows = [
        (yace("read_iops_sum", "orders"), [6000.0]),
        (yace("read_iops_sample_count", "orders"), [60.0]),
        (yace("read_iops_average", "billing"), [7.0]),
        (yace("read_iops_maximum", "search"), [9.0]),
    ]
    export(tmp_path / "in/export.jsonl", rows)
    found, done = ingested(tmp_path / "in")

    assert ["billing", "orders"] == found["instance"].to_list()
    assert [(7.0, 1.0), (6000.0, 60.0)] == found.select("sum", "count").rows()
    assert 1 == done.without_mean


def test_what_is_no_number_is_a_gap_and_totals_are_no_instances(tmp_path: Path):
    """A line that is cut off is counted."""
    rows: list[tuple[dict[str, str], list[float | None]]] = [
        (yace("read_iops_average", "orders"), [1.0, None, 3.0]),
        ({"__name__": "aws_rds_read_iops_average", "dimension_DatabaseClass": "db.r5.large"}, [9.0]),
        ({"__name__": "node_disk_read_bytes_total", "instance": "h", "device": "nvme1n1"}, [5.0]),
        ({"__name__": "rds_read_iops"}, [5.0]),
    ]
    file = export(tmp_path / "in/export.jsonl", rows)
    file.write_text(file.read_text() + '{"metric":{"__name__":"aws_rds_read')
    found, done = ingested(tmp_path / "in")

    assert [1.0, 3.0] == found["sum"].to_list()
    assert (0, 1, 1, 1) == (done.bad_points, done.counters, done.unnamed, done.bad_lines)


def test_values_at_a_single_time_are_refused(tmp_path: Path):
    data = {"resultType": "vector", "result": []}
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text(json.dumps({"status": "success", "data": data}))

    with pytest.raises(DataError) as raised:
        ingested(tmp_path / "in")
    assert "has values at a single time (vector)" in raised.value.hint
