"""
The real place of a named file, found without following links of other users.

Rule 1: a link is followed only where its owner is us or root. Whoever may write in a folder can plant a
        link there; followed by root, it would let them choose a file to overwrite.
Rule 2: each part of a path is opened, and what was opened is looked at: nobody changes it in between.
"""

import os
import stat
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from plimsoll.errors import UsageError

# As many as Linux follows.
_LINKS_MAX = 40
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


class FilePlace(NamedTuple):
    """A name in an open folder, valid within a `with` block."""

    folder: int
    """Descriptor of the folder; it can be searched, not read."""
    name: str
    found: os.stat_result | None
    """What has the name, which is no link; None where nothing has it."""


def trusted_owners() -> tuple[int, ...]:
    """Return the users whose links we follow and whose pipes we write to: the current user and root."""
    return os.geteuid(), 0


@contextmanager
def place_of(path: Path) -> Iterator[FilePlace]:
    """
    Return the opened folder of a path, resolved part by part.

    Raises:
        UsageError: a link on the way is another user's, links lead back to themselves, a folder is missing
            or the path names a folder.
        OSError: a part may not be opened.
    """
    way = _Way(path)
    try:
        yield way.walk()
    finally:
        way.close()


class _Way:
    """The parts of a path that are still ahead, and the folder reached so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ahead = deque(path.parts)
        self._links = 0
        self._gone: list[str] = []
        self._folder = os.open(".", _LOOK | os.O_DIRECTORY)

    def close(self) -> None:
        os.close(self._folder)

    def walk(self) -> FilePlace:
        while self._ahead:
            part = self._ahead.popleft()
            try:
                handle = os.open(part, _LOOK, dir_fd=self._folder)
            except FileNotFoundError:
                if self._ahead:
                    raise self._no_folder(part) from None
                return FilePlace(self._folder, part, None)
            found = os.fstat(handle)
            if stat.S_ISLNK(found.st_mode):
                self._follow(handle, found, part)
            elif stat.S_ISDIR(found.st_mode):
                os.close(self._folder)
                self._folder = handle
                self._gone.append(part)
            elif self._ahead:
                os.close(handle)
                raise self._no_folder(part)
            else:
                os.close(handle)
                return FilePlace(self._folder, part, found)
        raise UsageError(f"unable to write '{self._path}': it is a folder", "Name a file in it.")

    def _follow(self, handle: int, found: os.stat_result, part: str) -> None:
        try:
            if found.st_uid not in trusted_owners():
                raise UsageError(
                    f"unable to write '{self._path}': '{part}' is a link that another user made",
                    "Name the file itself, or one in a folder where only you may write.",
                )
            self._links += 1
            if self._links > _LINKS_MAX:
                raise UsageError(
                    f"unable to write '{self._path}': its links lead back to themselves", "Name another file."
                )
            # Of the link that was opened, whatever has its name by now.
            self._ahead.extendleft(reversed(Path(os.readlink("", dir_fd=handle)).parts))
        finally:
            os.close(handle)

    def _no_folder(self, part: str) -> UsageError:
        folder = self._path.parent if not self._links else Path(*self._gone, part)
        return UsageError(
            f"unable to write '{self._path}': there is no folder '{folder}'", "Create the folder, or name another file."
        )
