"""What a database did, and what of it made it read and write, compared with a ceiling."""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from plimsoll.app.against import Against, against
from plimsoll.app.processors import with_processors
from plimsoll.errors import ServerFull
from plimsoll.model.cause import Inspection
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import CreditClock
from plimsoll.units import number

_MINUTE_S = 60

NO_CEILING = Against(
    bytes_per_s=None,
    name="",
    notes=("no ceiling is known here: --against rds:NAME, or a snapshot, tells which binds",),
)


def observe(
    dsn: str,
    seconds: float,
    poolers: Sequence[str] = (),
    sleep: Callable[[float], None] = time.sleep,
) -> Observation:
    """
    Return what a database and its poolers did for some seconds; less where somebody pressed Ctrl-C.

    Args:
        dsn: libpq connection string or URI.
        seconds: how long, > 0.
        poolers: addresses or configuration files of poolers in front of it.
        sleep: waits so many seconds.

    Raises:
        UsageError: the DSN or an address cannot be read.
        SourceError: the server refused us, or did not answer. One that is full is an observation.
    """
    from plimsoll.sources.pooler.read import pooler_reader
    from plimsoll.sources.postgres import read
    from plimsoll.sources.postgres.refused import observe_poolers

    readers = [pooler_reader(target) for target in poolers]
    try:
        return read.observe(dsn, duration_s=seconds, poolers=readers, sleep=sleep)
    except ServerFull as full:
        return observe_poolers(
            dsn,
            full.message.partition(": ")[2],
            duration_s=seconds,
            poolers=readers,
            sleep=sleep,
        )


def found_in(
    observation: Observation, held: Against, plateaus: tuple[tuple[float, float], ...] = ()
) -> Inspection:
    """
    Return what makes a database read and write that was observed, held against a ceiling.

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


def found_for_diagnosis(
    diagnosis: Diagnosis, observation: Observation, clock: CreditClock | None = None
) -> Inspection:
    """
    Return the same, held against the ceiling of a diagnosis; that the two are of other times is said.

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
        notes.append("the ceiling was found at another time than the database was watched")
    if clock is not None and clock.ratio != 1:
        minute = number(_MINUTE_S / clock.ratio)
        notes.append(
            f"the causes were watched in real time; the times of the ceiling are on credit clock "
            f"{clock.ratio:g}, where a minute lasts {minute} s; rates are real in both"
        )
    return replace(found, notes=(*notes, *found.notes))


def _real(moment_s: float, clock: CreditClock | None) -> float:
    return float(moment_s) if clock is None else clock.real_of(moment_s)
