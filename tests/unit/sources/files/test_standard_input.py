"""Standard input is a target like a file, until whoever writes it stops."""

import gzip
import io
import sys

import pytest

from plimsoll.errors import DataError, SourceError, UsageError
from plimsoll.sources.files import standard_input
from plimsoll.sources.files.standard_input import load_standard_input


class Pipe(io.BytesIO):
    """A pipe that gives a few bytes at a time and may be interrupted after some."""

    def __init__(self, data: bytes, *, interrupted_after: int | None = None) -> None:
        super().__init__(data)
        self._after = interrupted_after

    def read1(self, size: int | None = -1, /) -> bytes:
        if self._after is not None and self.tell() >= self._after:
            raise KeyboardInterrupt
        return super().read1(7)


class Terminal(io.StringIO):
    """Somebody's keyboard."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("pipe", "expected"),
    [
        pytest.param(Pipe(b"0123456789" * 10), (b"0123456789" * 10, False), id="in small pieces"),
        pytest.param(Pipe(gzip.compress(b"12:00:00")), (b"12:00:00", False), id="packed"),
        # Ctrl-C is how people end a capture in a pipeline.
        (Pipe(b"0123456789", interrupted_after=7), (b"0123456", True)),
    ],
)
def test_all_of_it_is_read_to_its_end(pipe: Pipe, expected):
    """Unpacked as in a file, and what came is kept."""
    assert expected == load_standard_input(pipe)


def test_ctrl_c_before_anything_came_is_ctrl_c():
    """There is nothing to keep."""
    with pytest.raises(KeyboardInterrupt):
        load_standard_input(Pipe(b"0123456789", interrupted_after=0))


@pytest.mark.parametrize(
    ("stdin", "kind", "message", "hint"),
    [
        # Nobody types a capture, and waiting for one would look like hanging.
        (Terminal(), UsageError, "standard input is a terminal", "| plimsoll diagnose -"),
        # Some services start programs without any.
        (None, SourceError, "closed", ""),
        # An ssh that failed has said why: the hint points at the command before the pipe.
        (Pipe(b""), DataError, "nothing came", "before the pipe"),
        # Memory is bounded as it is for files.
        (Pipe(bytes(40)), DataError, "more than 2 GiB", ""),
    ],
)
def test_what_is_no_pipe_with_data_is_refused(monkeypatch: pytest.MonkeyPatch, stdin, kind, message, hint):
    monkeypatch.setattr(standard_input, "MAX_BYTES", 20)
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(kind, match=message) as raised:
        load_standard_input(*[stdin] * isinstance(stdin, Pipe))

    assert hint in raised.value.hint
