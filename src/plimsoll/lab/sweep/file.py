"""
The file that a sweep of a path reads.

Rule 1: nothing of the user's is written to. A file that is there is opened for reading only.
Rule 2: a file of our own has no name from the moment it exists, so nothing of it stays behind,
        however we end.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.lab.sweep.plan import Told
from plimsoll.units import GIB, MIB, format_bytes

# Smaller files are soon all in some cache below us.
FILE_MIN_BYTES = 256 * MIB
# Larger than the caches of most disks, and written in seconds.
OWN_BYTES = GIB
# Random bytes are made as quickly as disks write at this size.
_CHUNK_BYTES = 4 * MIB

# Blocks that were never written are not read from the disk either.
_WRITTEN_MIN = 0.95

_IN_MEMORY = ("tmpfs", "ramfs")


class SweepFile(Struct, frozen=True, kw_only=True):
    """What is read, and written if it is our own."""

    path: str
    """By which any program can open it."""
    size_bytes: int
    is_own: bool
    told: str
    """What it is, for people."""


@contextmanager
def file_at(place: Path, *, allow_writes: bool, own_bytes: int, tell: Told) -> Iterator[SweepFile]:
    """
    A file to sweep, for as long as the block lasts.

    Args:
        place: a file, or a folder.
        allow_writes: whether a file of our own may be made in a folder; without it the largest file
            that lies there is read.
        own_bytes: how large ours shall be.
        tell: takes lines of progress.

    Raises:
        UsageError: no such place, no file there that is large enough, or no right to it.
    """
    _check_place(place)
    if place.is_file():
        if allow_writes:
            raise UsageError(
                f"--allow-writes would write to '{place}', which is a file of yours",
                "Leave it out to read the file, or name the folder: then a temporary file is made.",
            )
        yield _existing(place)
    elif allow_writes:
        with _own(place, own_bytes, tell) as own:
            yield own
    else:
        yield _largest(place)


def _check_place(place: Path) -> None:
    if not place.exists():
        raise UsageError(f"'{place}' does not exist", "Name a folder of the disk, or a large file.")
    if not (place.is_file() or place.is_dir()):
        raise UsageError(
            f"'{place}' is neither a file nor a folder",
            "Name a folder of the disk, or a large file on it.",
        )
    kind = _file_system(place)
    if kind in _IN_MEMORY:
        raise UsageError(
            f"'{place}' lies in memory ({kind}), not on a disk",
            "Name a folder on the disk you mean.",
        )


def _existing(path: Path) -> SweepFile:
    about = path.stat()
    if not os.access(path, os.R_OK):
        raise UsageError(f"'{path}' may not be read", "Check its rights.")
    if about.st_size < FILE_MIN_BYTES:
        raise UsageError(
            f"'{path}' has {format_bytes(about.st_size)}, too little to be read from the disk for long",
            f"Name a file of at least {format_bytes(FILE_MIN_BYTES)}, or a folder with --allow-writes.",
        )
    # st_blocks counts 512 bytes each, whatever the file system's block (stat(2)).
    if about.st_blocks * 512 < _WRITTEN_MIN * about.st_size:
        raise UsageError(
            f"'{path}' has holes, which are not read from the disk",
            "Name a file that was written throughout, or a folder with --allow-writes.",
        )
    return SweepFile(
        path=str(path.resolve()),
        size_bytes=about.st_size,
        is_own=False,
        told=f"'{path}', {format_bytes(about.st_size)}, read only",
    )


def _largest(folder: Path) -> SweepFile:
    """Return the largest file of the folder, at any depth on the same disk, that can be read throughout."""
    device = folder.stat().st_dev
    found: tuple[int, str] | None = None
    for where, folders, names in os.walk(folder):
        # Another disk below the folder is not the one that was named.
        folders[:] = [name for name in folders if _is_on(Path(where, name), device)]
        for name in names:
            path = Path(where, name)
            size = _readable_bytes(path, device)
            if size >= FILE_MIN_BYTES and (found is None or (size, str(path)) > found):
                found = size, str(path)
    if found is None:
        raise UsageError(
            f"'{folder}' holds no file of {format_bytes(FILE_MIN_BYTES)} or more that could be read",
            f"Give --allow-writes: then a temporary file of {format_bytes(OWN_BYTES)} is made there, read, "
            "written and removed. Or name a large file.",
        )
    return _existing(Path(found[1]))


def _is_on(path: Path, device: int) -> bool:
    try:
        return not path.is_symlink() and path.stat().st_dev == device
    except OSError:
        return False


def _readable_bytes(path: Path, device: int) -> int:
    try:
        about = path.lstat()
    except OSError:
        return 0
    is_plain = path.is_file() and not path.is_symlink() and about.st_dev == device
    is_whole = about.st_blocks * 512 >= _WRITTEN_MIN * about.st_size
    return about.st_size if is_plain and is_whole and os.access(path, os.R_OK) else 0


@contextmanager
def _own(folder: Path, size_bytes: int, tell: Told) -> Iterator[SweepFile]:
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    # The file itself, and as much for whoever else writes there.
    if free < 2 * size_bytes:
        raise UsageError(
            f"{format_bytes(free)} are free in '{folder}', too little for a temporary file of "
            f"{format_bytes(size_bytes)} beside what others need",
            "Name a folder on a disk with room, or a large file to read.",
        )
    try:
        handle, name = tempfile.mkstemp(prefix=".plimsoll-sweep-", dir=folder)
    except OSError as error:
        raise UsageError(
            f"no file can be made in '{folder}': {(error.strerror or str(error)).lower()}",
            "Name a folder you may write to, or a large file to read.",
        ) from error
    try:
        # As long as it is open it can be reached through us, and is gone with us.
        Path(name).unlink()
        _write_throughout(handle, size_bytes, tell)
        yield SweepFile(
            path=f"/proc/{os.getpid()}/fd/{handle}",
            size_bytes=size_bytes,
            is_own=True,
            told=f"a temporary file of {format_bytes(size_bytes)} in '{folder}'",
        )
    finally:
        os.close(handle)


def _write_throughout(handle: int, size_bytes: int, tell: Told) -> None:
    """Fill the file with what no disk can leave out: every block random, none like another."""
    tell(f"writing {format_bytes(size_bytes)} to read from")
    try:
        written = 0
        while written < size_bytes:
            written += os.write(handle, os.urandom(min(_CHUNK_BYTES, size_bytes - written)))
        os.fsync(handle)
    except OSError as error:
        raise UsageError(
            f"the temporary file cannot be written: {(error.strerror or str(error)).lower()}",
            "Name a folder on a disk with room.",
        ) from error


def _file_system(place: Path) -> str:
    """Return its type, as `ext4`; empty where it cannot be told."""
    real, best, kind = str(place.resolve()), "", ""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        where = fields[1].replace("\\040", " ")
        is_under = real == where or real.startswith(where.rstrip("/") + "/")
        if is_under and len(where) >= len(best):
            best, kind = where, fields[2]
    return kind
