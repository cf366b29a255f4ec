"""What tests of the gate share."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """
    A folder with a short path: a socket's path holds a hundred characters, pytest's own take most.
    """
    folder = Path(tempfile.mkdtemp(prefix="p-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
