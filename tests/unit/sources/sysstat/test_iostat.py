"""iostat's captures become snapshots that agree with our own recorder."""

import re
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import DataError, UsageError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.sysstat.iostat import is_iostat, parse_iostat
from unit.sources.sysstat.fixture_sar import at

CAPTURES = Path(__file__).parent / "captures"
TEXT = CAPTURES / "saturated-iostat.txt"
JSON = CAPTURES / "saturated-iostat.json"
RECORDED = CAPTURES / "saturated-recorded.json"

OLD = """\
Linux 3.10.0-1160.el7.x86_64 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)

11/20/2026 11:59:50 AM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          50.00    0.00    0.00    0.00    0.00   50.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     1.00   10.00    0.00     1.00     0.00   200.00     0.50   10.00   10.00    0.00   1.00   1.00
sda1              0.00     1.00   10.00    0.00     9.00     0.00   200.00     0.50   10.00   10.00    0.00   1.00   1.00

11/20/2026 12:00:00 PM
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          10.00    2.00    8.00   20.00    5.00   55.00

Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await r_await w_await  svctm  %util
sda               0.00     1.00   10.00    0.00     1.00     0.00   200.00     2.50   10.00   10.00    0.00   1.00   1.00
sda1              0.00     1.00   10.00    0.00     9.00     0.00   200.00     0.50   10.00   10.00    0.00   1.00   1.00
sdb               0.00     1.00    0.00   20.00     0.00     0,50   200.00     0.50   10.00    0.00   30.00   1.00   1.00
loop0             0.00     1.00   10.00    0.00     99.0     0.00   200.00     0.50   10.00   10.00    0.00   1.00   1.00
"""


def read(text: str, device: str | None = None) -> Snapshot:
    return parse_iostat(text.encode(), where="capture", device=device)


def read_iostat(path: Path) -> Snapshot:
    return parse_iostat(path.read_bytes(), where=f"'{path.name}'")


def report(stamp: str, ops: int = 5, device: str = "sda") -> str:
    head = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util"
    return f"{stamp}\n{head}\n{device} {ops}.00 80.00 2.00 0.00 0.00 0.00 0.01 1.00\n\n"


HEADER = "Linux 6.1.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n"


@pytest.mark.parametrize("path", [TEXT, JSON])
def test_the_parser_and_our_recorder_agree_on_a_saturated_disk(path: Path):
    """
    Both looked at one disk at once: bytes, operations and queue of the common window agree within
    1 %, mean latencies within 5 % (iostat rounds to 10 µs, of about 250 µs).
    """
    theirs, ours = read_iostat(path), decode_snapshot(RECORDED.read_bytes())
    sums: dict[Metric, list[float]] = {}
    for metric in theirs.series:
        pair = (theirs.series[metric], ours.series[metric])
        common = np.intersect1d(pair[0].time_s, pair[1].time_s)
        sums[metric] = [float(np.nansum(s.value[np.isin(s.time_s, common)])) for s in pair]

    for metric in (
        Metric.READ_BYTES_PER_S,
        Metric.WRITE_BYTES_PER_S,
        Metric.READ_OPS_PER_S,
        Metric.WRITE_OPS_PER_S,
        Metric.QUEUE_DEPTH,
    ):
        assert sums[metric][1] == pytest.approx(sums[metric][0], rel=0.01), metric
    busy = slice(8, 24)
    for metric in (Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S):
        means = [float(np.nanmean(s.series[metric].value[busy])) for s in (theirs, ours)]
        assert means[1] == pytest.approx(means[0], rel=0.05), metric


def test_the_capture_shows_saturation():
    """
    For over twenty seconds the disk served more than a GB/s with several requests waiting. Thirty-six reports
    are thirty-five samples, each about the second that ends at its time: the one since boot is none.
    """
    snapshot = read_iostat(TEXT)
    reads = snapshot.series[Metric.READ_BYTES_PER_S]
    served = reads.value + np.array(at(snapshot, Metric.WRITE_BYTES_PER_S))
    queue = np.array(at(snapshot, Metric.QUEUE_DEPTH))

    assert np.count_nonzero((served > 1e9) & (queue > 4)) >= 20
    assert () == snapshot.gaps
    assert ("host", 2) == (snapshot.instance.identifier, snapshot.instance.vcpu_count)
    assert snapshot == decode_snapshot(encode_snapshot(snapshot))
    assert 36 == TEXT.read_text().count("avg-cpu:")
    # The first time in the file is 2026-11-20T09:52:15+0000.
    assert (35, 1795168335, 1) == (reads.time_s.size, reads.time_s[0], reads.step_s)


def test_the_capture_of_a_limited_disk_shows_its_limit():
    """The kernel held the disk to 100 MB/s for eighty seconds: flat, slow, and a queue of all threads."""
    snapshot = read_iostat(CAPTURES / "capped-iostat.txt")
    read_bytes = np.array(at(snapshot, Metric.READ_BYTES_PER_S))
    latency, queue = (np.array(at(snapshot, metric)) for metric in (Metric.READ_LATENCY_S, Metric.QUEUE_DEPTH))
    held = queue > 12

    assert 75 <= np.count_nonzero(held) <= 82
    assert 100e6 == pytest.approx(float(np.median(read_bytes[held])), rel=0.01)
    assert np.median(latency[held]) > 10 * np.nanmedian(latency[~held])
    assert read_bytes[~held].max() < 100e6


def test_old_columns_are_found_by_their_names():
    """sysstat 10 had avgqu-sz, other places, and -m gives MB of 1024² bytes; a comma is a point."""
    snapshot = read(OLD)

    assert "iostat capture capture, device sda (busiest of 2)" == snapshot.source
    assert [1024.0**2] == at(snapshot, Metric.READ_BYTES_PER_S)
    assert [0.010] == at(snapshot, Metric.READ_LATENCY_S)
    assert Metric.WRITE_LATENCY_S not in snapshot.series
    assert [2.5] == at(snapshot, Metric.QUEUE_DEPTH)
    assert [pytest.approx(0.25)] == at(snapshot, Metric.CPU_RATIO)
    # 12:00:00 PM is noon: 2026-11-20T12:00:00Z less the step.
    assert (1795176000 - 10, 1795176000) == snapshot.window_s
    assert [0.5 * 1024**2] == at(read(OLD, device="/dev/sdb"), Metric.WRITE_BYTES_PER_S)
    assert [0.030] == at(read(OLD, device="sdb"), Metric.WRITE_LATENCY_S)


def test_a_named_device_must_be_there():
    """The hint names those that are."""
    with pytest.raises(UsageError) as raised:
        read(OLD, device="nvme9n1")

    assert "sda, sda1, sdb" in raised.value.hint


@pytest.mark.parametrize(
    ("first", "second", "noon"),
    [
        ("2026-11-20T11:59:59+0000", "2026-11-20T12:00:00+0000", 1795176000),
        ("2026-11-20T13:59:59+0200", "2026-11-20T14:00:00+0200", 1795176000),
        ("2026-11-20T06:29:59-05:30", "2026-11-20T06:30:00-05:30", 1795176000),
        ("20.11.2026 11:59:59", "20.11.2026 12:00:00", 1795176000),
        ("11/20/2026 11:59:59 AM", "11/20/2026 12:00:00\u202fPM", 1795176000),
        ("2026-11-20 11:59:59 UTC", "2026-11-20 12:00:00 UTC", 1795176000),
    ],
)
def test_dates_of_many_locales_are_read(first: str, second: str, noon: int):
    """The order of day and month is decided once for the capture."""
    snapshot = read(HEADER + report(first) + report(second))

    assert (noon - 1, noon) == snapshot.window_s


def test_a_date_that_could_be_two_is_said_to_be():
    """5 April or 4 May: the C locale's order is taken, and the gap says so."""
    snapshot = read(HEADER + report("04/05/26 12:00:00") + report("04/05/26 12:00:01"))

    assert {"time zone", "date", "cpu_ratio"} == {gap.metric for gap in snapshot.gaps}


def reports(*stamps: str, first: int = 1) -> str:
    return "".join(report(f"2026-11-20T{s}Z", ops=n) for n, s in enumerate(stamps, first))


RUN, LATER = reports("12:00:00", "12:00:01"), reports("12:00:02", "12:00:03", first=3)
LATE = report("2026-11-20T12:00:00Z") + report("2026-11-20T12:00:01Z") + report("2026-11-20T12:00:02Z", 900, "sdb")


@pytest.mark.parametrize(
    ("text", "device", "values", "reason"),
    [
        # A second run in the same file begins with its own report since boot.
        (RUN + HEADER + LATER, None, [2.0, 4.0], ""),
        # The machine slept for an hour: that report is not about one second.
        (reports("12:00:00", "12:00:01", "12:00:02", "13:00:02", "13:00:03"), *(None, [2.0, 3.0, 5.0], "1 report ")),
        # A report without the device says nothing about it.
        (LATE, "sdb", [np.nan, 900.0], ""),
    ],
    ids=["second run", "slept", "late device"],
)
def test_only_reports_about_a_step_of_the_device_count(text, device, values, reason):
    snapshot = read(HEADER + text, device=device)

    assert values == pytest.approx(at(snapshot, Metric.READ_OPS_PER_S), nan_ok=True)
    assert reason in {gap.metric: gap.reason for gap in snapshot.gaps}.get("iostat reports", "")


SYSSTAT_9 = """\
Linux 2.6.32-754.el6.x86_64 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)

11/20/2026 12:00:00 PM
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     1.00   10.00   30.00  2000.00  6000.00   200.00     1.00   25.00   1.00   1.00

11/20/2026 12:00:01 PM
Device:         rrqm/s   wrqm/s     r/s     w/s   rsec/s   wsec/s avgrq-sz avgqu-sz   await  svctm  %util
sda               0.00     1.00   10.00   30.00  2000.00  6000.00   200.00     1.00   25.00   1.00   1.00
"""
PRETTY = """\
Linux 6.1.0 (db1) \t2026-11-20 \t_x86_64_\t(8 CPU)

2026-11-20T12:00:00+0000
     r/s     rMB/s r_await Device
    1.00      1.0M    2.00 vda
     w/s     wMB/s w_await Device
    1.00      1.0M    2.00 vda
  aqu-sz  %util Device
    0.50   1.0% vda

2026-11-20T12:00:01+0000
     r/s     rMB/s r_await Device
   10.00      1.5G    2.00 vda
     w/s     wMB/s w_await Device
   30.00    512.0k    4.00 vda
  aqu-sz  %util Device
    2.50   1.0% vda
"""


def test_one_wait_for_both_directions_is_given_to_both():
    """Before sysstat 9.1.2 iostat had a single await; a gap says that it is not told apart."""
    snapshot = read(SYSSTAT_9)

    assert [0.025] == at(snapshot, Metric.READ_LATENCY_S) == at(snapshot, Metric.WRITE_LATENCY_S)
    assert [2000 * 512] == at(snapshot, Metric.READ_BYTES_PER_S)
    assert "one wait" in {g.metric: g.reason for g in snapshot.gaps}["read_latency_s, write_latency_s"]


def test_tables_for_people_are_one_report():
    """--pretty puts the device last and splits a report into tables; -h shortens the numbers."""
    snapshot = read(PRETTY)

    assert is_iostat(PRETTY.encode())
    assert [1.5 * 1024**3] == at(snapshot, Metric.READ_BYTES_PER_S)
    assert [512 * 1024] == at(snapshot, Metric.WRITE_BYTES_PER_S)
    assert [10.0] == at(snapshot, Metric.READ_OPS_PER_S)
    assert [0.004] == at(snapshot, Metric.WRITE_LATENCY_S)
    assert [2.5] == at(snapshot, Metric.QUEUE_DEPTH)
    assert "rates" in {gap.metric for gap in snapshot.gaps}


def test_several_devices_are_added_up():
    """Rates and queues add up, waits are weighted by operations; a report without one has no sum."""
    stamps = [f"2026-11-20T12:00:0{second}Z" for second in range(3)]
    head = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    both = "sda 10.00 80.00 1.00 0.00 0.00 0.00 0.01 1.00\nsdb 30.00 80.00 5.00 0.00 0.00 0.00 0.02 1\n"
    text = HEADER + "".join(f"{stamp}\n{head}{both}\n" for stamp in stamps[:2]) + report(stamps[2])
    snapshot = read(text, device="sda,/dev/sdb")

    assert "devices sda, sdb" in snapshot.source
    assert 2 == snapshot.instance.storage.volume_count
    assert 40.0 == at(snapshot, Metric.READ_OPS_PER_S)[0]
    assert 0.004 == pytest.approx(at(snapshot, Metric.READ_LATENCY_S)[0])
    assert 0.03 == pytest.approx(at(snapshot, Metric.QUEUE_DEPTH)[0])
    assert np.isnan(at(snapshot, Metric.READ_OPS_PER_S)[1])


@pytest.mark.parametrize("step_s", [5, None])
def test_reports_without_times_stand_in_a_row(step_s: int | None):
    """
    From midnight of the capture's day on, and a gap says that the time of day means nothing. `iostat -x 1` is
    what people type, so steps of a second are assumed, which is said.
    """
    text = HEADER + "".join(report("", ops=n) for n in range(1, 4))
    snapshot = parse_iostat(text.encode(), where="capture", step_s=step_s)
    series = snapshot.series[Metric.READ_OPS_PER_S]
    reasons = {gap.metric: gap.reason for gap in snapshot.gaps}

    assert [2.0, 3.0] == series.value.tolist()
    # 2026-11-20T00:00:00Z
    assert [1795132800, 1795132800 + (step_s or 1)] == series.time_s.tolist()
    assert "no -t" in reasons["times"]
    assert (step_s is None) is ("1 s is assumed" in reasons.get("length of a step", ""))
    with pytest.raises(UsageError, match="have times"):
        parse_iostat(OLD.encode(), where="capture", step_s=5)


@pytest.mark.parametrize("name", ["saturated-iostat.txt", "saturated-iostat.json"])
def test_what_came_whole_before_a_cut_is_used(name: str):
    """A stream that ends in the middle of a line or an entry loses that, and the report says so."""
    data = (CAPTURES / name).read_bytes()
    whole = parse_iostat(data, where="capture")
    cut = parse_iostat(data[: len(data) * 2 // 3], where="capture")
    count = cut.series[Metric.READ_OPS_PER_S].time_s.size

    assert 20 < count < 30
    assert at(whole, Metric.READ_OPS_PER_S)[: count - 1] == at(cut, Metric.READ_OPS_PER_S)[:-1]
    assert "end of the capture" in {gap.metric for gap in cut.gaps}
    assert "end of the capture" not in {gap.metric for gap in whole.gaps}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no device report"),
        (HEADER, "no device report"),
        (HEADER + report("2026-11-20T12:00:00Z"), "no report after the one since boot"),
        (HEADER + report("") + report("2026-11-20T12:00:00Z"), "some of its reports have times"),
        (HEADER + "2026-11-20T12:00:00Z\nDevice tps kB_read/s\nsda 1.0 2.0\n", "without -x"),
        (HEADER + report("2026-13-20T12:00:00Z") * 2, "does not exist"),
        (HEADER + report("2026-11-20T12:00:00Z") * 3, "no report after"),
        ('{"sysstat": {"hosts": [', "capture"),
        ('{"sysstat": {"hosts": 3}}', "not what 'iostat -o JSON' writes"),
        ('{"sysstat": {"hosts": [{"statistics": [{"disk": [{"disk_device": "a"}]}]}]}}', "without -x"),
    ],
)
def test_what_is_no_capture_is_an_error_with_the_command_that_makes_one(text: str, says: str):
    """One clear sentence, and how to capture it right."""
    with pytest.raises(DataError) as raised:
        read(text)

    assert says in raised.value.message


def test_captures_are_recognised_by_their_first_bytes():
    """Text and JSON are, and what only looks similar is not."""
    assert is_iostat(TEXT.read_bytes()[:4096])
    assert is_iostat(JSON.read_bytes()[:4096])
    assert is_iostat(OLD.encode())
    assert not is_iostat(RECORDED.read_bytes())
    assert not is_iostat(b'{"sysstat": {"sysdata-version": 2.15, "hosts": [{"number-of-cpus": 2')
    assert not is_iostat(b"Linux 6.1.0 (db1) \t11/20/26 \t_x86_64_\t(2 CPU)\n\n12:00:01 CPU %user\n")
    assert not is_iostat(b"")


@given(st.text(alphabet="0123456789/.-:TAPMZ+ ", max_size=30))
def test_no_time_breaks_the_parser(stamp: str):
    """Any two times give a snapshot or a DataError."""
    with suppress(DataError):
        read(HEADER + report(stamp) + report(re.sub(r"\d(?=\D*$)", "9", stamp)))


@pytest.mark.parametrize("cut", [0, 30])
def test_a_capture_copied_off_a_screen_has_no_first_line(cut: int):
    """It may begin in the middle of a table; what stands before the first head is passed over."""
    text = "sda 5.00 80.00 2.00 0.00 0.00 0.00 0.01 1.00\n\n"[cut:] + report("") * 12

    assert is_iostat(text.encode())
    assert [5.0] * 11 == at(read(text), Metric.READ_OPS_PER_S)
    assert not is_iostat(b"Device, r/s, w/s\n")
