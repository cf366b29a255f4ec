"""What a whole load asks of the device: what grows with the rows, checkpoints, and indexes that outgrow memory."""

from dataclasses import replace

import pytest

from plimsoll.load.rehearse.law.cost import Case, work_of
from rehearsals import GB, IN_ORDER, RANDOM, SAMPLE, SERVER

HOUR = 3600.0


def work(sample=SAMPLE, server=SERVER, *, case=Case.LIKELY, size=10 * GB, seconds=HOUR, is_full=False, is_paced=False):
    return work_of(sample, server, input_bytes=size, duration_s=seconds, case=case, is_full=is_full, is_paced=is_paced)


def test_heap_and_wal_grow_with_the_rows():
    """A thousand times the sample; of the table, half of what a checkpoint cycle fills is still in shared buffers."""
    assert work(case=Case.HIGH).bytes == pytest.approx(18e9 + 12e9)
    assert work().bytes == pytest.approx(18e9 + 12e9 * (1 - 0.5 / work().checkpoints))
    assert work(case=Case.LOW).bytes == pytest.approx(18e9 + 8e9 - 12e9 * 35 / HOUR)


def test_the_table_of_a_short_load_is_written_after_it():
    """Without a checkpoint, all that shared buffers can hold."""
    large = replace(SERVER, max_wal_bytes=100 * GB, buffers_bytes=200 * GB)
    small = replace(large, buffers_bytes=GB)

    assert work(server=large, seconds=30).bytes == pytest.approx(18e9)
    assert work(server=small, seconds=30).bytes == pytest.approx(18e9 + 12e9 - 1e9)


@pytest.mark.parametrize("index", [IN_ORDER, RANDOM])
def test_under_a_pace_new_pages_count_when_they_are_filled(index):
    """Table and index of a short load, which are written after it; the lower bound is without them."""
    large = replace(SERVER, max_wal_bytes=100 * GB, buffers_bytes=200 * GB)
    sample = replace(SAMPLE, indexes=(index,))
    paced = work(sample, large, seconds=30, is_paced=True)

    assert paced.bytes == pytest.approx(18e9 + 12e9 + 3e9)
    assert work(sample, large, seconds=30, case=Case.LOW) == work(
        sample, large, seconds=30, case=Case.LOW, is_paced=True
    )


def test_a_checkpoint_writes_what_came_before_it():
    """Its files are synced a cycle and the completion target after the start, then once a cycle."""
    often = replace(SERVER, max_wal_bytes=100 * GB, checkpoint_s=10.0, buffers_bytes=200 * GB)

    assert work(server=often, seconds=18).bytes == pytest.approx(18e9)
    assert work(server=often, seconds=20).bytes == pytest.approx(18e9 + 12e9 * (1 - 5 / 20))


def test_checkpoints_come_by_wal_or_by_time():
    segments = int(2e9 / 2**24 / 1.9)
    by_wal = 18e9 / ((segments - 1.5) * 2**24)

    assert work().checkpoints == pytest.approx(by_wal)
    assert 2 * HOUR / 300 * 10 == pytest.approx(work(seconds=20 * HOUR).checkpoints)


def test_a_random_index_costs_images_at_every_checkpoint():
    """In order it costs its own size, once as zeros and once with rows; at random it is written again and again."""
    ordered = work(replace(SAMPLE, indexes=(IN_ORDER,)))
    scattered = work(replace(SAMPLE, indexes=(RANDOM,)))

    assert ordered.bytes - work().bytes == pytest.approx(3e9 * (2 - 1 / ordered.checkpoints), rel=0.05)
    assert scattered.bytes - work().bytes > 5 * 3e9
    assert scattered.checkpoints > ordered.checkpoints


def test_on_a_full_device_checkpoints_wait_for_each_other():
    """Scattered pages of 1.5 GB on average, and twice as much WAL beside each of them."""
    sample = replace(SAMPLE, table_bytes=0.0, indexes=(RANDOM,))
    small = replace(SERVER, max_wal_bytes=0.1 * GB, has_images=False)
    free, full = work(sample, small), work(sample, small, is_full=True)

    assert full.checkpoints < 0.1 * free.checkpoints
    assert full.checkpoints == pytest.approx(18e9 / (2 * 1.5e9), rel=0.5)
    assert work(sample, small, is_full=True, case=Case.LOW).bytes < full.bytes


def test_a_table_that_fills_faster_than_it_is_written_has_ever_longer_cycles():
    """Each checkpoint writes what its predecessor's cycle filled: 1, 2, 4, 8 times the first one."""
    first = SERVER.wal_per_checkpoint
    sample = replace(SAMPLE, table_bytes=SAMPLE.wal_bytes)
    size = 15 * first / 1.8

    assert work(sample, is_full=True, size=size, seconds=60).checkpoints == pytest.approx(4)
    assert work(sample, size=size, seconds=60).checkpoints == pytest.approx(15)


def test_what_the_server_does_beside_it_counts():
    """Without full-page writes there are no images; autovacuum writes the table once more at most."""
    sample = replace(SAMPLE, indexes=(RANDOM,))
    vacuumed = replace(SERVER, has_autovacuum=True)
    more = work(server=vacuumed, case=Case.HIGH).bytes - work(case=Case.HIGH).bytes

    assert work(sample, replace(SERVER, has_images=False)).bytes < work(sample).bytes
    assert more == pytest.approx(12e9)
    assert work(server=vacuumed).bytes == work().bytes


def test_an_index_beyond_memory_is_read():
    """Each row reads a page then, so operations grow by about the rows."""
    sample = replace(SAMPLE, indexes=(replace(RANDOM, present_bytes=100 * GB),))
    small = replace(SERVER, buffers_bytes=GB, cache_bytes=GB)
    large = replace(SERVER, buffers_bytes=200 * GB, cache_bytes=200 * GB)

    assert work(sample, small).ops - work(sample, large).ops > 0.9 * 100e6


def test_indexes_share_the_memory():
    """Each fits into it, and two do not: pages are written to make room."""
    one = replace(RANDOM, present_bytes=6 * GB)
    tight = replace(SERVER, buffers_bytes=10 * GB, cache_bytes=100 * GB)
    single, double = (work(replace(SAMPLE, indexes=(one,) * count), tight).ops for count in (1, 2))

    assert double > 2 * single + 0.2 * 100e6


def test_what_is_not_known_has_bounds_only():
    unknown = replace(SAMPLE, indexes=(replace(RANDOM, scatter_ratio=None),))

    assert work(unknown) is None
    assert work(unknown, case=Case.LOW).bytes < work(unknown, case=Case.HIGH).bytes


@pytest.mark.parametrize("sample", [SAMPLE, replace(SAMPLE, indexes=(RANDOM, IN_ORDER))])
@pytest.mark.parametrize("size", [1e6, 1e8, 1e11])
def test_the_likely_case_is_within_the_bounds(sample, size):
    low, likely, high = (work(sample, case=case, size=size) for case in Case)

    assert low.bytes <= likely.bytes <= high.bytes
    assert low.ops <= likely.ops <= high.ops
