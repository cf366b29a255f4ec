"""
Standard input as a target: `-`.

Ctrl-C ends the reading and keeps what came, as it does for a live recording: a pipeline's programs
are interrupted together, so it is how people end a capture.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.model.snapshot import Gap
from plimsoll.sources.files.bounds import MAX_BYTES
from plimsoll.sources.files.bytes import load, unwrapped
from plimsoll.sources.files.opened import read_to_end
from plimsoll.sources.values.shown import counted, shown

STANDARD_INPUT = Path("-")
"""The target that means it; a file of that name is given by its whole path."""
NAME = "standard input"

INTERRUPTED = Gap(
    metric=NAME,
    reason="reading was ended from outside (Ctrl-C); what came before is used",
    remedy="Let the command before the pipe end by itself: give it a count.",
)

# What fits a terminal after the words before it.
_LINE_LENGTH = 60


@dataclass(slots=True)
class InputProgress:
    """Input read so far; another thread may read the progress."""

    line_count: int = 0
    last: str = ""
    """The newest whole line."""

    def add(self, part: bytes) -> None:
        """Add a part of the input."""
        self.line_count += part.count(b"\n")
        lines = [line for line in part.split(b"\n")[:-1] if line.strip()]
        if lines:
            self.last = shown(lines[-1].decode("utf-8", errors="replace").strip(), _LINE_LENGTH)

    def text(self) -> str:
        """Describe how much was read and its last line, for the progress line."""
        if not self.line_count:
            return f"waiting for {NAME}"
        return f"{counted(self.line_count, 'line')} so far, Ctrl-C ends: {self.last}"


def load_standard_input(
    stream: BinaryIO | None = None, *, input_progress: InputProgress | None = None
) -> tuple[bytes, bool]:
    """
    Return all of standard input, unpacked if it is gzip, and whether Ctrl-C ended it.

    Args:
        stream: read this instead.
        input_progress: receives what was read.

    Raises:
        UsageError: it is a terminal, where nobody would type a capture.
        SourceError: it is closed, or cannot be read.
        DataError: nothing came, or more than MAX_BYTES.
        KeyboardInterrupt: Ctrl-C before anything came.
    """
    stream = stream if stream is not None else _stream()
    too_large = DataError(f"{NAME} contains more than 2 GiB", "Give a shorter capture.")
    note = (lambda _: None) if input_progress is None else input_progress.add
    try:
        data, was_interrupted = read_to_end(stream, MAX_BYTES, too_large, note)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(f"unable to read {NAME}: {reason}", "Give a file instead.") from error
    if not data:
        raise DataError(
            f"nothing came from {NAME}", "The command before the pipe ended without output; check its own message."
        )
    return unwrapped(data, Path(NAME)), was_interrupted


def load_document(path: Path) -> tuple[bytes, Path]:
    """
    Return the content of a file, or of standard input for `-`, and what messages call it.

    Raises:
        UsageError: standard input is a terminal.
        SourceError: it cannot be read.
        DataError: it is too large, empty, or not what it begins like.
        KeyboardInterrupt: Ctrl-C, because a part of a document is of no use.
    """
    if path != STANDARD_INPUT:
        return load(path), path
    data, was_interrupted = load_standard_input()
    if was_interrupted:
        raise KeyboardInterrupt
    return data, Path(NAME)


def _stream() -> BinaryIO:
    if sys.stdin is None or sys.stdin.closed:
        raise SourceError(f"{NAME} is closed", "Give a file, or pipe something into it.")
    if sys.stdin.isatty():
        raise UsageError(
            f"{NAME} is a terminal", "Pipe something into it: 'ssh db1 iostat -x -t 1 60 | plimsoll diagnose -'."
        )
    return sys.stdin.buffer
