"""
Estimate the empty space in tables and indexes.

Theory of operation. A page of 8 KiB has a header of 24 bytes; a row has a header of 23 bytes, a bit for each
column where any is null, its values, and a pointer of 4 bytes; header and row end at multiples of 8. An entry of
a B-tree has a header of 8 bytes, its key, and a pointer (PostgreSQL, "Database Page Layout"; bufpage.h, itup.h).
Numbers of rows and mean widths of columns are those of the last vacuum or analyze. The pages
they need at the configured fillfactor are compared with the actual size.
Rule 1: dead rows that a vacuum has not removed yet are not bloat: they are counted as rows.
Rule 2: alignment between columns is unknown and adds up to 7 bytes each. Half of that is added, so that the
        estimate is rather too small. B-trees store equal keys once, so they can be smaller still.
Rule 3: a page of a TOAST relation has at most four chunks, so a quarter of the chunks is the fewest pages.
Rule 4: a counter may have begun after the rows were written, so rows are the larger of counter and estimate.
        What has no statistics is a gap. The command that rewrites stands behind pgstattuple, which settles it.
"""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from plimsoll.causes.budget import Budget, ranked
from plimsoll.causes.checks import EXTENSION, density, leaf_density, toast_density
from plimsoll.causes.growth import setting_of
from plimsoll.causes.settled import after_check, is_settled, since
from plimsoll.model.cause import Cause, CauseKind, Remedy
from plimsoll.model.database import Observation
from plimsoll.model.diagnosis import Evidence, Missing
from plimsoll.model.postgres import (
    ALIGNMENT_BYTES,
    CHUNKS_PER_PAGE,
    LINE_POINTER_BYTES,
    PAGE_HEADER_BYTES,
    SHARED_BUFFERS_PAGES,
)
from plimsoll.model.standing import IndexSpace, TableSpace
from plimsoll.units import MIB, format_bytes, format_ratio, number

# Headers of a row and of an index entry (PostgreSQL, htup_details.h and itup.h).
_ROW_HEADER, _ENTRY_HEADER = 23, 8
# About half of the most that alignment can add before a column. A judgement.
_PADDING = 2.0
# The end of each B-tree page (PostgreSQL, nbtree.h, BTPageOpaqueData).
_LEAF_SPECIAL = 16
# Judgements: half empty and 10 MiB are worth a note. Empty space as large as a quarter of shared_buffers is
# worth a warning, since scans and vacuums read it into the buffers.
_SHARE_LEAST, _BYTES_LEAST = 0.5, 10 * MIB
_OF_BUFFERS = 0.25
# A judgement: more names in one finding are a list; the rest is counted.
_NAMED_MOST = 5


class _Bloat(Struct, frozen=True, kw_only=True):
    name: str
    table: str
    is_index: bool
    is_toast: bool
    has_dropped: bool = False
    """Whether rows may still have the values of columns that were dropped."""
    size_bytes: float
    needed_bytes: float
    how: str

    @property
    def empty_bytes(self) -> float:
        return self.size_bytes - self.needed_bytes

    @property
    def share(self) -> float:
        return self.empty_bytes / self.size_bytes if self.size_bytes else 0.0


def causes(observation: Observation, budget: Budget) -> tuple[Cause, ...]:
    """Return the tables and the indexes with the most empty space, each kind as one finding."""
    del budget  # Empty space causes no reads or writes by itself.
    standing = observation.standing
    if standing is None:
        return ()
    block = observation.server.block_bytes
    tables = [
        bloat
        for space in standing.tables or ()
        for bloat in (_of_table(space, block), _of_toast(space, block))
        if bloat is not None
    ]
    indexes = [b for space in standing.indexes or () if (b := _of_index(space, block)) is not None]
    return ranked([_cause(observation, kind) for kind in (_worst(tables), _worst(indexes)) if kind])


def missing_of(observation: Observation) -> tuple[Missing, ...]:
    """Return tables whose widths the role may not see, and what has no statistics."""
    standing = observation.standing
    if standing is None:
        return ()
    hidden = [space.name for space in standing.tables or () if not space.may_select]
    unknown = {
        space.name: space.name
        for space in standing.tables or ()
        if space.may_select and (space.row_bytes is None or space.row_estimate < 0)
    }
    unknown |= {
        index.name: index.table
        for index in standing.indexes or ()
        if (index.key_bytes is None or index.entry_estimate < 0)
        and index.table not in unknown
        and index.table not in hidden
    }
    unknown |= _never_analyzed(observation)
    return (*_hidden_gap(observation, hidden), *_unknown_gap(unknown))


def _never_analyzed(observation: Observation) -> dict[str, str]:
    """Return large tables that no VACUUM or ANALYZE has counted; pg_class has no pages of them either."""
    if observation.standing is None or observation.standing.tables is None:
        return {}
    counted = {space.name for space in observation.standing.tables}
    return {
        relation.name: relation.name
        for relation in observation.last.relations
        if relation.kind != "toast"
        and relation.name not in counted
        and relation.row_estimate is None
        and relation.size_bytes >= _BYTES_LEAST
    }


def _hidden_gap(observation: Observation, hidden: Sequence[str]) -> tuple[Missing, ...]:
    if not hidden:
        return ()
    count = "one large table" if len(hidden) == 1 else f"{len(hidden)} large tables"
    return (
        Missing(
            name="column widths",
            hides=f"bloat of {count}, {hidden[0]} among them, and of their indexes",
            remedy=f'GRANT SELECT ON {hidden[0]} TO "{observation.server.role.replace(chr(34), chr(34) * 2)}";',
        ),
    )


def _unknown_gap(unknown: Mapping[str, str]) -> tuple[Missing, ...]:
    """Return the gap of relations without statistics, each with the table to analyze."""
    if not unknown:
        return ()
    names = list(unknown)
    more = f" and {len(names) - _NAMED_MOST} more" if len(names) > _NAMED_MOST else ""
    return (
        Missing(
            name="column statistics",
            hides=f"bloat of {', '.join(names[:_NAMED_MOST])}{more}",
            remedy=f"ANALYZE {unknown[names[0]]}; a column with SET STATISTICS 0 gets none, and row level security "
            "hides them.",
        ),
    )


def _worst(found: Sequence[_Bloat]) -> list[_Bloat]:
    much = [b for b in found if b.share >= _SHARE_LEAST and b.empty_bytes >= _BYTES_LEAST]
    return sorted(much, key=lambda b: (-b.empty_bytes, b.name))


def _of_table(space: TableSpace, block: int) -> _Bloat | None:
    if space.row_bytes is None or space.row_estimate < 0:
        return None
    rows = max(float(space.live_rows), space.row_estimate)
    header = _aligned(_ROW_HEADER + (math.ceil(space.column_count / 8) if space.has_nulls else 0))
    row = header + _aligned(space.row_bytes + _PADDING * max(space.column_count - 1, 0)) + LINE_POINTER_BYTES
    each = max(math.floor((block - PAGE_HEADER_BYTES) * space.fill_ratio / row), 1)
    pages = math.ceil((rows + space.dead_rows) / each)
    return _Bloat(
        name=space.name,
        table=space.name,
        is_index=False,
        is_toast=False,
        has_dropped=space.dropped_columns > 0,
        size_bytes=float(space.pages * block),
        needed_bytes=float(min(pages, space.pages) * block),
        how=f"{number(rows + space.dead_rows)} rows of about {number(row, 3)} bytes",
    )


def _of_toast(space: TableSpace, block: int) -> _Bloat | None:
    if not space.toast_pages or space.toast_rows is None or space.toast_rows < 0:
        return None
    pages = min(math.ceil(space.toast_rows / CHUNKS_PER_PAGE), space.toast_pages)
    return _Bloat(
        name=f"{space.name} (TOAST)",
        table=space.name,
        is_index=False,
        is_toast=True,
        size_bytes=float(space.toast_pages * block),
        needed_bytes=float(pages * block),
        how=f"{number(space.toast_rows)} chunks, four to a page",
    )


def _of_index(space: IndexSpace, block: int) -> _Bloat | None:
    if space.key_bytes is None or space.entry_estimate < 0:
        return None
    entry = _aligned(_ENTRY_HEADER + space.key_bytes) + LINE_POINTER_BYTES
    each = max(math.floor((block - PAGE_HEADER_BYTES - _LEAF_SPECIAL) * space.fill_ratio / entry), 1)
    pages = math.ceil(space.entry_estimate / each) + 1
    return _Bloat(
        name=space.name,
        table=space.table,
        is_index=True,
        is_toast=False,
        size_bytes=float(space.pages * block),
        needed_bytes=float(min(pages, space.pages) * block),
        how=f"{number(space.entry_estimate)} entries of about {number(entry, 3)} bytes",
    )


def _aligned(size: float) -> float:
    return math.ceil(size / ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def _cause(observation: Observation, found: Sequence[_Bloat]) -> Cause:
    first = found[0]
    empty = sum(bloat.empty_bytes for bloat in found)
    buffers = setting_of(observation, "shared_buffers") or SHARED_BUFFERS_PAGES
    is_much = empty >= _OF_BUFFERS * buffers * observation.server.block_bytes
    kind = "index" if first.is_index else "table"
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return Cause(
        kind=CauseKind.BLOAT,
        code="IndexBloat" if first.is_index else "TableBloat",
        severity="warning" if is_much else "note",
        subject=first.name,
        title=f"{kind.capitalize()} {first.name}{more}: about {format_bytes(empty)} "
        f"({format_ratio(empty / sum(b.size_bytes for b in found))}) are empty, by estimate",
        text=f"{_reused(found)} Scans, vacuums and backups read it. The estimate uses row counts and mean widths "
        f"of the last VACUUM or ANALYZE.{_age(observation, first)}",
        evidence=tuple(
            Evidence(
                kind="size",
                text=f"{b.name}: {format_bytes(b.size_bytes)}, where {b.how} need about {format_bytes(b.needed_bytes)}",
                value=b.size_bytes,
                reference=b.needed_bytes,
            )
            for b in found[:_NAMED_MOST]
        ),
        remedies=_index_remedies(found) if first.is_index else _table_remedies(observation, found),
        refuted_by="pgstattuple, which reads the whole relation, finds most pages full; or the table is filled and "
        "emptied regularly and needs the space.",
    )


def _age(observation: Observation, first: _Bloat) -> str:
    """Return why no table is rewritten yet, with a space before it; empty if it may be."""
    return "" if first.is_index or is_settled(observation) else f" {since(observation)}"


def _reused(found: Sequence[_Bloat]) -> str:
    """Return a sentence: what becomes of the space if nothing is done."""
    if found[0].is_index:
        return "Only entries next to those on a page fill it; pages without any entry are reused."
    dropped = [b.name for b in found if b.has_dropped]
    if dropped:
        return (
            f"Columns of {dropped[0]} were dropped: their values stay in the rows that were not written since, and "
            "only a rewrite frees them. New rows fill what vacuum has freed, but a plain VACUUM rarely returns it "
            "to the system."
        )
    return "New rows reuse the space, but a plain VACUUM rarely returns it to the system."


def _index_remedies(found: Sequence[_Bloat]) -> tuple[Remedy, ...]:
    reported = found[:_NAMED_MOST]
    rebuild = Remedy(
        text="Then rebuild it concurrently; reads and writes continue.",
        commands=tuple(f"REINDEX INDEX CONCURRENTLY {b.name};" for b in reported),
        expected=f"About {format_bytes(sum(b.empty_bytes for b in reported))} less.",
    )
    return (
        after_check(
            rebuild,
            (EXTENSION, *(leaf_density(b.name) for b in reported)),
            settles="Check the estimate; this reads the whole index. It is right if avg_leaf_density is far below "
            "the fillfactor.",
        ),
    )


def _table_remedies(observation: Observation, found: Sequence[_Bloat]) -> tuple[Remedy, ...]:
    reported = found[:_NAMED_MOST]
    names = list(dict.fromkeys(b.table for b in reported))
    rewrite = Remedy(
        text="Then rewrite it when it is not needed for a while: this blocks reads too, and needs as much free "
        "space as its rows take. pg_repack does the same without blocking, where the server has it.",
        commands=tuple(f"VACUUM (FULL, ANALYZE) {name};" for name in names),
        expected=f"About {format_bytes(sum(b.empty_bytes for b in reported))} less.",
    )
    settles = "Check the estimate. It is right if the free share is about half or more."
    if any(b.has_dropped for b in reported):
        settles = (
            "Check the estimate. It is right if the free share is about half or more; values of dropped columns "
            "are not in it, but count as rows."
        )
    return (
        after_check(
            rewrite,
            (EXTENSION, *(toast_density(b.table) if b.is_toast else density(b.table) for b in reported)),
            settles=settles,
            is_settled=is_settled(observation),
        ),
        Remedy(
            text="Prevent it: run autovacuum earlier, end transactions that block vacuum, and delete by "
            "dropping partitions."
        ),
    )
