"""Observe a database, and find what inside it causes reads and writes, compared with a ceiling."""

import time
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from plimsoll.app.reference_ceiling import ReferenceCeiling, reference_ceiling
from plimsoll.errors import CatalogError, ServerFull
from plimsoll.model.cause import Inspection
from plimsoll.model.ceiling import Dimension
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import CreditClock
from plimsoll.units import number

_MINUTE_S = 60

NO_CEILING = ReferenceCeiling(
    bytes_per_s=None, name="", notes=("no ceiling is known; --against rds:NAME or a snapshot shows which one binds",)
)


def observe(
    dsn: str, seconds: float, poolers: Sequence[str] = (), sleep: Callable[[float], None] = time.sleep
) -> Observation:
    """
    Watch a database and its poolers for some seconds, or until Ctrl-C, and return what they did.

    Args:
        dsn: libpq connection string or URI.
        seconds: how long, > 0.
        poolers: addresses or configuration files of poolers in front of it.
        sleep: waits for a number of seconds.

    Raises:
        UsageError: the DSN or an address cannot be read.
        SourceError: the server refused us, or did not answer. A full server is an observation, not an error.
    """
    from plimsoll.sources.pooler.read import pooler_reader
    from plimsoll.sources.postgres import read
    from plimsoll.sources.postgres.refused import observe_poolers

    readers = [pooler_reader(target) for target in poolers]
    try:
        return read.observe(dsn, duration_s=seconds, poolers=readers, sleep=sleep)
    except ServerFull as full:
        return observe_poolers(dsn, full.message.partition(": ")[2], duration_s=seconds, poolers=readers, sleep=sleep)


def inspect_observation(
    observation: Observation,
    reference: ReferenceCeiling,
    plateaus: tuple[tuple[float, float], ...] = (),
    instance: Instance | None = None,
) -> Inspection:
    """
    Find what makes an observed database read and write, and compare it with a ceiling.

    Args:
        observation: what was seen.
        reference: the ceiling that shares refer to, if one is known.
        plateaus: intervals at a ceiling, epoch seconds [start, end).
        instance: the instance it runs as; None if unknown.
    """
    from plimsoll.causes.inspect import inspect as law

    found = law(
        observation,
        ceiling_bytes_per_s=reference.bytes_per_s,
        ceiling_name=reference.name,
        plateaus=plateaus,
        instance=instance,
    )
    return replace(found, notes=(*reference.notes, *found.notes))


def inspect_for_diagnosis(
    diagnosis: Diagnosis, observation: Observation, clock: CreditClock | None = None, *, parts: float = 1.0
) -> Inspection:
    """
    Inspect an observation against the ceiling of a diagnosis, with a note if their times differ.

    Args:
        diagnosis: of the storage.
        observation: of the database, in real time.
        clock: converts the times of the diagnosis to real time; None if they are real.
        parts: the database ran one of so many equal parts of the load that was diagnosed.
    """
    plateaus = tuple(
        (_real(i.start_s, clock), _real(i.end_s, clock))
        for i in diagnosis.intervals
        if i.dimension is not Dimension.AMOUNT
    )
    seen = _with_processors(observation, diagnosis.instance)
    reference = reference_ceiling(diagnosis)
    if parts != 1 and reference.bytes_per_s is not None:
        note = f"the database ran one of {parts:g} equal parts of the load; shares are of a part of the ceiling"
        reference = replace(reference, bytes_per_s=reference.bytes_per_s / parts, notes=(*reference.notes, note))
    # With a credit clock the class was borrowed: the server is not that instance.
    instance = diagnosis.instance if clock is None else None
    found = inspect_observation(seen, reference, plateaus, instance)
    notes = []
    start_s, end_s = (_real(moment_s, clock) for moment_s in diagnosis.window_s)
    shared_s = min(found.end_s, end_s) - max(found.start_s, start_s)
    # Windows have whole steps, so one recorded at the same time may end a little sooner.
    if shared_s * 2 < found.end_s - found.start_s:
        notes.append("the ceiling was found at another time than the database was watched")
    if clock is not None and clock.ratio != 1:
        minute = number(_MINUTE_S / clock.ratio)
        notes.append(
            f"the database was watched in real time, but the ceiling's times use credit clock "
            f"{clock.ratio:g}, where a minute lasts {minute} s; rates are real in both"
        )
    return replace(found, notes=(*notes, *found.notes))


def _real(moment_s: float, clock: CreditClock | None) -> float:
    return float(moment_s) if clock is None else clock.real_of(moment_s)


def _with_processors(observation: Observation, instance: Instance) -> Observation:
    """
    Return the observation with the instance's processors, unless the server itself reported a number.

    Args:
        observation: of the server that runs on the instance.
        instance: as described or recorded; an unknown class adds nothing.
    """
    if observation.server.vcpu_count is not None:
        return observation
    count = _vcpu_count(instance)
    if count is None:
        return observation
    return replace(observation, server=replace(observation.server, vcpu_count=count))


def _vcpu_count(instance: Instance) -> int | None:
    from plimsoll.catalog.load import catalog
    from plimsoll.limits.class_limits import limits_of

    try:
        limits = limits_of(instance, catalog())
    except CatalogError:
        limits = None
    return instance.vcpu_count if limits is None else limits.vcpu_count
