"""
Indexes that are not valid: what a failed CREATE INDEX CONCURRENTLY left. No query uses them; writes may have to.

Rule: one that is written to is told by `unused_indexes`, with what its upkeep takes; here are the others.
"""

from plimsoll.causes.budget import Budget
from plimsoll.causes.indexes import unused
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return all that lie idle, as one finding."""
    standing = observation.standing
    told = {
        cause.subject
        for cause in unused.causes(observation, budget)
        if cause.code == "InvalidIndex"
    }
    found = [one for one in (standing and standing.invalid_indexes) or () if one.name not in told]
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
            "Who created it believes that it helps.",
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
                Remedy(
                    text="Build it again if it is wanted, which for a unique one fails again while there are "
                    "duplicates; else drop it.",
                    commands=tuple(
                        command
                        for one in found
                        for command in (
                            f"REINDEX INDEX CONCURRENTLY {one.name};",
                            f"DROP INDEX CONCURRENTLY {one.name};",
                        )
                    ),
                ),
            ),
            refuted_by="A session is building it at this moment (pg_stat_progress_create_index).",
        ),
    )
