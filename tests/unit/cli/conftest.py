"""The command line in this process, as it is called."""

import io
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from plimsoll.cli.main import main


class Ran(NamedTuple):
    """What one call ended with and printed."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(run_program: Callable[..., Ran]) -> Callable[..., Ran]:
    """The same, under the name by which a file may have a fixture of its own."""
    return run_program


@pytest.fixture
def run_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command line, from its arguments to its exit status; `given` is on standard input."""
    monkeypatch.delenv("PLIMSOLL_DSN", raising=False)

    def call(*arguments: object, given: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        monkeypatch.setattr(sys, "argv", ["plimsoll", *(str(a) for a in arguments)])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return Ran(int(stopped.value.code or 0), printed.out, printed.err)

    return call
