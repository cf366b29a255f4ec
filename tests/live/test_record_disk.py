"""A disk as busy as it can be, recorded and diagnosed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from live.machine import Run, disk_bytes, disk_folder
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import decode_snapshot

pytestmark = pytest.mark.realtime

SECONDS = 8
DISKSTATS = Path("/proc/diskstats")
LOAD = Path(__file__).with_name("saturate.py")


def test_a_saturated_disk_is_recorded_as_it_counts_itself(run: Run, tmp_path: Path):
    """
    Bytes agree with the disk's counters and with what the load did; requests waited.

    The recording covers the load and is covered by the whole run of the recorder, so what it saw
    lies between the two, within the 10 % that a reading late by a tenth of a step would cost.
    """
    folder, device = disk_folder()
    script = f"{sys.executable} {LOAD} {folder} {SECONDS} > did"
    started = disk_bytes(DISKSTATS.read_text(), device)
    done = run(*("record", "host", "--device", device, "-o", "disk.json", "--", "sh", "-c", script))
    ended = disk_bytes(DISKSTATS.read_text(), device)

    assert 0 == done.returncode, done.stderr
    assert "failed" not in done.stderr
    snapshot = decode_snapshot((tmp_path / "disk.json").read_bytes())
    did = json.loads((tmp_path / "did").read_text())
    for side, (metric, least) in enumerate(
        [(Metric.READ_BYTES_PER_S, did["read_bytes"]), (Metric.WRITE_BYTES_PER_S, did["write_bytes"])]
    ):
        recorded = float(snapshot.series[metric].value.sum())
        assert least * 0.90 <= recorded <= (ended[side] - started[side]) * 1.10, metric
    queue = snapshot.series[Metric.QUEUE_DEPTH].value
    assert np.sort(queue)[-SECONDS // 2 :].min() > 1
    assert f"device {device}" in snapshot.source

    diagnosed = run("diagnose", "disk.json", "--format", "json")
    assert diagnosed.returncode in {0, 1, 2}, diagnosed.stderr
    assert "Traceback" not in diagnosed.stderr
    assert "verdict" in json.loads(diagnosed.stdout)
