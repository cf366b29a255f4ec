"""Which autovacuum settings fit which use, and what a trigger means in rows and time."""

import msgspec
import pytest

from databases import budget, counters, index, seen, server, table, toast_of, with_settings
from plimsoll.causes.vacuum.autovacuum_settings import causes, missing_of
from plimsoll.causes.vacuum.classes import Use, use_of
from plimsoll.model.database import Observation, Relation

GIB = 1024**3
MILLION = 1_000_000


def documents(**changes) -> tuple[Relation, Relation]:
    """Thirty million long-lived documents of ten chunks each, updated often."""
    plain = table(
        16384,
        "public.documents",
        size_bytes=8 * GIB,
        row_estimate=30.0 * MILLION,
        live_rows=30 * MILLION,
        inserted=31 * MILLION,
        updated=900 * MILLION,
        deleted=MILLION,
        **changes,
    )
    return toast_of(
        plain,
        size_bytes=600 * GIB,
        row_estimate=300.0 * MILLION,
        live_rows=300 * MILLION,
        inserted=9000 * MILLION,
        deleted=8700 * MILLION,
    )


def watched(*relations: Relation, dead: int = 60_000, info=None) -> Observation:
    """A minute in which `dead` rows of every relation die."""
    later = tuple(msgspec.structs.replace(r, deleted=r.deleted + dead) for r in relations)
    return seen(relations, later, info)


def by_subject(observation: Observation):
    return {cause.subject: cause for cause in causes(observation, budget())}


@pytest.mark.parametrize(
    ("live_rows", "inserted", "updated", "deleted", "days", "use"),
    [
        # Updates that outnumber inserts, rows that go again, rows that only come: three uses.
        (1000, 1000, 50_000, 0, None, Use.WRITTEN_OFTEN),
        (1000, 50_000, 10_000, 49_000, None, Use.INSERT_THEN_DELETE),
        (1000, 50_000, 0, 100, None, Use.APPEND_ONLY),
        (1000, 1000, 900, 10, None, Use.DEFAULT),
        (1000, 0, 0, 0, None, Use.DEFAULT),
        # Rows that go again are a queue's only where they are many of those that are there, or came.
        (100_000, 1000, 0, 900, None, Use.DEFAULT),
        (100_000, 300_000, 0, 100_000, None, Use.DEFAULT),
        (100_000, 110_000, 0, 100_000, None, Use.INSERT_THEN_DELETE),
        # A tenth in three days is a fifth in six, and in seven days a fifth in a fortnight.
        (1_000_000, 0, 100_000, 0, 3, Use.WRITTEN_OFTEN),
        (1_000_000, 0, 100_000, 0, 7, Use.DEFAULT),
    ],
)
def test_uses_are_distinguished_by_counters(live_rows, inserted, updated, deleted, days, use):
    """By what was inserted, updated and deleted since when, and by what is there; a fifth within a week is often."""
    counts = {"inserted": inserted, "updated": updated, "deleted": deleted}
    plain = table(1, "public.t", live_rows=live_rows)

    assert use == use_of(msgspec.structs.replace(plain, **counts), counted_s=days and days * 86_400.0)


def test_small_tables_are_left_alone():
    """A vacuum of 90 MiB and 90,000 rows takes seconds, whatever waits for it."""
    plain, _ = documents()
    small, large = (
        msgspec.structs.replace(plain, toast_oid=None, size_bytes=size, row_estimate=90_000.0, live_rows=90_000)
        for size in (90 * 1024**2, 110 * 1024**2)
    )

    assert {} == by_subject(watched(small, dead=600))
    assert {"public.documents"} == set(by_subject(watched(large, dead=600)))


def test_toast_takes_its_tables_parameters_until_it_has_its_own():
    """A table's scale factor holds for its TOAST relation; one of its own overrides it."""
    owner, toast = documents(options={"autovacuum_vacuum_scale_factor": "0.01"})
    own = msgspec.structs.replace(toast, options={"autovacuum_vacuum_scale_factor": "0.2"})

    assert not by_subject(watched(owner, toast))
    assert {"public.documents (TOAST)"} == set(by_subject(watched(owner, own)))


SCALE = {"autovacuum_vacuum_scale_factor": "0.01"}
OFTEN = {"live_rows": 1000, "inserted": 1000, "updated": MILLION}
SELDOM = {"live_rows": 5 * MILLION, "inserted": 5 * MILLION, "updated": MILLION}
LOG = {"live_rows": 900 * MILLION, "inserted": 900 * MILLION}


@pytest.mark.parametrize(
    "observation",
    [
        # With 0.01 for the whole server nothing is reported, nor of tables that use the default rightly.
        watched(*documents(), info=with_settings(server(), SCALE)),
        watched(table(20000, "public.seldom", **SELDOM)),
        # A table of a thousand rows is vacuumed in no time, whatever its settings.
        watched(table(1, "public.branches", **OFTEN)),
        # Rows that only come leave no dead ones.
        watched(table(1, "public.log", **LOG), dead=0),
    ],
    ids=["set for all", "seldom", "small", "append-only"],
)
def test_settings_that_fit_are_no_finding(observation: Observation):
    """For the whole server, for the use of a table, or because nothing waits."""
    assert not by_subject(observation)


def test_a_pgbench_table_is_a_note_at_most():
    """Half a million accounts that are updated all the time are worth no more than a note."""
    accounts = table(
        1,
        "public.pgbench_accounts",
        size_bytes=64 * 1024**2,
        live_rows=500_000,
        row_estimate=500_000.0,
        inserted=500_000,
        updated=2 * MILLION,
    )

    assert {"note"} == {cause.severity for cause in by_subject(watched(accounts)).values()}


def test_rows_that_come_and_go_need_no_share_of_the_table():
    """A queue that was once large waits for a share of rows that are long gone; 5,000 fit."""
    queue = table(
        1, "public.jobs", live_rows=200_000, row_estimate=2.0 * MILLION, inserted=50 * MILLION, deleted=50 * MILLION
    )
    cause = by_subject(watched(queue))["public.jobs"]

    assert "autovacuum_vacuum_scale_factor = 0, " in cause.remedies[0].commands[0]
    assert "autovacuum_vacuum_threshold = 5000" in cause.remedies[0].commands[0]


def test_18_caps_what_is_waited_for():
    """A fifth of three billion rows are 600 million; PostgreSQL 18 does not wait beyond 100 million."""
    huge = table(
        1,
        "public.huge",
        live_rows=3000 * MILLION,
        row_estimate=3000.0 * MILLION,
        inserted=3000 * MILLION,
        updated=9000 * MILLION,
    )
    capped = by_subject(watched(huge))["public.huge"]
    old = by_subject(watched(huge, info=server(version_number=170005)))["public.huge"]

    assert capped.evidence[0].value == pytest.approx(100 * MILLION)
    assert old.evidence[0].value == pytest.approx(600 * MILLION, rel=0.001)


def test_indexes_lengthen_a_vacuum():
    """Every vacuum reads all of a table's indexes."""
    owner, _ = documents()
    plain = watched(owner)
    unique = index(9, owner, "public.i", size_bytes=80 * GIB, scans=1, is_unique=True)
    indexed = msgspec.structs.replace(plain, last=msgspec.structs.replace(plain.last, indexes=(unique,)))

    def duration(observation: Observation) -> float:
        pieces = by_subject(observation)["public.documents"].evidence
        return next(piece.value for piece in pieces if piece.kind == "duration")

    # 80 GiB are 10.5 million pages of 2, at 100,000 a second.
    assert duration(indexed) - duration(plain) == pytest.approx(209.7, rel=0.01)


def test_a_quiet_window_falls_back_on_all_counters():
    """Where nothing dies in the window, the rate since counters began tells how often."""
    owner, _ = documents()
    quiet = watched(owner, dead=0)
    since = msgspec.structs.replace(quiet.last, counters=counters(reset_s=quiet.last.time_s - 901 * 1000.0))
    known = by_subject(msgspec.structs.replace(quiet, last=since))["public.documents"]
    unknown = by_subject(quiet)["public.documents"]

    # 901 million dead rows in 901,000 s; 6 million at the trigger.
    assert next(e for e in known.evidence if e.kind == "interval").value == pytest.approx(6000, rel=0.01)
    assert "interval" not in {e.kind for e in unknown.evidence}


def test_many_tables_are_reported_in_part_and_counted():
    """Of fifteen tables ten are info one by one, and the rest together."""
    owner, _ = documents()
    many = [msgspec.structs.replace(owner, oid=n, name=f"public.t{n}") for n in range(1, 16)]
    found = causes(watched(*many), budget())

    assert 11 == len(found)
    assert any("5 more tables" in cause.title for cause in found)


def test_hidden_settings_are_named_as_missing():
    """Without settings nothing is claimed, and the right that would show them is reported."""
    blind = watched(*documents(), info=server(settings={}))

    assert not causes(blind, budget())
    assert "pg_read_all_settings" in missing_of(blind)[0].remedy
    assert not missing_of(watched(*documents()))
