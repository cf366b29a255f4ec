"""
Decide whether a command that destroys something may be printed, and print its check first.

Counters begin anew when they are reset, when the server crashes, and, for what a primary did, when a standby is
promoted. Rule 1: what follows from counters younger than a week, or of unknown age, is checked, never destroyed.
Rule 2: before each destructive command stands the one that settles whether it is right.
"""

from collections.abc import Sequence

from plimsoll.model.cause import Remedy
from plimsoll.model.database import Observation, Relation
from plimsoll.units import format_duration

# A judgement: counters younger than a week do not show weekly or monthly jobs.
YOUNG_S = 7 * 86400.0
# A judgement: a counter that has less than half of a table's rows began after most of them were written.
_ROWS_LEAST = 0.5


def counted_s(observation: Observation) -> float | None:
    """Return the age of the counters; None if unknown."""
    reset_s = observation.last.counters.reset_s
    return None if reset_s is None else max(observation.last.time_s - reset_s, 0.0)


def is_settled(observation: Observation, relations: Sequence[Relation] = ()) -> bool:
    """Return whether counters show enough: a week of a primary, and most rows of these tables."""
    age_s = counted_s(observation)
    if observation.server.is_standby or age_s is None or age_s < YOUNG_S:
        return False
    return all(one.live_rows >= _ROWS_LEAST * (one.row_estimate or 0.0) for one in relations)


def since(observation: Observation) -> str:
    """Return a sentence: when the counters began, and whether that is too short."""
    age_s = counted_s(observation)
    if age_s is None:
        return "When the counters began is unknown; they begin anew after a reset or a crash."
    young = ": too short to see weekly or monthly jobs" if age_s < YOUNG_S else ""
    return f"The counters begin {format_duration(age_s)} ago{young}."


def after_check(remedy: Remedy, check: Sequence[str], *, settles: str, is_settled: bool = True) -> Remedy:
    """
    Return a destructive remedy behind its check, or only the check.

    Args:
        remedy: with its destructive commands.
        check: commands that show whether it is right.
        settles: a sentence: what the check must show.
        is_settled: whether the destructive commands may be printed.
    """
    text = f"{settles} {remedy.text}"
    if not is_settled:
        text = f"{settles} Decide it on the primary, with counters of a week or more."
    return Remedy(
        text=text,
        commands=(*check, *(remedy.commands if is_settled else ())),
        expected=remedy.expected if is_settled else "",
    )
