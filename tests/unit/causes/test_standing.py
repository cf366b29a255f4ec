"""What stands on a server: when it is worth a word, when a warning, when the server is about to stop."""

import pytest
from msgspec.structs import replace

from databases import START_S, WINDOW_S, budget, observation, reading, server, table, with_settings
from plimsoll.causes import sequences
from plimsoll.causes.indexes import invalid
from plimsoll.causes.vacuum import bloat, held_back, wraparound
from plimsoll.model.database import Observation
from plimsoll.model.standing import (
    DatabaseAge,
    IndexSpace,
    InvalidIndex,
    PreparedTransaction,
    ReplicationSlot,
    Sequence,
    ServerHealth,
    TableAge,
    TableSpace,
    XminHolder,
)

GIB = 1024**3
MIB = 1024**2
SLOT = ReplicationSlot(
    name="replica",
    kind="physical",
    database=None,
    is_active=True,
    is_temporary=False,
    active_pid=1,
    retained_bytes=1e6,
    xmin_age=None,
    catalog_xmin_age=None,
    wal_status="reserved",
    safe_bytes=None,
    unused_s=None,
)
HOLDER = XminHolder(
    pid=7,
    backend_type="client backend",
    user="app",
    database="orders",
    application="report",
    address=None,
    state="active",
    transaction_s=600.0,
    xid_age=1_000,
    statement="select ?",
)
EVENTS = table(1, "public.events", size_bytes=100 * MIB, live_rows=600_000)


def standing(relations=(EVENTS,), **parts) -> Observation:
    """A minute at the end of which so much stands on the server."""
    return observation(
        reading(START_S, relations=relations),
        reading(START_S + WINDOW_S, relations=relations),
        standing=ServerHealth(**parts),
    )


def severities(detect, seen: Observation) -> list[str]:
    return [cause.severity for cause in detect.causes(seen, budget())]


@pytest.mark.parametrize("detect", [wraparound, held_back, sequences, bloat, invalid])
def test_a_healthy_server_has_none_of_it(detect):
    """Nothing stands there, or it was not asked for."""
    still = standing(
        databases=(DatabaseAge(name="orders", xid_age=190_000_000, multixact_age=0, takes_connections=True),),
        slots=(SLOT,),
        holders=(replace(HOLDER, transaction_s=0.5),),
    )

    assert [] == severities(detect, still)
    assert [] == severities(detect, replace(still, standing=None))


@pytest.mark.parametrize(
    ("ages", "found"),
    [
        ({"xid_age": 399_999_999}, []),
        ({"xid_age": 400_000_000}, [("WraparoundNear", "warning")]),
        ({"xid_age": 1_599_999_999}, [("WraparoundNear", "warning")]),
        ({"xid_age": 1_600_000_000}, [("WraparoundNear", "critical")]),
        # Multixacts have an end of their own: their vacuums begin at 400 million.
        ({"multixact_age": 900_000_000}, [("MultixactWraparoundNear", "warning")]),
    ],
)
def test_ids_are_judged_by_the_ages_at_which_vacuums_act(ages: dict[str, int], found: list[tuple[str, str]]):
    """At twice the age at which vacuums begin they do not get through; at the failsafe the end is near."""
    one = DatabaseAge(**{"name": "orders", "xid_age": 0, "multixact_age": 0, "takes_connections": True} | ages)
    seen = wraparound.causes(standing(databases=(one,)), budget())

    assert found == [(cause.code, cause.severity) for cause in seen]


def test_what_holds_the_oldest_id_back_is_named():
    """A slot, a session and a prepared transaction that are as old; the oldest tables, with their command."""
    (cause,) = wraparound.causes(
        standing(
            databases=(DatabaseAge(name="orders", xid_age=1_700_000_000, multixact_age=0, takes_connections=True),),
            oldest_tables=(TableAge(name="public.events", age=1_700_000_000),),
            slots=(replace(SLOT, xmin_age=1_650_000_000),),
            holders=(replace(HOLDER, xid_age=1_600_000_000), replace(HOLDER, pid=8)),
            prepared=(PreparedTransaction(gid="x", owner="app", database="orders", age_s=9e6, xid_age=1_600_000_000),),
        ),
        budget(),
    )
    (held,) = [e.text for e in cause.evidence if e.kind == "held"]

    assert "process 7" in held
    assert "process 8" not in held
    assert "replication slot replica" in held
    assert "prepared transaction 'x'" in held
    assert "VACUUM (FREEZE, VERBOSE) public.events;" in cause.remedies[1].commands


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, []),
        ({"is_active": False}, ["note"]),
        ({"is_active": False, "retained_bytes": 2.0 * 16 * MIB}, ["warning"]),
        ({"is_active": False, "retained_bytes": 32.0 * MIB, "unused_s": 5.0}, ["note"]),
        ({"is_active": False, "retained_bytes": 2.0 * GIB}, ["critical"]),
        ({"is_active": False, "wal_status": "extended"}, ["critical"]),
        ({"retained_bytes": 2.0 * GIB}, ["warning"]),
        ({"is_active": False, "wal_status": "lost"}, ["warning"]),
        ({"is_active": False, "is_temporary": True, "retained_bytes": 2.0 * GIB}, []),
    ],
)
def test_a_slot_is_judged_by_its_reader_and_by_the_wal_it_keeps(changes, severity):
    """
    In use and near is no word; left alone it is a note, from a file of WAL on a warning, beyond
    max_wal_size critical; a lagging one is a warning.
    """
    assert severity == severities(held_back, standing(slots=(replace(SLOT, **changes),)))


@pytest.mark.parametrize(
    ("age_s", "severity"), [(1.0, []), (10.0, ["note"]), (61.0, ["warning"]), (3601.0, ["critical"])]
)
def test_a_prepared_transaction_is_judged_by_its_age(age_s, severity):
    """Transaction managers end them within a second."""
    one = PreparedTransaction(gid="it's", owner="app", database="orders", age_s=age_s, xid_age=3)
    found = held_back.causes(standing(prepared=(one,)), budget())

    assert severity == [cause.severity for cause in found]
    assert all("ROLLBACK PREPARED 'it''s';" in c.remedies[0].commands for c in found)


def test_a_snapshot_is_judged_by_what_it_holds_back():
    """Ten minutes with nothing dead are nothing; a third of all rows dead is a warning, and how many bytes."""
    dead = replace(EVENTS, dead_rows=300_000)

    assert [] == severities(held_back, standing(holders=(HOLDER,)))
    (cause,) = held_back.causes(standing((dead,), holders=(HOLDER,)), budget())
    assert "warning" == cause.severity
    assert pytest.approx(100 * MIB / 3) == cause.evidence[-1].value
    assert "process 7" == cause.subject


@pytest.mark.parametrize(
    ("holder", "severity"),
    [({"transaction_s": 4000.0}, ["warning"]), ({"xid_age": 200_000_000}, ["critical"]), ({"transaction_s": 2.0}, [])],
)
def test_an_old_snapshot_is_reported_however_little_is_dead(holder, severity):
    """After an hour it is forgotten; at the age at which vacuums freeze they come in vain."""
    assert severity == severities(held_back, standing(holders=(replace(HOLDER, **holder),)))


SEQUENCE = Sequence(
    name="public.s",
    last=1_700_000_000,
    increment=1,
    bound=2**63 - 1,
    does_cycle=False,
    column="public.events.id",
    column_type="integer",
    table_oid=1,
    column_bound=2**31 - 1,
)


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, ["warning"]),
        ({"last": 1_600_000_000}, []),
        ({"last": 2_000_000_000}, ["critical"]),
        ({"column_bound": None}, []),
        ({"column_bound": None, "bound": 2_000_000_000}, ["warning"]),
        ({"column_bound": None, "bound": 2_000_000_000, "does_cycle": True}, []),
        ({"increment": -1, "last": -1_700_000_000, "bound": -(2**63)}, ["warning"]),
    ],
)
def test_a_sequence_ends_where_it_or_its_column_does(changes, severity):
    """A bigint sequence of an integer column ends with the column; one that cycles has no end of its own."""
    assert severity == severities(sequences, standing(sequences=(replace(SEQUENCE, **changes),)))


def test_a_sequence_that_ends_within_a_month_is_critical():
    """900 million numbers left at 60,000 rows a minute are ten days."""
    first = reading(START_S, relations=(EVENTS,))
    last = reading(START_S + WINDOW_S, relations=(replace(EVENTS, inserted=60_000),))
    parts = ServerHealth(sequences=(replace(SEQUENCE, last=1_247_483_647),))
    (cause,) = sequences.causes(observation(first, last, standing=parts), budget())

    assert "critical" == cause.severity
    assert "900,000,000 are left" in cause.title


SPACE = TableSpace(
    name="public.events",
    oid=1,
    pages=10_000,
    row_estimate=50_000.0,
    fill_ratio=1.0,
    row_bytes=100.0,
    has_nulls=False,
    column_count=3,
    live_rows=50_000,
    dead_rows=0,
    may_select=True,
    toast_pages=None,
    toast_rows=None,
)


def test_bloat_is_what_rows_and_widths_leave_of_the_size():
    """
    50,000 rows of 132 bytes, 61 to a page, need 820 of 10,000 pages. A quarter of the buffers makes a
    warning: 16 MiB are a note compared with 1 GiB.
    """
    (cause,) = bloat.causes(standing(tables=(SPACE,)), budget())
    configured = with_settings(server(), {"shared_buffers": str(GIB // 8192)})

    assert ("TableBloat", "warning") == (cause.code, cause.severity)
    assert 820 * 8192 == cause.evidence[0].reference
    assert "by estimate" in cause.title
    assert ["note"] == severities(bloat, replace(standing(tables=(SPACE,)), server=configured))


@pytest.mark.parametrize(
    "changes",
    [
        {"live_rows": 500_000},
        {"dead_rows": 400_000},
        {"row_bytes": None},
        {"row_estimate": -1.0},
        {"fill_ratio": 0.15},
        {"pages": 1_300, "live_rows": 40_000},
    ],
)
def test_what_is_full_or_not_known_is_no_bloat(changes):
    """Dead rows wait for a vacuum, room left by fillfactor is ordered, and unknown widths tell nothing."""
    assert [] == severities(bloat, standing(tables=(replace(SPACE, **changes),)))


def test_values_and_indexes_may_be_empty_as_well():
    """4,000 chunks fill a thousand pages; 100,000 entries of 20 bytes fill 275."""
    values = replace(SPACE, row_bytes=None, toast_pages=10_000, toast_rows=4_000.0)
    entries = IndexSpace(name="public.i", table="public.events", pages=9_000, entry_estimate=1e5, key_bytes=4.0)
    of_values, of_index = bloat.causes(standing(tables=(values,), indexes=(entries,)), budget())

    assert "public.events (TOAST)" == of_values.subject
    assert 1_000 * 8192 == of_values.evidence[0].reference
    assert 275 * 8192 == of_index.evidence[0].reference
    assert "REINDEX INDEX CONCURRENTLY public.i;" in of_index.remedies[0].commands


def test_widths_that_may_not_be_seen_are_a_gap():
    """With the right that shows them."""
    hidden = replace(SPACE, row_bytes=None, may_select=False)
    (gap,) = bloat.missing_of(standing(tables=(hidden,)))

    assert "column widths" == gap.name
    assert gap.remedy.startswith("GRANT SELECT ON public.events TO")
    assert () == bloat.missing_of(standing(tables=(SPACE,)))


def test_an_invalid_index_is_reported_though_nobody_writes():
    """It lies there, and who made it believes in it."""
    one = InvalidIndex(name="public.i", table="public.events", size_bytes=0, is_maintained=True, definition="")

    assert ["warning"] == severities(invalid, standing(invalid_indexes=(one,)))
