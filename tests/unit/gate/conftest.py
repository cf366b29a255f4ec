"""Fixtures for tests of the gate."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """A folder with a short path: a socket's path has about a hundred characters, and pytest's is long."""
    folder = Path(tempfile.mkdtemp(prefix="p-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
