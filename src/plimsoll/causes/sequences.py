"""
Find sequences near their end: after the last number every insert fails.

Rule: the end is that of the sequence or of the column it fills, whichever comes first. An `integer` column
ends at 2,147,483,647 even if its sequence is larger (manual, "Numeric Types").
"""

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.growth import tables_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.standing import Sequence
from plimsoll.units import format_duration, format_ratio, number

# Judgements: at three quarters there is time to change the type; at nine tenths there is little.
_WARNING, _CRITICAL = 0.75, 0.9
# A judgement: the change of a large table's key type needs weeks of preparation.
_SOON_S = 30 * 86_400.0


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return each sequence that has used 75 % of its numbers, or ends within 30 days at this rate."""
    del budget  # Sequence numbers are no bytes.
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
    rest = f", enough for {format_duration(ends_s)} at {number(rate, 3)} rows per second" if rate and ends_s else ""
    return Cause(
        kind=CauseKind.SEQUENCES,
        code="SequenceNearEnd",
        severity="critical" if used >= _CRITICAL or is_soon else "warning",
        subject=one.name,
        title=f"Sequence {one.name} has used {format_ratio(used)} of its numbers: {number(left)} are left{rest}",
        text=f"It is at {number(one.last)}; {where} ends at {number(bound)}. After that every insert that needs "
        "a number fails.",
        evidence=(
            Evidence(
                kind="sequence",
                text=f"it fills {one.column} ({one.column_type})" if one.column else "no column owns it",
                value=float(one.last),
                reference=float(bound),
            ),
        ),
        remedies=_remedies(one, by_column=by_column),
        refuted_by="The sequence is reset or cycles by design, and the old rows are deleted by then.",
    )


def _bound(one: Sequence) -> int:
    """Return the end of the sequence or of its column, whichever comes first."""
    if one.column_bound is None:
        return one.bound
    # Two's complement: integer types have one more number below zero than above.
    nearest = one.column_bound if one.increment > 0 else -one.column_bound - 1
    return min(one.bound, nearest) if one.increment > 0 else max(one.bound, nearest)


def _inserted_per_s(observation: Observation, table_oid: int | None) -> float | None:
    """Return rows inserted per second into the sequence's table; None if unknown or zero."""
    if observation.seconds <= 0:
        return None
    for table in tables_of(observation):
        if table.last.oid == table_oid:
            return table.of("inserted") / observation.seconds or None
    return None


def _remedies(one: Sequence, *, by_column: bool) -> tuple[Remedy, ...]:
    table, _, column = (one.column or "").rpartition(".")
    # The sequence of an identity or serial column ends where the column does.
    has_small_column = one.column_bound is not None
    found = []
    if has_small_column and table:
        found.append(
            Remedy(
                text="Make the column bigint. This rewrites the table under an exclusive lock. For a large "
                "table, add a bigint column, fill it in batches, and swap the two. Columns that "
                "reference it need the same change.",
                commands=(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE bigint;",),
                expected="9,223,372,036,854,775,807 instead of 2,147,483,647.",
            )
        )
    if not by_column:
        found.append(
            Remedy(
                text="Extend the sequence, which is done at once.",
                commands=(f"ALTER SEQUENCE {one.name} AS bigint NO MAXVALUE;",),
            )
        )
    return tuple(found)
