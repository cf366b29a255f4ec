"""Statements by their counters: who reads most, and who is slow for another reason than itself."""

import pytest
from msgspec.structs import replace

from databases import START_S, WINDOW_S, budget, observation, reading, server, statement, table
from plimsoll.causes.statements import statements
from plimsoll.causes.statements.statements import capture_of, missing_of, short, work_between
from plimsoll.model.database import Observation, Statement
from plimsoll.model.explain import Source

MB = 1e6
TEXT = "select * from documents where account_id = $1"


def counted(calls: int, *, block_s: float, blocks: int = 100, hit: int = 20) -> Statement:
    """So many calls that read as many blocks each, all of their time."""
    return statement(
        TEXT,
        calls=calls,
        rows=calls,
        exec_s=calls * blocks * block_s * 1.02,
        read_blocks=calls * blocks,
        hit_blocks=calls * hit,
        read_s=calls * blocks * block_s,
    )


def more(before: Statement, then: Statement) -> Statement:
    """Counters that have grown."""
    return statement(
        TEXT,
        calls=before.calls + then.calls,
        rows=before.rows + then.rows,
        exec_s=before.exec_s + then.exec_s,
        read_blocks=before.read_blocks + then.read_blocks,
        hit_blocks=before.hit_blocks + then.hit_blocks,
        read_s=(before.read_s or 0.0) + (then.read_s or 0.0),
    )


def seen(before: Statement | None, after: Statement) -> Observation:
    """A minute between two readings of one statement."""
    return observation(
        reading(START_S, statements=() if before is None else (before,)),
        reading(START_S + WINDOW_S, statements=(after,)),
    )


USUAL = counted(10_000, block_s=0.0005)


def test_as_many_blocks_each_many_times_as_slow_is_not_the_query():
    """A hundred blocks a call as ever, 20 ms each instead of 0.5 ms."""
    (cause,) = statements.causes(seen(USUAL, more(USUAL, counted(600, block_s=0.02))), budget(10 * MB, 1 * MB))

    assert ("NotTheQuery", "warning") == (cause.code, cause.severity)
    assert "40 times" in cause.title
    assert pytest.approx(600 * 100 * 8192 / 60) == cause.read_bytes_per_s


@pytest.mark.parametrize(
    ("before", "then"),
    [
        pytest.param(USUAL, counted(600, block_s=0.0009), id="a little slower"),
        pytest.param(USUAL, counted(600, block_s=0.02, blocks=900), id="other blocks"),
        pytest.param(USUAL, counted(3, block_s=0.02), id="too few calls"),
        # Reads of 10 µs out of the page cache that become 1 ms from a disk are ordinary storage.
        pytest.param(counted(10_000, block_s=0.00001), counted(600, block_s=0.001), id="warms up"),
    ],
)
def test_storage_is_not_blamed_without_its_sign(before: Statement, then: Statement):
    """Slower by less than a factor, over other blocks, or seen too seldom."""
    assert () == statements.causes(seen(before, more(before, then)), budget(10_000 * MB, 1 * MB))


def test_reads_that_were_not_timed_are_no_sign_and_are_reported():
    """track_io_timing was off, or switched on in between: no verdict, and what would give one."""
    untimed = counted(10_000, block_s=0.0)
    seen_since = seen(untimed, more(untimed, counted(600, block_s=0.02)))

    assert () == statements.causes(seen_since, budget(9e9, 0.0))
    (missing,) = missing_of(seen_since)
    assert "track_io_timing is off: switch it on" in missing.remedy
    assert () == missing_of(observation(reading(START_S), reading(START_S + WINDOW_S)))


def test_a_statement_is_judged_by_its_share():
    """8 of 11 MB/s, with a plan that passes over most of what it reads; 2 % of 400 MB/s are not reported at all."""
    window = seen(USUAL, more(USUAL, counted(600, block_s=0.0005)))
    (cause,) = statements.causes(window, budget(10 * MB, 1 * MB))

    assert ("StatementReads", "critical", TEXT) == (cause.code, cause.severity, cause.subject)
    assert "120 blocks to return 1 row" in cause.remedies[0].text
    assert "plimsoll explain record" in cause.remedies[1].commands[0]
    assert () == statements.causes(window, budget(400 * MB, 1 * MB))


def test_of_an_idle_server_a_large_share_is_a_note():
    """All that is read, but less than half a MB/s."""
    (cause,) = statements.causes(seen(USUAL, more(USUAL, counted(30, block_s=0.0005))), budget(0.45 * MB, 0.0))

    assert "note" == cause.severity


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("vacuum (analyze) documents", "note"),
        ("CREATE UNIQUE INDEX documents_at ON documents (at)", "note"),
        ("create materialized view totals as select 1", "critical"),
    ],
)
def test_upkeep_is_judged_by_a_ceiling_alone(text: str, severity: str):
    """It reads whole tables because somebody wants that, and then ends; no index or EXPLAIN is of use to it."""
    ran = statement(text, calls=1, exec_s=50.0, read_blocks=100_000)
    (cause,) = statements.causes(seen(None, ran), budget(14 * MB, 1 * MB))
    (held,) = statements.causes(seen(None, ran), budget(14 * MB, 1 * MB, ceiling_bytes_per_s=30 * MB))

    assert severity == cause.severity
    assert (severity == "note") == ("quieter hour" in cause.remedies[0].text)
    assert "critical" == held.severity


@pytest.mark.parametrize(
    ("size_mb", "calls", "severity"),
    [
        pytest.param(100, 100, "note", id="fits, read once at most"),
        pytest.param(60, 100, "critical", id="fits, read more than once"),
        pytest.param(500, 100, "critical", id="does not fit"),
    ],
)
def test_buffers_that_fill_are_no_fault(size_mb: int, calls: int, severity: str):
    """A table within 128 MiB of buffers is read once; what is read again was not kept."""
    documents = table(1000, "public.documents", size_bytes=size_mb * 10**6)
    read = counted(calls, block_s=0.0005)
    window = observation(
        reading(START_S, relations=(documents,)),
        reading(START_S + WINDOW_S, relations=(documents,), statements=(read,)),
        server(settings={"shared_buffers": "16384"}),
    )
    (cause,) = statements.causes(window, budget(2 * MB, 0.0))

    assert severity == cause.severity
    assert ("the buffers are filling" in cause.text) is (severity == "note")


def test_calls_that_want_little_are_advised_to_be_fewer():
    """Three blocks for a row is a look-up: no plan spares it."""
    lookup = statement(TEXT, calls=60_000, rows=60_000, read_blocks=120_000, hit_blocks=60_000)
    (cause,) = statements.causes(seen(None, lookup), budget(20 * MB, 0.0))

    assert "critical" == cause.severity
    assert "Call it less often" in cause.remedies[0].text


def test_a_statement_that_was_not_called_in_between_did_no_work():
    """However much it did before the first reading."""
    assert () == work_between((USUAL,), (USUAL,))


def test_a_counter_that_was_reset_counts_from_its_reset():
    """Fewer calls than before: what there is, is since then."""
    (work,) = work_between((USUAL,), (counted(7, block_s=0.001),))

    assert 7 == work.statement.calls
    assert work.before is None


def test_the_mean_call_is_a_capture():
    """Blocks of every kind, rows and time of one call."""
    counts = {"dirtied_blocks": 3000, "written_blocks": 1800, "temp_read_blocks": 1200, "temp_written_blocks": 600}
    after = replace(more(USUAL, counted(600, block_s=0.02)), **counts)
    (work,) = work_between((USUAL,), (after,))
    capture = capture_of(work.statement)
    found = capture.blocks

    assert Source.PG_STAT_STATEMENTS is capture.source
    assert (600, 100, 20) == (capture.calls, found.read, found.hit)
    assert (5, 3, 2, 1) == (found.dirtied, found.written, found.temp_read, found.temp_written)
    assert pytest.approx((2.0, 2.04)) == (found.read_s, capture.execution_s)


def test_a_long_statement_is_one_short_line():
    """White space is one space, the end is cut."""
    assert "select 1" == short("select\n  1")
    assert 90 == len(short("x" * 500))
