"""
Standard output and standard error as a command needs them: no failure of theirs is lost or met twice.

Rule 1: what cannot be written to standard output is an error of its own, wherever it is met.
Rule 2: a character that the encoding does not have is replaced, not refused.
Rule 3: messages on standard error are told as well as can be: a failure there changes no result.
"""

import errno
import io
import os
import select
import sys
from contextlib import suppress
from typing import Any

from plimsoll.errors import PlimsollError


class OutputError(PlimsollError):
    """Standard output took no more; a part of the answer is lost."""


class ReaderGone(OutputError):
    """Whoever read standard output has gone: `| head` has what it wanted. Nothing is to be said."""


def guard_streams() -> None:
    """
    Put `sys.stdout` and `sys.stderr` of this process behind the rules above; closed ones too.

    What stands in their place already, such as a buffer of a test, is left alone.
    """
    _fill_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Notices(2), sys.stderr)


def _fill_descriptors() -> None:
    """
    Open something in the place of each standard stream that the caller closed.

    The next file that is opened would take its number, and get what is printed. For writing it
    refuses, so that lost output is noticed.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


class _Output(io.FileIO):
    """A descriptor for writing whose first failure is told, and whose later ones are not."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._is_lost = False

    def write(self, data: Any, /) -> int:
        """Write what fits, or wait until something does."""
        if self._is_lost:  # the interpreter tries again at its end; once told is enough
            return memoryview(data).nbytes
        try:
            while (written := super().write(data)) is None:
                # A pipe that somebody made non-blocking is full.
                select.select([], [self], [])
        except OSError as error:
            self._is_lost = True
            self._fail(error)
            return memoryview(data).nbytes
        return written

    def _fail(self, error: OSError) -> None:
        if error.errno in (errno.EPIPE, errno.ECONNRESET):
            raise ReaderGone("the reader of standard output has gone") from error
        if error.errno == errno.EBADF:
            reason = "it is closed"
        else:
            reason = (error.strerror or str(error)).lower()
        raise OutputError(
            f"unable to write to standard output: {reason}",
            "Send it to a file on a disk with room, or to a program that reads it.",
        ) from error


class _Notices(_Output):
    """The same for messages, which are dropped where they cannot be written."""

    def _fail(self, error: OSError) -> None:
        """Do nothing: there is no place left to say it."""


def _text(raw: _Output, like: io.TextIOBase | Any | None) -> io.TextIOWrapper:
    """Return text over a descriptor, in the encoding that the interpreter chose for it."""
    is_terminal = False
    with suppress(OSError):
        is_terminal = raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(like, "encoding", None) or "utf-8",
        errors="replace",
        line_buffering=is_terminal or isinstance(raw, _Notices),
        write_through=bool(getattr(like, "write_through", False)),
    )
