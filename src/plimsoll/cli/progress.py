"""Show what a command waits for on standard error, if it is a terminal."""

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
"""Delay before the first line, because an answer within a second needs no progress."""
AGAIN_S = 0.5


@contextmanager
def progress_while(text: Callable[[], str]) -> Iterator[None]:
    """
    Show a line that is updated until the block ends, and then removed.

    Args:
        text: returns what to show now, empty for nothing; the elapsed time is added.
    """
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    begun_s = time.monotonic()
    length = 0

    def show() -> None:
        nonlocal length
        wait_s = FIRST_S
        while not over.wait(wait_s):
            wait_s = AGAIN_S
            now = text()
            if not now:
                continue
            line = f"{now} · {format_duration(time.monotonic() - begun_s)}"
            sys.stderr.write(f"\r{line.ljust(length)}")
            sys.stderr.flush()
            length = len(line)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if length:
            sys.stderr.write(f"\r{' ' * length}\r")
            sys.stderr.flush()


class Terminal(Progress):
    """Shows on standard error what a reading waits for, and the requests it sent to AWS."""

    def waiting(self, text: Callable[[], str]) -> AbstractContextManager[None]:
        """Show what the reader waits for."""
        return progress_while(text)

    def spent(self, usage: "Usage", usd: Decimal | None) -> None:
        """Show the requests that were sent to AWS, and their cost."""
        if not usage.call_count:
            return
        parts = ", ".join(f"{action} {count:,}" for action, count in usage.calls)
        text = f"asked AWS {usage.call_count:,} times ({parts})"
        if usage.metrics_requested:
            price = "" if usd is None else f", about ${usd:.4f}"
            text += f"; {usage.metrics_requested:,} metrics requested{price}"
        sys.stderr.write(f"{text}\n")


TERMINAL = Terminal()
