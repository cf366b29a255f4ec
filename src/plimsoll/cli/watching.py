"""Watching a database on behalf of a command: for how long, in front of which poolers, held against what."""

import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Annotated

import typer
from msgspec.structs import replace

from plimsoll.cli.against import Against, against
from plimsoll.cli.endings import ended_like_ctrl_c
from plimsoll.cli.moments import seconds_of
from plimsoll.cli.processors import with_processors
from plimsoll.errors import PlimsollError, ServerFull, UsageError
from plimsoll.model.cause import Inspection
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import CreditClock
from plimsoll.units import number

DEFAULT_FOR = "60s"
_DATABASE = "The database itself"

_MINUTE_S = 60

# Longer than any recording; the clock is put ahead by as much when it is over.
_FOR_EVER_S = 1e9
# The line of progress is written anew once in so many seconds.
_SHOWN_EVERY_S = 0.5

Dsn = Annotated[
    str | None,
    typer.Option(
        "--dsn",
        metavar="DSN",
        help="Also watch this PostgreSQL, as 'plimsoll inspect' does. Other users can see a command "
        "line: keep a password in PGPASSWORD or ~/.pgpass.",
        rich_help_panel=_DATABASE,
    ),
]
Duration = Annotated[
    str | None,
    typer.Option(
        "--for",
        metavar="TIME",
        help=f"How long the database is watched: 30s, 10m, 2h; {DEFAULT_FOR} without it.",
        rich_help_panel=_DATABASE,
    ),
]


def observed(dsn: str, seconds: float, poolers: Sequence[str] = ()) -> Observation:
    """
    What a database and its poolers did for some seconds; less where somebody pressed Ctrl-C.

    Args:
        dsn: libpq connection string or URI.
        seconds: how long, > 0.
        poolers: addresses or configuration files of poolers in front of it.

    Raises:
        UsageError: the DSN or an address cannot be read.
        SourceError: the server refused us, or did not answer. One that is full is an observation.
    """
    from plimsoll.sources.database.read import observe
    from plimsoll.sources.database.refused import observe_poolers
    from plimsoll.sources.pooler.read import pooler_reader

    readers = [pooler_reader(target) for target in poolers]
    with ended_like_ctrl_c():
        try:
            return observe(dsn, duration_s=seconds, poolers=readers, sleep=_progress(seconds))
        except ServerFull as full:
            return observe_poolers(
                dsn,
                full.message.partition(": ")[2],
                duration_s=seconds,
                poolers=readers,
                sleep=_progress(seconds),
            )
        finally:
            if sys.stderr.isatty():
                sys.stderr.write("\r\033[K")
                sys.stderr.flush()


class Watching:
    """A database that is observed while something else goes on; `end` has what was seen."""

    def __init__(self, dsn: str) -> None:
        """
        Begin at once, in a thread of its own.

        Args:
            dsn: libpq connection string or URI.
        """
        from plimsoll.sources.database.read import observe

        self._over = Event()
        self._ahead_s = 0.0
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._observing = self._pool.submit(
            observe, dsn, duration_s=_FOR_EVER_S, clock=self._clock, sleep=self._sleep
        )

    def end(self) -> Observation | None:
        """Take the last reading; None, and a line on standard error, where nothing could be read."""
        self._over.set()
        try:
            return self._observing.result()
        except PlimsollError as error:
            sys.stderr.write(f"the database was not inspected: {error.message}\n")
            return None
        finally:
            self._pool.shutdown()

    def _clock(self) -> float:
        return time.monotonic() + self._ahead_s

    def _sleep(self, seconds: float) -> None:
        """Until it is over the pause may be cut short; then the clock says that the time is up."""
        if self._ahead_s:
            time.sleep(seconds)
        elif self._over.wait(seconds):
            self._ahead_s = _FOR_EVER_S


def observed_if_asked(dsn: str | None, duration: str | None) -> Observation | None:
    """
    What `--dsn` and `--for` ask for; None where they ask for nothing.

    Raises:
        UsageError: a time without a database, or what is no time.
        SourceError: the server refused us, or did not answer.
    """
    if duration is not None and not dsn:
        raise UsageError(
            "--for is how long a database is watched, and no --dsn names one",
            "Give --dsn, or leave --for out; --last is how far back a target is read.",
        )
    seconds = seconds_of(duration or DEFAULT_FOR, "--for")
    return observed(dsn, seconds) if dsn else None


def found_in(
    observation: Observation, held: Against, plateaus: tuple[tuple[float, float], ...] = ()
) -> Inspection:
    """
    What makes a database read and write that was observed, held against a ceiling.

    Args:
        observation: what was seen.
        held: the ceiling that shares are of, if one is known.
        plateaus: stretches of time at a ceiling, epoch seconds [start, end).
    """
    from plimsoll.causes.inspect import inspect as law

    found = law(
        observation,
        ceiling_bytes_per_s=held.bytes_per_s,
        ceiling_name=held.name,
        plateaus=plateaus,
    )
    return replace(found, notes=(*held.notes, *found.notes))


def found_beside(
    diagnosis: Diagnosis, observation: Observation, clock: CreditClock | None = None
) -> Inspection:
    """
    The same, held against the ceiling of a diagnosis; that the two are of other times is said.

    Args:
        diagnosis: of the storage.
        observation: of the database, in real time.
        clock: how the times of the diagnosis lie to real ones; None where they are real.
    """
    plateaus = tuple((_real(i.start_s, clock), _real(i.end_s, clock)) for i in diagnosis.intervals)
    seen = with_processors(observation, diagnosis.instance)
    found = found_in(seen, against(diagnosis), plateaus)
    notes = []
    start_s, end_s = (_real(moment_s, clock) for moment_s in diagnosis.window_s)
    shared_s = min(found.end_s, end_s) - max(found.start_s, start_s)
    # Windows have whole steps, so one that was recorded beside it may end a little sooner.
    if shared_s * 2 < found.end_s - found.start_s:
        notes.append(
            "the ceiling is of another time than the one in which the database was watched"
        )
    if clock is not None and clock.ratio != 1:
        minute = number(_MINUTE_S / clock.ratio)
        notes.append(
            f"the causes were watched in real time; the times of the ceiling are on credit clock "
            f"{clock.ratio:g}, where a minute lasts {minute} s; rates are real in both"
        )
    return replace(found, notes=(*notes, *found.notes))


def _real(moment_s: float, clock: CreditClock | None) -> float:
    return float(moment_s) if clock is None else clock.real_of(moment_s)


def _progress(seconds: float) -> Callable[[float], None]:
    """Sleep as asked; on a terminal with a line that says for how long it has been."""
    if not sys.stderr.isatty():
        return time.sleep
    began_s = time.monotonic()

    def sleep(wanted_s: float) -> None:
        until_s = time.monotonic() + wanted_s
        while (left_s := until_s - time.monotonic()) > 0:
            elapsed_s = min(time.monotonic() - began_s, seconds)
            sys.stderr.write(
                f"\r\033[Kwatched {elapsed_s:.0f} of {seconds:.0f} s; Ctrl-C reports what there is"
            )
            sys.stderr.flush()
            time.sleep(min(left_s, _SHOWN_EVERY_S))

    return sleep
