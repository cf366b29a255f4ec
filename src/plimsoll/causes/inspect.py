"""
Run every detector on an observation, and sort the findings.

Rule 1: a detector is a function `causes(observation, budget)`. The list below has all of them, and nothing
        else decides which run.
Rule 2: what could not be read is reported with what it hides, so that no finding does not look like health.
"""

from collections.abc import Callable
from itertools import chain

from msgspec.structs import replace

from plimsoll.causes import reset_gaps, sequences
from plimsoll.causes.budget import Budget, budget_of, ranked
from plimsoll.causes.connections import blocking, connections, full_server
from plimsoll.causes.consequences import in_order, without_second_views
from plimsoll.causes.indexes import invalid as invalid_indexes
from plimsoll.causes.indexes import sequential_scans
from plimsoll.causes.indexes import unused as unused_indexes
from plimsoll.causes.platform import in_place, place_of
from plimsoll.causes.poolers import poolers
from plimsoll.causes.statements import bulk_loads, hint_bits, statements, temporary_files
from plimsoll.causes.toast import toast
from plimsoll.causes.unexplained import unexplained
from plimsoll.causes.vacuum import (
    autovacuum_off,
    autovacuum_settings,
    bloat,
    held_back,
    toast_options,
    vacuum,
    wraparound,
)
from plimsoll.causes.vacuum.runs import uncounted_by
from plimsoll.causes.wal import checkpoints, decoding, wal
from plimsoll.model.cause import Cause, Inspection
from plimsoll.model.contained import collecting, gaps_of, guarded_each
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Missing
from plimsoll.model.instance import Instance

DETECTORS: tuple[Callable[[Observation, Budget], tuple[Cause, ...]], ...] = (
    wraparound.causes,
    held_back.causes,
    sequences.causes,
    bloat.causes,
    invalid_indexes.causes,
    toast.causes,
    vacuum.causes,
    autovacuum_off.causes,
    autovacuum_settings.causes,
    toast_options.causes,
    statements.causes,
    checkpoints.causes,
    wal.causes,
    temporary_files.causes,
    bulk_loads.causes,
    hint_bits.causes,
    decoding.causes,
    sequential_scans.causes,
    unused_indexes.causes,
    blocking.causes,
    connections.causes,
    poolers.causes,
)

# Detectors that report their own missing data.
_REPORT_GAPS: tuple[Callable[[Observation], tuple[Missing, ...]], ...] = (
    toast.missing_of,
    vacuum.missing_of,
    autovacuum_settings.missing_of,
    statements.missing_of,
    connections.missing_of,
    bloat.missing_of,
)

# What is hidden without a part of the reading, by the reader's name of the part.
_HIDES = {
    "relations": "vacuum, TOAST rewrites, autovacuum settings and sequential scans",
    "indexes": "unused indexes",
    "columns": "which column's values are rewritten",
    "statements": "which statements are responsible",
    "sessions": "connections, and who has them",
    "vacuums": "running vacuums",
    "counters": "temporary files, checkpoints and new connections",
    "io": "who reads and writes how much; the total is estimated",
    "wal": "how much WAL is written",
    "wal files": "the zeros that new WAL files are filled with",
    "decoding": "what logical decoding writes to files",
    "checkpoints": "what checkpoints write",
    "settings": "the settings in effect",
    "ages of databases": "how near transaction ID wraparound is",
    "ages of tables": "which tables have the oldest transaction IDs",
    "replication slots": "slots that retain WAL",
    "prepared transactions": "prepared transactions that were never ended",
    "sequences": "sequences near their end",
    "invalid indexes": "indexes that no query can use",
    "bloat": "tables and indexes with much empty space",
    "platform": "how settings are changed on this platform",
    "promotion": "whether the counters are those of a former standby",
}
# A judgement: in a shorter window chance decides much of what is seen.
_SHORT_S = 10.0
# What the reader says about the window is a note, not a gap.
_REMARKS = ("window",)


def inspect(
    observation: Observation,
    *,
    ceiling_bytes_per_s: float | None = None,
    ceiling_name: str = "",
    plateaus: tuple[tuple[float, float], ...] = (),
    instance: Instance | None = None,
) -> Inspection:
    """
    Find what makes a database read and write, the largest cause first.

    Args:
        observation: two readings of its counters, and glances at its sessions in between.
        ceiling_bytes_per_s: the ceiling that binds its storage, > 0; None if unknown.
        ceiling_name: name of that ceiling, for reports.
        plateaus: intervals at a ceiling, epoch seconds [start, end).
        instance: the instance that the database was compared with; None if nothing was given.
    """
    budget = budget_of(
        observation, ceiling_bytes_per_s=ceiling_bytes_per_s, ceiling_name=ceiling_name, plateaus=plateaus
    )
    budget = replace(budget, uncounted_bytes_per_s=uncounted_by(observation))
    server = observation.server
    place = place_of(server, instance)
    with collecting() as failed:
        found = tuple(in_place(cause, place) for cause in found_by_all(observation, budget))
    left = unexplained(budget, found)
    return Inspection(
        place=server.place,
        version=server.version,
        role=server.role,
        is_standby=server.is_standby,
        start_s=observation.first.time_s,
        end_s=observation.last.time_s,
        load_read_bytes_per_s=budget.read_bytes_per_s,
        load_written_bytes_per_s=budget.written_bytes_per_s,
        load_is_estimated=budget.is_estimated,
        unexplained_bytes_per_s=None if left is None else left.bytes_per_s,
        unexplained_share=None if left is None else left.share,
        ceiling_bytes_per_s=ceiling_bytes_per_s,
        ceiling_name=ceiling_name,
        causes=found,
        missing=(*gaps_of(failed), *reset_gaps.missing_of(observation, budget, left), *missing_of(observation)),
        query_count=observation.query_count,
        received_bytes=observation.received_bytes,
        asked_s=observation.asked_s,
        notes=notes_of(observation, budget, found),
        reading_count=0 if observation.full else 2 if observation.seconds > 0 else 1,
        glance_count=len(observation.glances),
    )


def found_by_all(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return the findings of every detector, the worst first; nothing with a single reading."""
    if observation.full:
        return ranked([*full_server.causes_of(observation), *poolers.causes(observation, budget)])
    if observation.seconds <= 0:
        return ()
    found = guarded_each(_topic, DETECTORS, lambda detect: detect(observation, budget))
    return in_order(ranked(without_second_views(list(chain(*found)))))


def _topic(detect: Callable[..., object]) -> str:
    """Return what a detector looks for, for the gap where it fails: `invalid indexes`."""
    path = detect.__module__.split(".")
    return " ".join(dict.fromkeys(path[2:])).replace("_", " ")


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return what could not be read, what that hides, and the remedy; each part once."""
    gaps: dict[str, Missing] = {}
    if observation.full:
        return full_server.missing_of(observation)
    if observation.seconds <= 0:
        gaps["second reading"] = Missing(
            name="a second reading",
            hides="verdict",
            remedy="Rates are differences of two readings. Inspect again for at least some seconds.",
        )
    for name, remedy in observation.missing:
        if name not in _REMARKS:
            gaps[name] = Missing(name=name, hides=_HIDES.get(name, ""), remedy=remedy)
    for missing in _REPORT_GAPS if observation.seconds > 0 else ():
        for gap in missing(observation):
            gaps.setdefault(gap.name, gap)
    return tuple(gaps.values())


def notes_of(observation: Observation, budget: Budget, found: tuple[Cause, ...]) -> tuple[str, ...]:
    """Return notes that qualify the numbers."""
    if observation.full:
        return tuple(poolers.summaries(observation))
    notes = [remark for name, remark in observation.missing if name in _REMARKS]
    if 0 < observation.seconds < _SHORT_S:
        notes.append(
            f"{observation.seconds:.0f} s is short: sessions report at most once a second, and work that "
            "runs once a minute is missed or counted in full; use --for 60s"
        )
    if observation.server.is_standby:
        notes.append(
            "this is a standby: its writes come from the primary, so look for the cause and run the commands there"
        )
    if sum(cause.bytes_per_s is not None for cause in found) > 1:
        notes.append("causes may count the same bytes, for example the WAL of a rewrite, so do not add their shares")
    notes += poolers.summaries(observation)
    if budget.is_estimated:
        notes.append(
            f"PostgreSQL {observation.server.version} does not count its system I/O: reads and writes "
            "are estimated from blocks, checkpoints, temporary files and WAL"
        )
    if observation.last.io is not None:
        notes.append("rates are what the server requested; the page cache may have served some of its reads")
    return tuple(notes)
