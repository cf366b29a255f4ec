"""What a command waits for, on standard error while it is a terminal; a pipe or a log gets nothing."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

from plimsoll.app.progress import Progress
from plimsoll.units import format_duration

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.overview import Usage

FIRST_S = 1.0
"""What is answered within a second needs no word."""
AGAIN_S = 0.5


@contextmanager
def progress_while(text: Callable[[], str]) -> Iterator[None]:
    """
    Show a line that is renewed until the block ends, and is gone then.

    Args:
        text: what to say now, empty for nothing; the time since the beginning is added.
    """
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    begun_s = time.monotonic()
    length = 0

    def tell() -> None:
        nonlocal length
        wait_s = FIRST_S
        while not over.wait(wait_s):
            wait_s = AGAIN_S
            said = text()
            if not said:
                continue
            line = f"{said} · {format_duration(time.monotonic() - begun_s)}"
            sys.stderr.write(f"\r{line.ljust(length)}")
            sys.stderr.flush()
            length = len(line)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()
        if length:
            sys.stderr.write(f"\r{' ' * length}\r")
            sys.stderr.flush()


class Terminal(Progress):
    """Shows on standard error what a reading waits for, and what it asked of AWS."""

    def waiting(self, said: Callable[[], str]) -> AbstractContextManager[None]:
        """Show what the reader waits for."""
        return progress_while(said)

    def spent(self, usage: "Usage", usd: Decimal | None) -> None:
        """Show what was asked of AWS and what that costs."""
        if not usage.call_count:
            return
        parts = ", ".join(f"{action} {count:,}" for action, count in usage.calls)
        text = f"asked AWS {usage.call_count:,} times ({parts})"
        if usage.metrics_requested:
            price = "" if usd is None else f", about ${usd:.4f}"
            text += f"; {usage.metrics_requested:,} metrics requested{price}"
        sys.stderr.write(f"{text}\n")


TERMINAL = Terminal()
