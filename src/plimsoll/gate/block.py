"""
Block mode: ext4 on a loop device over the one image file that the gate serves.

So the journal, the merging of requests and the queue are those of a real block device. It takes root.
Everything that is set up is handed to the keeper first, which undoes it in reverse whatever becomes
of us.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.gate.place import find_tool
from plimsoll.units import GIB, format_bytes, gib

IMAGE = "disk.img"
_TOOLS = {"losetup": "mount", "mkfs.ext4": "e2fsprogs", "mount": "mount", "umount": "mount"}

# Room that stays free on the host: a loop device whose file cannot grow answers with I/O errors, not
# with "no space left".
_HOST_SHARE = 0.9
# A database's empty cluster and its first log files fit; less is a folder on the wrong disk.
_IMAGE_MIN_BYTES = GIB // 4

# The tables of inodes would be zeroed in the background, through the gate and on its credits; on a
# fresh sparse file they are zero already.
_MAKE = ("-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard")
_MOUNT_OPTIONS = "noinit_itable,nodiscard,noatime"

Undo = Callable[[list[str]], None]


def check_block(*, is_root: bool | None = None) -> None:
    """
    Refuse block mode where it cannot be.

    Raises:
        UsageError: we are not root, or a program is missing.
    """
    if not (os.geteuid() == 0 if is_root is None else is_root):
        raise UsageError(
            "block mode sets up a loop device and mounts ext4 on it, which only root may",
            "Leave out --mode block, or run as root.",
        )
    for tool, package in _TOOLS.items():
        if find_tool(tool) is None:
            raise UsageError(
                f"block mode needs the program '{tool}', and it is not installed",
                f"Install it with 'sudo apt-get install {package}'.",
            )


def make_image(backing: Path, size_gib: float | None) -> Path:
    """
    Return the image file with an empty ext4 in it; one that is there is used as it is.

    It is made in the backing folder, not through the gate, so that it costs no credits. The file is
    sparse, as large as the storage that is emulated, or as most of the host's free space.

    Raises:
        SourceError: there is no room, or mkfs.ext4 failed.
    """
    image = backing / IMAGE
    if image.is_symlink():
        raise SourceError(
            f"'{image}' is a link, which would be followed as root",
            "Remove it, or choose another --backing folder.",
        )
    if image.exists():
        return image
    room_bytes = int(shutil.disk_usage(backing).free * _HOST_SHARE)
    size_bytes = room_bytes if size_gib is None else min(room_bytes, int(gib(size_gib)))
    if size_bytes < _IMAGE_MIN_BYTES:
        raise SourceError(
            f"'{backing}' has {format_bytes(room_bytes)} of room for an image",
            f"Choose a --backing folder with {format_bytes(_IMAGE_MIN_BYTES)} or more.",
        )
    # Renamed only when it is whole: an image that is there is always taken for a file system.
    part = backing / f".{IMAGE}.part"
    try:
        part.unlink(missing_ok=True)
        # A file of ours: whatever was put in its place meanwhile is refused.
        with part.open("xb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", *_MAKE, str(part))
        part.replace(image)
    finally:
        part.unlink(missing_ok=True)
    return image


def attach(image: Path, mount: Path, undo: Undo) -> None:
    """
    Put a loop device over the image as the gate serves it, and mount its ext4.

    Args:
        image: the file below the daemon's mount.
        mount: folder at which the file system appears.
        undo: takes each command that undoes a step, before the next step.

    Raises:
        SourceError: a step failed; what was done is undone by whom `undo` told.
    """
    # Nothing but the gate may cache, so that a request of ext4 is a request to the gate.
    device = _run("losetup", "--direct-io=on", "--find", "--show", str(image)).strip()
    # Told before the next step, so that nothing stays if we are killed between two of them.
    undo([_path("losetup"), "-d", device])
    # A file system that is still in use is detached: it goes when the last file is closed.
    undo([_path("umount"), "-l", str(mount)])
    undo([_path("umount"), str(mount)])
    _run("mount", "-t", "ext4", "-o", _MOUNT_OPTIONS, device, str(mount))


def _path(tool: str) -> str:
    found = find_tool(tool)
    assert found is not None  # check_block has looked
    return found


def _run(tool: str, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - the system's own programs
        [_path(tool), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        # These programs warn first and say what was wrong last.
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise SourceError(
            f"{tool} failed: {last}",
            "See whether loop devices are allowed here: a container needs '--privileged'.",
        )
    return done.stdout
