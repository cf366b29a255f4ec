"""Which views are refreshed, in which order, why, and what happens beside it."""

from threading import Thread

import psycopg
import pytest
from psycopg import Connection
from servers import wait_for
from tables import Rows

from claims_pipeline.errors import UnavailableError
from claims_pipeline.views.catalog import views_of
from claims_pipeline.views.define import define
from claims_pipeline.views.refresh import LOCK, Outcome, refresh, stale

pytestmark = pytest.mark.xdist_group("views")
OF_DRUGS = {
    "final_part_d_events",
    "top_drugs",
    "substitution",
    "cost_by_month",
    "member_months",
    "cost_per_member_month",
    "high_cost_beneficiaries",
    "population",
}
"""Views that a fill of a prescription can change."""
OF_EVERY_LOAD = {"data_quality"}
WAITING = """
SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = database
 WHERE locktype = 'advisory' AND NOT granted AND datname = current_database()
"""


@pytest.fixture
def rows(database: Connection) -> Rows:
    """A claim of each kind, and views of them."""
    found = Rows(database)
    found.person("P1")
    found.part_a(1, "P1", "2023-01-03", "100")
    found.part_b(1, "P1", "2023-01-03", "50")
    found.part_d(1, "P1", "2023-01-03", "5")
    list(refresh(database))
    return found


def refreshed(outcomes: list[Outcome]) -> set[str]:
    return {outcome.view for outcome in outcomes if outcome.method != "skipped"}


def test_every_view_comes_after_those_it_is_made_from(database: Connection):
    """Also through an ordinary view, and whatever its name is."""
    database.execute("CREATE VIEW claims.between AS SELECT * FROM claims.population")
    database.execute("CREATE MATERIALIZED VIEW claims.aaa AS SELECT * FROM claims.between WITH NO DATA")
    views = views_of(database)
    places = {view.name: place for place, view in enumerate(views)}
    pairs = [(view.name, s) for view in views for s in view.sources if s in places]

    assert ("aaa", "population") in pairs
    assert ("readmissions", "inpatient_stays") in pairs
    assert [] == [(view, source) for view, source in pairs if places[source] > places[view]]
    assert list(places) == [outcome.view for outcome in refresh(database)]


def test_only_what_depends_on_a_changed_table_is_refreshed(database: Connection, rows: Rows):
    rows.part_d(2, "P1", "2023-01-04", "7")
    outcomes = list(refresh(database))
    reasons = {outcome.view: outcome.reason for outcome in outcomes}

    assert OF_DRUGS | OF_EVERY_LOAD == refreshed(outcomes)
    assert len(outcomes) > len(refreshed(outcomes))
    assert "part_d_events changed" == reasons["final_part_d_events"]
    assert "final_part_d_events changed" == reasons["top_drugs"]
    assert reasons["attribution"].startswith("nothing below changed since 20")
    assert [(12,)] == database.execute(
        "SELECT sum(paid_usd)::int FROM claims.cost_by_month WHERE category = 'drugs'"
    ).fetchall()


def test_nothing_is_refreshed_if_nothing_changed_unless_all_are_asked_for(database: Connection, rows: Rows):
    assert set() == refreshed(list(refresh(database)))
    assert 17 == len(refreshed(list(refresh(database, is_forced=True))))


def test_what_would_be_refreshed_is_what_is_refreshed(database: Connection, rows: Rows):
    rows.part_b(2, "P1", "2023-01-04", "7")
    foretold = set(stale(database))

    assert "final_part_b_lines" in foretold
    assert "final_part_d_events" not in foretold
    assert foretold == refreshed(list(refresh(database)))
    assert {} == stale(database)


def test_whoever_reads_a_view_with_a_unique_index_does_not_keep_it_from_a_refresh(
    database: Connection, database_url: str, rows: Rows
):
    """
    The reader sees the old rows meanwhile. A view without such an index has to wait; those before it are kept.
    """
    rows.part_d(2, "P1", "2023-01-04", clm_line_ndc_cd="00000000009")
    database.execute("SET lock_timeout = '20s'")
    with psycopg.connect(database_url) as reader:
        before = reader.execute("SELECT count(*) FROM claims.top_drugs").fetchall()
        methods = {outcome.view: outcome.method for outcome in refresh(database)}
    drugs = database.execute("SELECT count(*) FROM claims.top_drugs").fetchall()

    assert [(1,)] == before
    assert [(2,)] == drugs
    assert {"concurrently"} == {methods[view] for view in OF_DRUGS}
    assert "plainly" == methods["data_quality"]

    rows.part_d(3, "P1", "2023-01-04")
    database.execute("SET lock_timeout = '200ms'")
    with psycopg.connect(database_url) as reader:
        reader.execute("SELECT count(*) FROM claims.data_quality")
        with pytest.raises(UnavailableError, match="could not refresh data_quality: canceling"):
            list(refresh(database))
    left = refreshed(list(refresh(database)))

    assert "data_quality" in left
    assert "final_part_d_events" not in left


def test_the_first_refresh_is_plain(database: Connection):
    outcomes = list(refresh(database))

    assert {("plainly", "it had no rows yet")} == {(o.method, o.reason) for o in outcomes}
    assert 17 == len(outcomes)


def test_of_two_refreshes_at_once_one_does_the_work(database: Connection, database_url: str, rows: Rows):
    """The first is held up in the middle by a reader, until the second waits for its lock."""
    rows.part_d(2, "P1", "2023-01-04")
    found: list[list[Outcome]] = []

    def run() -> None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            found.append(list(refresh(connection)))

    with psycopg.connect(database_url) as reader:
        reader.execute("SELECT count(*) FROM claims.data_quality")
        both = [Thread(target=run) for _ in range(2)]
        for one in both:
            one.start()
        wait_for("the second refresh to wait", lambda: database.execute(WAITING).fetchone())
    for one in both:
        one.join()

    assert sorted([set(), OF_DRUGS | OF_EVERY_LOAD], key=len) == sorted(map(refreshed, found), key=len)
    assert {2} == {
        number
        for view, number in database.execute("SELECT view_name, number FROM claims.refreshed")
        if view in OF_DRUGS
    }


def test_the_lock_is_free_after_a_refresh(database: Connection, database_url: str):
    list(refresh(database))
    with psycopg.connect(database_url) as other:
        assert (True,) == other.execute("SELECT pg_try_advisory_lock(hashtext(%s))", (LOCK,)).fetchone()


def test_a_load_that_began_before_a_refresh_and_ended_after_it_is_seen_by_the_next(
    database: Connection, database_url: str, rows: Rows
):
    """
    Its time in claims.changes is before that of the refresh: no clock tells that it was not seen.
    """
    with psycopg.connect(database_url) as loading:
        Rows(loading).part_d(2, "P1", "2023-01-04", "7")
        list(refresh(database, is_forced=True))
    ((is_before,),) = database.execute(
        "SELECT max(changed_at) < (SELECT min(refreshed_at) FROM claims.refreshed"
        " WHERE view_name = 'top_drugs') FROM claims.changes"
    ).fetchall()
    rows_before = database.execute("SELECT fills FROM claims.top_drugs").fetchall()

    assert is_before
    assert [(1,)] == rows_before
    assert OF_DRUGS | OF_EVERY_LOAD == refreshed(list(refresh(database)))
    assert [(2,)] == database.execute("SELECT fills FROM claims.top_drugs").fetchall()


def test_a_load_in_the_middle_of_a_refresh_is_seen_by_the_next(database: Connection, rows: Rows):
    """
    Views that came after it have its rows; those before it, and what is made from them, get them now.
    """
    rows.part_d(2, "P1", "2023-01-04", "7")
    running = refresh(database)
    for outcome in running:
        if outcome.view == "final_part_d_events":
            rows.part_d(3, "P1", "2023-01-05", "9")
    assert [(12,)] == database.execute(
        "SELECT sum(paid_usd)::int FROM claims.cost_by_month WHERE category = 'drugs'"
    ).fetchall()

    assert OF_DRUGS <= refreshed(list(refresh(database)))
    assert [(21,)] == database.execute(
        "SELECT sum(paid_usd)::int FROM claims.cost_by_month WHERE category = 'drugs'"
    ).fetchall()


def test_a_view_with_another_definition_is_made_anew_with_those_on_it(database: Connection, rows: Rows):
    database.execute("COMMENT ON MATERIALIZED VIEW claims.inpatient_stays IS 'definition 0'")
    database.execute("DROP MATERIALIZED VIEW claims.top_drugs")
    old = stale(database)
    made = define(database)

    assert "its definition changed" == old["inpatient_stays"]
    assert "it was never made" == old["top_drugs"]
    assert {"inpatient_stays", "readmissions", "cost_by_drg", "population", "top_drugs"} == set(made)
    assert set(made) == refreshed(list(refresh(database)))
    assert [] == define(database)


def test_views_that_were_never_made_are_not_up_to_date(database: Connection):
    """Also before anything was refreshed at all."""
    database.execute("DROP MATERIALIZED VIEW claims.final_part_a_claims CASCADE")
    database.execute("DROP TABLE claims.refreshed")

    assert "it was never made" == stale(database)["population"]
