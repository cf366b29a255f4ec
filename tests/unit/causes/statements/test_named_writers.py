"""COPY, readers that mark rows, and logical decoding: causes with names, when they are reported and when not."""

import msgspec
import pytest

from databases import START_S, WINDOW_S, budget, counters, observation, reading, statement, table
from plimsoll.causes.statements import bulk_loads, hint_bits
from plimsoll.causes.statements.bulk_loads import table_named
from plimsoll.causes.wal import decoding
from plimsoll.model.database import DecodingSlot, Observation

MB = 1e6
BLOCK = 8192
PAGES = round(60 * MB / BLOCK)
LOAD = budget(0.0, 6 * MB)


def minute(text: str, *, orders=None, slots=(None, None), checkpointed=0.0, **work) -> Observation:
    """A minute in which one statement ran, over a table of 60 MB that was loaded in it."""
    relation = table(100, "public.orders", size_bytes=PAGES * BLOCK, inserted_since_vacuum=500_000, live_rows=500_000)
    was = msgspec.structs.replace(relation, size_bytes=0)
    now = msgspec.structs.replace(relation, **(orders or {}))
    return observation(
        reading(
            START_S, counters=counters(wal_bytes=0.0), relations=(was,), statements=(statement(text),), slots=slots[0]
        ),
        reading(
            START_S + WINDOW_S,
            counters=counters(wal_bytes=300 * MB, checkpoint_written_bytes=checkpointed),
            relations=(now,),
            statements=(statement(text, calls=1, rows=500_000, **work),),
            slots=slots[1],
            io=(),
        ),
    )


COPIED = {"written_blocks": 2 * PAGES, "dirtied_blocks": PAGES, "wal_bytes": 60 * MB}


@pytest.mark.parametrize(
    "text",
    [
        "copy orders from stdin",
        "COPY public.orders (id, note) FROM STDIN WITH (FORMAT csv)",
        'copy "orders"(id) from program …',
        "copy\n  orders\nfrom …",
    ],
)
def test_a_table_that_copy_fills_is_named(text):
    """60 MB of pages written twice and 60 MB of WAL in a minute: 3 MB/s."""
    (cause,) = bulk_loads.causes(minute(text, **COPIED), LOAD)

    assert ("BulkLoad", "public.orders", "critical") == (cause.code, cause.subject, cause.severity)
    assert pytest.approx(3 * MB, rel=1e-3) == cause.written_bytes_per_s
    assert pytest.approx(3 / 6, rel=1e-3) == cause.share_of_load


def test_pages_that_are_left_count_when_a_checkpoint_writes_them():
    """Of 60 MB that no ring had to write, a checkpoint wrote half."""
    work = {"written_blocks": PAGES, "dirtied_blocks": PAGES, "wal_bytes": 0.0}
    (cause,) = bulk_loads.causes(minute("copy orders from stdin", checkpointed=30 * MB, **work), LOAD)

    assert pytest.approx(1.5 * MB, rel=1e-3) == cause.written_bytes_per_s


@pytest.mark.parametrize("text", ["copy orders to stdout", "copy (select 1) to stdout", "select copy from orders"])
def test_other_statements_fill_nothing(text):
    """COPY that reads, and words that only look like it."""
    assert () == bulk_loads.causes(minute(text, **COPIED), LOAD)


def test_a_name_that_several_tables_have_is_none_of_them():
    """`orders` may be any schema's; with its schema it is one."""
    seen = minute("select 1")
    other = table(200, 'archive."orders"')
    both = msgspec.structs.replace(
        seen, last=msgspec.structs.replace(seen.last, relations=(*seen.last.relations, other))
    )

    assert table_named(both, "orders") is None
    assert other == table_named(both, "archive.orders")
    assert table_named(both, "Orders.orders") is None


READ = {"written_blocks": PAGES, "dirtied_blocks": PAGES, "wal_bytes": 60 * MB, "read_blocks": PAGES}


def test_the_first_reader_after_a_load_is_named_with_what_it_writes():
    """60 MB of pages that it marks, and as much WAL: 2 MB/s, and the vacuum that spares it."""
    (cause,) = hint_bits.causes(minute("select count(*) from orders where id > $1", **READ), LOAD)

    assert ("HintBits", "public.orders", "critical") == (cause.code, cause.subject, cause.severity)
    assert pytest.approx(2 * MB, rel=1e-3) == cause.written_bytes_per_s
    assert ("VACUUM (FREEZE, ANALYZE) public.orders;",) == cause.remedies[0].commands


@pytest.mark.parametrize(
    ("text", "orders"),
    [
        ("select * from orders for update", {}),
        ("with gone as (delete from orders returning *) select * from gone", {}),
        ("update orders set note = $1", {}),
        ("select work()", {}),
        # Rows that a vacuum has marked leave nothing to note.
        ("select count(*) from orders", {"inserted_since_vacuum": 0}),
    ],
)
def test_what_may_write_for_another_reason_is_not_named(text, orders):
    """Locks, changes and functions change pages, too; and a vacuumed table has nothing to mark."""
    assert () == hint_bits.causes(minute(text, orders=orders, **READ), LOAD)


def spilled(plugin: str, *, settings=(), transactions=2) -> Observation:
    """A slot that spilled 120 MB in a minute."""
    slot = DecodingSlot(name="to_search", plugin=plugin)
    later = msgspec.structs.replace(slot, spilled_bytes=120 * MB, spilled_transactions=transactions, spill_count=9)
    return minute("select 1", slots=((slot,), (later,)))


def test_decoding_that_spills_is_named_with_its_own_memory():
    """2 MB/s written and as much read; 60 MB for each transaction fit 64 MB, and it is not work_mem."""
    (cause,) = decoding.causes(spilled("test_decoding"), LOAD)
    settings = [setting for remedy in cause.remedies for setting in remedy.settings]

    assert ("DecodingSpills", "to_search") == (cause.code, cause.subject)
    assert (2 * MB, 2 * MB) == (cause.written_bytes_per_s, cause.read_bytes_per_s)
    assert pytest.approx(4 / 6) == cause.share_of_load
    assert [("logical_decoding_work_mem", "64MB")] == settings


def test_a_subscription_can_take_changes_while_they_come():
    """Only PostgreSQL's own plugin streams to subscriptions; 16 and later apply in parallel."""
    (cause,) = decoding.causes(spilled("pgoutput"), LOAD)

    assert "SET (streaming = parallel)" in cause.remedies[-1].commands[0]
    (huge,) = decoding.causes(spilled("wal2json", transactions=0), LOAD)
    assert (("logical_decoding_work_mem", "128MB"),) == huge.remedies[0].settings
