"""Commands run in the process of the tests, as a person would run them: a folder, variables, and what is printed."""

import io
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest import mock

from plimsoll.cli.commands import run
from plimsoll.cli.endings import run_to_end


@contextmanager
def person(folder: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Be in a folder, with these variables and no others, and nothing on standard input."""
    with (
        mock.patch.dict(os.environ, variables, clear=True),
        mock.patch.object(tempfile, "tempdir", None),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO())),
        chdir(folder),
    ):
        time.tzset()
        yield
    time.tzset()


def run_here(words: Sequence[str]) -> tuple[int, bytes]:
    """Exit status and output of `plimsoll WORDS`, both streams in the order in which they were written."""
    written = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with redirect_stdout(written), redirect_stderr(written):
        status = run_to_end(lambda: run(list(words)))
    return status, written.buffer.getvalue()
