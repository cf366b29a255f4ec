"""
Open what a path names: a regular file, or a pipe whose writer comes in time.

Rule 1: nothing is opened before its kind is known; opening a device can change it.
Rule 2: nothing waits for ever: `open` alone would wait for the writer of a named pipe.
"""

import os
import select
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from plimsoll.errors import AccessDenied, DataError, SourceError

WRITER_S = 30.0
"""Longest wait for the first byte of a named pipe: whoever writes it was started with this command."""

# As much as a pipe of Linux holds.
_CHUNK_BYTES = 1 << 16
_HELD_BYTES = 1 << 24
"""What a pipe has beyond this is kept in a temporary file until it ends: it may have no end."""


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """
    Open a file, or a pipe as soon as something is in it.

    Raises:
        AccessDenied: the operating system denied access.
        SourceError: it does not exist, is no file, or cannot be read, or nobody writes to the pipe.
    """
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise SourceError(f"'{path}' is not a file", "Name a file; devices and sockets are not read.")
        # Of a regular file it has no effect (open(2)).
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISFIFO(mode):
                _await_writer(path, descriptor)
            yield file
    except PermissionError as error:
        raise AccessDenied(
            f"unable to read '{path}': permission denied", "Check the owner and mode of the file."
        ) from error
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(f"unable to read '{path}': {reason}", "Check that the path names a readable file.") from error


def _await_writer(path: Path, descriptor: int) -> None:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(1000 * WRITER_S):
        raise SourceError(
            f"nobody wrote to the pipe '{path}' within {WRITER_S:.0f} s",
            "Start the program that writes to it, or name a file.",
        )
    os.set_blocking(descriptor, True)


def read_to_end(
    stream: BinaryIO, most_bytes: int, too_large: DataError, note: Callable[[bytes], None]
) -> tuple[bytes, bool]:
    """
    Return all of a pipe, and whether Ctrl-C ended it; above 16 MiB it is not held before it has ended.

    Args:
        most_bytes: what it may have.
        too_large: raised if it has more.
        note: called with each part.

    Raises:
        KeyboardInterrupt: Ctrl-C before anything came.
    """
    # `read1` gives what is there, so an interrupt loses no input.
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    size = 0
    was_interrupted = False
    with tempfile.SpooledTemporaryFile(_HELD_BYTES) as kept:
        try:
            while part := read(_CHUNK_BYTES):
                kept.write(part)
                size += len(part)
                note(part)
                if size > most_bytes:
                    raise too_large
        except KeyboardInterrupt:
            if not size:
                raise
            was_interrupted = True
        kept.seek(0)
        return kept.read(), was_interrupted
