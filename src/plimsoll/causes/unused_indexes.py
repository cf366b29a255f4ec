"""
Indexes that every write has to maintain and that nothing has looked into.

Rule 1: never scanned is a fact about the time since the counters began; how long that is, is said, and
        where it is short or another server may use the index, so is that.
Rule 2: an index that keeps a rule (primary key, unique, exclusion, foreign key) is used by that.
Rule 3: reads of an index that is never scanned are all for its upkeep, and measured. What it writes is
        estimated in `upkeep.py`. That it takes room in the buffers from other pages is not counted.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.growth import IndexGrowth, TableGrowth, indexes_of, tables_of
from plimsoll.causes.upkeep import Upkeep, upkeep_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ratio, number

# An index that a monthly or weekly job needs is not idle after some days; a judgement.
_YOUNG_S = 7 * 86400.0
_INDEXES_MOST = 10
# Below this an index is named with the others only.
_BYTES_LEAST = 1e3


class _Idle(Struct, frozen=True, kw_only=True):
    """An index that is maintained for nothing."""

    index: IndexGrowth
    table: TableGrowth
    upkeep: Upkeep

    @property
    def read_bytes_per_s(self) -> float:
        return self.upkeep.read_bytes_per_s

    @property
    def written_bytes_per_s(self) -> float:
        return self.upkeep.written_bytes_per_s

    @property
    def bytes_per_s(self) -> float:
        return self.read_bytes_per_s + self.written_bytes_per_s


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Each index that is maintained but not used, the most bytes first; many small ones as one."""
    tables = {table.last.oid: table for table in tables_of(observation)}
    found = [
        idle
        for index in indexes_of(observation)
        if (table := tables.get(index.last.table_oid)) is not None
        and (idle := _idle(index, table, observation)) is not None
    ]
    found.sort(key=lambda idle: -idle.bytes_per_s)
    named = [idle for idle in found[:_INDEXES_MOST] if idle.bytes_per_s >= _BYTES_LEAST]
    told = [_cause(idle, observation, budget) for idle in named]
    rest = found[len(named) :]
    return ranked([*told, *([_rest(rest, observation, budget)] if rest else [])])


def _idle(index: IndexGrowth, table: TableGrowth, observation: Observation) -> _Idle | None:
    last = index.last
    if last.is_valid and (last.scans or last.is_unique or last.is_constraint):
        return None
    upkeep = upkeep_of(index, table, observation)
    return None if upkeep is None else _Idle(index=index, table=table, upkeep=upkeep)


def _cause(idle: _Idle, observation: Observation, budget: Budget) -> Cause:
    index, table = idle.index.last, idle.table.last
    total = idle.bytes_per_s
    age_s = _age_s(observation)
    share = budget.of_load(total)
    part = f": {format_ratio(share)} of all bytes" if share is not None else ""
    why = "has never been scanned" if index.is_valid else "is not valid, so that nothing can use it"
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndex" if index.is_valid else "InvalidIndex",
        severity=_severity(budget, total, age_s, is_valid=index.is_valid),
        subject=index.name,
        title=f"Index {index.name} of {table.name} {why} and takes about "
        f"{format_bytes_per_s(total, 3)} for its upkeep, by estimate{part}.",
        text=(
            f"{number(idle.upkeep.entries_per_s, 3)} entries a second are put into it, "
            f"{format_bytes(index.size_bytes)} large. {_since(age_s)} Its reads are measured; what it "
            f"writes is an estimate, {_spread(idle.upkeep)}."
        ),
        read_bytes_per_s=idle.read_bytes_per_s,
        written_bytes_per_s=idle.written_bytes_per_s,
        is_estimated=True,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(total),
        evidence=(
            Evidence(kind="index", text=f"{number(index.scans)} scans.", value=float(index.scans)),
            Evidence(
                kind="index",
                text=f"{format_bytes_per_s(idle.read_bytes_per_s, 3)} read for its upkeep, measured.",
                value=idle.read_bytes_per_s,
            ),
        ),
        remedies=(_remedy(idle),),
        refuted_by="A replica whose queries use it (their scans are counted there), or a job that has "
        "not run since the counters began.",
    )


def _spread(upkeep: Upkeep) -> str:
    """Where its entries are taken to go, and by what that is known."""
    pages = f"{number(upkeep.pages_per_entry, 3)} of its pages were looked at for each entry"
    if upkeep.at_end_ratio > 0.9:
        return f"each entry at its end: {pages}"
    if upkeep.at_end_ratio < 0.1:
        return f"entries spread over all of its pages: {pages}; less where they keep to a few"
    return f"{format_ratio(upkeep.at_end_ratio)} of the entries at its end: {pages}"


def _remedy(idle: _Idle) -> Remedy:
    index = idle.index.last
    kept = f" Keep its definition: {index.definition}" if index.definition else ""
    partition = (
        " An index that belongs to one of the partitioned table goes with that one only."
        if idle.table.last.kind == "partition"
        else ""
    )
    return Remedy(
        text=f"Drop it when no replica and no seldom job needs it.{partition}{kept}",
        commands=(f"DROP INDEX CONCURRENTLY {index.name};",),
        expected=f"About {format_bytes_per_s(idle.bytes_per_s, 3)} less, "
        f"{format_bytes(index.size_bytes)} of space, and more updates that need touch no index.",
    )


def _rest(rest: Sequence[_Idle], observation: Observation, budget: Budget) -> Cause:
    read = sum(idle.read_bytes_per_s for idle in rest)
    written = sum(idle.written_bytes_per_s for idle in rest)
    size = sum(idle.index.last.size_bytes for idle in rest)
    names = ", ".join(idle.index.last.name for idle in rest[:_INDEXES_MOST])
    more = ", …" if len(rest) > _INDEXES_MOST else ""
    word = "index" if len(rest) == 1 else "indexes"
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndexes",
        severity=_severity(budget, read + written, _age_s(observation), is_valid=True),
        subject="",
        title=f"{len(rest)} further unused {word}, {format_bytes(size)} together, "
        f"take about {format_bytes_per_s(read + written, 3)} for their upkeep, by estimate.",
        text=f"{names}{more}. {_since(_age_s(observation))}",
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        is_estimated=True,
        share_of_load=budget.of_load(read + written),
        share_of_ceiling=budget.of_ceiling(read + written),
        remedies=(
            Remedy(
                text="Drop those that no replica and no seldom job needs.",
                commands=tuple(
                    f"DROP INDEX CONCURRENTLY {idle.index.last.name};"
                    for idle in rest[:_INDEXES_MOST]
                ),
            ),
        ),
        refuted_by="A replica whose queries use them, or a job that has not run since the counters "
        "began.",
    )


def _severity(budget: Budget, total: float, age_s: float | None, *, is_valid: bool) -> str:
    """What is only an estimate is never critical, and what may be needed tomorrow is a note."""
    found = severity_of(budget, total)
    if is_valid and age_s is not None and age_s < _YOUNG_S:
        return "note"
    return "warning" if found == "critical" else found


def _age_s(observation: Observation) -> float | None:
    reset_s = observation.last.counters.reset_s
    return None if reset_s is None else max(observation.last.time_s - reset_s, 0.0)


def _since(age_s: float | None) -> str:
    if age_s is None:
        return (
            "The counters were never reset; they begin with the database, or with the last crash of "
            "the server."
        )
    young = ": too short to see weekly or monthly jobs" if age_s < _YOUNG_S else ""
    return f"The counters begin {format_duration(age_s)} ago{young}."
