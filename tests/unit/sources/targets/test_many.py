"""Every instance of a folder: exports that hold several, recorded snapshots, or both."""

import pytest

from fuzz import corpus
from plimsoll.errors import DataError, SourceError
from plimsoll.model.metric import Metric
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.files.snapshot import write_snapshot
from plimsoll.sources.export.read import read_export
from plimsoll.sources.targets.many import read_all


def stream(*identifiers, seed=1):
    """A metric stream of two hours of these instances."""
    return corpus.stream_lines(corpus.made(120, seed=seed), identifiers=identifiers)


def names(found):
    """Who was found, in order; the unread in brackets."""
    return [f"({i.identifier})" if isinstance(i, UnreadInstance) else i.instance.identifier for i in found]


def test_a_stream_of_several_instances_gives_a_snapshot_of_each(tmp_path):
    """Each is what one gets by naming it, in alphabetical order."""
    corpus.write(tmp_path / "e", {"a.jsonl": stream("b", "a"), "b.jsonl": stream("c", seed=2)})
    found = list(read_all(tmp_path / "e"))

    assert ["a", "b", "c"] == names(found)
    for snapshot in found:
        named = read_export(tmp_path / "e", identifier=snapshot.instance.identifier)
        assert (named.series, named.instance, named.source) == (snapshot.series, snapshot.instance, snapshot.source)


def test_an_instance_whose_metrics_lie_in_many_files_is_one(tmp_path):
    """Names are compared without case, as RDS does; the first spelling counts."""
    day = corpus.made(60)
    half = [{n: v for n, v in day.values.items() if (n < "M") == is_first} for is_first in (1, 0)]
    files = {
        f"{i}.jsonl": corpus.stream_lines(corpus.Made(day.time_s, values), identifiers=(name, "z"))
        for i, (values, name) in enumerate(zip(half, ("Orders", "orders"), strict=True))
    }
    corpus.write(tmp_path / "e", files)
    found = list(read_all(tmp_path / "e"))

    assert ["Orders", "z"] == names(found)
    assert len(corpus.NAMES) == len(found[0].series)


def test_descriptions_find_their_instances(tmp_path):
    """Class and storage come from one answer for all; who is described without metrics is unread."""
    corpus.write(tmp_path / "e", {"a.jsonl": stream("a", "b"), "i.json": corpus.described("a", "b", "idle")})
    a, b, idle = read_all(tmp_path / "e")

    assert "db.r5.2xlarge" == a.instance.db_class == b.instance.db_class
    assert "idle" == idle.identifier
    assert "no metric of it" in idle.reason


def test_a_description_may_lie_elsewhere(tmp_path):
    """A file given beside the folder describes exports and recorded snapshots alike."""
    corpus.write(tmp_path / "e", {"a.jsonl": stream("a", "b")})
    corpus.write(tmp_path, {"i.json": corpus.described("a", "b", "c")})
    c = read_export(corpus.write(tmp_path / "c", {"c.jsonl": stream("c")}))
    write_snapshot(tmp_path / "e" / "c.json", c)
    found = list(read_all(tmp_path / "e", instance_file=tmp_path / "i.json"))

    assert ["c", "a", "b"] == names(found)
    assert {"db.r5.2xlarge"} == {s.instance.db_class for s in found}


def test_recorded_snapshots_are_handed_out_one_by_one(tmp_path):
    """A folder of recordings is a fleet too; a damaged one does not keep the others."""
    for name in ("b", "a"):
        made = read_export(corpus.write(tmp_path / f"x{name}", {"m.jsonl": stream(name)}))
        (tmp_path / "e").mkdir(exist_ok=True)
        write_snapshot(tmp_path / "e" / f"{name}.json", made)
    (tmp_path / "e" / "c.json").write_bytes(b'{"schema": "plimsoll.snapshot/1", "series": 3}')
    found = list(read_all(tmp_path / "e"))

    assert ["a", "b", "(c.json)"] == names(found)
    assert found[2].remedy


def test_samples_of_nobody_are_not_given_to_everybody(tmp_path):
    """Where several instances are named, what names none is left out, with a word about it."""
    day = corpus.made(60)
    only = corpus.Made(day.time_s, {"CPUUtilization": day.values["CPUUtilization"]})
    rates = corpus.Made(day.time_s, {n: day.values[n] for n in ("ReadIOPS", "WriteIOPS")})
    corpus.write(
        tmp_path / "e", {"a.jsonl": corpus.stream_lines(rates, identifiers=("a", "b")), "c.csv": corpus.csv_wide(only)}
    )
    found = list(read_all(tmp_path / "e"))

    assert ["a", "b"] == names(found)
    for snapshot in found:
        assert Metric.CPU_RATIO not in snapshot.series
        assert "samples without an instance" in [gap.metric for gap in snapshot.gaps]


def test_an_export_of_one_or_of_a_single_file_is_what_it_was(tmp_path):
    """
    Samples without any name, or of one name, make the snapshot that naming nobody makes; a file of a
    stream may hold a fleet.
    """
    folder = corpus.write(tmp_path / "e", {"m.csv": corpus.csv_wide(corpus.made(60)), "i.json": corpus.described()})
    corpus.write(tmp_path, {"a.jsonl": stream("b", "a")})

    assert [read_export(folder)] == list(read_all(folder))
    assert ["a", "b"] == names(read_all(tmp_path / "a.jsonl"))


def test_a_file_that_cannot_be_read_is_a_gap_of_every_export(tmp_path):
    """What it might have held is not known; the others count."""
    corpus.write(tmp_path / "e", {"a.jsonl": stream("a", "b"), "x.csv": b"\x00\x01\x02"})

    for snapshot in read_all(tmp_path / "e"):
        assert isinstance(snapshot, Snapshot)
        assert ["file x.csv"] == [gap.metric for gap in snapshot.gaps]


@pytest.mark.parametrize("files", [{}, {"x.csv": b"\x00\x01\x02"}, {"README.md": b"# Notes"}])
def test_a_folder_without_an_instance_is_an_error(tmp_path, files):
    """Where nothing can be read there is a cause, not an empty table."""
    (tmp_path / "e").mkdir()
    corpus.write(tmp_path / "e", files)

    with pytest.raises((DataError, SourceError)):
        list(read_all(tmp_path / "e"))
