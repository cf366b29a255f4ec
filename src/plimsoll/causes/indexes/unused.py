"""
Find indexes that every write maintains and no query scans.

Rule 1: "never scanned" holds since the counters began. The text gives that time; `settled.py` decides whether it
        is enough to print DROP INDEX, which stands behind the check that is made on every replica too.
Rule 2: an index of a constraint (primary key, unique, exclusion, foreign key) is used by the constraint.
Rule 3: several are judged by their sum: each may be small, and dropping them is one decision.
Rule 4: all reads of an index that is never scanned are for its maintenance, and measured. `upkeep.py` estimates
        its writes. Its use of shared buffers is not counted.
"""

from collections.abc import Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked, severity_of
from plimsoll.causes.checks import being_built, scans_of, scans_of_parts
from plimsoll.causes.growth import IndexGrowth, TableGrowth, indexes_of, tables_of
from plimsoll.causes.indexes.upkeep import Upkeep, imaged_ratio, upkeep_of
from plimsoll.causes.settled import after_check, is_settled, since
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence
from plimsoll.model.severity import Severity
from plimsoll.units import format_bytes, format_bytes_per_s, format_ratio, number

# A judgement: more names are a list; the rest is counted.
_INDEXES_MOST = 10
_LOADING = (
    " The table is being loaded, so queries cannot have needed its new rows yet. A large load is faster if its "
    "indexes are created after it."
)


class _Idle(Struct, frozen=True, kw_only=True):
    """An index that is maintained but never scanned."""

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
    """Return invalid indexes one by one, and all unused ones as one finding."""
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
        # A partitioned index is used if one of its parts is used.
        and index.last.parent not in used
        and (idle := _idle(index, table, observation, imaged)) is not None
    ]
    found.sort(key=lambda idle: (-idle.bytes_per_s, idle.index.last.name))
    invalid = [idle for idle in found if not idle.index.last.is_valid]
    unused = [idle for idle in found if idle.index.last.is_valid]
    reported = [_cause(idle, observation, budget) for idle in invalid[:_INDEXES_MOST]]
    if len(unused) == 1:
        reported.append(_cause(unused[0], observation, budget))
    elif unused:
        reported.append(_together(unused, observation, budget))
    return ranked(reported)


def _idle(index: IndexGrowth, table: TableGrowth, observation: Observation, imaged: float | None) -> _Idle | None:
    last = index.last
    if last.is_valid and (last.scans or last.is_unique or last.is_constraint):
        return None
    upkeep = upkeep_of(index, table, observation, imaged)
    return None if upkeep is None else _Idle(index=index, table=table, upkeep=upkeep)


def _cause(idle: _Idle, observation: Observation, budget: Budget) -> Cause:
    index, table = idle.index.last, idle.table.last
    total = idle.bytes_per_s
    share = budget.of_load(total)
    part = f": {format_ratio(share)} of all bytes" if share is not None else ""
    why = "has never been scanned" if index.is_valid else "is not valid, so no query can use it"
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndex" if index.is_valid else "InvalidIndex",
        severity="note"
        if index.is_valid and _is_loading(idle.table)
        else _severity(budget, total, is_certain=not index.is_valid or _is_settled(observation, [idle])),
        subject=index.name,
        title=f"Index {index.name} of {table.name} {why} and takes about "
        f"{format_bytes_per_s(total, 3)} for its maintenance, by estimate{part}.",
        text=(
            f"{number(idle.upkeep.entries_per_s, 3)} entries per second are inserted into it, "
            f"{format_bytes(index.size_bytes)} large. {since(observation)} Its reads are measured; what it "
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
                text=f"{format_bytes_per_s(idle.read_bytes_per_s, 3)} read for its maintenance, measured.",
                value=idle.read_bytes_per_s,
            ),
        ),
        remedies=(_remedy(observation, idle),),
        refuted_by="Queries on a replica use it (their scans are counted there), or a job needs it that has "
        "not run since the counters began.",
    )


def _spread(upkeep: Upkeep) -> str:
    """Return where its entries are assumed to go, with the evidence."""
    pages = f"{number(upkeep.pages_per_entry, 3)} of its pages were touched per entry"
    if upkeep.at_end_ratio > 0.9:
        return f"each entry at its end: {pages}"
    if upkeep.at_end_ratio < 0.1:
        return f"entries spread over all of its pages: {pages}; less where they keep to a few"
    return f"{format_ratio(upkeep.at_end_ratio)} of the entries at its end: {pages}"


NOBODY_BUILDS = "Check that no session is building it: a row here is one that does."


def _check(observation: Observation, found: Sequence[_Idle]) -> tuple[str, ...]:
    """Return the queries for the scans of these indexes, of a partitioned one by its parts."""
    version = observation.server.version_number
    parents = dict.fromkeys(i.index.last.parent for i in found if i.index.last.parent)
    alone = [i.index.last.name for i in found if not i.index.last.parent]
    checks = [scans_of_parts(parent, version) for parent in parents]
    return (*checks, scans_of(alone, version)) if alone else tuple(checks)


_EVERYWHERE = (
    "Check that idx_scan is 0 here and on every replica, where scans are counted separately, and that "
    "each has counted for long enough."
)


def _is_settled(observation: Observation, found: Sequence[_Idle]) -> bool:
    return is_settled(observation, [idle.table.last for idle in found])


def _remedy(observation: Observation, idle: _Idle) -> Remedy:
    index = idle.index.last
    kept = f" Keep its definition: {index.definition}" if index.definition else ""
    if not index.is_valid:
        drop = Remedy(text=f"Then drop it, or rebuild it with REINDEX.{kept}", commands=(_drop(idle),))
        return after_check(drop, (being_built([index.name]),), settles=NOBODY_BUILDS)
    partition = (
        " An index that belongs to one of the partitioned table goes with that one only."
        if idle.table.last.kind == "partition"
        else ""
    )
    drop = Remedy(
        text=f"Then drop it, if no seldom job needs it.{partition}{kept}",
        commands=(_drop(idle),),
        expected=f"About {format_bytes_per_s(idle.bytes_per_s, 3)} less, "
        f"{format_bytes(index.size_bytes)} of space, and more HOT updates.",
    )
    return after_check(
        drop, _check(observation, [idle]), settles=_EVERYWHERE, is_settled=_is_settled(observation, [idle])
    )


def _together(found: Sequence[_Idle], observation: Observation, budget: Budget) -> Cause:
    """Return all unused indexes as one finding, judged by their sum."""
    read = sum(idle.read_bytes_per_s for idle in found)
    written = sum(idle.written_bytes_per_s for idle in found)
    size = sum(idle.index.last.size_bytes for idle in found)
    share = budget.of_load(read + written)
    part = f": {format_ratio(share)} of all bytes" if share is not None else ""
    reported = found[:_INDEXES_MOST]
    more = f" and {len(found) - len(reported)} smaller ones" if len(found) > len(reported) else ""
    tables = dict.fromkeys(_table_of(idle) for idle in found)
    of = f" of {next(iter(tables))}" if len(tables) == 1 else ""
    loading = sum(idle.bytes_per_s for idle in found if _is_loading(idle.table))
    is_loading = loading > (read + written) / 2
    return Cause(
        kind=CauseKind.UNUSED_INDEXES,
        code="UnusedIndexes",
        severity="note"
        if is_loading
        else _severity(budget, read + written, is_certain=_is_settled(observation, found)),
        subject=next(iter(tables)) if len(tables) == 1 else "",
        title=f"{len(found)} indexes{of} have never been scanned and take about "
        f"{format_bytes_per_s(read + written, 3)} together for their maintenance, by estimate{part}.",
        text=f"They are {format_bytes(size)} large. {since(observation)} Reads are measured; what they write is an "
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
            for idle in reported
        )
        + ((Evidence(kind="index", text=more.removeprefix(" and ")),) if more else ()),
        remedies=(
            after_check(
                Remedy(
                    text="Then drop those that no seldom job needs, one after the other; keep their definitions."
                    + (
                        " An index of a partitioned table is dropped with its parent index, under a lock that "
                        "blocks readers."
                        if any(idle.index.last.parent for idle in reported)
                        else ""
                    ),
                    commands=tuple(dict.fromkeys(_drop(idle) for idle in reported)),
                    expected=f"About {format_bytes_per_s(read + written, 3)} less, {format_bytes(size)} of "
                    "space, and more HOT updates.",
                ),
                _check(observation, reported),
                settles=_EVERYWHERE,
                is_settled=_is_settled(observation, reported),
            ),
        ),
        refuted_by="Queries on a replica use them (their scans are counted there), or a job needs them that has "
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
    """Return whether most of its rows were inserted in the window, so queries cannot have needed them."""
    return table.of("inserted") > table.rows / 2


def _severity(budget: Budget, total: float, *, is_certain: bool) -> Severity:
    """
    Return the severity: never critical for an estimate, a note while the counters are young.

    A quarter of the load is a warning even with young counters: that much is worth a question.
    """
    found = severity_of(budget, total)
    if found != "critical" and not is_certain:
        return "note"
    return "warning" if found == "critical" else found
