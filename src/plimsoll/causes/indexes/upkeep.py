"""
Estimate what the maintenance of a B-tree that is never scanned reads and writes.

Theory of operation. An entry goes down the tree, a page of each level, or straight to the last page
where the one before it went there (PostgreSQL, nbtinsert.c, from two levels above the leaves on): so
the pages that were looked at tell what share of the entries goes to the end. The rest is taken to fall
on any leaf: n of them change P (1 − e^(−n/P)) of P pages. A page that was changed is written once
between two checkpoints, or each time it had to make room; and it goes whole into WAL when it is changed
first after a checkpoint, without its free space. A page by which the index grew is written when the file
grows, once more later, and its half of the entries goes into WAL; it needs no image. Each entry is a
record of WAL.

Rule: what the server counted comes first: blocks read, looked at and grown by, and the mean size of its
page images, which compression makes smaller.
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

# Of the record of an insertion beside its entry (PostgreSQL, access/xlogrecord.h, nbtxlog.h): 24 of the
# record, 20 of the block, 4 of the place in it.
_RECORD_BYTES = 48.0
_ENTRY_LEAST_BYTES, _ENTRY_MOST_BYTES = 16.0, 2700.0
# A leaf is left 0.9 full when an index is built, and entries that come anywhere leave it ln 2 full on
# average (A. Yao, On random 2-3 trees, 1978). Between the two, so that neither is far off.
_LEAF_FILL = 0.8
# Of the page that a split fills, WAL has half where entries come anywhere, a tenth at the end.
_SPLIT_ANYWHERE, _SPLIT_AT_END = 0.5, 0.1
# Looked at for a split: the two pages, the next one, and the one above (seen on 18).
_PAGES_PER_SPLIT = 6
# The fewest levels above the leaves with which an entry may go straight to the end.
_LEVELS_OF_SHORT_CUT = 2
# Where fewer pages than rows were looked at; the counters of a table and its indexes come together.
_LOOKED_AT_LEAST = 0.9
# Beyond this share the rest is at the end as well, a little out of order. A judgement.
_ALL_AT_END = 0.95
# The version from which growing is no read (seen on 15 and 18).
_READS_APART = 160_000
# From fewer page images their mean says nothing.
_IMAGES_LEAST = 20


class Upkeep(Struct, frozen=True, kw_only=True):
    """What an index takes, per second."""

    entries_per_s: float
    pages_per_entry: float
    """Pages that were looked at for each."""
    at_end_ratio: float
    """Share of the entries that goes to the last page, 0–1."""
    read_bytes_per_s: float
    """Measured."""
    written_bytes_per_s: float
    """Of pages and WAL, estimated."""


def imaged_ratio(observation: Observation) -> float | None:
    """
    Return share of the pages that were touched in the window of which WAL got a whole image, 0–1.

    Known where no checkpoint came between the readings: a page then has one image at most, in the window or
    before it, and the server's own count is divided among all pages that its writes can have touched. So
    soon after a checkpoint it is near 1, and falls until the next one. None where a checkpoint came, or
    images are not counted or not made.
    """
    images = per_s(observation, "wal_full_pages")
    is_off = observation.server.settings.get("full_page_writes") == "off"
    timed, requested = checkpoints_between(observation)
    if images is None or is_off or timed + requested > 0:
        return None
    block_bytes = observation.server.block_bytes
    tables = {table.last.oid: table for table in tables_of(observation)}
    touched = sum(
        _touched(
            table.first.size_bytes / block_bytes, float(table.of("updated") + table.of("deleted"))
        )
        for table in tables.values()
    )
    for index in indexes_of(observation):
        own = tables.get(index.last.table_oid)
        if own is not None:
            leaves = max(index.first.size_bytes / block_bytes, 1.0)
            touched += _touched(leaves, _entries(own))
    return min(images * observation.seconds / touched, 1.0) if touched else None


def _touched(pages: float, count: float) -> float:
    """Return pages that so many changes fall on, where each may fall on any."""
    return pages * -math.expm1(-count / pages) if pages else 0.0


def _entries(table: TableGrowth) -> float:
    """Return entries put into each index of a table that has all its rows."""
    return float(table.of("inserted") + table.of("updated") - table.of("hot_updated"))


def upkeep_of(
    index: IndexGrowth,
    table: TableGrowth,
    observation: Observation,
    imaged: float | None = None,
) -> Upkeep | None:
    """
    Return what an index takes that nothing scans; None where nothing was put into it.

    Args:
        index: in both readings.
        table: that it belongs to.
        observation: both readings.
        imaged: as of `imaged_ratio`; None where it does not apply.
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
        # An entry takes a look at one page at least: this is an index of a part of the rows.
        entries = min(entries, seen / (levels + 1))
    if entries <= 0 or seconds <= 0:
        return None
    pages_per_entry = seen / entries
    at_end = _at_end(pages_per_entry, levels)
    changed_per_s, images_per_s = _changed(leaves, entries * (1 - at_end), observation)
    if imaged is not None:
        images_per_s = imaged * _touched(leaves, entries * (1 - at_end)) / seconds
    read_per_s, grown_per_s = _read(index, grown, observation) / seconds, grown / seconds
    # What was read was changed, and had to be written to make room, whether it was the first time or not.
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
    """Return blocks read; before 16 those by which the file grew are counted as read."""
    read = float(index.of("blocks_read"))
    return read if observation.server.version_number >= _READS_APART else max(read - grown, 0.0)


def _changed(leaves: float, entries: float, observation: Observation) -> tuple[float, float]:
    """Return leaves changed, each once between two checkpoints, and images of them in WAL, per second."""
    came = sum(checkpoints_between(observation))
    timeout_s = setting_of(observation, "checkpoint_timeout") or CHECKPOINT_TIMEOUT_S
    between_s = observation.seconds / came if came else timeout_s
    changed = leaves * -math.expm1(-entries * between_s / observation.seconds / leaves) / between_s
    if observation.server.settings.get("full_page_writes") == "off":
        return changed, 0.0
    images = per_s(observation, "wal_full_pages")
    if images is None:
        return changed, changed
    # No more than those of all pages; without a checkpoint what was changed before has none.
    return min(changed, images) if came else changed, min(changed, images)


def _levels(leaves: float, entry_bytes: float, block_bytes: int) -> int:
    """Return the number of levels of pages above the leaves."""
    each = max(block_bytes * INNER_FILL_RATIO / (entry_bytes + LINE_POINTER_BYTES), 2.0)
    return math.ceil(math.log(leaves) / math.log(each)) if leaves > 1 else 0


def _looked_at(index: IndexGrowth, table: TableGrowth, leaves: float, grown: float) -> float:
    """Return pages that were looked at to find the place of entries; splits and vacuums look at more."""
    vacuums = table.of("vacuum_count") + table.of("autovacuum_count")
    seen = index.of("blocks_hit") + index.of("blocks_read")
    return max(seen - grown * _PAGES_PER_SPLIT - vacuums * leaves, 0.0)


def _at_end(pages_per_entry: float, levels: int) -> float:
    """Return 1 if one page was touched per entry, 0 if one of each level was."""
    if levels < _LEVELS_OF_SHORT_CUT:
        return 0.0
    ratio = min(max((levels + 1 - pages_per_entry) / levels, 0.0), 1.0)
    # Entries that come at the end a little out of order go down the tree, too.
    return 1.0 if ratio >= _ALL_AT_END else ratio


def _image_bytes(observation: Observation) -> float:
    """Return the size of a leaf's image in WAL: without free space, and as small as compression makes them."""
    most = observation.server.block_bytes * _LEAF_FILL
    images, records = per_s(observation, "wal_full_pages"), per_s(observation, "wal_records")
    whole = per_s(observation, "wal_bytes")
    if not images or records is None or whole is None:
        return most
    if images * observation.seconds < _IMAGES_LEAST:
        return most
    mean = (whole - records * (_RECORD_BYTES + _ENTRY_LEAST_BYTES)) / images
    return min(most, mean) if mean > 0 else most
