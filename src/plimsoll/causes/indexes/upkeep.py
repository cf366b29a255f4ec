"""
Estimate what the maintenance of a B-tree that is never scanned reads and writes.

Theory of operation. An insertion visits one page of each level of the tree. If the previous entry went to the
last leaf, it goes to that leaf directly (PostgreSQL, nbtinsert.c, for trees with at least two levels above the
leaves). So the number of visited pages shows the share of entries at the end. The other entries are assumed
to go to random leaves: n of them change P (1 − e^(−n/P)) of P pages. A changed page is written once between two
checkpoints, or each time it is evicted. At its first change after a checkpoint, WAL gets an image of the page
without its free space. A new page is written when the file grows and once more later. WAL gets the half of the
entries that moved to it; it needs no image. Each entry is a record of WAL.

Rule: the server's own counts take precedence: blocks read, visited and added, and the mean size of page images,
which compression reduces.
"""

import math

from msgspec import Struct

from plimsoll.causes.growth import (
    IndexGrowth,
    TableGrowth,
    checkpoints_between,
    indexes_of,
    per_s,
    setting_of,
    tables_of,
)
from plimsoll.model.database import Observation
from plimsoll.model.postgres import CHECKPOINT_TIMEOUT_S, INNER_FILL_RATIO, LINE_POINTER_BYTES

# Size of the WAL record of an insertion without its entry (PostgreSQL, access/xlogrecord.h, nbtxlog.h): 24 for
# the record, 20 for the block reference, 4 for the offset in the block.
_RECORD_BYTES = 48.0
_ENTRY_LEAST_BYTES, _ENTRY_MOST_BYTES = 16.0, 2700.0
# A new index has leaves 0.9 full. Random insertions leave them ln 2 full on average (A. Yao, On random 2-3
# trees, 1978). A value between the two is not far from either.
_LEAF_FILL = 0.8
# Share of a page that a split writes to WAL: half for random insertions, a tenth at the end of the index.
_SPLIT_ANYWHERE, _SPLIT_AT_END = 0.5, 0.1
# Pages visited for a split: the two halves, the right neighbour and the parent (observed on 18).
_PAGES_PER_SPLIT = 6
# The fewest levels above the leaves with which PostgreSQL inserts directly into the last leaf.
_LEVELS_OF_SHORT_CUT = 2
# Below this ratio of visited pages to rows, the index covers only a part of the rows. A judgement.
_LOOKED_AT_LEAST = 0.9
# Above this share the other entries are at the end as well, a little out of order. A judgement.
_ALL_AT_END = 0.95
# From this version on, growing a file is not counted as a read (observed on 15 and 18).
_READS_APART = 160_000
# With fewer page images, their mean size is not reliable. A judgement.
_IMAGES_LEAST = 20


class Upkeep(Struct, frozen=True, kw_only=True):
    """What the maintenance of an index reads and writes, per second."""

    entries_per_s: float
    pages_per_entry: float
    """Pages visited per entry."""
    at_end_ratio: float
    """Share of entries that go to the last leaf, 0–1."""
    read_bytes_per_s: float
    """Measured by the server."""
    written_bytes_per_s: float
    """Pages and WAL together, estimated."""


def imaged_ratio(observation: Observation) -> float | None:
    """
    Return the share of pages changed in the window whose image went to WAL, 0–1.

    Without a checkpoint between the readings, a page has at most one image, in the window or before it. Then the
    share is the server's count of images divided by all pages that writes can have changed. It is near 1 soon
    after a checkpoint and falls until the next one. None if there was a checkpoint, or if images are not counted
    or disabled.
    """
    images = per_s(observation, "wal_full_pages")
    is_off = observation.server.settings.get("full_page_writes") == "off"
    timed, requested = checkpoints_between(observation)
    if images is None or is_off or timed + requested > 0:
        return None
    block_bytes = observation.server.block_bytes
    tables = {table.last.oid: table for table in tables_of(observation)}
    touched = sum(
        _touched(table.first.size_bytes / block_bytes, float(table.of("updated") + table.of("deleted")))
        for table in tables.values()
    )
    for index in indexes_of(observation):
        own = tables.get(index.last.table_oid)
        if own is not None:
            leaves = max(index.first.size_bytes / block_bytes, 1.0)
            touched += _touched(leaves, _entries(own))
    return min(images * observation.seconds / touched, 1.0) if touched else None


def _touched(pages: float, count: float) -> float:
    """Return the expected number of distinct pages that so many changes at random places reach."""
    return pages * -math.expm1(-count / pages) if pages else 0.0


def _entries(table: TableGrowth) -> float:
    """Return the number of entries inserted into each index that covers all rows of the table."""
    return float(table.of("inserted") + table.of("updated") - table.of("hot_updated"))


def upkeep_of(
    index: IndexGrowth, table: TableGrowth, observation: Observation, imaged: float | None = None
) -> Upkeep | None:
    """
    Return what the maintenance of an index reads and writes; None if nothing was inserted into it.

    Args:
        index: an index that nothing scans, in both readings.
        table: its table, in both readings.
        observation: both readings.
        imaged: the result of `imaged_ratio`; None if unknown.
    """
    seconds, block_bytes = observation.seconds, observation.server.block_bytes
    leaves = max(index.first.size_bytes / block_bytes, 1.0)
    grown = index.of("size_bytes") / block_bytes
    entry_bytes = index.last.size_bytes / table.rows
    entry_bytes = min(max(entry_bytes, _ENTRY_LEAST_BYTES), _ENTRY_MOST_BYTES)
    levels = _levels(leaves, entry_bytes, block_bytes)
    seen = _looked_at(index, table, leaves, grown)
    entries = _entries(table)
    if seen < _LOOKED_AT_LEAST * entries:
        # Each entry visits at least one page, so this index covers only a part of the rows.
        entries = min(entries, seen / (levels + 1))
    if entries <= 0 or seconds <= 0:
        return None
    pages_per_entry = seen / entries
    at_end = _at_end(pages_per_entry, levels)
    changed_per_s, images_per_s = _changed(leaves, entries * (1 - at_end), observation)
    if imaged is not None:
        images_per_s = imaged * _touched(leaves, entries * (1 - at_end)) / seconds
    read_per_s, grown_per_s = _read(index, grown, observation) / seconds, grown / seconds
    # Each page that was read was then changed and evicted, so it was written, possibly again.
    pages_per_s = max(changed_per_s, read_per_s) + 2 * grown_per_s
    split = at_end * _SPLIT_AT_END + (1 - at_end) * _SPLIT_ANYWHERE
    logged = images_per_s * _image_bytes(observation)
    logged += grown_per_s * split * block_bytes
    logged += entries / seconds * (entry_bytes + _RECORD_BYTES)
    return Upkeep(
        entries_per_s=entries / seconds,
        pages_per_entry=pages_per_entry,
        at_end_ratio=at_end,
        read_bytes_per_s=read_per_s * block_bytes,
        written_bytes_per_s=pages_per_s * block_bytes + logged,
    )


def _read(index: IndexGrowth, grown: float, observation: Observation) -> float:
    """Return blocks read; before 16 the server also counts new blocks as read, so subtract them."""
    read = float(index.of("blocks_read"))
    return read if observation.server.version_number >= _READS_APART else max(read - grown, 0.0)


def _changed(leaves: float, entries: float, observation: Observation) -> tuple[float, float]:
    """Return changed leaves, each counted once between two checkpoints, and their images in WAL, per second."""
    came = sum(checkpoints_between(observation))
    timeout_s = setting_of(observation, "checkpoint_timeout") or CHECKPOINT_TIMEOUT_S
    between_s = observation.seconds / came if came else timeout_s
    changed = leaves * -math.expm1(-entries * between_s / observation.seconds / leaves) / between_s
    if observation.server.settings.get("full_page_writes") == "off":
        return changed, 0.0
    images = per_s(observation, "wal_full_pages")
    if images is None:
        return changed, changed
    # At most the images of all pages; without a checkpoint, pages that were changed before need none.
    return min(changed, images) if came else changed, min(changed, images)


def _levels(leaves: float, entry_bytes: float, block_bytes: int) -> int:
    """Return the number of levels of pages above the leaves."""
    each = max(block_bytes * INNER_FILL_RATIO / (entry_bytes + LINE_POINTER_BYTES), 2.0)
    return math.ceil(math.log(leaves) / math.log(each)) if leaves > 1 else 0


def _looked_at(index: IndexGrowth, table: TableGrowth, leaves: float, grown: float) -> float:
    """Return pages visited to find the place of entries, without those of splits and vacuums."""
    vacuums = table.of("vacuum_count") + table.of("autovacuum_count")
    seen = index.of("blocks_hit") + index.of("blocks_read")
    return max(seen - grown * _PAGES_PER_SPLIT - vacuums * leaves, 0.0)


def _at_end(pages_per_entry: float, levels: int) -> float:
    """Return 1 if each entry visited one page, 0 if it visited one page of each level."""
    if levels < _LEVELS_OF_SHORT_CUT:
        return 0.0
    ratio = min(max((levels + 1 - pages_per_entry) / levels, 0.0), 1.0)
    # Entries at the end that are a little out of order also visit every level.
    return 1.0 if ratio >= _ALL_AT_END else ratio


def _image_bytes(observation: Observation) -> float:
    """Return the mean size of a leaf's image in WAL, without free space and after compression."""
    most = observation.server.block_bytes * _LEAF_FILL
    images, records = per_s(observation, "wal_full_pages"), per_s(observation, "wal_records")
    whole = per_s(observation, "wal_bytes")
    if not images or records is None or whole is None:
        return most
    if images * observation.seconds < _IMAGES_LEAST:
        return most
    mean = (whole - records * (_RECORD_BYTES + _ENTRY_LEAST_BYTES)) / images
    return min(most, mean) if mean > 0 else most
