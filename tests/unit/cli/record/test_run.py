"""The words of `plimsoll record`, without a host, a database or a clock."""

from pathlib import Path

import numpy as np
import pytest

from plimsoll.cli.record import host as record_host
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot

SNAPSHOT = Snapshot(
    instance=Instance(identifier="orders"),
    series={
        Metric.READ_BYTES_PER_S: Series(
            metric=Metric.READ_BYTES_PER_S, step_s=60, time_s=1_700_000_040 + 60 * np.arange(5), value=np.arange(5.0)
        )
    },
    source="test",
)


@pytest.fixture
def plimsoll(run, monkeypatch, tmp_path: Path):
    """The command line in a scratch folder."""
    monkeypatch.chdir(tmp_path)
    return run


def test_a_device_that_is_not_there_is_refused_before_anything_is_recorded(plimsoll, monkeypatch):
    """With those of this host, which the transcripts of refusals cannot have."""
    monkeypatch.setattr(record_host, "record", lambda *_a, **_k: pytest.fail("it recorded"))
    code, _, result = plimsoll("record", "host", "--device", "nvme99n1", "--for", "1s")

    assert 2 == code
    assert result.startswith("error: device 'nvme99n1'")
    assert "hint: " in result


@pytest.mark.parametrize(
    "words", [("in.json", "-o", "out.json"), ("-o", "out.json", "in.json"), ("in.json", "-o", "-")]
)
def test_a_target_is_saved_as_a_snapshot(plimsoll, tmp_path: Path, words: tuple[str, ...]):
    """
    Every command's flags are kept in it. Options may come before the target, only `host` must come first; a dash is
    standard output, which then holds nothing else.
    """
    (tmp_path / "in.json").write_bytes(encode_snapshot(SNAPSHOT))
    status, out, _ = plimsoll("record", *words, "--class", "r5.2xlarge")
    saved = decode_snapshot(out.encode() if "-" in words else (tmp_path / "out.json").read_bytes())

    assert (0, "-" in words) == (status, bool(out))
    assert "db.r5.2xlarge" == saved.instance.db_class
    assert SNAPSHOT.series == saved.series


def test_both_kinds_of_recording_have_their_own_help(plimsoll):
    """Help for hosts has devices and times, help for targets has neither."""
    group = plimsoll("record", "--help")[1]
    host = plimsoll("record", "host", "--help")[1]
    target = plimsoll("record", "anything", "--help")[1]

    assert "record [OPTIONS] {host|TARGET}" in group
    assert "--device" in host
    assert "PLIMSOLL_DSN" in host
    assert "--instance" not in host
    assert "--instance" in target
    assert "--device" not in target
