"""
Find invalid indexes that a failed CREATE INDEX CONCURRENTLY left. No query uses them, but writes may.

Rule: `unused.py` reports those with writes, with their maintenance cost; this reports the others.
"""

from plimsoll.causes.budget import Budget
from plimsoll.causes.checks import being_built
from plimsoll.causes.indexes import unused
from plimsoll.causes.indexes.unused import NOBODY_BUILDS
from plimsoll.causes.settled import after_check
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return all invalid indexes without writes, as one finding."""
    standing = observation.standing
    reported = {cause.subject for cause in unused.causes(observation, budget) if cause.code == "InvalidIndex"}
    found = [one for one in (standing and standing.invalid_indexes) or () if one.name not in reported]
    if not found:
        return ()
    first = found[0]
    size = sum(one.size_bytes for one in found)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    verb = "are" if len(found) > 1 else "is"
    return (
        Cause(
            kind=CauseKind.UNUSED_INDEXES,
            code="InvalidIndex",
            severity="warning",
            subject=first.name,
            title=f"Index {first.name} of {first.table}{more} {verb} not valid: no query uses it",
            text=f"A CREATE INDEX CONCURRENTLY or REINDEX failed and left it, {format_bytes(size)} large. "
            "Whoever created it may assume that it helps.",
            evidence=tuple(
                Evidence(
                    kind="index",
                    text=f"{one.name}: {'writes still maintain it' if one.is_maintained else 'not maintained'}"
                    + (f"; {one.definition}" if one.definition else ""),
                    value=float(one.size_bytes),
                )
                for one in found
            ),
            remedies=(
                after_check(
                    Remedy(
                        text="Then rebuild it if it is needed, or drop it. The rebuild of a unique index fails "
                        "again while there are duplicates.",
                        commands=tuple(
                            command
                            for one in found
                            for command in (
                                f"REINDEX INDEX CONCURRENTLY {one.name};",
                                f"DROP INDEX CONCURRENTLY {one.name};",
                            )
                        ),
                    ),
                    (being_built([one.name for one in found]),),
                    settles=NOBODY_BUILDS,
                ),
            ),
            refuted_by="A session is building it now (pg_stat_progress_create_index).",
        ),
    )
