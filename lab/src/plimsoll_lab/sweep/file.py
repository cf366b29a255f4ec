"""
Choose or make the file that a sweep of a path reads.

Rule 1: no file of the user is written to. An existing file is opened for reading only.
Rule 2: a file of our own is unlinked as soon as it exists, so nothing of it stays behind, however this
        process ends.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.units import GIB, MIB, format_bytes
from plimsoll_lab.sweep.plan import ShowProgress

# Smaller files soon fit in some cache below us.
FILE_MIN_BYTES = 256 * MIB
# Larger than the caches of most disks, and written within seconds.
OWN_BYTES = GIB
# At this size random bytes are generated as quickly as disks write.
_CHUNK_BYTES = 4 * MIB

# Blocks that were never written are not read from the disk (sparse files).
_WRITTEN_MIN = 0.95

_IN_MEMORY = ("tmpfs", "ramfs")


class SweepFile(Struct, frozen=True, kw_only=True):
    """Describe the file to read, and to write if it is our own."""

    path: str
    """Path by which any program can open it."""
    size_bytes: int
    is_own: bool
    description: str
    """Description for people."""


@contextmanager
def file_at(
    place: Path, *, allow_writes: bool, temporary_bytes: int, show_progress: ShowProgress
) -> Iterator[SweepFile]:
    """
    Yield a file to sweep while the block lasts.

    Args:
        place: a file, or a folder.
        allow_writes: whether a file of our own may be made in a folder; otherwise the largest file
            in it is read.
        temporary_bytes: size of a file of our own.
        show_progress: called with lines of progress.

    Raises:
        UsageError: the place does not exist, has no file that is large enough, or is not accessible.
    """
    _check_place(place)
    if place.is_file():
        if allow_writes:
            raise UsageError(
                f"--allow-writes would write to '{place}', which is a file of yours",
                "Leave it out to read the file, or name its folder to use a temporary file.",
            )
        yield _existing_file(place)
    elif allow_writes:
        with _temporary_file(place, temporary_bytes, show_progress) as own:
            yield own
    else:
        yield _largest_file(place)


def _check_place(place: Path) -> None:
    if not place.exists():
        raise UsageError(f"'{place}' does not exist", "Name a folder of the disk, or a large file.")
    if not (place.is_file() or place.is_dir()):
        raise UsageError(
            f"'{place}' is neither a file nor a folder", "Name a folder of the disk, or a large file on it."
        )
    kind = _file_system(place)
    if kind in _IN_MEMORY:
        raise UsageError(f"'{place}' is in memory ({kind}), not on a disk", "Name a folder on the disk to measure.")


def _existing_file(path: Path) -> SweepFile:
    about = path.stat()
    if not os.access(path, os.R_OK):
        raise UsageError(f"unable to read '{path}'", "Check its permissions.")
    if about.st_size < FILE_MIN_BYTES:
        raise UsageError(
            f"'{path}' has {format_bytes(about.st_size)}, too little for reads from the disk",
            f"Name a file of at least {format_bytes(FILE_MIN_BYTES)}, or a folder with --allow-writes.",
        )
    # st_blocks counts units of 512 bytes, whatever the file system's block size is (stat(2)).
    if about.st_blocks * 512 < _WRITTEN_MIN * about.st_size:
        raise UsageError(
            f"'{path}' has holes, which are not read from the disk",
            "Name a file without holes, or a folder with --allow-writes.",
        )
    return SweepFile(
        path=str(path.resolve()),
        size_bytes=about.st_size,
        is_own=False,
        description=f"'{path}', {format_bytes(about.st_size)}, read only",
    )


def _largest_file(folder: Path) -> SweepFile:
    """Return the largest readable file without holes, at any depth of the folder on the same disk."""
    device = folder.stat().st_dev
    found: tuple[int, str] | None = None
    for where, folders, names in os.walk(folder):
        # Skip other disks that are mounted below the folder.
        folders[:] = [name for name in folders if _is_on(Path(where, name), device)]
        for name in names:
            path = Path(where, name)
            size = _readable_bytes(path, device)
            if size >= FILE_MIN_BYTES and (found is None or (size, str(path)) > found):
                found = size, str(path)
    if found is None:
        raise UsageError(
            f"'{folder}' has no readable file of {format_bytes(FILE_MIN_BYTES)} or more",
            f"Give --allow-writes: then a temporary file of {format_bytes(OWN_BYTES)} is made there, read, "
            "written and removed. Or name a large file.",
        )
    return _existing_file(Path(found[1]))


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
def _temporary_file(folder: Path, size_bytes: int, show_progress: ShowProgress) -> Iterator[SweepFile]:
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    # Room for the file, and as much again for other programs that write there.
    if free < 2 * size_bytes:
        raise UsageError(
            f"only {format_bytes(free)} are free in '{folder}', too little for a temporary file of "
            f"{format_bytes(size_bytes)} and as much again for other programs",
            "Name a folder on a disk with room, or a large file to read.",
        )
    try:
        handle, name = tempfile.mkstemp(prefix=".plimsoll-sweep-", dir=folder)
    except OSError as error:
        raise UsageError(
            f"unable to make a file in '{folder}': {(error.strerror or str(error)).lower()}",
            "Name a folder that you may write to, or a large file to read.",
        ) from error
    try:
        # An unlinked file stays reachable through our open descriptor, and ends with this process.
        Path(name).unlink()
        _write_throughout(handle, size_bytes, show_progress)
        yield SweepFile(
            path=f"/proc/{os.getpid()}/fd/{handle}",
            size_bytes=size_bytes,
            is_own=True,
            description=f"a temporary file of {format_bytes(size_bytes)} in '{folder}'",
        )
    finally:
        os.close(handle)


def _write_throughout(handle: int, size_bytes: int, show_progress: ShowProgress) -> None:
    """Fill the file with random blocks, which no disk can compress, deduplicate or leave out."""
    show_progress(f"writing {format_bytes(size_bytes)} to read from")
    try:
        written = 0
        while written < size_bytes:
            written += os.write(handle, os.urandom(min(_CHUNK_BYTES, size_bytes - written)))
        os.fsync(handle)
    except OSError as error:
        raise UsageError(
            f"unable to write the temporary file: {(error.strerror or str(error)).lower()}",
            "Name a folder on a disk with room.",
        ) from error


def _file_system(place: Path) -> str:
    """Return the type of its file system, for example `ext4`; empty if unknown."""
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
