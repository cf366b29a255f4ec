"""Sequential scans and unused indexes: what each reads and writes, and when nothing is reported."""

import pytest
from msgspec.structs import replace

from databases import (
    START_S,
    WINDOW_S,
    budget,
    counters,
    glance,
    index,
    observation,
    reading,
    server,
    statement,
    table,
    toast_of,
    vacuum,
    with_settings,
)
from plimsoll.causes.indexes import sequential_scans, unused
from plimsoll.model.cause import Cause
from plimsoll.model.database import Index, Observation, Relation, Statement

MB = 1e6
BLOCK = 8192
ORDERS = table(100, "public.orders", size_bytes=10_000 * BLOCK, live_rows=1_000_000, row_estimate=1e6, index_scans=0)
IDLE = index(200, ORDERS, "public.orders_note_idx", size_bytes=4_000 * BLOCK)
# A page of each of three levels was looked at for 120,000 entries.
KEPT = replace(IDLE, blocks_hit=360_000)


def seen(
    *after: Relation,
    indexes: tuple[tuple[Index, Index], ...] = (),
    statements: tuple[tuple[Statement, Statement], ...] | None = None,
    reset_s: float | None = None,
    before: tuple[Relation, ...] = (ORDERS,),
) -> Observation:
    """A minute after which relations, indexes and statements have other counters."""
    first = reading(
        START_S,
        relations=before,
        indexes=tuple(pair[0] for pair in indexes),
        statements=None if statements is None else tuple(pair[0] for pair in statements),
    )
    last = reading(
        START_S + WINDOW_S,
        relations=after,
        indexes=tuple(pair[1] for pair in indexes),
        statements=None if statements is None else tuple(pair[1] for pair in statements),
        counters=counters(reset_s=reset_s),
    )
    configured = with_settings(server(), {"checkpoint_timeout": "300"})
    return observation(first, last, configured)


def scanned(scans: int, **changes) -> Relation:
    """The table after so many scans, each of which read all of it."""
    plain = replace(ORDERS, seq_scans=scans, seq_rows_read=scans * 1_000_000, heap_blocks_read=scans * 10_000)
    return replace(plain, **changes)


def called(text: str, **changes) -> tuple[Statement, Statement]:
    """A statement before and after it was called."""
    return statement(text), replace(statement(text), **changes)


def only(found: tuple[Cause, ...]) -> Cause:
    (cause,) = found
    return cause


def test_a_scanned_table_is_reported_with_what_it_read():
    """Thirty scans of 82 MB in a minute are 41 MB/s, measured."""
    cause = only(sequential_scans.causes(seen(scanned(30)), budget(50 * MB, 0.0)))

    assert ("SequentialScans", "critical", "public.orders") == (cause.code, cause.severity, cause.subject)
    assert pytest.approx(30 * 10_000 * BLOCK / 60) == cause.read_bytes_per_s
    assert not cause.is_estimated
    assert any("pg_stat_statements" in c for c in cause.remedies[0].commands)


def test_the_statement_is_named_with_an_index_to_try():
    """One row of a million wanted: an index on what is compared, equality first."""
    text = "select * from orders where updated > $1 and customer = $2 and state in ($3)"
    pair = called(text, calls=30, rows=30, read_blocks=300_000)
    other = called("select * from orders_archive", calls=30, read_blocks=900_000)
    cause = only(sequential_scans.causes(seen(scanned(30), statements=(pair, other)), budget(50 * MB, 0.0)))

    assert "CREATE INDEX CONCURRENTLY ON public.orders (customer, state, updated);" == cause.remedies[0].commands[0]
    assert any(text[:40] in e.text for e in cause.evidence)
    assert not any("archive" in e.text for e in cause.evidence)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        # A statement that wants every row is asked less often instead.
        ("select * from orders where id > $1", 3_000_000),
        # The text of a join does not show to which table a column belongs.
        ("select 1 from orders o join customers c on c.id = o.customer where region = $1", 3),
    ],
)
def test_no_index_is_advised_that_would_not_help(text: str, rows: int):
    """For most rows, or for columns that would be guessed."""
    pair = called(text, calls=3, rows=rows, read_blocks=30_000)
    cause = only(sequential_scans.causes(seen(scanned(3), statements=(pair,)), budget(50 * MB, 0.0)))

    assert () == cause.remedies[0].commands
    assert "An index does not help" in cause.remedies[0].text


BESIDE = (glance(1.0, vacuums=(vacuum(ORDERS),)),)


@pytest.mark.parametrize(
    ("observed", "is_estimated"),
    [
        # Index scans read much more of the table, or a vacuum that was seen at a glance.
        (seen(scanned(2, heap_blocks_read=90_000, index_scans=10**6)), True),
        (replace(seen(scanned(2, heap_blocks_read=90_000)), glances=BESIDE), True),
        # An update that scans the table reads it by the scan.
        (seen(scanned(2, updated=9_000)), False),
    ],
    ids=["index scans", "vacuum", "update"],
)
def test_next_to_other_reads_the_scans_are_an_estimate(observed: Observation, is_estimated: bool):
    """No more than what two scans go through."""
    cause = only(sequential_scans.causes(observed, budget(50 * MB, 0.0)))

    assert is_estimated == cause.is_estimated
    assert pytest.approx(2 * 10_000 * BLOCK / 60) == cause.read_bytes_per_s


def test_of_several_statements_the_one_that_an_index_helps_is_advised():
    """The first wants most rows, the second one of a million."""
    most = called("update orders set a = $1 where b > $2", calls=3, rows=10**6, read_blocks=40_000)
    one = called("select * from orders where id = $1", calls=3, rows=3, read_blocks=30_000)
    cause = only(sequential_scans.causes(seen(scanned(7), statements=(most, one)), budget(50 * MB, 0.0)))

    assert "public.orders (id)" in cause.remedies[0].commands[0]
    assert any("3 calls, 1 row each" in e.text for e in cause.evidence)


@pytest.mark.parametrize(
    "relation",
    [
        pytest.param(scanned(30, heap_blocks_read=0), id="all in memory"),
        pytest.param(replace(ORDERS, index_scans=10**6, heap_blocks_read=90_000), id="by index only"),
        pytest.param(scanned(30, heap_blocks_read=40), id="next to nothing read"),
        pytest.param(ORDERS, id="idle"),
    ],
)
def test_nothing_is_reported_for_what_reads_nothing_by_scans(relation: Relation):
    """Scans out of memory, and reads that are none."""
    assert () == sequential_scans.causes(seen(relation), budget(50 * MB, 0.0))


WRITTEN = replace(ORDERS, inserted=60_000, updated=120_000, hot_updated=60_000)


def test_an_unused_index_is_reported_with_its_upkeep():
    """2,000 entries a second: what it reads is measured, what it writes estimated, and both is reported."""
    pair = (IDLE, replace(KEPT, blocks_read=60_000, blocks_hit=300_000))
    month = START_S + WINDOW_S - 30 * 86_400
    watched = seen(WRITTEN, indexes=(pair,), reset_s=month)
    cause = only(unused.causes(watched, budget(20 * MB, 20 * MB)))
    # What was read was changed, and written to make room.
    read = 60_000 * BLOCK / 60
    # Every page once whole to WAL, without the fifth of it that is free.
    images = 0.8 * 4_000 * BLOCK / 300
    logged = 2_000 * (4_000 * BLOCK / 1e6 + 48)

    assert ("UnusedIndex", "public.orders_note_idx") == (cause.code, cause.subject)
    assert pytest.approx(read) == cause.read_bytes_per_s
    assert pytest.approx(read + images + logged) == cause.written_bytes_per_s
    assert cause.is_estimated
    assert "estimate" in cause.title
    assert "DROP INDEX CONCURRENTLY public.orders_note_idx;" == cause.remedies[0].commands[-1]
    assert IDLE.definition in cause.remedies[0].text
    assert "begin 30 d ago." in cause.text
    assert "spread over all of its pages: 3 of its pages were touched" in cause.text


def test_checkpoints_that_came_count_as_often_as_they_came():
    """Two in the minute write the index twice each; without whole pages in WAL once each."""
    pair = (IDLE, KEPT)
    still = seen(WRITTEN, indexes=(pair,))
    often = replace(still, last=replace(still.last, counters=counters(checkpoints_timed=1, checkpoints_requested=1)))
    bare = replace(often, server=with_settings(often.server, {"full_page_writes": "off"}))
    logged = 2_000 * (4_000 * BLOCK / 1e6 + 48)
    found = [only(unused.causes(o, budget(20 * MB, 20 * MB))).written_bytes_per_s for o in (often, bare)]

    assert [pytest.approx(n * 4_000 * BLOCK / 30 + logged) for n in (1.8, 1)] == found


def test_the_age_of_the_counters_is_reported_and_counts():
    """
    Two days are too short for a warning of a tenth of the load, a month is not; from a quarter on it is one
    all the same. An estimate is never critical.
    """
    pair = (IDLE, replace(KEPT, blocks_read=60_000))
    end_s = START_S + WINDOW_S
    found = [
        only(
            unused.causes(seen(WRITTEN, indexes=(pair,), reset_s=end_s - days * 86_400), budget(whole * MB, whole * MB))
        )
        for days, whole in ((2, 60), (30, 60), (2, 10), (30, 10))
    ]

    assert ["note", "warning", "warning", "warning"] == [cause.severity for cause in found]
    assert "begin 2 d ago: too short" in found[0].text
    assert "begin 30 d ago." in found[1].text


def test_an_invalid_index_is_maintained_for_nothing():
    """Even a unique one: nothing can use what CREATE INDEX CONCURRENTLY left behind."""
    pair = (IDLE, replace(KEPT, is_valid=False, is_unique=True, blocks_read=60_000))
    cause = only(unused.causes(seen(WRITTEN, indexes=(pair,), reset_s=START_S), budget(10 * MB, 10 * MB)))

    assert ("InvalidIndex", "warning") == (cause.code, cause.severity)
    assert "not valid" in cause.title


@pytest.mark.parametrize(
    ("last", "relation"),
    [
        pytest.param(replace(IDLE, is_unique=True), WRITTEN, id="unique"),
        pytest.param(replace(IDLE, is_constraint=True), WRITTEN, id="keeps a rule"),
        pytest.param(replace(IDLE, scans=1), WRITTEN, id="scanned once"),
        pytest.param(IDLE, ORDERS, id="never written"),
        pytest.param(IDLE, replace(ORDERS, updated=9_000, hot_updated=9_000), id="HOT updates"),
    ],
)
def test_nothing_is_reported_for_an_index_that_is_used_or_costs_nothing(last: Index, relation: Relation):
    """Used, needed by a rule, or not maintained."""
    assert () == unused.causes(seen(relation, indexes=((IDLE, last),)), budget(1 * MB, 1 * MB))


def test_unused_indexes_are_judged_by_their_sum():
    """
    Fourteen of them, each a small part of the load: one warning with what they take together, ten by name,
    the others counted, and a command for each that is named.
    """
    many = [replace(IDLE, oid=n, name=f"public.i{n}") for n in range(300, 314)]
    pairs = tuple((i, replace(i, blocks_hit=360_000)) for i in many)
    load = budget(40 * MB, 40 * MB)
    month = START_S + WINDOW_S - 30 * 86_400
    alone = only(unused.causes(seen(WRITTEN, indexes=pairs[:1], reset_s=month), load))
    (cause,) = unused.causes(seen(WRITTEN, indexes=pairs, reset_s=month), load)

    assert "note" == alone.severity
    assert ("UnusedIndexes", "warning") == (cause.code, cause.severity)
    assert pytest.approx(14 * alone.bytes_per_s) == cause.bytes_per_s
    assert cause.title.startswith("14 indexes of public.orders have never been scanned")
    assert "4 smaller ones" == cause.evidence[-1].text
    assert 1 + 10 == len(cause.remedies[0].commands)
    assert "DROP INDEX CONCURRENTLY public.i300;" == cause.remedies[0].commands[1]


def test_a_table_that_is_being_loaded_is_no_proof_against_its_indexes():
    """Most of its rows came in between: nothing can have asked for them; a note says when to create them."""
    pairs = tuple(
        (i, replace(i, blocks_hit=3_600_000)) for i in (replace(IDLE, oid=n, name=f"public.i{n}") for n in (300, 301))
    )
    filled = replace(ORDERS, inserted=900_000)
    for indexes in (pairs, pairs[:1]):
        (cause,) = unused.causes(seen(filled, indexes=indexes), budget(1 * MB, 1 * MB))

        assert "note" == cause.severity
        assert "being loaded" in cause.text


PARTS = tuple(
    replace(ORDERS, oid=n, name=f"public.orders_{n}", kind="partition", parent="public.orders")
    for n in range(1000, 1200)
)


def test_partitions_are_judged_by_their_parent():
    """
    Two hundred that are each half a percent of the load: one finding, and an index on the parent as a
    plain table would get.
    """
    scanned = tuple(replace(part, seq_scans=10, seq_rows_read=10_000_000, heap_blocks_read=5_000) for part in PARTS)
    text = "select * from orders where customer = $1"
    before = statement(text)
    after = replace(before, calls=10, rows=100, read_blocks=1_000_000)
    found = only(
        sequential_scans.causes(seen(*scanned, before=PARTS, statements=((before, after),)), budget(140 * MB, 0.0))
    )

    assert ("public.orders", "critical") == (found.subject, found.severity)
    assert pytest.approx(1_000_000 * BLOCK / WINDOW_S) == found.read_bytes_per_s
    assert "CREATE INDEX ON public.orders (customer);" == found.remedies[0].commands[0]


def test_indexes_of_partitions_are_those_of_the_parent():
    """None of them is unused where one is scanned; else the parent's is dropped, once."""
    parts = PARTS[:3]
    own = [
        replace(IDLE, oid=2000 + n, name=f"public.i{n}", table_oid=part.oid, parent="public.i")
        for n, part in enumerate(parts)
    ]
    written = tuple(replace(part, inserted=60_000) for part in parts)

    def causes_at(scans: int) -> tuple[Cause, ...]:
        pairs = tuple(
            (one, replace(one, blocks_hit=180_000, scans=scans if n == 1 else 0)) for n, one in enumerate(own)
        )
        month = START_S + WINDOW_S - 30 * 86_400
        watched = seen(*written, indexes=pairs, before=parts, reset_s=month)
        return unused.causes(watched, budget(10 * MB, 10 * MB))

    assert () == causes_at(scans=1)
    check, drop = causes_at(scans=0)[0].remedies[0].commands
    assert "pg_partition_tree('public.i')" in check
    assert "DROP INDEX public.i;" == drop
    assert "public.orders" == causes_at(scans=0)[0].subject


def test_the_index_of_a_toast_relation_is_not_spoken_of():
    """Nobody can drop it."""
    owner, toast = toast_of(ORDERS)
    its_own = index(300, toast, "pg_toast.pg_toast_100_index", size_bytes=BLOCK)
    grown = replace(toast, inserted=99_999)

    assert () == unused.causes(
        seen(owner, grown, indexes=((its_own, its_own),), before=(owner, toast)), budget(1 * MB, 1 * MB)
    )
