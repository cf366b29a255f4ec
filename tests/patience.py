"""Waiting for what another thread does."""

import time
from collections.abc import Callable


def until(check: Callable[[], object], patience_s: float = 10.0) -> bool:
    """Wait until something is true; False when patience ends."""
    end_s = time.monotonic() + patience_s
    while not check():
        if time.monotonic() > end_s:
            return False
        time.sleep(0.01)
    return True
