"""
Sequences that come to their end: the next number is then an error, and nothing can be inserted.

Rule: the end is that of the sequence or of the column it fills, whichever comes first: an `integer` column has
2,147,483,647 as its last number, however far its sequence goes.
"""

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import tables_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.standing import Sequence
from plimsoll.units import format_duration, format_ratio, number

# Judgements: at three quarters there is time to change a type without haste, at nine tenths there is little.
_WARNING, _CRITICAL = 0.75, 0.9
# To change the type of a large table's key takes weeks of preparation.
_SOON_S = 30 * 86_400.0


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return each sequence that has used up three quarters of its numbers, or ends within a month at this rate."""
    del budget  # Numbers are no bytes.
    standing = observation.standing
    if standing is None:
        return ()
    found = [_cause(observation, one) for one in standing.sequences or ()]
    return ranked([cause for cause in found if cause is not None])


def _cause(observation: Observation, one: Sequence) -> Cause | None:
    bound = _bound(one)
    by_column = bound != one.bound
    if one.does_cycle and not by_column:
        return None
    used = one.last / bound if bound else 0.0
    left = max(int((bound - one.last) / one.increment), 0)
    rate = _inserted_per_s(observation, one.table_oid)
    ends_s = left / rate if rate else None
    is_soon = ends_s is not None and ends_s <= _SOON_S
    if used < _WARNING and not is_soon:
        return None
    where = (
        f"column {one.column} is of type {one.column_type} and"
        if by_column
        else f"its {'MAXVALUE' if one.increment > 0 else 'MINVALUE'}"
    )
    said = (
        f", at {number(rate, 3)} rows a second in {format_duration(ends_s)}"
        if rate and ends_s
        else ""
    )
    return Cause(
        kind=CauseKind.SEQUENCES,
        code="SequenceNearEnd",
        severity="critical" if used >= _CRITICAL or is_soon else "warning",
        subject=one.name,
        title=f"Sequence {one.name} has used {format_ratio(used)} of its numbers: {number(left)} are left{said}",
        text=f"It is at {number(one.last)}; {where} ends at {number(bound)}. After that every insert that asks "
        "for a number fails.",
        evidence=(
            Evidence(
                kind="sequence",
                text=f"it fills {one.column} ({one.column_type})"
                if one.column
                else "no column owns it",
                value=float(one.last),
                reference=float(bound),
            ),
        ),
        remedies=_remedies(one, by_column=by_column),
        refuted_by="Its numbers are set back or cycle on purpose, and old rows are gone by then.",
    )


def _bound(one: Sequence) -> int:
    """Return the end that comes first."""
    if one.column_bound is None:
        return one.bound
    # Types have one number more below zero than above.
    nearest = one.column_bound if one.increment > 0 else -one.column_bound - 1
    return min(one.bound, nearest) if one.increment > 0 else max(one.bound, nearest)


def _inserted_per_s(observation: Observation, table_oid: int | None) -> float | None:
    if observation.seconds <= 0:
        return None
    for table in tables_of(observation):
        if table.last.oid == table_oid:
            return table.of("inserted") / observation.seconds or None
    return None


def _remedies(one: Sequence, *, by_column: bool) -> tuple[Remedy, ...]:
    table, _, column = (one.column or "").rpartition(".")
    # An identity or serial sequence of an integer column has that column's bound itself.
    has_small_column = one.column_bound is not None
    found = []
    if has_small_column and table:
        found.append(
            Remedy(
                text="Make the column bigint. This rewrites the table under an exclusive lock: on a large "
                "one add a bigint column, fill it in parts, and exchange the two. Columns that refer "
                "to it need the same.",
                commands=(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE bigint;",),
                expected="9,223,372,036,854,775,807 instead of 2,147,483,647.",
            )
        )
    if not by_column:
        found.append(
            Remedy(
                text="Let the sequence itself go on, which is done at once.",
                commands=(f"ALTER SEQUENCE {one.name} AS bigint NO MAXVALUE;",),
            )
        )
    return tuple(found)
