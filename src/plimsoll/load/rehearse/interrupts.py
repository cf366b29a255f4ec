"""
Let a signal end the work once, and let nothing end what is done after it.

Rule: only signals that raise an exception are changed, which are those of a command line: Ctrl-C, and SIGTERM and SIGHUP
      where a command treats them like it. What ends a process at once still does.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class InterruptedOnce:
    """
    A block that the first signal interrupts; later ones, and all after `hold`, wait until it has ended.

    In a thread other than the main one nothing is changed, because signals do not interrupt it.
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self._is_held = False
        self._late: int | None = None
        self._before: dict[int, Callable[[int, FrameType | None], Any]] = {}

    def hold(self) -> None:
        """Keep signals from here on until the end of the block."""
        self._is_held = True

    def __enter__(self) -> Self:
        """Take the signals over."""
        if threading.current_thread() is threading.main_thread():
            for sign in _SIGNALS:
                before = signal.getsignal(sign)
                if callable(before):
                    self._before[sign] = before
                    signal.signal(sign, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the signals back, and hand on one that came meanwhile, unless an error ends the block anyway."""
        for sign, before in self._before.items():
            signal.signal(sign, before)
        if self._late is not None and kind is None:
            self._before[self._late](self._late, None)

    def _handle(self, sign: int, frame: FrameType | None) -> None:
        if self._is_held:
            self._late = sign
            return
        try:
            self._before[sign](sign, frame)
        except BaseException:
            # Before anybody handles it: the next signal may come at once.
            self._is_held = True
            raise
