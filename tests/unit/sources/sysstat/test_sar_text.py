"""sar's text is read in whatever language, clock and version it was printed."""

from pathlib import Path

import pytest

from plimsoll.errors import DataError
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll.model.snapshot_file.codec import decode_snapshot, encode_snapshot
from plimsoll.sources.sysstat.recognise import is_host_capture
from plimsoll.sources.sysstat.sar_text import is_sar_text
from unit.sources.sysstat.fixture_sar import COLUMNS, DAY_S, HEADER, NOON_S, at, gaps, line, read, table

TEXT = (Path(__file__).parent / "captures/sar.txt").read_text()

SYSSTAT_10 = """\
Linux 3.10.0-1160.el7.x86_64 (db1) \t11/20/2026 \t_x86_64_\t(8 CPU)

11:40:01 AM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     await     svctm     %util
11:50:01 AM    dev8-0    100.00   2000.00   6000.00     80.00      2.50     25.00      1.00     10.00
11:50:01 AM   dev8-16      1.00      0.00     20.00     20.00      0.00      1.00      1.00      0.10
12:00:01 PM    dev8-0    200.00   4000.00  12000.00     80.00      5.00     50.00      1.00     20.00
12:00:01 PM   dev8-16      1.00      0.00     20.00     20.00      0.00      1.00      1.00      0.10
Average:       dev8-0    150.00   3000.00   9000.00     80.00      3.75     37.50      1.00     15.00
Average:      dev8-16      1.00      0.00     20.00     20.00      0.00      1.00      1.00      0.10
"""
SYSSTAT_11 = """\
Linux 4.14.0 (db1) \t2026-11-20 \t_x86_64_\t(8 CPU)

11:58:00          DEV       tps     rkB/s     wkB/s   areq-sz    aqu-sz     await     svctm     %util
11:59:00      nvme1n1    100,00   1000,00   3000,00     40,00      2,50     25,00      1,00     10,00
12:00:00      nvme1n1    200,00   2000,00   6000,00     40,00      5,00     50,00      1,00     20,00
Durchschn.:   nvme1n1    150,00   1500,00   4500,00     40,00      3,75     37,50      1,00     15,00
"""
SYSSTAT_12_PRETTY = """\
Linux 6.1.0 (db1) \t20.11.2026 \t_aarch64_\t(8 CPU)

11:58:00          tps     rkB/s     wkB/s     dkB/s   areq-sz    aqu-sz     await     %util DEV
11:59:00       100.00   1000.00   3000.00      0.00     40.00      2.50     25.00     10.00 nvme1n1
12:00:00       200.00   2000.00   6000.00      0.00     40.00      5.00     50.00     20.00 nvme1n1
Average:       150.00   1500.00   4500.00      0.00     40.00      3.75     37.50     15.00 nvme1n1
"""


@pytest.mark.parametrize(
    ("text", "device", "step_s", "start_s"),
    [
        (SYSSTAT_10, "dev8-0", 600, NOON_S - 1199),
        (SYSSTAT_11, "nvme1n1", 60, NOON_S - 120),
        (SYSSTAT_12_PRETTY, "nvme1n1", 60, NOON_S - 120),
    ],
    ids=["sysstat 10", "sysstat 11", "sysstat 12 pretty"],
)
def test_columns_of_every_version_mean_the_same(text: str, device: str, step_s: int, start_s: int):
    """Sectors are 512 bytes and kB 1024; columns are found by name, the device first or last."""
    snapshot = read(text)
    series = snapshot.series[Metric.READ_BYTES_PER_S]

    assert device in snapshot.source
    assert [1024 * 1000, 1024 * 2000] == series.value.tolist()
    assert [1024 * 3000, 1024 * 6000] == at(snapshot, Metric.WRITE_BYTES_PER_S)
    assert [2.5, 5.0] == at(snapshot, Metric.QUEUE_DEPTH)
    assert [0.025, 0.050] == at(snapshot, Metric.READ_LATENCY_S)
    assert (step_s, [start_s, start_s + step_s]) == (series.step_s, series.time_s.tolist())
    assert snapshot == decode_snapshot(encode_snapshot(snapshot))


def test_a_day_goes_on_after_midnight():
    """Times have no date: one half a day before the last is the next day's, for each activity anew."""
    text = table(
        "23:40:00",
        line("23:50:00", 1),
        line("00:00:00", 2),
        f"\n00:00:00 {COLUMNS}\n",  # a header again, as on every screenful
        line("00:10:00", 3),
    )
    cpu = (
        "\n23:40:00 CPU %user %nice %system %iowait %steal %idle\n"
        "23:50:00 all 10.00 0.00 0.00 20.00 0.00 70.00\n"
        "00:00:00 all 20.00 0.00 0.00 20.00 0.00 60.00\n"
        "00:00:00 0 99.00 0.00 0.00 1.00 0.00 0.00\n"
        "00:10:00 all 30.00 0.00 0.00 20.00 0.00 50.00\n"
    )
    snapshot = read(text + cpu)
    midnight_s = NOON_S + DAY_S // 2

    times = snapshot.series[Metric.READ_OPS_PER_S].time_s
    assert [midnight_s - 1200, midnight_s - 600, midnight_s] == times.tolist()
    assert pytest.approx([0.1, 0.2, 0.3]) == at(snapshot, Metric.CPU_RATIO)


def test_several_days_one_after_another_are_one_snapshot():
    """Each run begins with its date, so `cat` of the days' texts can be read at once."""
    days = [table("12:00:00", line("12:10:00"), header=HEADER.replace("-20", f"-{day}")) for day in (20, 21)]
    times = read("".join(days)).series[Metric.READ_BYTES_PER_S].time_s

    assert [NOON_S, NOON_S + DAY_S] == times.tolist()


def test_a_restart_is_a_gap_and_an_event():
    """The steps before and after it count; what lies between is not filled; the timeline shows it."""
    text = table(
        "12:00:00",
        line("12:10:00"),
        "\n12:14:30     LINUX RESTART\t(8 CPU)\n",
        f"\n12:20:00 {COLUMNS}\n",
        line("12:30:00"),
        "12:30:00  COM someone was here\n",
        line("12:40:00"),
    )
    snapshot = read(text)
    times = snapshot.series[Metric.READ_BYTES_PER_S].time_s

    assert [NOON_S, NOON_S + 1200, NOON_S + 1800] == times.tolist()
    (event,) = snapshot.annotations
    assert (NOON_S + 870, EventKind.RESTART) == (event.time_s, event.kind)


@pytest.mark.parametrize(
    ("date", "day_s"),
    [
        ("2026-11-20", 0),
        ("11/20/26", 0),
        ("11/20/2026", 0),
        ("20/11/26", 0),
        ("20.11.2026", 0),
        ("20-11-26", 0),
        ("2026年11月20日", 0),
        ("11/21/26", DAY_S),
    ],
)
def test_dates_of_many_locales_are_read(date: str, day_s: int):
    """A number above twelve is a day; with points and dashes the day comes first."""
    text = table("12:00:00", line("12:00:01"), header=HEADER.replace("2026-11-20", date))

    assert NOON_S + day_s == read(text).series[Metric.READ_BYTES_PER_S].time_s[0]
    assert "date" not in gaps(read(text))


def test_a_date_that_could_be_two_is_said_to_be():
    """5 April or 4 May: the C locale's order is taken and named, unless the clock has halves."""
    header = HEADER.replace("2026-11-20", "04/05/26")
    whole = table("12:00:00", line("12:00:01"), header=header)
    halved = table("12:00:00 PM", line("12:00:01 PM"), header=header)

    assert "date" in gaps(read(whole))
    assert "date" not in gaps(read(halved))
    assert read(whole).window_s == read(halved).window_s


def test_a_line_that_was_cut_is_not_read():
    """A stream that ends in the middle of a number would give a smaller one."""
    text = table("12:00:00", line("12:00:01"), line("12:00:02"), line("12:00:03", 777))
    for cut in (text[:-2], text[:-20]):
        snapshot = read(cut)
        assert [25, 25] == at(snapshot, Metric.READ_OPS_PER_S)
        assert "ends in the middle" in gaps(snapshot)["end of the capture"].reason
    assert "end of the capture" not in gaps(read(text))


def test_numbers_for_people_are_read_and_called_rounded():
    """-h shortens 17510.4 kB/s to 17.1M; the unit counts, and a gap says how exact that is."""
    columns = "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util DEV"
    text = f"{HEADER}12:00:00 {columns}\n12:00:01 4325.00 17.1M 512.0k 0.0k 5.0k 0.37 0.08 29.2% vda\n"
    snapshot = read(text)

    assert [pytest.approx(17.1 * 1024**2)] == at(snapshot, Metric.READ_BYTES_PER_S)
    assert [512 * 1024] == at(snapshot, Metric.WRITE_BYTES_PER_S)
    assert "three digits" in gaps(snapshot)["rates"].reason


def test_colours_and_greetings_do_no_harm():
    """`ssh -t` makes sar think it has a terminal, and the host may greet before sar speaks."""
    text = table("12:00:00", line("12:00:01").replace("vda", "\x1b[34;22mvda\x1b[0m"))
    greeted = "Welcome to db1!\r\n" + text.replace("\n", "\r\n")

    assert is_host_capture(greeted.encode())
    assert [25] == at(read(greeted), Metric.READ_OPS_PER_S)
    assert "device vda" in read(greeted).source


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEADER, "no sample of disks"),
        (table("12:00:00"), "no sample of disks"),
        (f"{HEADER}12:00:00 CPU %user %iowait %idle\n12:00:01 all 1.00 1.00 98.00\n", "no sample"),
        (table("12:00:01", line("12:00:01")), "state the length of any step"),
        (table("12:00:00", line("12:00:01"), header=HEADER.replace("-11-", "-13-")), "does not exist"),
        (table("12:00:00", line("12:00:01"), header=HEADER.replace("-20", "")), "date that cannot"),
        (f"{HEADER}12:00:00 DEV tps\n12:00:01 vda 1.00\n", "no rates of reads and writes"),
    ],
)
def test_what_is_no_use_is_an_error_with_the_command_that_is(text: str, says: str):
    """One clear sentence, and how to capture it right."""
    with pytest.raises(DataError) as raised:
        read(text)

    assert says in raised.value.message
    assert "sar -d" in raised.value.hint


def test_sar_is_recognised_by_its_first_lines():
    """So is nothing else that begins with Linux."""
    assert is_sar_text(TEXT[:3000].encode())
    assert is_sar_text(SYSSTAT_10.encode())
    assert not is_sar_text(b"Linux is a kernel (of sorts)")
    assert not is_sar_text(b"time,ReadIOPS\n2026-11-20T12:00:00Z,5\n")
