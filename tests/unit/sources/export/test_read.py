import json
from pathlib import Path

import pytest

import builders
from fuzz import corpus
from plimsoll.errors import AccessDenied, DataError, SourceError, UsageError
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.reports.files.snapshot import write_snapshot
from plimsoll.sources.documents.enhanced_monitoring import LATENCY_GAP
from plimsoll.sources.export.read import read_export
from plimsoll.sources.targets.one import read


def test_a_folder_of_mixed_formats_is_one_snapshot(tmp_path):
    """Each metric from another kind of file, in subfolders, with the description beside them."""
    day = corpus.made(20)

    def only(*names):
        return corpus.Made(day.time_s, {n: day.values[n] for n in names})

    corpus.write(tmp_path / "e" / "json", {"a.json": corpus.metric_data(only("ReadIOPS"))})
    corpus.write(tmp_path / "e" / "csv", {"b": corpus.csv_long(only("WriteIOPS"))})
    corpus.write(tmp_path / "e" / "csv", {"c.txt.parquet": corpus.parquet(only("ReadLatency"))})
    corpus.write(tmp_path / "e", {"d.json": corpus.metric_statistics(day, "CPUUtilization")})
    corpus.write(tmp_path / "e", {"e.jsonl": corpus.stream_lines(only("WriteThroughput"))})
    corpus.write(tmp_path / "e", {"i.json": corpus.described(), "README.md": b"# Notes\n"})
    snapshot = read_export(tmp_path / "e")

    assert set(snapshot.series) == {
        Metric.READ_OPS_PER_S,
        Metric.WRITE_OPS_PER_S,
        Metric.READ_LATENCY_S,
        Metric.CPU_RATIO,
        Metric.WRITE_BYTES_PER_S,
    }
    for series in snapshot.series.values():
        name = METRICS[series.metric].cloudwatch
        assert series.value == pytest.approx(day.values[name] * METRICS[series.metric].scale)
    assert snapshot.instance.db_class == "db.r5.2xlarge"
    assert snapshot.gaps == ()
    assert snapshot.source == f"export folder {tmp_path / 'e'}"


def test_the_name_of_a_file_does_not_matter(tmp_path):
    """Formats are told apart by content, so a CSV called .json and JSON called .csv are read."""
    day = corpus.made(5)
    for name, data in corpus.all_formats(day).items():
        if name == "instances.json":
            continue
        (tmp_path / "metrics.csv").write_bytes(data)
        expected = (tmp_path / name).write_bytes(data)

        assert expected
        assert read_export(tmp_path / "metrics.csv").series == read_export(tmp_path / name).series


def test_a_broken_file_in_a_folder_is_a_gap(tmp_path):
    """The other files count, and the report says which one did not."""
    data = corpus.metric_data(corpus.made(20))
    folder = corpus.write(tmp_path / "e", {"a.json": data, "b.json": data[:500]})
    snapshot = read_export(folder)

    assert len(snapshot.series) == 12
    assert [g.metric for g in snapshot.gaps] == ["file b.json"]
    assert "cut off at line" in snapshot.gaps[0].reason


@pytest.mark.parametrize(
    ("files", "cause"),
    [
        ({}, "is empty"),
        ({"README.md": b"# Notes"}, "contains no file of metrics"),
        ({".hidden.json": b"{}"}, "contains no file of metrics"),
        # Of broken files the first error.
        ({"a.json": b'{"Datapoints": [', "b.json": b"{"}, r"'a\.json' is cut off"),
    ],
)
def test_a_folder_without_metrics_says_so(tmp_path, files, cause):
    with pytest.raises(DataError, match=cause):
        read_export(corpus.write(tmp_path / "e", files))


def test_links_in_a_circle_end(tmp_path):
    folder = corpus.write(tmp_path / "e", {"a.json": corpus.metric_data(corpus.made(3))})
    (folder / "again").symlink_to(folder)

    assert len(read_export(folder).series) == 12


def test_unknown_metrics_are_named_once_and_not_endlessly(tmp_path):
    day = corpus.made(3)
    text = corpus.csv_wide(day).decode().splitlines()
    text[0] += "".join(f",Extra{n}" for n in range(50))
    text[1:] = [row + ",1" * 50 for row in text[1:]]
    (tmp_path / "t.csv").write_text("\n".join(text))
    gaps = read_export(tmp_path / "t.csv").gaps

    assert [g.metric for g in gaps] == [*(f"Extra{n}" for n in range(20)), "30 further names"]
    assert gaps[0].reason == "unknown metric, ignored"


def test_a_label_that_people_wrote_is_no_identifier(tmp_path):
    """`primary ReadIOPS` with one description is about the described instance."""
    day = corpus.made(20)
    folder = corpus.write(
        tmp_path / "e", {"m.json": corpus.metric_data(day, label="primary {name}"), "i.json": corpus.described()}
    )
    snapshot = read_export(folder)

    assert snapshot.instance.identifier == "orders-primary"
    assert snapshot.instance.db_class == "db.r5.2xlarge"
    assert len(snapshot.series) == 12


def test_a_stated_identifier_is_not_overruled(tmp_path):
    """Samples that state another instance than the described one are not put together with it."""
    folder = corpus.write(
        tmp_path / "e", {"m.jsonl": corpus.stream_lines(corpus.made(3)), "i.json": corpus.described("claims")}
    )
    snapshot = read_export(folder)

    assert snapshot.instance.identifier == "orders-primary"
    assert snapshot.instance.db_class is None
    assert snapshot.gaps[0].reason == "'orders-primary' is not among the described instances"


def cloudwatch_and_enhanced(folder, *, minutes, documents):
    names = ("ReadIOPS", "ReadLatency")
    day = corpus.made(minutes, names=names)
    return corpus.write(folder, {"m.json": corpus.metric_data(day), "e.jsonl": corpus.enhanced_lines(documents, 10)})


def test_enhanced_monitoring_of_the_whole_window_is_preferred(tmp_path):
    """It is finer, and not looked at a second time; latencies stay CloudWatch's, which tells reads from writes."""
    folder = cloudwatch_and_enhanced(tmp_path / "e", minutes=60, documents=330)
    snapshot = read_export(folder)

    assert snapshot.series[Metric.READ_OPS_PER_S].step_s == 10
    assert snapshot.series[Metric.READ_LATENCY_S].step_s == 60
    assert snapshot.note.startswith("Where Enhanced Monitoring (10 s) and CloudWatch (60 s)")
    # The write latency is Enhanced Monitoring's, which must be said.
    assert LATENCY_GAP in snapshot.gaps
    assert {} == snapshot.fine


def test_enhanced_monitoring_of_a_part_is_kept_beside_and_fills_what_is_missing(tmp_path):
    """The window keeps CloudWatch's step; its ten minutes by ten seconds are the finer series."""
    folder = cloudwatch_and_enhanced(tmp_path / "e", minutes=60, documents=60)
    snapshot = read_export(folder)

    assert snapshot.series[Metric.READ_OPS_PER_S].step_s == 60
    assert snapshot.series[Metric.WRITE_OPS_PER_S].step_s == 10
    assert {10} == {s.step_s for s in snapshot.fine.values()}
    assert {Metric.READ_OPS_PER_S, Metric.READ_LATENCY_S} <= snapshot.fine.keys()
    assert 60 >= snapshot.fine[Metric.READ_OPS_PER_S].time_s.size >= 59
    assert "CloudWatch is used; Enhanced Monitoring covers 16 %" in snapshot.note
    assert snapshot.note.endswith("which is also diagnosed at its own step.")


def test_enhanced_monitoring_as_coarse_as_cloudwatch_is_not_finer(tmp_path):
    """At the same step there is nothing more to see."""
    day = corpus.made(60, names=("ReadIOPS",))
    folder = corpus.write(tmp_path / "e", {"m.json": corpus.metric_data(day), "e.jsonl": corpus.enhanced_lines(20, 60)})
    snapshot = read_export(folder)

    assert {} == snapshot.fine
    assert snapshot.note.endswith("covers 32 % of it.")


def test_files_that_cannot_be_opened_say_why(tmp_path, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError(13, "Permission denied")

    with pytest.raises(SourceError, match="no such file"):
        read_export(tmp_path / "missing.json")
    with pytest.raises(SourceError, match="is not a file"):
        read_export(Path("/dev/null"))
    (tmp_path / "a.json").write_bytes(b"{}")
    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(AccessDenied, match="permission denied"):
        read_export(tmp_path / "a.json")


def test_a_target_is_a_snapshot_or_an_export(tmp_path):
    """What was recorded from an export is read back as the same snapshot, packed or not, with its keys in any order."""
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(5)))
    exported = read(tmp_path / "m.json")
    for name in ("s.json", "s.json.gz", "s"):
        write_snapshot(tmp_path / name, exported)

        assert read(tmp_path / name) == exported
    assert read(tmp_path / "s", identifier="orders") == exported  # it names no instance
    document = json.loads((tmp_path / "s.json").read_text())
    (tmp_path / "t.json").write_text(json.dumps(document, sort_keys=True, indent=1))
    assert read(tmp_path / "t.json") == exported


def test_a_folder_with_one_file_is_that_file(tmp_path):
    """An example is a folder that holds a snapshot and perhaps a README."""
    day = corpus.made(5)
    corpus.write(tmp_path / "e", {"m.json": corpus.metric_data(day), "README.md": b"# Made up"})
    exported = read(tmp_path / "e")
    (tmp_path / "s").mkdir()
    write_snapshot(tmp_path / "s" / "snapshot.json", exported)

    assert len(exported.series) == 12
    assert read(tmp_path / "s") == exported


def test_a_snapshot_is_completed_by_the_description_of_its_instance_alone(tmp_path):
    """Asked for by another name, it is refused."""
    (tmp_path / "m.jsonl").write_bytes(corpus.stream_lines(corpus.made(5)))
    (tmp_path / "i.json").write_bytes(corpus.described())
    write_snapshot(tmp_path / "s.json", read(tmp_path / "m.jsonl"))
    snapshot = read(tmp_path / "s.json", instance_file=tmp_path / "i.json")

    assert snapshot.instance.db_class == "db.r5.2xlarge"
    assert len(snapshot.series) == 12
    with pytest.raises(UsageError, match="is of 'orders-primary', not of 'claims'"):
        read(tmp_path / "s.json", identifier="claims")


def test_a_snapshot_among_exports_is_a_gap(tmp_path):
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(5)))
    write_snapshot(tmp_path / "s.json", read(tmp_path / "m.json"))

    assert [g.metric for g in read(tmp_path).gaps] == ["file s.json"]


def test_a_folder_of_snapshots_is_said_to_hold_several(tmp_path):
    """Each of them could be read; the hint says how one is chosen, and how all are read."""
    taken = builders.snapshot({Metric.READ_OPS_PER_S: [1.0, 2.0]})
    for name in ("billing", "orders"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "snapshot.json").write_bytes(encode_snapshot(taken))
    with pytest.raises(DataError, match="contains 2 recorded snapshots, and one is needed") as caught:
        read_export(tmp_path)

    assert '--identifier "*"' in caught.value.hint
