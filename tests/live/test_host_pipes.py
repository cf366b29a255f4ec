"""sysstat's own programs look at a disk at work; through pipes they say what our counters say."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pytest

from live.machine import clean_environment, disk_folder
from live.test_record_endings import PATIENCE_S, line_with, start, until
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll.model.snapshot_file.codec import decode_snapshot

pytestmark = pytest.mark.realtime

SECONDS = 5
LOAD = Path(__file__).with_name("saturate.py")
ACTIVITIES = "-d -b -u -r -S -q -n DEV"
WORDS = {"S_TIME_FORMAT": "ISO", "LC_ALL": "C"}

# The four begin their seconds at different moments, and a busy machine wakes them late: a second of
# the load may be half seen by one of them. The totals of a load that all saw whole stay this near.
TOLERANCE = 0.02
# The kernel counts a processor's time in ticks of 10 ms, and sar prints hundredths of a per cent.
PROCESSOR_ROUNDING = 0.02


@contextmanager
def running(command: list[str], folder: Path, **more) -> Iterator[subprocess.Popen]:
    """A program of sysstat in a folder, ended as Ctrl-C ends it."""
    with subprocess.Popen(command, cwd=folder, env={**clean_environment(), **WORDS}, **more) as it:
        try:
            yield it
        finally:
            it.send_signal(signal.SIGINT)
            try:
                it.wait(PATIENCE_S)
            finally:
                it.kill()


def snapshot_of(folder: Path, command: str, name: str) -> Snapshot:
    """What a shell's pipe into `plimsoll record host --from -` gives, as a snapshot."""
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**clean_environment(), **WORDS, "PLIMSOLL": f"{sys.executable} -m plimsoll"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    return decode_snapshot((folder / name).read_bytes())


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A load of some seconds that iostat, sar and our recorder saw from its beginning to its end."""
    folder = tmp_path_factory.mktemp("pipes")
    place, device = disk_folder()
    with ExitStack() as stack:
        recorder = start(folder, "--device", device, "--for", "10m", "-o", "recorded.json")
        stack.callback(recorder.kill)
        captures = []
        for command, name in (
            (["iostat", "-x", "-t", "-k", "1", "600"], "iostat.txt"),
            (["sar", "-o", "sa", "1", "600"], "sar-live.txt"),
        ):
            file = stack.enter_context((folder / name).open("w"))
            stack.enter_context(running(command, folder, stdout=file))
            captures.append(folder / name)

        def reports() -> list[int]:
            return [path.read_text().count(f"{word}") for path, word in zip(captures, ("avg-cpu", "all"), strict=True)]

        line_with(recorder, "recording")
        until(lambda: min(reports()) >= 2)
        subprocess.run([sys.executable, LOAD, place, str(SECONDS), "0.7"], check=True, timeout=120)
        after = reports()
        until(lambda: all(now >= then + 2 for now, then in zip(reports(), after, strict=True)))
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=PATIENCE_S)
    return folder, device


def total(snapshot: Snapshot, *metrics: Metric) -> float:
    return sum(float(np.nansum(snapshot.series[metric].value)) for metric in metrics)


def slack(snapshot: Snapshot, *metrics: Metric) -> float:
    """By how much totals may differ: what else used the disk while some looked already and others not."""
    edges = sum(float(np.nansum(snapshot.series[metric].value[[0, 1, 2, -3, -2, -1]])) for metric in metrics)
    return TOLERANCE * total(snapshot, *metrics) + edges


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("$PLIMSOLL record host --from - {chosen} < iostat.txt", "iostat.json"),
        ("sar -d -f sa | $PLIMSOLL record host --from - {chosen}", "sar.json"),
        (f"sar {ACTIVITIES} -f sa | $PLIMSOLL record host --from - {{chosen}}", "sar-more.json"),
        (f"sadf -j sa -- {ACTIVITIES} | $PLIMSOLL record host --from - {{chosen}}", "sadf.json"),
        ("$PLIMSOLL record host --from sa {chosen}", "binary.json"),
        ("gzip -c sa | $PLIMSOLL record host --from - {chosen}", "packed.json"),
    ],
    ids=["iostat", "sar -d", "sar of more", "sadf -j", "binary file", "packed binary file"],
)
def test_what_came_through_a_pipe_is_what_our_counters_counted(looked_at: tuple[Path, str], command: str, name: str):
    """
    Bytes, operations and time spent by requests over the whole load agree within 2 %, and what
    others did to the disk in the seconds at both ends.
    """
    folder, device = looked_at
    ours = decode_snapshot((folder / "recorded.json").read_bytes())
    theirs = snapshot_of(folder, command.format(chosen=f"--device {device} -o {name}"), name)

    assert f"device {device}" in theirs.source
    # Each began and ended at another moment; what others did to the disk then is not compared.
    windows = [snapshot.window_s or (0, 0) for snapshot in (ours, theirs)]
    both = max(start for start, _ in windows), min(end for _, end in windows)
    ours, theirs = cut(ours, both), cut(theirs, both)
    for metric in (Metric.READ_BYTES_PER_S, Metric.WRITE_BYTES_PER_S, Metric.QUEUE_DEPTH):
        near = pytest.approx(total(ours, metric), abs=slack(ours, metric))
        assert total(theirs, metric) == near, metric
    operations = (Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S)
    # `sar -d` alone does not know the operations of a second in which a file system gave back space.
    hidden = theirs.series[operations[0]]
    hidden_s = hidden.time_s[np.isnan(hidden.value)]
    missed = sum(
        float(series.value[np.isin(series.time_s, hidden_s + shift)].sum())
        for series in (ours.series[metric] for metric in operations)
        for shift in (-1, 0, 1)
    )
    least, most = total(ours, *operations) - missed, total(ours, *operations)
    room = slack(ours, *operations)
    assert least - room <= total(theirs, *operations) <= most + room
    if "sar -d -f" not in command:
        reads, room = total(ours, Metric.READ_OPS_PER_S), slack(ours, Metric.READ_OPS_PER_S)
        assert total(theirs, Metric.READ_OPS_PER_S) == pytest.approx(reads, abs=room)


def test_processors_and_memory_come_with_the_disk(looked_at: tuple[Path, str]):
    """What the load cost the processors is as our recorder saw it, however little that was."""
    folder, device = looked_at
    ours = decode_snapshot((folder / "recorded.json").read_bytes())
    command = f"sadf -j sa -- {ACTIVITIES} | $PLIMSOLL record - -o all.json --identifier {device}"
    snapshot = snapshot_of(folder, command, "all.json")

    windows = [of.window_s or (0, 0) for of in (ours, snapshot)]
    both = max(start for start, _ in windows), min(end for _, end in windows)
    spent, seen = (total(cut(of, both), Metric.CPU_RATIO) for of in (ours, snapshot))
    room = slack(cut(ours, both), Metric.CPU_RATIO)
    assert spent > 0
    assert seen == pytest.approx(spent, abs=room + PROCESSOR_ROUNDING * SECONDS)
    assert float(np.nanmax(snapshot.series[Metric.CPU_RATIO].value)) <= 1
    assert float(np.nanmin(snapshot.series[Metric.FREEABLE_MEMORY_BYTES].value)) > 1e7


def test_a_pipeline_that_is_interrupted_keeps_what_came(tmp_path: Path):
    """Ctrl-C reaches every program of a pipeline at once; the snapshot is written all the same."""
    _, device = disk_folder()
    script = (
        "S_TIME_FORMAT=ISO iostat -x -t 1 600 | tee came.txt | "
        f"{sys.executable} -m plimsoll record host --from - --device {device} -o kept.json"
    )
    with subprocess.Popen(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as pipeline:
        try:
            came = tmp_path / "came.txt"
            until(lambda: came.exists() and came.read_text().count("avg-cpu") >= 4)
            os.killpg(pipeline.pid, signal.SIGINT)
            output = pipeline.communicate(timeout=PATIENCE_S)[1]
        finally:
            pipeline.kill()
    snapshot = decode_snapshot((tmp_path / "kept.json").read_bytes())

    assert "recorded iostat capture standard input" in output
    assert snapshot.series[Metric.READ_OPS_PER_S].time_s.size >= 2
