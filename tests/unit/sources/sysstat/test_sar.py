"""What sar measured becomes a snapshot whose sums are sar's own."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.frame import frame_of
from plimsoll.errors import UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.sources.sysstat.iostat import parse_iostat
from plimsoll.sources.sysstat.sar import parse_sar
from unit.sources.sysstat.fixture_sar import at, gaps, line, read, table

CAPTURES = Path(__file__).parent / "captures"
TEXT = (CAPTURES / "sar.txt").read_text()
STORAGE = (
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.QUEUE_DEPTH,
)


def sums_of(snapshot: Snapshot) -> dict[Metric, float]:
    return {metric: float(np.nansum(snapshot.series[metric].value)) for metric in STORAGE}


def test_sar_iostat_and_our_recorder_saw_the_same_load():
    """
    Over the whole load bytes, operations and queue of sar are iostat's within a thousandth, and
    our own counters' within a hundredth: their seconds begin elsewhere.
    """
    sar = sums_of(read(TEXT, "vda"))
    iostat_file = CAPTURES / "sar-iostat.txt"
    iostat = sums_of(parse_iostat(iostat_file.read_bytes(), where="capture", device="vda"))
    ours = sums_of(decode_snapshot((CAPTURES / "sar-recorded.json").read_bytes()))

    for metric in STORAGE:
        assert iostat[metric] == pytest.approx(sar[metric], rel=0.001), metric
        assert ours[metric] == pytest.approx(sar[metric], rel=0.01), metric


def test_sadf_says_what_sar_says():
    """The same file as text and as JSON gives the same series; only the text lacks the time zone."""
    text = read(TEXT)
    document = parse_sar((CAPTURES / "sadf.json").read_bytes(), where="capture")

    assert text.series.keys() == document.series.keys()
    assert 14 == document.series[Metric.READ_OPS_PER_S].time_s.size
    for metric, series in text.series.items():
        assert series.time_s.tolist() == document.series[metric].time_s.tolist()
        # sar's text has kB to two decimals where the JSON has sectors.
        assert series.value == pytest.approx(document.series[metric].value, abs=10, nan_ok=True)
    assert {"time zone"} == gaps(text).keys() - gaps(document).keys()
    assert ("host", 2) == (text.instance.identifier, text.instance.vcpu_count)


def test_other_activities_of_the_run_are_used():
    """Processors, memory, swap, load and the network card stand beside the disk in the same steps."""
    snapshot = read(TEXT)

    assert (
        set(Metric)
        >= snapshot.series.keys()
        >= {
            Metric.CPU_RATIO,
            Metric.FREEABLE_MEMORY_BYTES,
            Metric.SWAP_BYTES,
            Metric.LOAD_AVERAGE,
            Metric.NETWORK_RECEIVE_BYTES_PER_S,
            Metric.NETWORK_TRANSMIT_BYTES_PER_S,
        }
    )
    first = re.search(r"kbavail.*\n\S+ +\d+ +(\d+)", TEXT)[1]
    assert int(first) * 1024 == at(snapshot, Metric.FREEABLE_MEMORY_BYTES)[0]
    assert max(at(snapshot, Metric.CPU_RATIO)) <= 1


def test_operations_are_divided_as_the_bytes_are_and_the_report_says_so():
    """
    A quarter of the bytes were read: a quarter of the operations are called reads, and a gap tells
    that only their sum was measured. One wait stands for both.
    """
    snapshot = read(table("12:00:00", line("12:00:01"), line("12:00:02", 200)))

    assert [25, 50] == at(snapshot, Metric.READ_OPS_PER_S)
    assert [75, 150] == at(snapshot, Metric.WRITE_OPS_PER_S)
    assert at(snapshot, Metric.READ_LATENCY_S) == at(snapshot, Metric.WRITE_LATENCY_S)
    reason = gaps(snapshot)["read_ops_per_s, write_ops_per_s"].reason
    assert "in 2 of 2 steps their sum was divided" in reason
    assert "used for both" in gaps(snapshot)["read_latency_s, write_latency_s"].reason


def test_the_totals_of_the_host_tell_reads_from_writes():
    """
    `sar -b` of the same run counts them apart; where its totals are those of the disk, its reads
    and writes are the disk's. A second where another disk worked is divided by bytes.
    """
    disk = table(
        "12:00:00",
        *(line("12:00:01"), line("12:00:01", 1, 1, 0, device="vdb")),
        *(line("12:00:02"), line("12:00:02", 900, 900, 0, device="vdb")),
    )
    total = (
        "\n12:00:00 tps rtps wtps dtps bread/s bwrtn/s bdscd/s\n"
        "12:00:01 101.00 11.00 90.00 0.00 2002.00 6000.00 0.00\n"
        "12:00:02 1000.00 910.00 90.00 0.00 3800.00 6000.00 0.00\n"
    )
    reads = at(read(disk + total, "vda"), Metric.READ_OPS_PER_S)
    writes = at(read(disk + total, "vda"), Metric.WRITE_OPS_PER_S)

    assert pytest.approx([11 * 100 / 101, 25]) == reads
    assert pytest.approx([90 * 100 / 101, 75]) == writes


rates = st.floats(0, 20_000).map(lambda x: round(x, 2))
sizes = st.floats(0.5, 256).map(lambda x: round(x, 2))


@given(reads=rates, writes=rates, read_size_kb=sizes, write_size_kb=sizes)
@settings(max_examples=150, deadline=None)
def test_what_the_diagnosis_adds_up_is_what_was_measured(
    reads: float, writes: float, read_size_kb: float, write_size_kb: float
):
    """
    Whatever the mix: total bytes and total operations in the diagnosis are sar's own, and operations
    times waits are sar's queue, though nobody knows which operations were reads.
    """
    tps = round(reads + writes, 2)
    kb = round(reads * read_size_kb, 2), round(writes * write_size_kb, 2)
    text = table("12:00:00", line("12:00:01", tps, *kb), line("12:00:02", tps, *kb))
    frame = frame_of(read(text))
    assert frame is not None

    assert pytest.approx(sum(kb) * 1024) == frame.bytes_per_s[0]
    assert pytest.approx(tps, abs=0.02) == frame.ops_per_s[0]
    waits = np.nan_to_num([frame.read_latency_s[0], frame.write_latency_s[0]])
    rate = np.array([frame.read_ops_per_s[0], frame.write_ops_per_s[0]])
    assert pytest.approx(tps * 0.025, abs=0.01) == float((waits * rate).sum())


def test_the_diagnosis_of_a_limited_disk_is_the_same_through_sar():
    """
    A disk that the kernel held to 100 MB/s, captured by iostat, and the same numbers as sar would
    have printed them: one verdict, one level.
    """
    seen = parse_iostat((CAPTURES / "capped-iostat.txt").read_bytes(), where="capture")
    columns = {metric: seen.series[metric].value for metric in STORAGE}
    wait = np.nan_to_num(seen.series[Metric.READ_LATENCY_S].value)
    lines = []
    for index in range(wait.size):
        clock = f"12:{(index + 1) // 60:02d}:{(index + 1) % 60:02d}"
        one = {metric: float(values[index]) for metric, values in columns.items()}
        ops = one[Metric.READ_OPS_PER_S] + one[Metric.WRITE_OPS_PER_S]
        kb = one[Metric.READ_BYTES_PER_S] / 1024, one[Metric.WRITE_BYTES_PER_S] / 1024
        lines.append(line(clock, ops, *kb, wait_ms=float(wait[index]) * 1000))
    through_sar = diagnose(read(table("12:00:00", *lines)), catalog())
    direct = diagnose(seen, catalog())

    assert direct.verdict == through_sar.verdict
    levels = [[i.level for i in d.intervals] for d in (direct, through_sar)]
    assert levels[0]
    assert levels[0] == pytest.approx(levels[1], rel=0.01)


def test_discards_are_neither_reads_nor_writes():
    """
    Where they could be a fiftieth of the operations, these are unknown; a few do no harm; and
    `sar -b` tells them apart.
    """
    many, few = line("12:00:01", discard_kb=50_000), line("12:00:02", discard_kb=4)
    text = table("12:00:00", many, few)
    snapshot = read(text)

    assert np.isnan(at(snapshot, Metric.READ_OPS_PER_S)[0])
    assert 25 == at(snapshot, Metric.READ_OPS_PER_S)[1]
    assert [1024 * 1000, 1024 * 1000] == at(snapshot, Metric.READ_BYTES_PER_S)
    assert any("in 1 of 2 steps they include discards" in gap.reason for gap in snapshot.gaps)

    total = (
        "\n12:00:00 tps rtps wtps dtps bread/s bwrtn/s bdscd/s\n"
        "12:00:01 100.00 20.00 30.00 50.00 2000.00 6000.00 100000.00\n"
    )
    reading = read(text + total)
    assert [20, 25] == at(reading, Metric.READ_OPS_PER_S)
    assert np.isnan(at(reading, Metric.READ_LATENCY_S)[0])


LATE = [line("14:30:00", 5), line("14:40:00", 6)]
BY_HAND = [line("12:20:07", 3), line("12:30:00", 4)]
TWO = table("12:00:00", line("12:10:00", 1), line("12:20:00", 2))


@pytest.mark.parametrize(
    ("text", "expected", "why"),
    [
        pytest.param(
            *(TWO + "".join(BY_HAND + LATE), [1, 2, 4, 6], "2 samples left out: not of the usual step"),
            id="someone ran the collector by hand between two: neither half is a step",
        ),
        pytest.param(TWO + TWO, [1, 2], "2 samples left out", id="a file given twice counts once"),
    ],
)
def test_samples_of_another_length_or_time_are_left_out_and_counted(text, expected, why):
    snapshot = read(text)
    ops = np.array(at(snapshot, Metric.READ_OPS_PER_S)) + at(snapshot, Metric.WRITE_OPS_PER_S)

    assert expected == ops.tolist()
    assert why in gaps(snapshot)["sar samples"].reason


def test_several_devices_are_added_up():
    """Bytes, operations and queues add up, waits are weighted; a step without one has no sum."""
    text = table(
        "12:00:00",
        *(line("12:00:01", 100, wait_ms=10), line("12:00:01", 300, wait_ms=30, device="vdb")),
        line("12:00:02", 100, wait_ms=10),
    )
    snapshot = read(text, device="vda, /dev/vdb")
    ops = np.array(at(snapshot, Metric.READ_OPS_PER_S)) + at(snapshot, Metric.WRITE_OPS_PER_S)

    assert "devices vda, vdb" in snapshot.source
    assert 2 == snapshot.instance.storage.volume_count
    assert 400 == ops[0]
    assert pytest.approx(0.025) == at(snapshot, Metric.READ_LATENCY_S)[0]
    assert pytest.approx(10.0) == at(snapshot, Metric.QUEUE_DEPTH)[0]
    assert np.isnan(ops[1])


def test_of_several_devices_the_busiest_whole_disk_is_taken():
    """Not a loop device, not a volume that lies on a disk; and it is named."""
    text = table(
        "12:00:00",
        *(line("12:00:01", device=name) for name in ("dasda", "dm-0", "loop0", "dev7-1")),
        line("12:00:01", read_kb=9, write_kb=9, device="vdb"),
        line("12:00:01", read_kb=99_999, device="loop1"),
    )

    assert "device dasda (busiest of 3)" in read(text).source
    assert read(text, "dm-0").instance.storage.volume_count is None
    with pytest.raises(UsageError) as raised:
        read(text, "nvme9n1")
    assert "vdb" in raised.value.hint


def test_a_length_of_steps_is_refused():
    """sar's samples have times, so `--every` would contradict them."""
    with pytest.raises(UsageError, match="have times"):
        parse_sar(TEXT.encode(), where="capture", step_s=1)
