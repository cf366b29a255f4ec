"""
Read a large text file piece by piece, so that its bytes are never all in memory.

Rule: it answers what a table of text is asked, as `bytes` does: a slice, a length, where a byte is
      next, and how often it comes. Nothing beyond the length it had when it was opened is read.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

# A smaller file costs less to hold than to ask for again.
LEAST_BYTES = 16 << 20

# Copied at once to be counted, so that a large file does not stand in memory twice.
_COUNTED_BYTES = 1 << 20
_LINE_BYTES = 1 << 12
"""Lines of a table are a few hundred bytes long; the end of one is looked for in so many."""

# Gzip and UTF-8's, UTF-16's byte order marks: these are unwrapped in memory.
_WRAPPED = (b"\x1f\x8b", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


class Content(Protocol):
    """What a table of text is read from: bytes, or a file."""

    def __len__(self) -> int:
        """Count the bytes."""

    def __getitem__(self, part: slice, /) -> bytes:
        """Return a part, by a slice without a step."""

    def find(self, byte: bytes, start: int, /) -> int:
        """Return where a byte comes next; -1 if it does not."""

    def count(self, byte: bytes, start: int = ..., end: int = ..., /) -> int:
        """Count a byte in a part."""


class FileText:
    """An open file."""

    def __init__(self, descriptor: int) -> None:
        """Note how long it is now."""
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size

    def __len__(self) -> int:
        """Count the bytes."""
        return self._size

    def __getitem__(self, part: slice, /) -> bytes:
        """Return a part, by a slice without a step; shorter if the file was cut meanwhile."""
        first, end, _ = part.indices(self._size)
        return os.pread(self._descriptor, max(end - first, 0), first)

    def find(self, byte: bytes, start: int, /) -> int:
        """Return where a byte comes next; -1 if it does not."""
        for at in range(start, self._size, _LINE_BYTES):
            found = self[at : at + _LINE_BYTES].find(byte)
            if found >= 0:
                return at + found
        return -1

    def count(self, byte: bytes, start: int = 0, end: int | None = None, /) -> int:
        """Count a byte in a part."""
        last = self._size if end is None else end
        pieces = range(start, last, _COUNTED_BYTES)
        return sum(self[at : min(at + _COUNTED_BYTES, last)].count(byte) for at in pieces)


@contextmanager
def open_text(path: Path) -> Iterator[FileText | None]:
    """Open a large file that is neither packed nor in UTF-16; None for every other, or no file."""
    try:
        size = path.stat().st_size if stat.S_ISREG(path.stat().st_mode) else 0
        file = path.open("rb") if size >= LEAST_BYTES else None
    except OSError:
        file = None  # whoever reads it next says why
    if file is None:
        yield None
        return
    with file:
        text = FileText(file.fileno())
        head = text[:64]
        is_wide = b"\x00" in head
        yield None if is_wide or head.startswith(_WRAPPED) else text
