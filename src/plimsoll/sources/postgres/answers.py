"""
Wait for the answers of a server, and stop waiting.

A server can accept a connection and then say nothing more, or a byte now and then: its storage hangs, its machine is
frozen, a pooler is paused. Its own timeouts do not end that, and the system sees a connection that is alive.

Rule 1: the time of an answer is counted from what asked for it to its last byte. What is copied to the server is
        counted piece by piece.
Rule 2: the server ends a statement before we stop waiting for it, so only silence is left to end here.
Rule 3: whoever may wait for long asks meanwhile, in a session of its own, whether the server answers at all.
Rule 4: a connection that we stopped waiting for is closed, so that nothing waits for it again.
"""

import time
from collections.abc import Callable, Generator
from typing import Any, TypeVar

import psycopg

from plimsoll.units import format_duration

_Value = TypeVar("_Value")
_Row = TypeVar("_Row", bound="tuple[Any, ...] | dict[str, Any]")

PATIENCE_S = 30.0
"""
After which a longer wait asks whether the server answers at all, again and again.

A judgement: storage that hangs for so long is seen now and then; a session that asks costs the server a process.
"""


class SilentServerError(psycopg.DatabaseError):
    """
    The server did not answer in time.

    No `OperationalError`, because those are tried again, and another attempt would wait as long.
    """


class Session(psycopg.Connection[_Row]):
    """A connection whose answers have a deadline; from `open_session`."""

    answer_s: float | None
    """How long an answer may take; None as long as the server answers others."""
    does_server_answer: Callable[[], bool]
    """Asks the server in another session; takes some seconds."""
    path: tuple[str, ...] = ()
    """Schemas where names without one are looked up, before the terms fixed it; only where they are of the session."""

    def wait(self, gen: Generator[Any, Any, _Value], *args: Any, **kwargs: Any) -> _Value:
        """
        Return what the generator returns.

        Raises:
            SilentServerError: the answer did not come in time; the connection is closed.
        """
        try:
            return super().wait(self._in_time(gen), *args, **kwargs)
        except SilentServerError:
            self.close()
            raise

    def _in_time(self, gen: Generator[Any, Any, _Value]) -> Generator[Any, Any, _Value]:
        began_s = asked_s = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                # What has come is taken before the time is looked at.
                wanted = gen.send(ready)
                now_s = time.monotonic()
                is_over = self.answer_s is not None and now_s - began_s >= self.answer_s
                if not is_over and now_s - asked_s >= PATIENCE_S:
                    is_over, asked_s = not self.does_server_answer(), time.monotonic()
                if is_over:
                    waited = format_duration(time.monotonic() - began_s)
                    raise SilentServerError(f"no answer within {waited}")
        except StopIteration as end:
            value: _Value = end.value
            return value
