"""Files that are written completely or not at all."""

import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from plimsoll.errors import UsageError
from plimsoll.reports.files import place as places
from plimsoll.reports.files.place import FilePlace, place_of

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Descriptors of ours by the names that Linux gives them; their links lead to no path.
_STREAMS = {"/dev/stdout": 1, "/dev/stderr": 2}
_DESCRIPTORS = ("/dev/fd/", "/proc/self/fd/")


def write_aside(path: Path, content: bytes, *, is_private: bool = False) -> None:
    """
    Write a file next to `path`, force it to disk, then rename it; a failure leaves the old file
    unchanged.

    A link of ours or of root's is followed, and the file it names is replaced; another user's is refused.

    Args:
        path: where it will be.
        content: of the file.
        is_private: a new file is for its owner alone, whatever the umask allows. A file that is replaced keeps its
            permissions.

    Raises:
        UsageError: the folder is missing, `path` is a folder or behind another user's link, or writing is
            not allowed.
    """
    try:
        descriptor = _descriptor_of(path)
        if descriptor is not None:
            _write_all(descriptor, content)
            return
        with place_of(path) as place:
            if place.found is None or stat.S_ISREG(place.found.st_mode):
                _replace(place, content, is_private=is_private)
            else:
                _write_through(path, place, content)
    except OSError as error:
        raise UsageError(
            f"unable to write '{path}': {(error.strerror or str(error)).lower()}",
            "Name a file in a folder you may write to, on a disk with room.",
        ) from error


def _descriptor_of(path: Path) -> int | None:
    """Return the number that `/dev/stdout`, `/dev/fd/3` and the like stand for."""
    text = str(path)
    for folder in _DESCRIPTORS:
        number = text.removeprefix(folder)
        if number != text and number.isdecimal():
            return int(number)
    return _STREAMS.get(text)


def _write_through(path: Path, place: FilePlace, content: bytes) -> None:
    """Write to a pipe or a device, which cannot be replaced; refuse another user's pipe, which would read us."""
    assert place.found is not None
    if place.found.st_uid not in places.trusted_owners():
        raise UsageError(
            f"unable to write '{path}': it is a pipe or device of another user",
            "Name a file in a folder where only you may write.",
        )
    handle = os.open(place.name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC, dir_fd=place.folder)
    try:
        _write_all(handle, content)
    finally:
        os.close(handle)


def _replace(place: FilePlace, content: bytes, *, is_private: bool) -> None:
    # The name is of letters that no link was planted for: O_EXCL refuses whatever is there.
    aside = f".plimsoll-{token_hex(8)}.part"
    handle = os.open(aside, _NEW, 0o600, dir_fd=place.folder)
    try:
        try:
            _write_all(handle, content)
            os.fchmod(handle, _mode(place, is_private=is_private))
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(aside, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:  # Ctrl-C, too, leaves nothing beside the file
        with suppress(OSError):
            os.unlink(aside, dir_fd=place.folder)
        raise
    _sync(place.folder)


def _mode(place: FilePlace, *, is_private: bool) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    if place.found is not None:
        return place.found.st_mode & 0o777
    if is_private:
        return 0o600
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _write_all(handle: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sync(folder: int) -> None:
    """Force the folder to disk, because a rename is durable only then; skip a folder that may not be read."""
    with suppress(PermissionError):
        handle = os.open(".", os.O_RDONLY | os.O_CLOEXEC, dir_fd=folder)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
