"""A test that is run again after a failure starts from nothing: tests/conftest.py."""

import os
import subprocess
import sys
from pathlib import Path

from contract.tree import ROOT

AGAIN = """
import pytest

MADE = []

@pytest.fixture(scope="module")
def server():
    MADE.append("server")
    return []

@pytest.mark.flaky(reruns=1)
def test_leaves_something(server):
    server.append("a table")
    assert len(MADE) == 2
    assert server == ["a table"]

def test_shares_the_second(server):
    assert len(MADE) == 2
"""


def test_what_a_failed_run_left_is_gone(tmp_path: Path):
    """The fixtures of the module are made again, once, and the next test shares them; the failure is printed."""
    (tmp_path / "test_again.py").write_text(AGAIN)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "conftest", "-c", os.devnull, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout
    assert "2 passed, 1 rerun" in done.stdout
    assert "assert len(MADE) == 2" in done.stdout
