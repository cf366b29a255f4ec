"""The load where no view counts it: what backends write, what WAL takes, files written around the buffers."""

import pytest

from databases import (
    START_S,
    WINDOW_S,
    counters,
    glance,
    index,
    io_row,
    observation,
    reading,
    server,
    statement,
    table,
    vacuum,
    with_settings,
)
from plimsoll.causes.budget import backend_written_per_s, budget_of, built_bytes, wal_written
from plimsoll.causes.wal import wal
from plimsoll.model.database import Index, Observation

MB = 1e6
BLOCK = 8192
# An index belongs to a table that was there.
ORDERS = table(100, "public.orders", size_bytes=50 * BLOCK)
FIFTEEN = with_settings(server(version="15.18", version_number=150_018), {"shared_buffers": "16384"})


def minute(
    first=None, last=None, *, info=FIFTEEN, io=None, statements=(None, None), indexes=((), ()), **more
) -> Observation:
    """A minute of a PostgreSQL 15 whose counters begin at zero."""
    zero = {"backend_written_bytes": 0.0, "wal_bytes": 0.0, "wal_writes": 0, "wal_buffers_full": 0}
    return observation(
        reading(
            START_S,
            counters=counters(**(zero | (first or {}))),
            statements=statements[0],
            indexes=indexes[0],
            relations=(ORDERS,),
            io=() if io else None,
        ),
        reading(
            START_S + WINDOW_S,
            counters=counters(**(zero | (last or {}))),
            statements=statements[1],
            indexes=indexes[1],
            relations=(ORDERS,),
            io=io,
        ),
        info,
        **more,
    )


def wrote(blocks: int) -> tuple:
    """Statements before and after one that wrote so many blocks."""
    return (statement(),), (statement(calls=3, written_blocks=blocks),)


def test_a_late_counter_of_backends_gives_way_to_statements():
    """128 MiB of buffers may hide 64 MiB: 20 MB by statements are not yet reported, or 20 MB too many are."""
    blocks = round(20 * MB / BLOCK)
    for found in (0.0, 40 * MB):
        seen = minute(last={"backend_written_bytes": found}, statements=wrote(blocks))

        assert pytest.approx(20 * MB / WINDOW_S, rel=1e-3) == backend_written_per_s(seen)


def test_what_no_delay_explains_is_believed():
    """200 MB more than statements wrote are by others; and a vacuum writes without a statement."""
    blocks = round(20 * MB / BLOCK)
    run = vacuum(ORDERS, scanned_blocks=1, running_s=1.0)
    many = minute(last={"backend_written_bytes": 220 * MB}, statements=wrote(blocks))
    vacuumed = minute(
        last={"backend_written_bytes": 40 * MB}, statements=wrote(blocks), glances=(glance(1.0, vacuums=(run,)),)
    )

    assert pytest.approx(220 * MB / WINDOW_S) == backend_written_per_s(many)
    assert pytest.approx(40 * MB / WINDOW_S) == backend_written_per_s(vacuumed)


def test_before_18_wal_is_more_than_its_records():
    """
    2,000 commits of 150 bytes: 0.3 MB generated, and a page more each written; of the writes that made
    room in the buffers none does. Two more files of 16 MiB in the folder were filled with zeros, unless
    the server does not do that.
    """
    seen = minute(last={"wal_bytes": 0.3 * MB, "wal_writes": 2500, "wal_buffers_full": 500})
    files = ({"wal_files_bytes": 4 * 2.0**24}, {"wal_files_bytes": 6 * 2.0**24, "wal_bytes": MB})
    without = with_settings(FIFTEEN, {"wal_init_zero": "off"})

    assert pytest.approx((0.3 * MB + 2000 * BLOCK) / WINDOW_S) == wal_written(seen)
    assert pytest.approx((MB + 2.0**25) / WINDOW_S) == wal_written(minute(*files))
    assert pytest.approx(MB / WINDOW_S) == wal_written(minute(*files, info=without))


def test_new_files_of_wal_are_a_cause_before_their_wal_is_counted():
    """A session reports its WAL once a second at most; the files that it made are seen at once."""
    seen = minute({"wal_files_bytes": 4 * 2.0**24}, {"wal_files_bytes": 12 * 2.0**24})
    (found,) = wal.causes(seen, budget_of(seen))

    assert "WalWrites" == found.code
    assert pytest.approx(2.0**27 / WINDOW_S) == found.written_bytes_per_s
    assert "filled with zeros" in found.text


def test_since_18_wal_is_what_was_counted():
    """`pg_stat_io` has the bytes; nothing is added to them."""
    io = (io_row("client backend", object="wal", written_bytes=6 * MB),)
    seen = minute(last={"wal_bytes": MB, "wal_writes": 9}, info=server(), io=io)

    assert pytest.approx(6 * MB / WINDOW_S) == wal_written(seen)
    assert pytest.approx(6 * MB / WINDOW_S) == budget_of(seen).written_bytes_per_s


def of_400_pages(oid: int, *, looked_at: int) -> Index:
    return index(oid, ORDERS, f"public.index_{oid}", size_bytes=400 * BLOCK, blocks_hit=looked_at)


def test_an_index_that_was_built_is_written_around_the_buffers():
    """It is in no counter, and written once; one that was filled row by row is counted, and looked up."""
    old, built, filled = (of_400_pages(n, looked_at=m) for n, m in ((101, 0), (102, 3), (103, 900)))
    seen = minute(indexes=((old,), (old, built, filled)))

    assert 400 * BLOCK == built_bytes(seen)
