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
    # A link is followed, so that the file it names is replaced and not the link.
    path = path.resolve() if path.is_symlink() else path
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(
            f"unable to write '{path}': there is no folder '{folder}'",
            "Create the folder, or name another file.",
        )
    if path.is_dir():
        raise UsageError(f"unable to write '{path}': it is a folder", "Name a file in it.")
    aside = None
    try:
        # A pipe or a device such as /dev/stdout cannot be replaced, only written to.
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return
        handle, aside = mkstemp(prefix=f".{path.name}.", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fchmod(file.fileno(), _mode(path))
            os.fsync(file.fileno())
        Path(aside).replace(path)
        _sync_folder(folder)
    except OSError as error:
        if aside:
            with suppress(OSError):
                Path(aside).unlink()
        raise UsageError(
            f"unable to write '{path}': {(error.strerror or str(error)).lower()}",
            "Name a file in a folder you may write to, on a disk with room.",
        ) from error


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
