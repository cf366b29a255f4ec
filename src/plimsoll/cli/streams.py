"""
Wrap standard output and standard error so that each failure is reported exactly once.

Rule 1: a failed write to standard output raises an error of its own, wherever it happens.
Rule 2: a character that the encoding does not have is replaced, not refused.
Rule 3: a failed write to standard error is ignored and changes no result.
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
    """Standard output could not be written; a part of the answer is lost."""


class ReaderGone(OutputError):
    """The reader of standard output has gone, for example `| head`; no message is printed."""


def guard_streams() -> None:
    """
    Wrap `sys.stdout` and `sys.stderr` of this process by the rules above, even if they are closed.

    A stream that was already replaced, for example by a buffer of a test, is not wrapped.
    """
    _fill_descriptors()
    if sys.stdout is sys.__stdout__:
        sys.stdout = _text(_Output(1), sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _text(_Notices(2), sys.stderr)


def _fill_descriptors() -> None:
    """
    Open /dev/null for each standard stream that the caller closed.

    Otherwise the next opened file would take the descriptor's number and receive what is printed. It is
    opened for reading only, so that writes fail and lost output is noticed.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)


class _Output(io.FileIO):
    """A descriptor for writing that raises its first failure and ignores later ones."""

    def __init__(self, descriptor: int) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self._is_lost = False

    def write(self, data: Any, /) -> int:
        """Write what fits, or wait until something fits."""
        if self._is_lost:  # the interpreter flushes again at its end; one report is enough
            return memoryview(data).nbytes
        try:
            while (written := super().write(data)) is None:
                # The pipe is full, and another process made it non-blocking.
                select.select([], [self], [])
        except OSError as error:
            self._is_lost = True
            self._fail(error)
            return memoryview(data).nbytes
        return written

    def _fail(self, error: OSError) -> None:
        if error.errno in (errno.EPIPE, errno.ECONNRESET):
            raise ReaderGone("the reader of standard output has gone") from error
        reason = "it is closed" if error.errno == errno.EBADF else (error.strerror or str(error)).lower()
        raise OutputError(
            f"unable to write to standard output: {reason}",
            "Redirect it to a file on a disk with free space, or to a program that reads it.",
        ) from error


class _Notices(_Output):
    """A descriptor for messages, which are dropped if they cannot be written."""

    def _fail(self, error: OSError) -> None:
        """Ignore the failure: there is no stream left to report it on."""


def _text(raw: _Output, like: io.TextIOBase | Any | None) -> io.TextIOWrapper:
    """Wrap a descriptor as a text stream, in the encoding that the interpreter chose for it."""
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
