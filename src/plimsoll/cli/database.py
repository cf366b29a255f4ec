"""Observe a database for a command, and show progress on a terminal."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import Option
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.errors import UsageError

if TYPE_CHECKING:  # the command line comes up without what it needs
    from plimsoll.model.database import Observation

DEFAULT_FOR = "60s"
_DATABASE_PANEL = "Database"

# The progress line is rewritten at this interval.
_SHOWN_EVERY_S = 0.5


class DatabaseOptions(Struct, frozen=True, kw_only=True):
    """A database to watch besides a target, and for how long."""

    dsn: Annotated[str | None, Option("--dsn DSN", _DATABASE_PANEL)] = None
    """
    Also watch this PostgreSQL server, as 'plimsoll inspect' does. Other users can see a command line: keep a password
    in PGPASSWORD or ~/.pgpass.
    """
    duration: Annotated[str | None, Option("--for TIME", _DATABASE_PANEL)] = None
    """Watch the database for this long, for example 30s or 10m (default: 60s)."""

    def observed(self) -> "Observation | None":
        """
        Watch the database of `--dsn` for the time of `--for`; None if neither is given.

        Raises:
            UsageError: a time without a database, or a text that is no time.
            SourceError: the server refused us, or did not answer.
        """
        if self.duration is not None and not self.dsn:
            raise UsageError(
                "--for needs --dsn, the database to watch",
                "Give --dsn, or leave out --for. The length of the window is --last.",
            )
        seconds = seconds_of(self.duration or DEFAULT_FOR, "--for")
        return observed(self.dsn, seconds) if self.dsn else None


def observed(dsn: str, seconds: float, poolers: Sequence[str] = ()) -> "Observation":
    """
    Watch a database and its poolers for some seconds, or until Ctrl-C, and return what they did.

    Args:
        dsn: libpq connection string or URI.
        seconds: how long, > 0.
        poolers: addresses or configuration files of poolers in front of it.

    Raises:
        UsageError: the DSN or an address cannot be read.
        SourceError: the server refused us, or did not answer. A full server is an observation, not an error.
    """
    from plimsoll.app.inspect import observe

    with ended_like_ctrl_c():
        try:
            return observe(dsn, seconds, poolers, _progress(seconds))
        finally:
            if sys.stderr.isatty():
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()


def _progress(seconds: float) -> Callable[[float], None]:
    """Return a function that sleeps, and on a terminal shows the time elapsed so far."""
    if not sys.stderr.isatty():
        return time.sleep
    began_s = time.monotonic()

    def sleep(wanted_s: float) -> None:
        until_s = time.monotonic() + wanted_s
        while (left_s := until_s - time.monotonic()) > 0:
            elapsed_s = min(time.monotonic() - began_s, seconds)
            sys.stderr.write(f"\r\033[Kwatched {elapsed_s:.0f} of {seconds:.0f} s; Ctrl-C ends early and reports")
            sys.stderr.flush()
            time.sleep(min(left_s, _SHOWN_EVERY_S))

    return sleep
