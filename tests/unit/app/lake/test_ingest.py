"""An ingest adds each point once, whatever the format, the order and the moment at which it is killed."""

import gzip
import json
from pathlib import Path
from shutil import copy

import pytest

from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.errors import DataError, UsageError
from unit.app.lake.lakes import all_points, ingested
from unit.app.lake.streams import START_S, json_file, otel_file, record


def minutes(count: int, first: int = 0) -> list[dict]:
    return [
        record(metric, minute, 100.0 + minute)
        for minute in range(first, first + count)
        for metric in ("ReadIOPS", "ReadThroughput")
    ]


def test_sum_count_minimum_and_maximum_are_kept(tmp_path: Path):
    json_file(tmp_path / "in/a.gz", [record("ReadIOPS", 3, 100.0)])
    points, _ = ingested(tmp_path / "in")

    expected = {
        "account": "123456789012",
        "region": "eu-central-1",
        "instance": "orders",
        "metric": "read_ops_per_s",
        "time_s": START_S + 180,
        "sum": 6000.0,
        "count": 60.0,
        "min": 50.0,
        "max": 200.0,
    }
    assert [expected] == points.to_dicts()


def test_json_lines_and_opentelemetry_give_the_same_lake(tmp_path: Path):
    json_file(tmp_path / "json/a.gz", minutes(5))
    otel_file(tmp_path / "otel/a.gz", minutes(5))
    lines, otel = (ingested(tmp_path / name, f"lake-{name}")[0] for name in ("json", "otel"))

    assert 10 == lines.height
    assert lines.equals(otel)


def test_a_second_ingest_reads_only_new_files(tmp_path: Path):
    json_file(tmp_path / "in/a.gz", minutes(2))
    lake = open_lake(str(tmp_path / "lake"))
    ingest(str(tmp_path / "in"), lake)
    json_file(tmp_path / "in/b.gz", minutes(2, first=2))
    done = ingest(str(tmp_path / "in"), lake)

    assert (1, 1, 4) == (done.file_count, done.known_count, done.point_count)
    assert 8 == all_points(lake).height


def test_the_last_write_wins(tmp_path: Path):
    """A point that comes again, late, replaces the one that was there; nothing is added up."""
    lake = open_lake(str(tmp_path / "lake"))
    json_file(tmp_path / "in/a.gz", [record("ReadIOPS", 0, 100.0, count=30.0)])
    json_file(tmp_path / "in/b.gz", [record("ReadIOPS", 0, 120.0), record("ReadIOPS", 0, 130.0)])
    ingest(str(tmp_path / "in"), lake)
    first = all_points(lake)
    json_file(tmp_path / "in/c.gz", [record("ReadIOPS", 0, 140.0)])
    ingest(str(tmp_path / "in"), lake)

    assert [130.0 * 60] == first["sum"].to_list()
    assert [140.0 * 60] == all_points(lake)["sum"].to_list()


class Killed(BaseException):
    """Stands for SIGKILL: nothing that the package has handles it."""


def test_killed_at_any_write_an_ingest_goes_on_to_the_same_lake(tmp_path: Path, monkeypatch):
    """After each write in turn the process is gone; the next ingest loses and doubles nothing."""
    for name, first in (("a", 0), ("b", 1439)):
        json_file(tmp_path / f"in/{name}.gz", minutes(2, first=first))
    whole = open_lake(str(tmp_path / "whole"))
    ingest(str(tmp_path / "in"), whole, points_a_commit=1)
    expected = all_points(whole)
    real, survived = Path.replace, 0
    for kill_at in range(1, 20):
        left = [kill_at]

        def replace(source: Path, target: str, left: list[int] = left) -> Path:
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return real(source, target)

        lake = open_lake(str(tmp_path / f"lake-{kill_at}"))
        monkeypatch.setattr(Path, "replace", replace)
        try:
            ingest(str(tmp_path / "in"), lake, points_a_commit=1)
        except Killed:
            survived += 1
        monkeypatch.setattr(Path, "replace", real)
        if left[0] > 0:
            break
        ingest(str(tmp_path / "in"), lake, points_a_commit=1)
        assert expected.equals(all_points(lake))
        ingest(str(tmp_path / "in"), lake)
        parts = lake.manifest().files.values()
        named = {"lake.json", *(name for names in parts for name in names)}
        assert named == {name for name, _, _ in lake.place.files()}

    # Two commits: a part and the manifest; two parts and the manifest.
    assert 5 == survived


def test_every_eighth_file_of_a_part_they_become_one(tmp_path: Path):
    """The last write still wins in the one file, and replaced files go with the next ingest."""
    lake, counts = open_lake(str(tmp_path / "lake")), []
    for number in range(9):
        json_file(tmp_path / f"in/{number}.gz", [record("ReadIOPS", number // 2, 100.0 + number)])
        ingest(str(tmp_path / "in"), lake, bucket_count=1)
        counts += [len(names) for names in lake.manifest().files.values()]
    ingest(str(tmp_path / "in"), lake)

    assert [1, 2, 3, 4, 5, 6, 7, 1, 2] == counts
    assert [101.0, 103.0, 105.0, 107.0, 108.0] == (all_points(lake)["sum"] / 60).to_list()
    assert 3 == len(lake.place.files())


def test_a_folder_of_recorded_snapshots_is_a_fleet(tmp_path: Path):
    """Each file is an instance; ingested again nothing changes, and a longer recording replaces its points."""
    for name in ("search-service", "quiet", "claims-pipeline"):
        (tmp_path / "in" / name).mkdir(parents=True)
        copy(f"examples/{name}/snapshot.json", tmp_path / "in" / name / "snapshot.json")
    lake = open_lake(str(tmp_path / "lake"))
    first = ingest(str(tmp_path / "in"), lake)
    points = all_points(lake)
    again = ingest(str(tmp_path / "in"), lake)
    copy("examples/quiet/snapshot.json", tmp_path / "in/quiet/later.json")
    later = ingest(str(tmp_path / "in"), lake)

    assert (3, 3) == (first.file_count, first.described_count)
    assert (0, 3, 0) == (again.file_count, again.known_count, again.point_count)
    assert (1, 3) == (later.file_count, later.known_count)
    assert 3 == points["instance"].n_unique()
    assert points.equals(all_points(lake))
    described = lake.described(lake.manifest())
    classes = dict(described.select("instance", "db_class").rows())
    assert (3, "db.r5.2xlarge") == (described.height, classes["search-service"])
    assert {None} == set(described["valid_to_s"])


def test_damaged_lines_are_counted_and_the_rest_is_kept(tmp_path: Path):
    file = json_file(tmp_path / "in/a", minutes(2))
    file.write_bytes(gzip.decompress(file.read_bytes()) + b'{"metric_stream_name": "all", "met')
    _, done = ingested(tmp_path / "in")

    assert (4, 1) == (done.point_count, done.bad_lines)


def test_a_file_of_no_format_is_named_beside_descriptions(tmp_path: Path):
    """Each time, until it is mended; descriptions alone need no metrics beside them."""
    source = tmp_path / "in"
    json_file(source / "0.gz", minutes(3))
    answer = {"DBInstances": [{"DBInstanceIdentifier": "orders", "DBInstanceClass": "db.m6g.large"}]}
    (source / "instances.json").write_text(json.dumps(answer))
    lake = open_lake(str(tmp_path / "lake"))
    sound = ingest(str(source), lake)
    (source / "instances2.json").write_text(json.dumps(answer))
    (source / "notes.gz").write_bytes(b"hello")
    done, again = (ingest(str(source), lake) for _ in range(2))

    assert [] == sound.unread
    assert (1, 1) == (done.file_count, done.described_count)
    assert (0, 3) == (again.file_count, again.known_count)
    for one in (done, again):
        (named,) = one.unread
        assert "notes.gz" in named


@pytest.mark.parametrize(
    ("name", "text", "hint"),
    [
        ("readme.txt", "nothing here", ""),
        # Exports of two instances without a name would become one instance.
        (
            "a.csv",
            "time,ReadIOPS\n" + "".join(f"{START_S + 60 * i},{100 + i}\n" for i in range(5)),
            "an export that does not name its instance",
        ),
    ],
    ids=["prose", "nobody's"],
)
def test_a_source_without_metrics_is_refused(tmp_path: Path, name: str, text: str, hint: str):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(text)

    with pytest.raises(DataError, match="contains no metrics that can be used") as raised:
        ingest(str(tmp_path / "in"), open_lake(str(tmp_path / "lake")))
    assert hint in raised.value.hint


def test_two_ingests_do_not_write_one_lake_and_the_number_of_buckets_stays(tmp_path: Path):
    lake = open_lake(str(tmp_path / "lake"))
    with lake.locked(), pytest.raises(UsageError, match="another ingest is writing"):
        ingest("examples/quiet", open_lake(str(tmp_path / "lake")))
    ingest("examples/quiet", lake, bucket_count=4)

    with pytest.raises(UsageError, match="has 4 buckets"):
        ingest("examples/quiet", lake, bucket_count=8)


def test_metrics_alone_do_not_replace_a_description(tmp_path: Path):
    lake = open_lake(str(tmp_path / "lake"))
    ingest("examples/quiet", lake)
    (tmp_path / "in").mkdir()
    rows = "".join(f"{START_S + 60 * i},quiet,{100 + i}\n" for i in range(5))
    (tmp_path / "in/a.csv").write_text("time,DBInstanceIdentifier,ReadIOPS\n" + rows)
    done = ingest(str(tmp_path / "in"), lake)

    assert (5, 0) == (done.point_count, done.described_count)
    assert ["db.m6g.large"] == lake.described(lake.manifest())["db_class"].to_list()
