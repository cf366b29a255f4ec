"""Counters that began a moment ago: nothing is destroyed on their word, and no dense table is called empty."""

import pytest
from msgspec.structs import replace

from databases import START_S, WINDOW_S, budget, counters, index, observation, reading, server, table
from plimsoll.causes.indexes import invalid, unused
from plimsoll.causes.vacuum import bloat, held_back
from plimsoll.causes.vacuum.classes import Use, use_of
from plimsoll.model.database import Observation
from plimsoll.model.standing import IndexSpace, InvalidIndex, PreparedTransaction, ServerHealth
from unit.causes.test_standing import SLOT as STANDING_SLOT
from unit.causes.test_standing import SPACE

MIB = 1024**2
END_S = START_S + WINDOW_S
DAY_S = 86_400.0
SETTLED = END_S - 8 * DAY_S
DESTRUCTIVE = ("VACUUM (FULL", "DROP INDEX", "pg_drop_replication_slot", "ROLLBACK PREPARED")
# Ten thousand pages that hold a million rows of 60 bytes: dense.
DENSE = replace(
    SPACE,
    name="public.hist",
    row_estimate=1_000_000.0,
    row_bytes=44.0,
    column_count=2,
    live_rows=1_000_000,
    toast_pages=0,
)
EMPTY = replace(DENSE, live_rows=10_000, row_estimate=10_000.0)
LEAF = IndexSpace(name="public.hist_id", table="public.hist", pages=10_000, entry_estimate=1_000_000.0, key_bytes=8.0)
ORDERS = table(100, "public.orders", size_bytes=80 * MIB, live_rows=1_000_000, row_estimate=1e6, index_scans=0)
IDLE = index(200, ORDERS, "public.orders_note_idx", size_bytes=30 * MIB)


def seen(reset_s: float | None = SETTLED, *, standby: bool = False, **parts) -> Observation:
    """A minute of inserts on a server whose counters began then."""
    before = reading(START_S, relations=(ORDERS,), indexes=(IDLE,))
    written = replace(ORDERS, inserted=120_000, live_rows=1_120_000)
    after = reading(
        END_S, relations=(written,), indexes=(replace(IDLE, blocks_hit=360_000),), counters=counters(reset_s=reset_s)
    )
    return observation(before, after, server(is_standby=standby), standing=ServerHealth(**parts) if parts else None)


def printed(*causes) -> list[str]:
    return [c for cause in causes for remedy in cause.remedies for c in remedy.commands]


def destroying(commands: list[str]) -> list[str]:
    return [c for c in commands if any(word in c for word in DESTRUCTIVE)]


@pytest.mark.parametrize("live", [0, 50, 1_000, 50_500])
def test_rows_are_those_that_the_catalog_has_where_counters_began_later(live: int):
    """A crash, a promotion and a reset leave n_live_tup small and reltuples as it was: the table is dense."""
    found = bloat.causes(seen(tables=(replace(DENSE, live_rows=live),)), budget())

    assert () == found


def test_an_empty_table_is_rewritten_only_after_a_check_and_on_old_counters():
    """The check stands before the rewrite; with young counters, or none that are dated, only the check is printed."""
    (old,) = bloat.causes(seen(tables=(EMPTY,)), budget())
    commands = printed(old)
    place = commands.index("VACUUM (FULL, ANALYZE) public.hist;")

    assert any("pgstattuple" in command for command in commands[:place])
    for reset_s in (None, END_S, END_S - 6.9 * DAY_S):
        (young,) = bloat.causes(seen(reset_s, tables=(EMPTY,)), budget())
        assert [] == destroying(printed(young))
        assert any("pgstattuple" in command for command in printed(young))


def test_unused_indexes_are_dropped_only_after_a_check_and_on_old_counters():
    """The check names the index and asks on every replica; young or undated counters only make a note."""
    (old,) = unused.causes(seen(), budget(10e6, 10e6))
    commands = printed(old)

    assert "DROP INDEX CONCURRENTLY public.orders_note_idx;" == commands[-1]
    assert "idx_scan" in commands[0]
    assert "every replica" in old.remedies[0].text
    for young in (seen(None), seen(END_S - 20), seen(standby=True)):
        (cause,) = unused.causes(young, budget(1e6, 1e6))
        assert "note" == cause.severity
        assert [] == destroying(printed(cause))
        assert any("idx_scan" in command for command in printed(cause))


def test_a_table_with_more_rows_than_its_counters_have_has_young_counters():
    """A promoted standby whose WAL folder may not be listed has old dates and new counters: its rows tell."""
    old = seen()
    last = replace(old.last, relations=(replace(old.last.relations[0], live_rows=120_000, row_estimate=1_000_000.0),))
    (cause,) = unused.causes(replace(old, last=last), budget(10e6, 10e6))

    assert [] == destroying(printed(cause))


SLOT = replace(
    STANDING_SLOT,
    name="gone",
    is_active=False,
    active_pid=None,
    retained_bytes=5e9,
    wal_status="extended",
    unused_s=9000.0,
)


@pytest.mark.parametrize(
    ("detect", "parts"),
    [
        (held_back, {"slots": (SLOT,)}),
        (
            held_back,
            {"prepared": (PreparedTransaction(gid="it's", owner="app", database="orders", age_s=9000.0, xid_age=9),)},
        ),
        (
            invalid,
            {
                "invalid_indexes": (
                    InvalidIndex(
                        name='public."it\'s"', table="public.orders", size_bytes=MIB, is_maintained=False, definition=""
                    ),
                )
            },
        ),
    ],
)
def test_what_destroys_stands_behind_the_check_that_settles_it(detect, parts):
    """A slot, a prepared transaction, an invalid index: first what shows that nobody needs it."""
    (cause,) = detect.causes(seen(**parts), budget())
    commands = printed(cause)

    assert destroying(commands)
    assert commands[0].startswith("SELECT ")
    assert "gone" in commands[0] or "it''s" in commands[0]


def test_a_lost_slot_is_not_limited_again():
    """Its consumer cannot continue: the limit that ended it is no remedy."""
    (cause,) = held_back.causes(seen(slots=(replace(SLOT, wal_status="lost"),)), budget())

    assert 1 == len(cause.remedies)


def test_an_index_is_held_against_its_own_fillfactor():
    """Half of each page is empty by configuration: a rebuild changes nothing."""
    half = replace(LEAF, pages=7_200, fill_ratio=0.3)

    assert () == bloat.causes(seen(indexes=(half,)), budget())
    (cause,) = bloat.causes(seen(indexes=(replace(half, fill_ratio=0.9),)), budget())
    commands = printed(cause)
    assert "REINDEX INDEX CONCURRENTLY public.hist_id;" == commands[-1]
    assert any("pgstatindex('public.hist_id')" in command for command in commands[:-1])


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"tables": (replace(DENSE, row_bytes=None),)}, "public.hist"),
        ({"indexes": (replace(LEAF, key_bytes=None),)}, "public.hist_id"),
        ({"indexes": (replace(LEAF, entry_estimate=-1.0),)}, "public.hist_id"),
        ({"tables": (replace(DENSE, row_estimate=-1.0),)}, "public.hist"),
    ],
)
def test_what_has_no_statistics_is_a_gap(parts, named: str):
    """SET STATISTICS 0, a column added since, an expression, a table never analyzed: named, never silent."""
    (gap,) = bloat.missing_of(seen(**parts))

    assert "column statistics" == gap.name
    assert named in gap.hides
    assert "ANALYZE public.hist;" in gap.remedy


def test_a_large_table_that_was_never_analyzed_is_a_gap():
    """pg_class has no pages of it either; its file has."""
    raw = replace(ORDERS, row_estimate=None)
    first = seen()
    bare = replace(first, last=replace(first.last, relations=(raw,)), standing=ServerHealth(tables=(), indexes=()))
    (gap,) = bloat.missing_of(bare)

    assert "public.orders" in gap.hides
    assert "ANALYZE public.orders;" in gap.remedy


def test_space_of_a_dropped_column_is_not_reused():
    """Its values stay in old rows until these are rewritten, so the text must not promise reuse."""
    (plain,) = bloat.causes(seen(tables=(EMPTY,)), budget())
    (dropped,) = bloat.causes(seen(tables=(replace(EMPTY, dropped_columns=1),)), budget())
    (leaf,) = bloat.causes(seen(indexes=(replace(LEAF, entry_estimate=1e4),)), budget())

    assert "New rows reuse the space" in plain.text
    assert "New rows reuse the space" not in dropped.text + leaf.text
    assert "dropped" in dropped.text


def test_dead_rows_and_use_are_not_judged_by_young_counters():
    """A thousand dead rows in a million, and 3,000 updates of them, whatever n_live_tup begins at."""
    young = replace(ORDERS, live_rows=0, dead_rows=1_000, updated=3_000, inserted=10)
    watched = seen()
    watched = replace(watched, last=replace(watched.last, relations=(young,)))
    rows, bytes_dead, share = held_back.dead_bytes(watched)

    assert (1_000, pytest.approx(0.001, rel=0.01)) == (rows, share)
    assert bytes_dead == pytest.approx(80 * MIB / 1_001, rel=0.01)
    assert Use.DEFAULT == use_of(young, counted_s=30 * DAY_S)
