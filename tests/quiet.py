"""Whether this machine is quiet enough to measure rates: how much of its processors other programs use."""

import os
import time
from pathlib import Path
from typing import NoReturn

import pytest

# Of all processors, in use by anything. A gate and its load need about one of two.
BUSY_RATIO_MAX = 0.4
# Our own servers and the compiler of a step before may still be ending.
PATIENCE_S = 20.0
SPAN_S = 0.5
VOID = "void: "


def void(reason: str) -> NoReturn:
    """End a test whose result would say nothing about the code: it neither passed nor failed, and is printed."""
    raise pytest.skip.Exception(f"{VOID}{reason}")


def noise(span_s: float = SPAN_S) -> str | None:
    """Return why rates cannot be measured now, or None on a quiet machine."""
    busy = busy_ratio(span_s)
    if busy <= BUSY_RATIO_MAX:
        return None
    return f"other programs use {busy:.0%} of the processors"


def wait_for_quiet() -> str | None:
    """Wait until the machine is quiet, and return why it did not become so, if it did not."""
    until_s = time.monotonic() + PATIENCE_S
    while (reason := noise()) and time.monotonic() < until_s:
        time.sleep(SPAN_S)
    return reason


def busy_ratio(span_s: float) -> float:
    """Return the share of the time of all processors that was used, or taken by the host: 0 to 1."""
    before, start_s = _busy_s(), time.monotonic()
    time.sleep(span_s)
    taken_s = (time.monotonic() - start_s) * (os.cpu_count() or 1)
    return max(0.0, min(1.0, (_busy_s() - before) / taken_s))


def _busy_s() -> float:
    """Source: proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, in clock ticks."""
    line = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0]
    user, nice, system, _, _, irq, softirq, steal, *_ = map(int, line.split()[1:])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
