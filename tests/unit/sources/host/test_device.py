"""The device to record is the one under the database, and it is named."""

import os
from pathlib import Path

import pytest

from plimsoll.errors import SourceError, UsageError
from plimsoll.sources.host.counters import DiskCounters
from plimsoll.sources.host.device import BlockDevices, DeviceChoice, choose, look, size_bytes


def moved(sectors: int) -> DiskCounters:
    return DiskCounters(
        read_ops=1, read_sectors=sectors, read_ms=0, write_ops=0, write_sectors=0, write_ms=0, weighted_ms=0
    )


HOST = BlockDevices(
    counters={
        "loop0": moved(900),
        "zram0": moved(900),
        "nvme0n1": moved(10),
        "nvme0n1p1": moved(700),
        "nvme1n1": moved(500),
        "dm-0": moved(800),
    },
    partitions=frozenset({"nvme0n1p1"}),
    stacked=frozenset({"dm-0"}),
)


def test_auto_takes_the_device_under_the_data():
    """The device that holds the directory wins over a busier one."""
    found = BlockDevices(counters=HOST.counters, holding="nvme0n1", directory="/var/lib/postgresql")

    choice = choose("auto", found)

    assert ("nvme0n1",) == choice.devices
    assert "holds /var/lib/postgresql" == choice.reason
    assert "/var/lib/postgresql" == choice.mount


def test_auto_else_takes_the_busiest_whole_disk():
    """Partitions, stacked devices, loops and compressed memory are no disks of their own."""
    assert DeviceChoice(devices=("nvme1n1",), reason="busiest disk since boot") == choose("auto", HOST)


@pytest.mark.parametrize(
    ("asked", "devices"),
    [
        ("nvme1n1", ("nvme1n1",)),
        ("/dev/nvme1n1", ("nvme1n1",)),
        ("nvme0n1p1", ("nvme0n1p1",)),
        ("zram0", ("zram0",)),
        ("nvme1n1, /dev/nvme0n1,nvme1n1", ("nvme1n1", "nvme0n1")),
    ],
)
def test_a_named_device_is_taken_whatever_it_is(asked: str, devices: tuple[str, ...]):
    """A name, a path, a partition, several at once; twice the same counts once."""
    assert devices == choose(asked, HOST).devices


@pytest.mark.parametrize(
    ("asked", "found", "error", "hint"),
    [
        # The hint names the devices there are.
        *((asked, HOST, UsageError, "nvme1n1") for asked in ("nvme9n1", "", ",", "/dev/disk/by-id/x")),
        # A container may show none; the hint says so.
        ("auto", BlockDevices(counters={"loop0": moved(1), "ram0": moved(1)}), SourceError, "--device"),
    ],
)
def test_a_device_that_is_not_there_is_an_error(asked: str, found: BlockDevices, error, hint: str):
    with pytest.raises(error) as raised:
        choose(asked, found)

    assert hint in raised.value.hint


def fake_root(tmp_path: Path, *, number: str, node: str) -> Path:
    """A root with /proc/diskstats and a sysfs in which `number` is the device `node`."""
    line = "259 0 {} 1 2 3 4 5 6 7 8 9 10 11\n"
    names = ("nvme1n1", "nvme1n1p1", "dm-0")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/diskstats").write_text("".join(map(line.format, names)))
    devices = tmp_path / "sys/devices/pci/nvme1n1"
    (devices / "nvme1n1p1").mkdir(parents=True)
    (devices / "nvme1n1p1/partition").write_text("1\n")
    (devices / "size").write_text("2048\n")
    (tmp_path / "sys/devices/virtual/dm-0/slaves/nvme1n1").mkdir(parents=True)
    block = tmp_path / "sys/class/block"
    block.mkdir(parents=True)
    (block / "nvme1n1").symlink_to(devices)
    (block / "nvme1n1p1").symlink_to(devices / "nvme1n1p1")
    (block / "dm-0").symlink_to(tmp_path / "sys/devices/virtual/dm-0")
    numbers = tmp_path / "sys/dev/block"
    numbers.mkdir(parents=True)
    (numbers / number).symlink_to(block / node)
    return tmp_path


def number_of(path: Path) -> str:
    number = path.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


@pytest.mark.parametrize(
    ("number", "node", "mount", "holding"),
    [
        pytest.param(None, "nvme1n1p1", "", "nvme1n1", id="limits bound the disk, not the partition"),
        pytest.param(None, "dm-0", "", "dm-0", id="a logical volume has counters of its own"),
        # btrfs has a device number that sysfs does not know; the mount table names the partition.
        ("0:999", "dm-0", "30 1 0:45 / {} rw - btrfs /dev/nvme1n1p1 rw\n", "nvme1n1"),
        pytest.param("0:999", "dm-0", "1 0 0:1 / / rw - tmpfs tmpfs rw\n", None, id="in memory"),
    ],
)
def test_a_directory_leads_to_its_device(tmp_path: Path, number, node, mount, holding):
    """By the number of its file system, else by its mount; another machine's directory leads to none."""
    root = fake_root(tmp_path, number=number or number_of(tmp_path), node=node)
    if mount:
        first = "1 0 0:1 / / rw - overlay overlay rw\n"
        (root / "proc/self/mountinfo").write_text(first + mount.format(tmp_path))

    found = look(str(tmp_path), root)

    assert (holding, {"nvme1n1p1"}, {"dm-0"}) == (found.holding, found.partitions, found.stacked)
    assert None is look("/no/such/directory", root).holding
    assert None is look(None, root).holding
    # sysfs gives 512-byte sectors whatever the device's own are; unknown stays unknown.
    assert 2048 * 512 == size_bytes(("nvme1n1",), root)
    assert None is size_bytes(("nvme1n1", "dm-0"), root)


def test_a_host_without_counters_is_an_error(tmp_path: Path):
    """Without /proc/diskstats there is nothing to record."""
    with pytest.raises(SourceError) as raised:
        look(None, tmp_path)

    assert "/proc/diskstats" in raised.value.message
