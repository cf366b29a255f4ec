"""
Block mode: ext4 on a loop device over the one image file that the gate serves.

The journal, the merging of requests and the queue are therefore those of a real block device. This mode
needs root. Every step is reported to the keeper before the next one. The keeper undoes the steps in
reverse order, however this process ends.
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll.units import GIB, format_bytes, gib
from plimsoll_lab.gate.place import find_tool

IMAGE = "disk.img"
_TOOLS = {"losetup": "mount", "mkfs.ext4": "e2fsprogs", "mount": "mount", "umount": "mount"}

# Keep this share of the host's free space at most: a loop device whose file cannot grow returns I/O
# errors instead of "no space left".
_HOST_SHARE = 0.9
# An empty database cluster and its first log files fit. Less space means a folder on the wrong disk.
_IMAGE_MIN_BYTES = GIB // 4

# Without these options the kernel zeroes the inode tables in the background, through the gate and on its
# credits (mkfs.ext4(8), lazy_itable_init). A fresh sparse file contains zeros already.
_MAKE = ("-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard")
_MOUNT_OPTIONS = "noinit_itable,nodiscard,noatime"

Undo = Callable[[list[str]], None]


def check_block(*, is_root: bool | None = None) -> None:
    """
    Check that this machine can run block mode.

    Raises:
        UsageError: we are not root, or a program is missing.
    """
    if not (os.geteuid() == 0 if is_root is None else is_root):
        raise UsageError(
            "block mode sets up a loop device and mounts ext4 on it, which only root may do",
            "Leave out --mode block, or run as root.",
        )
    for tool, package in _TOOLS.items():
        if find_tool(tool) is None:
            raise UsageError(
                f"block mode needs the program '{tool}', which is not installed",
                f"Install it with 'sudo apt-get install {package}'.",
            )


def make_image(backing: Path, size_gib: float | None) -> Path:
    """
    Return the image file with an empty ext4 in it; reuse an existing image.

    The image is made in the backing folder, not through the gate, so it costs no credits. The file is
    sparse. Its size is that of the emulated storage, or most of the host's free space.

    Raises:
        SourceError: the disk is too full, or mkfs.ext4 failed.
    """
    image = backing / IMAGE
    if image.is_symlink():
        raise SourceError(
            f"'{image}' is a symbolic link, which root would follow", "Remove it, or choose another --backing folder."
        )
    if image.exists():
        return image
    room_bytes = int(shutil.disk_usage(backing).free * _HOST_SHARE)
    size_bytes = room_bytes if size_gib is None else min(room_bytes, int(gib(size_gib)))
    if size_bytes < _IMAGE_MIN_BYTES:
        raise SourceError(
            f"'{backing}' has only {format_bytes(room_bytes)} free for an image",
            f"Choose a --backing folder with {format_bytes(_IMAGE_MIN_BYTES)} or more.",
        )
    # Rename only a complete image: the next start uses any file of this name as a file system.
    part = backing / f".{IMAGE}.part"
    try:
        part.unlink(missing_ok=True)
        # Mode "x" fails if somebody else created the file since the unlink above.
        with part.open("xb") as file:
            file.truncate(size_bytes)
        _run("mkfs.ext4", *_MAKE, str(part))
        part.replace(image)
    finally:
        part.unlink(missing_ok=True)
    return image


def attach(image: Path, mount: Path, undo: Undo) -> None:
    """
    Set up a loop device on the image that the gate serves, and mount its ext4.

    Args:
        image: the file below the daemon's mount.
        mount: folder where the file system appears.
        undo: called with each command that undoes a step, before the next step.

    Raises:
        SourceError: a step failed; the receiver of `undo` undoes the earlier ones.
    """
    # Direct I/O, so that no cache lies between ext4 and the gate: each request of ext4 reaches the gate.
    device = _run("losetup", "--direct-io=on", "--find", "--show", str(image)).strip()
    # Register it before the next step, so that nothing stays if we are killed between the two.
    undo([_path("losetup"), "-d", device])
    # Fallback for a file system in use: a lazy unmount ends when the last file is closed (umount(8), -l).
    undo([_path("umount"), "-l", str(mount)])
    undo([_path("umount"), str(mount)])
    _run("mount", "-t", "ext4", "-o", _MOUNT_OPTIONS, device, str(mount))


def _path(tool: str) -> str:
    found = find_tool(tool)
    assert found is not None  # check_block found it
    return found


def _run(tool: str, *arguments: str) -> str:
    done = subprocess.run(  # noqa: S603 - the system's own programs
        [_path(tool), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        # These programs print warnings first and the error last.
        last = (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]
        raise SourceError(
            f"{tool} failed: {last}", "See whether loop devices are allowed here: a container needs '--privileged'."
        )
    return done.stdout
