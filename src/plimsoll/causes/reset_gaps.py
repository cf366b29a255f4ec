"""
Counters that were reset or lost in a crash while they were watched, as gaps; and whether the verdict hangs on one.

Rule: without the load no share is known, and without the tables most detectors see nothing: then nothing can
be told. Of the rest the verdict hangs where a critical share of a load that matters has no cause: what was
reset might have told it. After a crash all of them begin anew: the verdict hangs on what was lost where that is
the longer part of the time.
"""

from plimsoll.causes.budget import CRITICAL_SHARE, SMALL_BYTES_PER_S, Budget
from plimsoll.causes.unexplained import Unexplained
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Missing
from plimsoll.units import format_duration

_AGAIN = "They were reset while the database was watched. Inspect it again."
_VERDICT = "verdict"

# By the name of the counters: what people call them, and what is not seen without them.
_TOLD = {
    "io": ("the I/O counters (pg_stat_io)", "who reads and writes how much"),
    "wal": ("the counters of WAL (pg_stat_wal)", "how much WAL is written"),
    "bgwriter": (
        "the counters of the background writer (pg_stat_bgwriter)",
        "what the background writer writes",
    ),
    "checkpointer": ("the counters of checkpoints", "what checkpoints write"),
    "statements": ("the counters of statements (pg_stat_statements)", "which statements do it"),
    "relations": (
        "the counters of tables (pg_stat_reset)",
        "vacuum, TOAST rewrites, unused indexes and sequential scans",
    ),
}


def missing_of(
    observation: Observation, budget: Budget, left: Unexplained | None
) -> tuple[Missing, ...]:
    """Return what was reset or lost, what that hides, and what would show it."""
    return _lost(observation) + tuple(
        Missing(
            name=_TOLD[name][0],
            hides=_VERDICT if _decides(name, budget, left) else _TOLD[name][1],
            remedy=_AGAIN,
        )
        for name in observation.resets
    )


def _lost(observation: Observation) -> tuple[Missing, ...]:
    lost_s = observation.forgotten_s
    if lost_s <= 0:
        return ()
    is_most = lost_s > observation.seconds
    return (
        Missing(
            name="the counters from before the restart",
            hides=_VERDICT
            if is_most
            else f"what the server did in the first {format_duration(lost_s)}",
            remedy="The server lost them in a crash, an immediate stop or a failover. Inspect it again.",
        ),
    )


def _decides(name: str, budget: Budget, left: Unexplained | None) -> bool:
    load = budget.load_bytes_per_s
    if load is None or name == "relations":
        return True
    return load >= SMALL_BYTES_PER_S and left is not None and left.share >= CRITICAL_SHARE
