"""
Report counters that were reset or lost in a crash during the window, and whether the verdict depends on them.

Rule: without the load no share is known, and without table counters most detectors see nothing, so there is
no verdict. Other counters decide the verdict if a critical share of the load is unexplained, since they might
explain it. A crash resets all counters; they decide the verdict if more than half of the window was lost.
"""

from plimsoll.causes.budget import CRITICAL_SHARE, SMALL_BYTES_PER_S, Budget
from plimsoll.causes.unexplained import Unexplained
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Missing
from plimsoll.units import format_duration

_AGAIN = "They were reset during the inspection. Inspect again."
_VERDICT = "verdict"

# By the name of the counters: their name in reports, and what is hidden without them.
_NAMES = {
    "io": ("the I/O counters (pg_stat_io)", "who reads and writes how much"),
    "wal": ("the counters of WAL (pg_stat_wal)", "how much WAL is written"),
    "bgwriter": ("the counters of the background writer (pg_stat_bgwriter)", "what the background writer writes"),
    "checkpointer": ("the counters of checkpoints", "what checkpoints write"),
    "statements": ("the counters of statements (pg_stat_statements)", "which statements are responsible"),
    "relations": (
        "the counters of tables (pg_stat_reset)",
        "vacuum, TOAST rewrites, unused indexes and sequential scans",
    ),
}


def missing_of(observation: Observation, budget: Budget, left: Unexplained | None) -> tuple[Missing, ...]:
    """Return the counters that were reset or lost, what that hides, and the remedy."""
    return _lost_in_crash(observation) + tuple(
        Missing(name=what, hides=_VERDICT if _decides(name, budget, left) else hidden, remedy=_AGAIN)
        for name in observation.resets
        # A snapshot of a newer version may name others.
        for what, hidden in (_NAMES.get(name, (f"the counters '{name}'", _VERDICT)),)
    )


def _lost_in_crash(observation: Observation) -> tuple[Missing, ...]:
    lost_s = observation.forgotten_s
    if lost_s <= 0:
        return ()
    is_most = lost_s > observation.seconds
    return (
        Missing(
            name="the counters from before the restart",
            hides=_VERDICT if is_most else f"what the server did in the first {format_duration(lost_s)}",
            remedy="The server lost them in a crash, an immediate shutdown or a failover. Inspect again.",
        ),
    )


def _decides(name: str, budget: Budget, left: Unexplained | None) -> bool:
    load = budget.load_bytes_per_s
    if load is None or name == "relations":
        return True
    return load >= SMALL_BYTES_PER_S and left is not None and left.share >= CRITICAL_SHARE
