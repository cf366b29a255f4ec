"""
Estimate how much of the server's writes comes from values that updates sent again.

`toast_rewrites.py` computes the minimum: new rows, index entries and their WAL. The disk receives more,
for two reasons that the server's counters show:

1. Pages. An update marks the chunks of the old value as dead, and PostgreSQL then writes their whole pages.
   If the buffers are smaller than the table, nearly every update writes them again. With large buffers, a
   page is changed many times before it is written once.
2. Full-page images. The first change of a page after a checkpoint logs the whole page.

Both totals are divided by changed pages: the bytes written to data files without vacuum, and the full-page
images. A table's rewrites get the share that their pages have among all changed pages. A page that is changed
many times counts once, because it would be written once. Changed rows are assumed to be at random places. The
share is at most what it would be if every value's pages were written separately.

Measured under a gate, with buffers of a sixth of the table: the minimum was a third of this estimate. The
disk wrote less when the program sent only changed values; this estimate and vacuum together were within a
twentieth of that difference (PostgreSQL 18, tests/live/test_inspect_under_gate.py).

Before 16 the server does not count vacuum's writes separately, so the estimated writes of vacuums are
subtracted.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from plimsoll.causes.budget import backend_written_per_s, rates_of, wal_zeros
from plimsoll.causes.growth import indexes_of, per_s, tables_of
from plimsoll.causes.statements.statements import work_between
from plimsoll.causes.toast_rewrites import Rewrite
from plimsoll.causes.vacuum.runs import by_autovacuum, bytes_of, runs_of
from plimsoll.model.database import IoRow, Observation
from plimsoll.model.postgres import CHUNKS_PER_PAGE


class Written(Struct, frozen=True, kw_only=True):
    """What rewrites of one table wrote, bytes/s."""

    data_bytes_per_s: float
    """Rows, index entries, and the pages of old values."""
    wal_bytes_per_s: float
    """Includes full-page images and zeros written to new WAL files."""
    whole_pages_bytes_per_s: float
    has_old_pages: bool
    """Whether `data_bytes_per_s` includes the pages of old values, by the counters."""
    is_shared_out: bool
    """Whether the counters allowed more than the minimum: a share of all writes."""

    @property
    def bytes_per_s(self) -> float:
        """Data files and WAL together."""
        return self.data_bytes_per_s + self.wal_bytes_per_s


class _Pages(Struct, frozen=True, kw_only=True):
    """Numbers of pages that were changed at least once."""

    all: float
    old: float
    """Pages that existed before, so that WAL may contain full-page images of them."""


def written_by(observation: Observation, rewrite: Rewrite) -> Written:
    """
    Return what the rewrites of a table wrote; if nothing was counted, the minimum.

    Args:
        observation: two readings that both contain the table.
        rewrite: the values that its updates replaced.
    """
    own, most = _of_rewrite(observation, rewrite)
    others = list(_of_others(observation, rewrite))
    block_bytes, seconds = observation.server.block_bytes, rewrite.seconds
    counted = _data_written(observation)
    # Pages that are changed but not yet written are in no counter and not in the load.
    data = rewrite.table_bytes_per_s if counted is None else 0.0
    if counted:
        shared = _part_of(own.all, [pages.all for pages in others], counted)
        data = min(shared, most.all * block_bytes / seconds)
    wal, least_wal = per_s(observation, "wal_bytes"), rewrite.wal_bytes_per_s
    whole_pages, zeros = 0.0, 0.0
    if wal:
        logged = (per_s(observation, "wal_full_pages") or 0.0) * block_bytes
        # A full-page image omits the unused middle of the page and may be compressed.
        logged = min(logged, max(wal - least_wal, 0.0))
        whole_pages = _part_of(own.old, [pages.old for pages in others], logged)
        whole_pages = min(whole_pages, most.old * block_bytes / seconds)
        # Only zeros are added: WAL pages that are written twice depend on the number of commits.
        zeros = wal_zeros(observation) * min((least_wal + whole_pages) / wal, 1.0)
    return Written(
        data_bytes_per_s=data,
        wal_bytes_per_s=least_wal + whole_pages + zeros,
        whole_pages_bytes_per_s=whole_pages,
        has_old_pages=data > rewrite.table_bytes_per_s,
        is_shared_out=counted is not None or whole_pages + zeros > 0,
    )


def read_by(observation: Observation, rewrite: Rewrite, query_ids: Iterable[int]) -> float | None:
    """
    Return bytes/s of TOAST pages that updates read: pages of old chunks, and pages with free space for new ones.

    Args:
        observation: two readings; without statements, reads by updates cannot be separated from other reads.
        rewrite: the values that its updates replaced.
        query_ids: IDs of the statements that update the table.
    """
    wanted = set(query_ids)
    works = work_between(observation.first.statements, observation.last.statements)
    blocks = sum(w.statement.read_blocks for w in works if w.statement.query_id in wanted)
    before = {relation.oid: relation for relation in observation.first.relations}
    pair = [(before[one.oid], one) for one in (rewrite.toast, rewrite.table) if one.oid in before]
    reads = [max(now.heap_blocks_read - then.heap_blocks_read, 0) for then, now in pair]
    if not wanted or not blocks or not reads or not reads[0]:
        return None
    own = min(blocks * reads[0] / sum(reads), float(reads[0]))
    return own * observation.server.block_bytes / observation.seconds


def _part_of(own: float, others: Sequence[float], whole: float | None) -> float:
    """Return the part of `whole` in proportion to `own`; 0 if `whole` is unknown."""
    return whole * own / (own + sum(others)) if whole and own > 0 else 0.0


def _data_written(observation: Observation) -> float | None:
    """Return bytes/s written to data files without vacuum; None if unknown."""
    if observation.last.io is not None:
        return rates_of(observation, _is_data)[1]
    names = ("checkpoint_written_bytes", "background_written_bytes")
    rates = [backend_written_per_s(observation), *(per_s(observation, name) for name in names)]
    known = [rate for rate in rates if rate is not None]
    if len(known) < len(rates):
        return None
    runs = runs_of(observation)
    vacuums = [bytes_of(observation, run, runs) for run in runs]
    return max(sum(known) - sum(found.mean_written for found in vacuums), 0.0)


def _is_data(row: IoRow) -> bool:
    return row.object == "relation" and row.context != "vacuum" and not by_autovacuum(row)


def _of_rewrite(observation: Observation, rewrite: Rewrite) -> tuple[_Pages, _Pages]:
    """
    Return numbers of pages of the TOAST relation with old and with new values.

    Returns:
        The pages that were changed at least once, and the most page writes that are possible. That most
        counts every value's pages separately, and a new page twice: when the file grows, and when it is full.
    """
    chunks = rewrite.chunks_per_value
    values = rewrite.chunks / chunks
    # The chunks of a value are adjacent and may begin anywhere on a page.
    marked = values * (chunks + CHUNKS_PER_PAGE - 1) / CHUNKS_PER_PAGE
    filled = values * chunks / CHUNKS_PER_PAGE
    block_bytes = observation.server.block_bytes
    before = {relation.oid: relation for relation in observation.first.relations}
    was_bytes = before[rewrite.toast.oid].size_bytes
    grown = max(rewrite.toast.size_bytes - was_bytes, 0) / block_bytes
    # Free space comes from old values, so a new value there may also begin anywhere on a page.
    used_again = max(filled - grown, 0.0) * (chunks + CHUNKS_PER_PAGE - 1) / chunks
    filled = min(grown, filled) + used_again
    old = _distinct(marked, rewrite.toast.size_bytes / block_bytes)
    return (
        _Pages(all=old + filled, old=old + used_again),
        _Pages(all=marked + filled + min(grown, filled), old=marked + used_again),
    )


def _of_others(observation: Observation, rewrite: Rewrite) -> Iterator[_Pages]:
    """Yield pages of all other relations and of the indexes."""
    block_bytes = observation.server.block_bytes
    rows_by_index: dict[int, float] = {}
    for table in tables_of(observation):
        hot = table.of("hot_updated")
        cold = max(table.of("updated") - hot, 0)
        rows_by_index[table.last.oid] = float(table.of("inserted") + cold)
        rows = table.of("inserted") + hot + 2 * cold + table.of("deleted")
        yield _same(_distinct(rows, table.last.size_bytes / block_bytes))
    for index in indexes_of(observation):
        entries = rows_by_index.get(index.last.table_oid, 0.0)
        yield _same(_distinct(entries, index.last.size_bytes / block_bytes))
    before = {relation.oid: relation for relation in observation.first.relations}
    for toast in observation.last.relations:
        then = before.get(toast.oid)
        if toast.kind != "toast" or then is None:
            continue
        changed = float(toast.inserted - then.inserted + toast.deleted - then.deleted)
        if toast.oid == rewrite.toast.oid:
            changed -= 2 * rewrite.chunks
        pages = max(changed, 0.0) / CHUNKS_PER_PAGE
        yield _same(_distinct(pages, toast.size_bytes / block_bytes))


def _same(pages: float) -> _Pages:
    return _Pages(all=pages, old=pages)


def _distinct(changes: float, pages: float) -> float:
    """Return pages that random changes reach at least once."""
    if changes <= 0:
        return 0.0
    # A relation that was empty at the reading has at least one page now.
    return -math.expm1(-changes / max(pages, 1.0)) * max(pages, 1.0)
