"""What the upkeep of an idle index takes: where its entries go, and what the server's counts bound."""

import math

import pytest
from msgspec.structs import replace

from databases import (
    BLOCK_BYTES,
    START_S,
    WINDOW_S,
    counters,
    index,
    observation,
    reading,
    server,
    table,
    with_settings,
)
from plimsoll.causes.growth import IndexGrowth, TableGrowth
from plimsoll.causes.indexes.upkeep import Upkeep, imaged_ratio, upkeep_of

LEAVES = 4_000
ENTRIES = 60_000
TABLE = table(100, "public.orders", size_bytes=10_000 * BLOCK_BYTES, live_rows=1_000_000)
IDLE = index(200, TABLE, "public.orders_note_idx", size_bytes=LEAVES * BLOCK_BYTES)
# Bytes of an entry and its record in WAL.
RECORD = LEAVES * BLOCK_BYTES / 1e6 + 48


def kept(
    *,
    looked_at: float = 3,
    entries: int = ENTRIES,
    grown: int = 0,
    read: int = 0,
    version: int = 180006,
    checkpoints_before: int = 0,
    **counted,
) -> Upkeep:
    """A minute with one checkpoint in which so many pages of each entry's way were looked at."""
    last = replace(
        IDLE, blocks_read=read, blocks_hit=round(looked_at * entries) - read, size_bytes=(LEAVES + grown) * BLOCK_BYTES
    )
    by_name = {"checkpoints_timed": checkpoints_before + 1, **counted}
    written = replace(TABLE, inserted=entries)
    zero = counters(
        checkpoints_timed=checkpoints_before, **dict.fromkeys((name for name in by_name if name.startswith("wal")), 0)
    )
    seen = observation(
        reading(START_S, counters=zero),
        reading(START_S + WINDOW_S, counters=counters(**by_name)),
        with_settings(server(version_number=version), {"checkpoint_timeout": "300"}),
    )
    found = upkeep_of(IndexGrowth(first=IDLE, last=last), TableGrowth(first=TABLE, last=written), seen)
    assert found is not None
    return found


def test_entries_that_fall_anywhere_change_most_pages_once():
    """4,000 entries on 4,000 pages change 63 % of them: written once, and whole into WAL."""
    found = kept(entries=LEAVES)
    pages = LEAVES * (1 - math.exp(-1))

    assert 0.0 == found.at_end_ratio
    assert pytest.approx((1.8 * pages * BLOCK_BYTES + LEAVES * RECORD) / WINDOW_S) == found.written_bytes_per_s


def test_checkpoints_before_the_first_reading_write_nothing_in_between():
    """A server of a year's checkpoints writes what one minute's checkpoint makes it write."""
    assert kept() == kept(checkpoints_before=100_000)


def test_entries_that_follow_each_other_change_hardly_any_page():
    """One page was looked at for each, as of a time or a sequence: new pages only, written twice each."""
    found = kept(looked_at=1, grown=200)
    record = (LEAVES + 200) * BLOCK_BYTES / 1e6 + 48
    written = 200 * (2 + 0.1) * BLOCK_BYTES + ENTRIES * record

    assert 1.0 == found.at_end_ratio
    assert pytest.approx(written / WINDOW_S, rel=0.01) == found.written_bytes_per_s


@pytest.mark.parametrize(("looked_at", "ratio"), [(3, 0), (2, 0.5), (1.2, 0.9), (1.08, 1), (1, 1)])
def test_the_way_of_the_entries_tells_where_they_go(looked_at: float, ratio: float):
    """Three levels or the short cut; a few that came out of order are at the end as well."""
    assert pytest.approx(ratio) == kept(looked_at=looked_at).at_end_ratio


def test_pages_of_a_small_index_tell_nothing():
    """With fewer than two levels above the leaves there is no short cut: one page each is the whole tree."""
    small = index(201, TABLE, "public.small", size_bytes=BLOCK_BYTES)
    last = replace(small, blocks_hit=ENTRIES)
    seen = observation(reading(START_S), reading(START_S + WINDOW_S))
    found = upkeep_of(
        IndexGrowth(first=small, last=last), TableGrowth(first=TABLE, last=replace(TABLE, inserted=ENTRIES)), seen
    )

    assert 0.0 == found.at_end_ratio


def test_no_more_pages_are_changed_than_have_an_image():
    """
    A status has five values: its entries keep to few pages, and WAL has few images. Ten images may be of
    any pages: those of the index are taken to be as full as it is.
    """
    free, bound = kept(), kept(wal_full_pages=60, wal_records=0, wal_bytes=60 * 8000.0)
    few = kept(wal_full_pages=10, wal_records=0, wal_bytes=10 * 2000.0)

    assert pytest.approx(1.8 * 60 * BLOCK_BYTES + ENTRIES * RECORD) == (bound.written_bytes_per_s * WINDOW_S)
    assert free.written_bytes_per_s > 5 * bound.written_bytes_per_s
    assert pytest.approx(1.8 * 10 * BLOCK_BYTES + ENTRIES * RECORD) == (few.written_bytes_per_s * WINDOW_S)


def test_images_are_as_small_as_compression_makes_them():
    """Of a mean of 2,000 bytes a page, every image of the index is taken to be so, too."""
    found = {"wal_full_pages": LEAVES, "wal_records": 1000}
    plain = kept(**found, wal_bytes=LEAVES * 8000.0)
    small = kept(**found, wal_bytes=LEAVES * 2000.0 + 1000 * 64)

    assert pytest.approx(LEAVES * (0.8 * BLOCK_BYTES - 2000) / WINDOW_S, rel=0.01) == (
        plain.written_bytes_per_s - small.written_bytes_per_s
    )


def test_pages_that_were_read_were_written_to_make_room():
    """40,000 reads of 4,000 pages: each was changed and had to go again."""
    found = kept(read=40_000)

    assert pytest.approx(40_000 * BLOCK_BYTES / WINDOW_S) == found.read_bytes_per_s
    assert pytest.approx((40_000 + 0.8 * LEAVES) * BLOCK_BYTES + ENTRIES * RECORD, rel=0.001) == (
        found.written_bytes_per_s * WINDOW_S
    )


def test_an_index_of_a_part_of_the_rows_takes_less():
    """Fewer pages were looked at than rows came: every third look is an entry."""
    found = kept(looked_at=0.03)

    assert pytest.approx(0.01 * ENTRIES / WINDOW_S) == found.entries_per_s
    assert 0.0 == found.at_end_ratio


def test_before_16_a_page_that_came_is_counted_as_read():
    """Nobody read it: it was written when the file grew."""
    new, old = (kept(looked_at=1, grown=200, read=210, version=v) for v in (160000, 150018))

    assert pytest.approx(210 * BLOCK_BYTES / WINDOW_S) == new.read_bytes_per_s
    assert pytest.approx(10 * BLOCK_BYTES / WINDOW_S) == old.read_bytes_per_s


def window(images: int, *, checkpoints: int = 0, **settings: str):
    """A minute in which 60,000 rows were updated in a table of 10,000 pages with ten indexes of 4,000."""
    many = tuple(replace(IDLE, oid=n) for n in range(300, 310))
    written = replace(TABLE, updated=ENTRIES)
    return observation(
        reading(START_S, relations=(TABLE,), indexes=many, counters=counters(wal_full_pages=0)),
        reading(
            START_S + WINDOW_S,
            relations=(written,),
            indexes=many,
            counters=counters(wal_full_pages=images, checkpoints_timed=checkpoints),
        ),
        with_settings(server(), settings),
    )


def test_images_are_divided_among_the_pages_that_were_touched():
    """
    Nearly all of 10,000 and 40,000 pages were touched; half as many images are half of each. Where a
    checkpoint came or none are made a page may have several, or none.
    """
    touched = 10_000 * (1 - math.exp(-6)) + 40_000 * (1 - math.exp(-15))

    assert pytest.approx(25_000 / touched) == imaged_ratio(window(25_000))
    assert 1.0 == imaged_ratio(window(90_000))
    assert None is imaged_ratio(window(25_000, checkpoints=1))
    assert None is imaged_ratio(window(25_000, full_page_writes="off"))


def test_soon_after_a_checkpoint_an_index_is_logged_whole():
    """In a minute all of its 4,000 leaves, not the fifth of them that five minutes on average give."""
    last = replace(IDLE, blocks_hit=3 * ENTRIES)
    growth = IndexGrowth(first=IDLE, last=last)
    table = TableGrowth(first=TABLE, last=replace(TABLE, updated=ENTRIES))
    seen = window(50_000)
    whole, usual = (upkeep_of(growth, table, seen, imaged) for imaged in (1.0, None))
    less = LEAVES * (1 - math.exp(-15)) / WINDOW_S - LEAVES * (1 - math.exp(-75)) / 300

    assert pytest.approx(less * 0.8 * BLOCK_BYTES) == whole.written_bytes_per_s - usual.written_bytes_per_s
