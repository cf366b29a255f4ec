"""Write a file so that a reader sees the old one or the new one, never half of either."""

import os
from contextlib import suppress
from pathlib import Path
from tempfile import mkstemp

from plimsoll.errors import UsageError


def write_aside(path: Path, content: bytes) -> None:
    """
    Write beside `path`, force it to disk, then rename; a failure leaves the old file as it was.

    Raises:
        UsageError: the folder is missing, `path` is a folder, or writing is not allowed.
    """
    try:
        place = _place_of(path)
        if not place.parent.is_dir():
            raise UsageError(
                f"unable to write '{path}': there is no folder '{place.parent}'",
                "Create the folder, or name another file.",
            )
        if place.is_dir():
            raise UsageError(f"unable to write '{path}': it is a folder", "Name a file in it.")
        # A pipe or a device such as /dev/stdout cannot be replaced, only written to.
        if place.exists() and not place.is_file():
            place.write_bytes(content)
            return
        _replace(place, content)
    except OSError as error:
        raise UsageError(
            f"unable to write '{path}': {(error.strerror or str(error)).lower()}",
            "Name a file in a folder you may write to, on a disk with room.",
        ) from error


def _place_of(path: Path) -> Path:
    """The path, or the file that a link names: that one is replaced, and not the link."""
    if not path.is_symlink():
        return path
    # Python 3.11 and 3.12 raise where links lead back to themselves; later ones give one of them.
    with suppress(RuntimeError):
        place = path.resolve()
        if not place.is_symlink():
            return place
    raise UsageError(
        f"unable to write '{path}': its links lead back to themselves", "Name another file."
    )


def _replace(path: Path, content: bytes) -> None:
    handle, aside = mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(path))
            os.fsync(file.fileno())
        Path(aside).replace(path)
    except BaseException:  # Ctrl-C, too, leaves nothing beside the file
        with suppress(OSError):
            Path(aside).unlink()
        raise
    _sync_folder(path.parent)


def _mode(path: Path) -> int:
    """The rights of the file that is replaced, or those that a new file would get."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """The rename itself is on disk only after the folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
