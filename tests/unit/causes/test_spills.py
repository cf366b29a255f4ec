"""What goes through files: how often a sort writes its own, and what decoded transactions take."""

import pytest

from databases import START_S, WINDOW_S, counters, observation, reading, server, statement, with_settings
from plimsoll.causes.spills import decoded_by, passes_of, temporary
from plimsoll.model.database import DecodingSlot, Observation

MB = 1e6
MIB = 2**20


def minute(first=None, last=None, *, work_mem="4096", statements=(None, None)) -> Observation:
    """A minute of a server whose counters begin at zero."""
    return observation(
        reading(START_S, statements=statements[0], slots=first),
        reading(
            START_S + WINDOW_S,
            counters=counters(temp_bytes=round(600 * MB), temp_files=4),
            statements=statements[1],
            slots=last,
        ),
        with_settings(server(), {"work_mem": work_mem}),
    )


def slot(**changes) -> DecodingSlot:
    """A slot of the plugin that PostgreSQL comes with."""
    return DecodingSlot(name="to_search", plugin="pgoutput", **changes)


@pytest.mark.parametrize(
    ("file_mib", "work_mem_kib", "passes"),
    [
        # 4 MiB have buffers for 15 tapes: one merge takes 15 runs, two take 225.
        (20, "4096", 1),
        (156, "4096", 2),
        (500, "4096", 3),
        # 64 KiB take six at a time, the fewest: 448 runs are 75, 13, 3.
        (14, "64", 4),
        (10, "1048576", 1),
    ],
)
def test_a_sort_writes_its_file_once_for_each_merge_but_the_last(file_mib, work_mem_kib, passes):
    """156 MB with the default of 4 MB are written twice, as EXPLAIN's `temp written` says."""
    assert passes == passes_of(minute(work_mem=work_mem_kib), file_mib * MIB)


def test_without_statements_bytes_follow_from_sizes_of_files():
    """Files of 150 MB are written twice with 4 MB of memory, and read as often."""
    spill = temporary(minute())

    assert not spill.is_counted
    assert pytest.approx(20 * MB) == spill.written
    assert spill.written == spill.read
    assert 2 == spill.passes


def test_blocks_that_statements_counted_come_first():
    """6 MB/s were written and 4.8 read where files were 10 MB/s: more than half of them tells of all."""
    blocks = [round(rate * MB * WINDOW_S / 8192) for rate in (6, 4.8)]
    last = statement(calls=4, temp_written_blocks=blocks[0], temp_read_blocks=blocks[1])
    spill = temporary(minute(statements=((statement(),), (last,))))

    assert spill.is_counted
    assert pytest.approx(10 * MB, rel=1e-3) == spill.written
    assert pytest.approx(8 * MB, rel=1e-3) == spill.read


def test_nothing_in_files_is_no_spill():
    """Counters that stand still say that there was none."""
    assert temporary(observation(reading(), reading(START_S + WINDOW_S))) is None


def test_decoding_is_what_a_slot_spilled_and_read():
    """
    60 MB in a minute are 1 MB/s, and of WAL 2 MB/s were confirmed. A slot that is new has not read all WAL
    before it: its position is where it began; what it spilled is its own.
    """
    first = slot(spilled_bytes=5.0, spilled_transactions=1, confirmed_bytes=7.0)
    last = slot(spilled_bytes=5.0 + 60 * MB, spilled_transactions=3, confirmed_bytes=7.0 + 120 * MB)
    (found,) = decoded_by(minute((first,), (last,)))
    (new,) = decoded_by(minute((), (slot(spilled_bytes=60 * MB, confirmed_bytes=9e12),)))

    assert pytest.approx((1 * MB, 2 * MB)) == (found.spilled, found.wal_read)
    assert 2 == found.transactions
    assert (pytest.approx(1 * MB), 0.0) == (new.spilled, new.wal_read)


def test_a_slot_that_was_reset_or_idle_tells_nothing():
    """A counter that went back is no measure; one that stands still is no cause."""
    before = slot(spilled_bytes=9.0, confirmed_bytes=9.0)

    assert () == decoded_by(minute((before,), (slot(spilled_bytes=8.0, confirmed_bytes=10.0),)))
    assert () == decoded_by(minute((before,), (before,)))
    assert () == decoded_by(minute(None, (before,)))
