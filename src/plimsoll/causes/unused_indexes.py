"""
Indexes that every write has to maintain and that nothing has looked into.

Rule 1: never scanned is a fact about the time since the counters began; how long that is, is said, and
        where it is short or another server may use the index, so is that.
Rule 2: an index that keeps a rule (primary key, unique, exclusion, foreign key) is used by that.
Rule 3: reads of an index that is never scanned are all for its upkeep, and measured. What it writes is
        estimated: each entry changes a page, which is written once between two checkpoints, and whenever
        it has to make room for one that is read; and it goes into WAL, after a checkpoint as a whole
        page. That it takes room in the buffers from other pages is not counted.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.growth import IndexGrowth, TableGrowth, indexes_of, setting_of, tables_of
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ratio, number

# An index that a monthly or weekly job needs is not idle after some days; a judgement.
_YOUNG_S = 7 * 86400.0
_CHECKPOINT_TIMEOUT_S = 300.0
# What WAL says of an insertion beside the entry: headers of record, block and page position
# (PostgreSQL, access/xlogrecord.h), rounded.
_WAL_HEADER_BYTES = 64.0
_ENTRY_LEAST_BYTES, _ENTRY_MOST_BYTES = 16.0, 2700.0
_INDEXES_MOST = 10
# Below this an index is named with the others only.
_BYTES_LEAST = 1e3


class _Idle(Struct, frozen=True, kw_only=True):
    """An index that is maintained for nothing."""

    index: IndexGrowth
    table: TableGrowth
    entries_per_s: float
    read_bytes_per_s: float
    written_bytes_per_s: float

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
    entries = table.of("inserted") + table.of("updated") - table.of("hot_updated")
    if entries <= 0:
        return None
    rate = entries / observation.seconds
    block = observation.server.block_bytes
    read = index.of("blocks_read") * block / observation.seconds
    return _Idle(
        index=index,
        table=table,
        entries_per_s=rate,
        read_bytes_per_s=read,
        written_bytes_per_s=_evicted(index, read, observation)
        + _flushed(index, rate, observation)
        + _logged(index, table, rate),
    )


def _evicted(index: IndexGrowth, read_bytes_per_s: float, observation: Observation) -> float:
    """Pages that were read again between checkpoints had to be written before; the first time not."""
    once = index.last.size_bytes / _between_checkpoints_s(observation)
    return max(read_bytes_per_s - once, 0.0)


def _flushed(index: IndexGrowth, entries_per_s: float, observation: Observation) -> float:
    """Pages changed between checkpoints, no more than there are: once to their place, once to WAL."""
    between_s = _between_checkpoints_s(observation)
    changed = entries_per_s * between_s * observation.server.block_bytes
    copies = 1 if observation.server.settings.get("full_page_writes") == "off" else 2
    return copies * min(changed, float(index.last.size_bytes)) / between_s


def _between_checkpoints_s(observation: Observation) -> float:
    """As was seen in the window; where none came, as the timeout says."""
    first, last = observation.first.counters, observation.last.counters
    came = last.checkpoints_timed - first.checkpoints_timed
    came += last.checkpoints_requested - first.checkpoints_requested
    if came > 0:
        return observation.seconds / came
    return setting_of(observation, "checkpoint_timeout") or _CHECKPOINT_TIMEOUT_S


def _logged(index: IndexGrowth, table: TableGrowth, entries_per_s: float) -> float:
    entry = index.last.size_bytes / table.rows
    entry = min(max(entry, _ENTRY_LEAST_BYTES), _ENTRY_MOST_BYTES)
    return entries_per_s * (entry + _WAL_HEADER_BYTES)


def _cause(idle: _Idle, observation: Observation, budget: Budget) -> Cause:
    index, table = idle.index.last, idle.table.last
    total = idle.bytes_per_s
    age_s = _age_s(observation)
    share = budget.of_load(total)
    part = f", {format_ratio(share)} of all bytes" if share is not None else ""
    why = "has never been scanned" if index.is_valid else "is not valid, so that nothing can use it"
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndex" if index.is_valid else "InvalidIndex",
        severity=_severity(budget, total, age_s, is_valid=index.is_valid),
        subject=index.name,
        title=f"Index {index.name} of {table.name} {why} and takes about "
        f"{format_bytes_per_s(total)}{part} for its upkeep, by estimate.",
        text=(
            f"{number(idle.entries_per_s, 3)} entries a second are put into it, "
            f"{format_bytes(index.size_bytes)} large. {_since(age_s)} Its reads are measured; what it "
            "writes is an estimate, each entry on a page of its own: less where new entries follow "
            "each other, as of a time or a sequence."
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
                text=f"{format_bytes_per_s(idle.read_bytes_per_s)} read for its upkeep, measured.",
                value=idle.read_bytes_per_s,
            ),
        ),
        remedies=(_remedy(idle),),
        refuted_by="A replica whose queries use it (their scans are counted there), or a job that has "
        "not run since the counters began.",
    )


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
        expected=f"About {format_bytes_per_s(idle.bytes_per_s)} less, "
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
        f"take about {format_bytes_per_s(read + written)} for their upkeep, by estimate.",
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
