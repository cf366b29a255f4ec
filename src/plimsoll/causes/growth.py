"""Compute the growth of counters between two readings; a counter that decreased counts as unknown."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from plimsoll.model.database import Counters, Index, Observation, Relation


class TableGrowth(Struct, frozen=True, kw_only=True):
    """A relation in both readings."""

    first: Relation
    last: Relation

    def of(self, name: str) -> int:
        """Return the growth of one counter, ≥ 0."""
        return _growth(self.first, self.last, name)

    @property
    def rows(self) -> float:
        """Live rows, by the larger of counter and estimate; at least one."""
        return max(self.last.rows, 1.0)


class IndexGrowth(Struct, frozen=True, kw_only=True):
    """An index in both readings."""

    first: Index
    last: Index

    def of(self, name: str) -> int:
        """Return the growth of one counter, ≥ 0."""
        return _growth(self.first, self.last, name)


def tables_of(observation: Observation) -> Iterator[TableGrowth]:
    """Yield user relations that are in both readings, without TOAST relations."""
    earlier = {relation.oid: relation for relation in observation.first.relations}
    for last in observation.last.relations:
        if last.oid in earlier and last.kind != "toast":
            yield TableGrowth(first=earlier[last.oid], last=last)


# Counters and sizes of a relation that add up.
_ADDED = (
    *("size_bytes", "inserted", "updated", "hot_updated", "deleted", "live_rows", "dead_rows"),
    *("changed_since_analyze", "inserted_since_vacuum", "seq_scans", "seq_rows_read"),
    *("heap_blocks_read", "heap_blocks_hit", "index_blocks_read", "toast_blocks_read"),
    *("vacuum_count", "autovacuum_count"),
)


def whole_tables_of(observation: Observation) -> Iterator[TableGrowth]:
    """Yield tables that are in both readings, with all partitions of a table as one."""
    parted: dict[str, list[TableGrowth]] = {}
    for table in tables_of(observation):
        if table.last.parent:
            parted.setdefault(table.last.parent, []).append(table)
        else:
            yield table
    for parent, tables in parted.items():
        yield TableGrowth(
            first=_added(parent, [table.first for table in tables]),
            last=_added(parent, [table.last for table in tables]),
        )


def _added(name: str, parts: Sequence[Relation]) -> Relation:
    """Return partitions as one relation; its row estimate is unknown if one partition's is."""
    rows = [part.row_estimate for part in parts]
    scans = [part.index_scans for part in parts if part.index_scans is not None]
    return Relation(
        oid=0,
        name=name,
        kind="partitioned table",
        row_estimate=None if None in rows else sum(row or 0.0 for row in rows),
        index_scans=sum(scans) if scans else None,
        **{field: sum(getattr(part, field) for part in parts) for field in _ADDED},
    )


def indexes_of(observation: Observation) -> Iterator[IndexGrowth]:
    """Yield indexes that are in both readings."""
    earlier = {index.oid: index for index in observation.first.indexes}
    for last in observation.last.indexes:
        if last.oid in earlier:
            yield IndexGrowth(first=earlier[last.oid], last=last)


def per_s(observation: Observation, name: str) -> float | None:
    """Return the growth of a server counter per second; None if unknown or decreased."""
    first: Counters = observation.first.counters
    last: Counters = observation.last.counters
    before, after = getattr(first, name), getattr(last, name)
    if before is None or after is None or after < before or observation.seconds <= 0:
        return None
    return float(after - before) / observation.seconds


def checkpoints_between(observation: Observation) -> tuple[int, int]:
    """Return the number of timed and of requested checkpoints between the readings; 0 if not counted."""
    first, last = observation.first.counters, observation.last.counters
    timed = (last.checkpoints_timed or 0) - (first.checkpoints_timed or 0)
    requested = (last.checkpoints_requested or 0) - (first.checkpoints_requested or 0)
    return max(timed, 0), max(requested, 0)


def setting_of(observation: Observation, name: str) -> float | None:
    """Return a numeric setting in the server's base unit; None if unknown."""
    try:
        return float(observation.server.settings[name])
    except (KeyError, ValueError):
        return None


def _growth(first: Relation | Index, last: Relation | Index, name: str) -> int:
    before, after = getattr(first, name), getattr(last, name)
    return 0 if before is None or after is None else max(int(after) - int(before), 0)
