"""
What holds of the real loop, the real ledger and the real sender, whatever fails and in whatever order.

Two processes watch one instance; AWS, the disk, the clock and the receiver fail, and processes are killed.
"""

from pathlib import Path

import pytest

import faults


@pytest.mark.parametrize("seed", range(8))
def test_faults_lose_nothing(tmp_path: Path, seed: int):
    """
    Six incidents with faults every few minutes; `bench/watch_faults.py` plays hundreds.

    After every minute one process at most has the lease, and no receiver has a message that is not stored.
    """
    world = faults.played(tmp_path, seed)

    assert world.kills > 0
    assert world.book.got
