"""
Compare two captures of one statement: is the query slower, or what it ran on?

Rule 1: the same plan over the same blocks in more time is *not the query*. Other explanations are checked
        first: a different plan, different rows, different blocks, a different share found in memory.
Rule 2: what was not captured is not assumed equal: without blocks a slower execution is unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from plimsoll.explain.pair import compare_pair
from plimsoll.explain.shapes import shape
from plimsoll.model.explain import Capture, CaptureFile, ExplainComparison, PairOutcome, Source, StatementPair, likeness

__all__ = ["compare", "status_of"]

Group = list[Capture]
Key = tuple[bool, str]
"""Whether it comes from `pg_stat_statements`, and the normalised text of the statement."""


def compare(first: CaptureFile, second: CaptureFile, *, names: tuple[str, str]) -> ExplainComparison:
    """
    Compare two files statement by statement.

    Args:
        first: the reference, captured at a normal time.
        second: the captures in question, of the slow time.
        names: names of the files.
    """
    before, after = _grouped(first.captures), _grouped(second.captures)
    if len(before) == len(after) == 1:
        _pair_unnamed(before, after)
    pairs = [_pair(before[key], after[key]) for key in before if key in after]
    notes = [*_notes(first, names[0]), *_notes(second, names[1])]
    if first.server_version and second.server_version not in ("", first.server_version):
        notes.append(
            f"The server was version {first.server_version} in '{names[0]}' and "
            f"{second.server_version} in '{names[1]}'."
        )
    if first.block_bytes != second.block_bytes:
        notes.append("The block size differs between the two sides, so block counts cannot be compared.")
    return ExplainComparison(
        first=names[0],
        second=names[1],
        pairs=tuple(sorted(pairs, key=_difference_s, reverse=True)),
        only_first=_only(before, after),
        only_second=_only(after, before),
        notes=tuple(notes),
    )


def status_of(comparison: ExplainComparison) -> int:
    """Return the exit status: 0 all the same, 1 something differs, 2 unknown."""
    if {pair.outcome for pair in comparison.pairs} - {PairOutcome.SAME, PairOutcome.UNKNOWN}:
        return 1
    known = {likeness(p.statement) for p in comparison.pairs if p.outcome is PairOutcome.SAME}
    # A plan that was not executed decides nothing, but the counters of the same statement may.
    unknown = {likeness(p.statement) for p in comparison.pairs} - known
    return 2 if unknown or not known else 0


def _grouped(captures: Iterable[Capture]) -> dict[Key, Group]:
    found: dict[Key, Group] = defaultdict(list)
    for capture in captures:
        is_counted = capture.source is Source.PG_STAT_STATEMENTS
        found[is_counted, likeness(capture.statement)].append(capture)
    return dict(found)


def _pair_unnamed(before: dict[Key, Group], after: dict[Key, Group]) -> None:
    """
    Pair a plan without text with the other side's only statement.

    EXPLAIN prints a plan without its statement.
    """
    (one,), (other,) = before, after
    if one != other and one[0] == other[0] and "" in (one[1], other[1]):
        after[one] = after.pop(other)


def _pair(before: Group, after: Group) -> StatementPair:
    (first, is_first_alone), (second, is_second_alone) = _typical(before), _typical(after)
    plans = [
        f"The {side} side has several plans for it; the one that took the most time is compared."
        for side, is_alone in (("first", is_first_alone), ("second", is_second_alone))
        if not is_alone
    ]
    return compare_pair(first, second, counts=(len(before), len(after)), also=tuple(plans))


def _typical(group: Sequence[Capture]) -> tuple[Capture, bool]:
    """
    Return the median execution of the plan that took the most time, and whether it is the only plan.

    The median is used because a log of slow statements has the slowest executions.
    """
    by_plan: dict[object, Group] = defaultdict(list)
    for capture in group:
        by_plan[None if capture.plan is None else shape(capture.plan)].append(capture)
    heaviest = max(by_plan.values(), key=lambda g: (sum(c.execution_s or 0.0 for c in g), len(g)))
    ordered = sorted(heaviest, key=lambda c: c.execution_s or 0.0)
    return ordered[(len(ordered) - 1) // 2], len(by_plan) == 1


def _difference_s(pair: StatementPair) -> float:
    """Return the time difference of all calls together, in seconds."""
    times = (pair.first.execution_s, pair.second.execution_s)
    calls = max(pair.second.calls, pair.counts[1])
    return abs((times[1] or 0.0) - (times[0] or 0.0)) * calls


def _only(there: dict[Key, Group], here: dict[Key, Group]) -> tuple[str, ...]:
    absent = [group[0].statement for key, group in there.items() if key not in here]
    return tuple(dict.fromkeys(absent))


def _notes(file: CaptureFile, name: str) -> list[str]:
    found = [f"'{name}': {item.statement}: {item.reason}" for item in file.unrecorded]
    if file.is_simulated:
        found.append(f"'{name}' is simulated. {file.note}".rstrip())
    elif file.note:
        found.append(f"'{name}': {file.note}")
    return found
