import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from plimsoll.errors import UsageError
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.reports.files.snapshot import write_snapshot
from plimsoll.sources.targets.one import read
from strategies import snapshots


def small() -> Snapshot:
    reads = Series(
        metric=Metric.READ_OPS_PER_S, step_s=60, time_s=np.array([60, 120, 240]), value=np.array([1.0, 2.5, 3.0])
    )
    return Snapshot(instance=Instance(identifier="orders"), series={reads.metric: reads}, source="a test")


@pytest.mark.parametrize("name", ["s.json", "s.json.gz", "s.JSON.GZ"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(snapshot=snapshots(may_have_nan=True))
def test_what_is_written_is_what_is_read(tmp_path: Path, name: str, snapshot: Snapshot):
    """A snapshot survives its file, packed or not, times off the grid and samples of nothing included."""
    write_snapshot(tmp_path / name, snapshot)

    assert read(tmp_path / name) == snapshot


def test_equal_snapshots_give_equal_packed_files(tmp_path):
    """The time of writing is not in a packed file, and nothing is left beside it."""
    path = tmp_path / "a.json.gz"
    write_snapshot(path, small())
    before = path.read_bytes()
    write_snapshot(path, small())

    assert before == path.read_bytes()
    assert [path] == list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    """When the disk refuses, the earlier snapshot is still whole and no part of the new one remains."""
    write_snapshot(tmp_path / "s.json", small())
    before = (tmp_path / "s.json").read_bytes()

    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(UsageError, match="no space left on device"):
        write_snapshot(tmp_path / "s.json", small())

    assert (tmp_path / "s.json").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s.json"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UsageError, match="there is no folder"):
        write_snapshot(tmp_path / "missing" / "s.json", small())


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    """`-o` may name a pipe or a device such as /dev/stdout."""
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_snapshot(tmp_path / "pipe", small())

    assert encode_snapshot(small()) == os.read(reader, 1 << 16)
    assert (tmp_path / "pipe").is_fifo()
    os.close(reader)
