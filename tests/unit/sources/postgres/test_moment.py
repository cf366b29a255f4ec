"""Counters of two readings may be subtracted: what was dropped, reset or forgotten is in neither."""

import pytest

from plimsoll.model.database import DatabaseReading, IoRow
from plimsoll.sources.postgres.moment import ServerReading, began_s, compared, counters_of, has_gone_back

RESET_S = 1_795_000_000.0


def database(committed: int, *, reset_s: float | None = RESET_S) -> tuple:
    """A row of pg_stat_database behind its identifier: commits, and ten blocks a commit."""
    return (committed, 0, 0, 0, committed * 10, 0, 0, 0, 0, 0, reset_s)


def moment(time_s: float, databases: dict[int, tuple]) -> ServerReading:
    counters = counters_of(databases.values(), (1, 2, 3, 4, 5), (8e6, 7, 9, 6, 2), None, block_bytes=8192)
    return ServerReading(databases=databases, reading=DatabaseReading(time_s=time_s, counters=counters))


def committed(first: dict[int, tuple], last: dict[int, tuple]) -> tuple[int, bool]:
    before, after, has_left_out = compared(moment(0.0, first), moment(60.0, last))
    return after.counters.committed - before.counters.committed, has_left_out


TWO = {1: database(100), 2: database(50)}


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (TWO, {1: database(110), 2: database(55)}, (15, False)),
        # The 50 commits of a dropped database are not taken off the other's 10.
        (TWO, {1: database(110)}, (10, True)),
        # All that a database made meanwhile counts happened since.
        ({1: database(100)}, {1: database(110), 2: database(7)}, (17, False)),
        # One that was reset is in neither sum: by the time of its reset, or by a counter that fell.
        (TWO, {1: database(120, reset_s=RESET_S + 9), 2: database(55)}, (5, True)),
        (TWO, {1: database(3), 2: database(55)}, (5, True)),
        # The first time of a reset is none: 14 says it of a database that had counted nothing before.
        ({1: database(0, reset_s=None)}, {1: database(10)}, (10, False)),
    ],
    ids=["two", "dropped", "made", "reset", "fell", "first time"],
)
def test_commits_of_all_databases_are_added_up(first: dict, last: dict, expected: tuple[int, bool]):
    """Of those that can be subtracted; whether one was left out is said."""
    assert expected == committed(first, last)


def test_a_server_that_forgot_is_told_from_one_that_went_on():
    """After a crash counters begin at zero; after an orderly restart they go on."""
    before = {1: database(100), 2: database(50)}

    assert has_gone_back(before, {1: database(3), 2: database(2)})
    assert not has_gone_back(before, {1: database(101), 2: database(50)})


def test_blocks_become_bytes():
    """Before 17, checkpointer, background writer and backends are counted in blocks of 8 KiB."""
    counters = moment(0.0, {1: database(1)}).reading.counters

    assert (1, 2) == (counters.checkpoints_timed, counters.checkpoints_requested)
    assert (3 * 8192.0, 4 * 8192.0, 5 * 8192.0) == (
        *(counters.checkpoint_written_bytes, counters.background_written_bytes),
        counters.backend_written_bytes,
    )
    assert (8e6, 7, 9) == (counters.wal_bytes, counters.wal_full_pages, counters.wal_records)
    assert (6, 2) == (counters.wal_writes, counters.wal_buffers_full)


def test_growth_by_many_blocks_counts_whole_where_there_are_two_views():
    """16 counts one block in pg_stat_bgwriter where a file grows by 768; pg_stat_io has them all."""
    rows = [
        IoRow(
            backend_type=who,
            object="relation",
            context="bulkwrite",
            read_bytes=0.0,
            written_bytes=8192.0,
            extended_bytes=768 * 8192.0,
        )
        for who in ("client backend", "checkpointer")
    ]
    counters = counters_of((), (1, 2, 3, 4, 5), None, rows, block_bytes=8192)

    assert 769 * 8192.0 == counters.backend_written_bytes


@pytest.mark.parametrize(
    ("own_s", "shared", "promoted_s", "expected_s"),
    [
        pytest.param(None, {"wal": 10.0, "bgwriter": 10.0}, None, 10.0, id="made or crashed"),
        pytest.param(None, {"wal": 10.0, "bgwriter": 90.0}, None, 10.0, id="one reset since"),
        pytest.param(50.0, {"wal": 10.0, "bgwriter": 10.0}, None, 50.0, id="pg_stat_reset()"),
        pytest.param(50.0, {"wal": 60.0, "io": 60.0}, None, 60.0, id="crashed, restored time"),
        pytest.param(None, {"wal": 10.0}, 70.0, 70.0, id="promoted"),
        pytest.param(None, {"wal": 80.0}, 70.0, 80.0, id="promoted and crashed"),
        pytest.param(None, {"wal": None, "statements": 5.0}, None, None, id="nothing is shown"),
        pytest.param(50.0, {}, None, 50.0, id="only of the database"),
        pytest.param(None, {}, 70.0, None, id="only the promotion"),
    ],
)
def test_counters_are_as_old_as_what_began_them_last(
    own_s: float | None, shared: dict[str, float | None], promoted_s: float | None, expected_s: float | None
):
    """A crash is dated by the earliest of the server's resets; pg_stat_statements has a file of its own."""
    assert expected_s == began_s(database(0, reset_s=own_s), shared, promoted_s)
