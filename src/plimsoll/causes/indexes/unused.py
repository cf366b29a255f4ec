"""
Indexes that every write has to maintain and that nothing has looked into.

Rule 1: never scanned is a fact about the time since the counters began; how long that is, is said, and
        where it is short or another server may use the index, so is that.
Rule 2: an index that keeps a rule (primary key, unique, exclusion, foreign key) is used by that.
Rule 3: several are judged by their sum: each may be small, and dropping all is one decision.
Rule 4: reads of an index that is never scanned are all for its upkeep, and measured. What it writes is
        estimated in `upkeep.py`. That it takes room in the buffers from other pages is not counted.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.growth import IndexGrowth, TableGrowth, indexes_of, tables_of
from plimsoll.causes.indexes.upkeep import Upkeep, imaged_ratio, upkeep_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.severity import Severity
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ratio, number

# An index that a monthly or weekly job needs is not idle after some days; a judgement.
_YOUNG_S = 7 * 86400.0
_INDEXES_MOST = 10
_LOADING = (
    " The table is being loaded: nothing can have asked for its new rows yet. A large load is faster when its "
    "indexes are created after it."
)


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
    """Return invalid indexes one by one; of those that nothing scans one alone, or all of them by their sum."""
    tables = {table.last.oid: table for table in tables_of(observation)}
    imaged = imaged_ratio(observation)
    used = {
        index.last.parent
        for index in indexes_of(observation)
        if index.last.parent and (index.last.scans or index.last.is_unique)
    }
    found = [
        idle
        for index in indexes_of(observation)
        if (table := tables.get(index.last.table_oid)) is not None
        # A partitioned index is used where one of its parts is.
        and index.last.parent not in used
        and (idle := _idle(index, table, observation, imaged)) is not None
    ]
    found.sort(key=lambda idle: (-idle.bytes_per_s, idle.index.last.name))
    invalid = [idle for idle in found if not idle.index.last.is_valid]
    unused = [idle for idle in found if idle.index.last.is_valid]
    told = [_cause(idle, observation, budget) for idle in invalid[:_INDEXES_MOST]]
    if len(unused) == 1:
        told.append(_cause(unused[0], observation, budget))
    elif unused:
        told.append(_together(unused, observation, budget))
    return ranked(told)


def _idle(
    index: IndexGrowth, table: TableGrowth, observation: Observation, imaged: float | None
) -> _Idle | None:
    last = index.last
    if last.is_valid and (last.scans or last.is_unique or last.is_constraint):
        return None
    upkeep = upkeep_of(index, table, observation, imaged)
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
        severity="note"
        if index.is_valid and _is_loading(idle.table)
        else _severity(budget, total, age_s, is_valid=index.is_valid),
        subject=index.name,
        title=f"Index {index.name} of {table.name} {why} and takes about "
        f"{format_bytes_per_s(total, 3)} for its upkeep, by estimate{part}.",
        text=(
            f"{number(idle.upkeep.entries_per_s, 3)} entries a second are put into it, "
            f"{format_bytes(index.size_bytes)} large. {_since(age_s)} Its reads are measured; what it "
            f"writes is an estimate, {_spread(idle.upkeep)}."
            f"{_LOADING if index.is_valid and _is_loading(idle.table) else ''}"
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
    """Return where its entries are taken to go, and by what that is known."""
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
        commands=(_drop(idle),),
        expected=f"About {format_bytes_per_s(idle.bytes_per_s, 3)} less, "
        f"{format_bytes(index.size_bytes)} of space, and more updates that need touch no index.",
    )


def _together(found: Sequence[_Idle], observation: Observation, budget: Budget) -> Cause:
    """Return all that nothing scans: each may be small, and what they take together decides."""
    read = sum(idle.read_bytes_per_s for idle in found)
    written = sum(idle.written_bytes_per_s for idle in found)
    size = sum(idle.index.last.size_bytes for idle in found)
    age_s = _age_s(observation)
    share = budget.of_load(read + written)
    part = f": {format_ratio(share)} of all bytes" if share is not None else ""
    told = found[:_INDEXES_MOST]
    more = f" and {len(found) - len(told)} smaller ones" if len(found) > len(told) else ""
    tables = dict.fromkeys(_table_of(idle) for idle in found)
    of = f" of {next(iter(tables))}" if len(tables) == 1 else ""
    loading = sum(idle.bytes_per_s for idle in found if _is_loading(idle.table))
    is_loading = loading > (read + written) / 2
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndexes",
        severity="note" if is_loading else _severity(budget, read + written, age_s, is_valid=True),
        subject=next(iter(tables)) if len(tables) == 1 else "",
        title=f"{len(found)} indexes{of} have never been scanned and take about "
        f"{format_bytes_per_s(read + written, 3)} together for their upkeep, by estimate{part}.",
        text=f"They are {format_bytes(size)} large. {_since(age_s)} Reads are measured; what they write is an "
        f"estimate.{_LOADING if is_loading else ''}",
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        is_estimated=True,
        share_of_load=share,
        share_of_ceiling=budget.of_ceiling(read + written),
        evidence=tuple(
            Evidence(
                kind="index",
                text=f"{idle.index.last.name}: {format_bytes_per_s(idle.bytes_per_s, 3)}, "
                f"{format_bytes(idle.index.last.size_bytes)}"
                + (f"; {idle.index.last.definition}" if idle.index.last.definition else ""),
                value=idle.bytes_per_s,
            )
            for idle in told
        )
        + ((Evidence(kind="index", text=more.removeprefix(" and ")),) if more else ()),
        remedies=(
            Remedy(
                text="Drop those that no replica and no seldom job needs, one after the other; keep their "
                "definitions. An index of a partitioned table is dropped with the parent's, under a lock "
                "that readers wait for."
                if any(idle.index.last.parent for idle in told)
                else "Drop those that no replica and no seldom job needs, one after the other; keep "
                "their definitions.",
                commands=tuple(dict.fromkeys(_drop(idle) for idle in told)),
                expected=f"About {format_bytes_per_s(read + written, 3)} less, {format_bytes(size)} of space, "
                "and more updates that need touch no index.",
            ),
        ),
        refuted_by="A replica whose queries use them (their scans are counted there), or a job that has "
        "not run since the counters began.",
    )


def _table_of(idle: _Idle) -> str:
    return idle.table.last.parent or idle.table.last.name


def _drop(idle: _Idle) -> str:
    index = idle.index.last
    if index.parent:
        return f"DROP INDEX {index.parent};"
    return f"DROP INDEX CONCURRENTLY {index.name};"


def _is_loading(table: TableGrowth) -> bool:
    """Return whether most of its rows came while it was watched: nothing can have asked for them yet."""
    return table.of("inserted") > table.rows / 2


def _severity(budget: Budget, total: float, age_s: float | None, *, is_valid: bool) -> Severity:
    """
    Return what is only an estimate is never critical, and what may be needed tomorrow is a note.

    From a quarter of the load on it is told as a warning however young the counters are: so much is worth
    asking who needs it.
    """
    found = severity_of(budget, total)
    if is_valid and found != "critical" and age_s is not None and age_s < _YOUNG_S:
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
