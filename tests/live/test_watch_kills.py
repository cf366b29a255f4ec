"""A watch that is killed at random points loses no message, and no message gets another name."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
KILLS = 60


def test_kills_lose_nothing():
    """After sixty kills with SIGKILL every message came, under its key and number, at most once more for each kill."""
    done = subprocess.run(
        [sys.executable, ROOT / "bench" / "watch_kills.py", "--rounds", str(KILLS), "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.match(r"\d+ kills in \d+ incidents of 24 messages: 0 lost, 0 with another", done.stdout)
