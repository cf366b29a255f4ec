"""
Choose the block device to record, and the file system for its free space.

`choose` makes the choice without reading files; `look` reads what it chooses from.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.sources.host.counters import SECTOR_BYTES, DiskCounters, parse_diskstats, parse_mountinfo

# Devices of memory and images: their requests do not load the disk of a database.
_NOT_DISKS = ("loop", "ram", "zram", "sr", "fd", "nbd")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDevices:
    """The block devices of the host, for the choice of a device."""

    counters: Mapping[str, DiskCounters]
    """Every block device of /proc/diskstats and its counters since it appeared."""
    partitions: frozenset[str] = frozenset()
    """Names that are parts of another device."""
    stacked: frozenset[str] = frozenset()
    """Names of devices on top of others (LVM, RAID, encryption), whose requests the lower ones count again."""
    holding: str | None = None
    """The device under the requested directory; None if it is none of them (tmpfs, network)."""
    directory: str | None = None
    """The requested directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceChoice:
    """The devices to record, and the reason."""

    devices: tuple[str, ...]
    """One name or more, as in /proc/diskstats."""
    reason: str
    """Reason, for reports: `holds /var/lib/postgresql`, `busiest disk since boot`, `named`."""
    mount: str | None = None
    """A directory on them whose file system shows the free space; None if none is known."""


def choose(asked: str, found: BlockDevices) -> DeviceChoice:
    """
    Return the devices to record.

    Args:
        asked: `auto`, or names separated by commas, with or without `/dev/`.
        found: the host's devices.

    Raises:
        UsageError: the host has no device of this name.
        SourceError: `auto` on a host without a visible disk.
    """
    if asked.strip() != "auto":
        return _named(asked, found)
    if found.holding is not None:
        return DeviceChoice(devices=(found.holding,), reason=f"holds {found.directory}", mount=found.directory)
    disks = {
        name: counters
        for name, counters in found.counters.items()
        if name not in found.partitions | found.stacked and not name.startswith(_NOT_DISKS)
    }
    if not disks:
        raise SourceError(
            "/proc/diskstats shows no disk on this host",
            "Name a device with --device; a container may hide the disks of its host.",
        )
    busiest = max(disks, key=lambda name: (disks[name].sectors, name))
    return DeviceChoice(devices=(busiest,), reason="busiest disk since boot")


def _named(asked: str, found: BlockDevices) -> DeviceChoice:
    names = tuple(dict.fromkeys(n for n in (part.strip() for part in asked.split(",")) if n))
    devices = tuple(name.removeprefix("/dev/") for name in names)
    for device in devices:
        if device not in found.counters:
            known = [n for n in found.counters if not n.startswith(_NOT_DISKS)]
            raise UsageError(
                f"device '{device}' is not in /proc/diskstats",
                f"This host has {', '.join(known) or 'no visible disk'}.",
            )
    if not devices:
        raise UsageError("no device was named", "Use --device auto, or a name, for example nvme1n1.")
    mount = found.directory if found.holding in devices else None
    return DeviceChoice(devices=devices, reason="named", mount=mount)


def look(directory: str | None, root: Path = Path("/")) -> BlockDevices:
    """
    Read the block devices of the host.

    Args:
        directory: data directory of the database; None if not known.
        root: parent of /proc and /sys; another one in tests.

    Raises:
        SourceError: no /proc/diskstats: not a Linux host, or its counters are hidden.
    """
    try:
        counters = parse_diskstats((root / "proc/diskstats").read_text())
    except OSError as error:
        raise SourceError(
            f"unable to read /proc/diskstats: {error.strerror}",
            "'record host' reads Linux counters; run it on the database's Linux host.",
        ) from error
    block = root / "sys/class/block"
    partitions = frozenset(n for n in counters if (block / n / "partition").exists())
    stacked = frozenset(n for n in counters if _has_parts(block / n / "slaves"))
    holding = _holding(directory, counters, root) if directory is not None else None
    return BlockDevices(counters=counters, partitions=partitions, stacked=stacked, holding=holding, directory=directory)


def size_bytes(devices: tuple[str, ...], root: Path = Path("/")) -> int | None:
    """Return the total size of the devices from sysfs; None if one has no size."""
    total = 0
    for device in devices:
        try:
            total += int((root / "sys/class/block" / device / "size").read_text()) * SECTOR_BYTES
        except (OSError, ValueError):
            return None
    return total or None


def _has_parts(slaves: Path) -> bool:
    try:
        return any(slaves.iterdir())
    except OSError:
        return False


def _holding(directory: str, counters: Mapping[str, DiskCounters], root: Path) -> str | None:
    """Return the whole device under a directory, by its device number or else by its mount."""
    name = _numbered(directory, root) or _mounted_from(directory, root)
    if name is None or not _may_exist(directory):
        return None
    whole = _whole(name, root)
    return whole if whole in counters else None


def _numbered(directory: str, root: Path) -> str | None:
    try:
        number = Path(directory).stat().st_dev
    except OSError:
        return None
    node = root / f"sys/dev/block/{os.major(number)}:{os.minor(number)}"
    return node.resolve().name if node.exists() else None


def _may_exist(directory: str) -> bool:
    # A data directory that only the server's user may enter exists, although stat fails. One of another
    # machine or of a container does not exist here.
    try:
        Path(directory).stat()
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _whole(name: str, root: Path) -> str:
    """
    Return the disk of a partition, and any other device unchanged.

    Limits apply to the whole disk, so the whole disk is recorded.
    """
    node = root / "sys/class/block" / name
    return node.resolve().parent.name if (node / "partition").exists() else name


def _mounted_from(directory: str, root: Path) -> str | None:
    # btrfs and overlays have device numbers of their own, but the mount table names the disk.
    try:
        sources = parse_mountinfo((root / "proc/self/mountinfo").read_text())
    except OSError:
        return None
    path = Path(directory).resolve()
    for point in (path, *path.parents):
        source = sources.get(str(point))
        if source is not None:
            return Path(source).resolve().name if source.startswith("/dev/") else None
    return None
