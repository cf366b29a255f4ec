"""The texts of /proc become counters, or one clear error."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.errors import DataError
from plimsoll.sources.host.counters import (
    DiskCounters,
    NetworkCounters,
    parse_diskstats,
    parse_loadavg,
    parse_meminfo,
    parse_mountinfo,
    parse_net_dev,
    parse_stat,
    summed,
)

DISKSTATS = """\
   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 259       0 nvme1n1 71721 25647 4557842 40028 10400 35619 3139408 6484 3 11776 46947 3830 59 248 421 397 12
 259       1 nvme1n1p1 1 2 3 4 5 6 7 8 9 10 11
"""
STAT = """\
cpu  7590 10 3314 224530 1148 20 69 30 500 0
cpu0 1968 0 1052 115188 64 0 14 1 0 0
cpu1 5621 0 2261 109342 1084 0 54 8 0 0
intr 282613 0 0
"""
MEMINFO = """\
MemTotal:       24684092 kB
MemFree:        23943544 kB
MemAvailable:   24244404 kB
SwapTotal:       1000000 kB
SwapFree:         750000 kB
HugePages_Total:       0
"""
NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0:734814159   24460    0    0    0     0          0         0  1572280   16730    0    0    0     0       0          0
"""


def test_a_disk_line_of_today_and_of_old_gives_the_same_counters():
    """
    The first eleven counters have kept their places while later kernels added discards and flushes. A line of
    before 2008 has seven fields and no times, so it cannot be used and does no harm.
    """
    disks = parse_diskstats(DISKSTATS + "   8    1 sda1 35486 38030 38030 38030\n")

    assert {
        "nvme1n1": DiskCounters(
            read_ops=71721, read_sectors=4557842, read_ms=40028,
            write_ops=10400, write_sectors=3139408, write_ms=6484, weighted_ms=46947,
        ),
        "nvme1n1p1": DiskCounters(
            read_ops=1, read_sectors=3, read_ms=4, write_ops=5, write_sectors=7, write_ms=8, weighted_ms=11
        ),
    } == {name: counters for name, counters in disks.items() if name != "loop0"}  # fmt: skip
    assert "loop0" in disks


@pytest.mark.parametrize(
    ("parse", "text", "says"),
    [
        (parse_diskstats, DISKSTATS + "259 0 nvme1n1 1 2 3", "line 4 of /proc/diskstats"),
        (parse_diskstats, DISKSTATS + "8 0 a 1 2 3 4 5 6 7 eight 9 10 11", "line 4 of /proc/disk"),
        (parse_diskstats, DISKSTATS + "8 0 a 1 2 3 -4 5 6 7 8 9 10 11", "line 4 of /proc/diskstats"),
        # A /proc/stat without its first line is no Linux.
        (parse_stat, "intr 1 2 3\n", "/proc/stat"),
        # Free memory alone does not say what can be freed.
        (parse_meminfo, "MemTotal: 8 kB\nMemFree: 4 kB\n", "MemAvailable"),
        # Nothing but digits and one point is a load.
        *((parse_loadavg, text, "/proc/loadavg") for text in ("", "nan 1 2", "-1 0 0", "1.2.3", "²")),
    ],
)
def test_what_the_kernel_never_writes_is_an_error_that_says_where(parse, text: str, says: str):
    with pytest.raises(DataError) as raised:
        parse(text)

    assert says in raised.value.message


def test_memory_is_in_bytes_and_load_is_the_first_number():
    """/proc/meminfo says kB and means KiB; swap in use is total less free, and none without swap lines."""
    memory = parse_meminfo(MEMINFO)

    assert 24684092 * 1024 == memory.total_bytes
    assert 24244404 * 1024 == memory.available_bytes
    assert 250000 * 1024 == memory.swap_bytes
    assert 0 == parse_meminfo("MemTotal: 8 kB\nMemAvailable: 4 kB\n").swap_bytes
    assert 2.37 == parse_loadavg("2.37 1.34 0.69 2/95 9277\n")


def test_stolen_time_is_busy_and_waiting_for_disk_is_idle():
    """Busy sums user, nice, system, interrupts and steal; guests are in user already."""
    cpu = parse_stat(STAT)

    assert 7590 + 10 + 3314 + 20 + 69 + 30 == cpu.busy_ticks
    assert 224530 + 1148 == cpu.idle_ticks
    assert 2 == cpu.cpu_count


def test_interfaces_are_read_even_where_the_colon_touches():
    """A large counter leaves no space after the colon."""
    found = parse_net_dev(NET_DEV)

    assert NetworkCounters(received_bytes=734814159, sent_bytes=1572280) == found["eth0"]
    assert 734814159 + 3193 == summed(found).received_bytes


def test_a_mount_point_with_a_space_keeps_it():
    r"""mountinfo writes a space as \040."""
    text = (
        "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
        "30 27 0:45 /data /srv/my\\040data rw shared:1 - btrfs /dev/nvme1n1p1 rw,subvol=/data\n"
    )

    assert {"/": "/dev/vda", "/srv/my data": "/dev/nvme1n1p1"} == parse_mountinfo(text)


@pytest.mark.parametrize("parse", [parse_diskstats, parse_stat, parse_meminfo, parse_loadavg, parse_net_dev])
@given(st.text(alphabet=st.sampled_from("cpu: \n0123456789-.kBeMmTotalAvailable½²\t"), max_size=200))
def test_no_text_breaks_a_parser(parse, text: str):
    """Any text gives counters or a DataError, never another exception."""
    with suppress(DataError):
        parse(text)


@given(st.text(max_size=200))
def test_no_mount_table_breaks_its_parser(text: str):
    """The mount table only helps to choose, so what is odd in it is passed over."""
    assert isinstance(parse_mountinfo(text), dict)
