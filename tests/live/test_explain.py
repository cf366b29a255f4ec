"""Executions recorded on a real server, without ever changing it, and laid beside each other."""

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.machine import Run
from plimsoll.explain import plans
from plimsoll.model.explain import Capture, PairOutcome, Source, UnrecordedStatement
from plimsoll.sources.explain.file import read_captures
from plimsoll.sources.explain.record import Recorder
from plimsoll.sources.explain.statements import StatementToRun
from plimsoll_lab.servers.postgres import Postgres

SETTINGS = {
    "shared_buffers": "16MB",
    "autovacuum": "off",
    "shared_preload_libraries": "pg_stat_statements,auto_explain",
    "auto_explain.log_analyze": "on",
    "auto_explain.log_buffers": "on",
    "auto_explain.log_settings": "on",
    "auto_explain.log_min_duration": "-1",
    "log_line_prefix": "%m <%p> %q%u/%d ",
    "max_parallel_workers_per_gather": "0",
}
SCAN = "select count(*) from orders where customer = 7"
BY_KEY = "select note from orders where id = $1"


@pytest.fixture(scope="module", params=[NEWEST, DEBIANS])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with 100,000 orders, and a statement that can be made to wait."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("create table orders (id int primary key, customer int, note text)")
            connection.execute("insert into orders select g, g % 1000, repeat('x', 60) from generate_series(1, 1e5) g")
            connection.execute("vacuum (freeze, analyze) orders")
            connection.execute(
                "create function waited() returns int volatile language plpgsql as $$ begin "
                "perform pg_sleep(coalesce(current_setting('app.wait_s', true), '0')::float8); "
                "return 7; end $$"
            )
        yield running


@pytest.fixture
def admin(server: Postgres) -> Iterator[psycopg.Connection]:
    """A connection beside ours."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def recorder(server: Postgres) -> Iterator[Recorder]:
    """A connected recorder."""
    connected = Recorder(server.dsn)
    yield connected
    connected.close()


def explained(recorder: Recorder, statement: str, *values: str, **more) -> Capture | UnrecordedStatement:
    """One execution, with values where there are any."""
    wanted = StatementToRun(statement=statement, parameters=values or None)
    plain = {"timeout_s": 20, "allows_writes": False, "is_generic": False}
    return recorder.explain(wanted, **(plain | more))


def test_a_statement_is_recorded_with_plan_blocks_and_times(recorder: Recorder):
    """As EXPLAIN itself says, with I/O timed although the server does not."""
    capture = explained(recorder, SCAN)

    assert ["Aggregate", "Seq Scan"] == [capture.plan.label, capture.plan.children[0].label]
    assert capture.blocks.touched > 900
    assert capture.blocks.io_s is not None
    assert capture.settings_known
    assert {"max_parallel_workers_per_gather": "0"} == {
        name: value for name, value in capture.settings.items() if name.startswith("max")
    }


def test_no_statement_changes_anything(recorder: Recorder, admin: psycopg.Connection):
    """What slips past the names is refused by the server; nothing stays behind, not even a lock."""
    admin.execute(
        "create or replace function sneaky() returns int volatile language sql as $$ delete from orders returning 1 $$"
    )
    for statement in (
        *("select sneaky()", "select set_config('transaction_read_only', 'off', false)"),
        *("select nextval('orders_seq')", "select 1; commit; drop table orders", "drop table orders"),
        "select lo_create(0)",
    ):
        assert isinstance(explained(recorder, statement), UnrecordedStatement), statement
    left = admin.execute(
        "select state, backend_xmin, (select count(*) from pg_locks l where l.pid = a.pid) "
        "from pg_stat_activity a where application_name = 'plimsoll'"
    ).fetchall()

    assert (100_000,) == admin.execute("select count(*) from orders").fetchone()
    assert {("idle", None, 0)} == set(left)


def test_two_statements_never_pass_for_one(recorder: Recorder, admin: psycopg.Connection):
    """Whatever we take it for, the server takes one statement only; so none ends our transaction."""
    recorder._send("begin")
    with pytest.raises(psycopg.errors.SyntaxError, match="multiple commands"):
        recorder._send("explain select 1; commit; drop table orders")
    recorder._send("rollback")

    assert (100_000,) == admin.execute("select count(*) from orders").fetchone()


def test_a_change_runs_with_leave_and_is_rolled_back(recorder: Recorder, admin: psycopg.Connection):
    """The plan and the blocks of a DELETE, and every row still there."""
    refused = explained(recorder, "delete from orders where id < 1000")
    capture = explained(recorder, "delete from orders where id < 1000", allows_writes=True)

    assert "DELETE" in refused.reason
    assert "--allow-writes" in refused.remedy
    assert ("Delete", "orders") == (capture.plan.label, capture.plan.relation)
    assert 999 == capture.plan.children[0].rows
    assert (100_000,) == admin.execute("select count(*) from orders").fetchone()


def test_the_server_ends_what_takes_too_long(recorder: Recorder):
    """And the connection goes on."""
    late = explained(recorder, "select count(*) from orders a, orders b", timeout_s=1)

    assert "after 1 s" in late.reason
    assert isinstance(explained(recorder, SCAN), Capture)


def test_a_lock_in_the_way_is_not_waited_for(recorder: Recorder, server: Postgres):
    """Half a second, then it is said."""
    with psycopg.connect(server.dsn) as other:
        other.execute("lock table orders in access exclusive mode")
        held = explained(recorder, SCAN)
        other.rollback()

    assert "lock timeout" in held.reason


def test_parameters_are_given_or_the_plan_is_generic(recorder: Recorder):
    """With values it runs; without, only the plan that knows none; nothing stays prepared."""
    run = explained(recorder, BY_KEY, "77")
    planned = explained(recorder, BY_KEY)
    generic = explained(recorder, BY_KEY, "77", is_generic=True)

    assert ("Index Cond: (id = 77)",) == run.plan.details
    assert ("Index Cond: (id = $1)",) == planned.plan.details == generic.plan.details
    assert (True, False, True) == (run.was_run, planned.was_run, generic.was_run)
    assert planned.is_generic
    assert "plan_cache_mode" not in run.settings | generic.settings
    assert [] == recorder._rows("select * from pg_prepared_statements")
    assert "2 were given" in explained(recorder, BY_KEY, "1", "2").reason


def test_the_same_statement_twice_is_the_same(server: Postgres, run: Run):
    """Through the command line: exit status 0, and the password is in no file."""
    for name in ("a.json", "b.json"):
        done = run("explain", "record", server.dsn, "--statement", SCAN, "--runs", "3", "-o", name)
        assert 0 == done.returncode, done.stderr
    done = run("explain", "compare", "a.json", "b.json")

    assert done.returncode in (0, 1), done.stderr
    assert "same plan" in done.stdout


def test_what_waits_is_not_the_query(recorder: Recorder, admin: psycopg.Connection):
    """The same plan over the same blocks in more than a hundred times the time, none of it I/O."""
    statement = "select count(*) from orders where customer = (select waited())"
    explained(recorder, statement)
    before = explained(recorder, statement)
    recorder._send("select set_config('app.wait_s', '1.5', false)")
    after = explained(recorder, statement)
    recorder._send("reset app.wait_s")
    (pair,) = _compared(before, after)

    assert PairOutcome.NOT_THE_QUERY is pair.outcome
    assert pair.time_ratio > 5
    assert "wait" in pair.advice


def test_a_new_index_is_another_plan(recorder: Recorder, admin: psycopg.Connection):
    """The diff has the scan that went and the one that came."""
    before = explained(recorder, SCAN)
    admin.execute("create index by_customer on orders (customer)")
    after = explained(recorder, SCAN)
    admin.execute("drop index by_customer")
    (pair,) = _compared(before, after)

    assert PairOutcome.PLAN is pair.outcome
    signed = {(line.sign, line.text) for line in pair.diff}
    assert ("-", "Seq Scan on orders") in signed
    assert any(sign == "+" and "by_customer" in text for sign, text in signed)


def test_bloat_is_other_blocks(recorder: Recorder, admin: psycopg.Connection):
    """Every row written anew: the same rows out of twice the blocks."""
    admin.execute("create table bloated as select * from orders")
    admin.execute("analyze bloated")
    statement = "select count(*) from bloated"
    before = explained(recorder, statement)
    admin.execute("update bloated set note = note || ''")
    after = explained(recorder, statement)
    admin.execute("drop table bloated")
    (pair,) = _compared(before, after)

    assert PairOutcome.BLOCKS is pair.outcome
    assert pytest.approx(2, rel=0.1) == after.blocks.touched / before.blocks.touched


def test_the_top_statements_come_from_pg_stat_statements(
    server: Postgres, run: Run, tmp_path: Path, admin: psycopg.Connection
):
    """Only those that read, with what was counted in the time watched; a role that only reads runs them."""
    admin.execute("create role reader login password 'x'; grant pg_monitor to reader")
    admin.execute("grant select on orders to reader")
    admin.execute("select pg_stat_statements_reset()")
    admin.execute("create table other as select 1 as a")
    admin.execute("drop table other")
    for n in range(3):
        admin.execute("select sum(customer) from orders where id > %s", (n,)).fetchall()
    (tmp_path / "values.json").write_text(
        json.dumps({"select sum(customer) from orders where id > $1": ["5"]}), encoding="utf-8"
    )
    dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=reader password=x"
    done = run(*("explain", "record", dsn, "--top", "3", "--params", "values.json"), *("-o", "top.json"))
    admin.execute("drop owned by reader; drop role reader")
    found = read_captures(tmp_path / "top.json")
    first = found.captures[0]

    assert done.returncode in (0, 1), done.stderr
    assert first.statement.startswith("select sum(customer)")
    assert first.was_run
    assert first.query_id is not None
    assert not any(c.statement.startswith(("create", "drop")) for c in found.captures)
    assert not any("pg_" in c.statement for c in found.captures)


def test_counters_of_two_moments_are_captures(server: Postgres, recorder: Recorder, admin: psycopg.Connection):
    """The mean call between them: here five calls that each count all rows."""
    from plimsoll.causes.statements.statements import capture_of, work_between

    first = recorder.statements()
    for _ in range(5):
        admin.execute("select count(*), max(note) from orders").fetchall()
    found = [capture_of(w.statement) for w in work_between(first, recorder.statements())]
    (mean,) = [c for c in found if c.statement.startswith("select count(*), max(note)")]

    assert Source.PG_STAT_STATEMENTS is mean.source
    assert (5, 1.0) == (mean.calls, mean.rows)
    assert mean.blocks.touched > 900


def test_a_logged_plan_is_that_of_explain(server: Postgres, recorder: Recorder, admin: psycopg.Connection):
    """JSON and text in the server's log, beside what EXPLAIN gave: the same plan over the same blocks."""
    admin.execute("load 'auto_explain'")
    admin.execute("set auto_explain.log_min_duration = 0")
    for form in ("json", "text"):
        admin.execute(f"set auto_explain.log_format = {form}")
        admin.execute("select count(*) from orders where customer = 8").fetchall()
    admin.execute("set auto_explain.log_min_duration = -1")
    log = read_captures(server._directory / "log")
    alike = [c for c in log.captures if c.statement == "select count(*) from orders where customer = ?"]
    given = explained(recorder, SCAN)

    assert 2 == len(alike)
    assert all(c.time_s is not None and c.settings_known for c in alike)
    for capture in alike:
        (pair,) = _compared(capture, given)
        assert PairOutcome.PLAN is not pair.outcome
        assert pytest.approx(given.blocks.touched, abs=10) == capture.blocks.touched


def test_a_role_that_sees_no_statements_says_what_it_needs(server: Postgres, admin: psycopg.Connection, run: Run):
    """Other users' statements are hidden; the remedy is a GRANT, and no password is printed."""
    admin.execute("create role plain login password 's3cret'")
    admin.execute("grant select on orders to plain")
    dsn = f"host=127.0.0.1 port={server.port} dbname=postgres user=plain password=s3cret"
    done = run("explain", "record", dsn, "--top", "2", "-o", "plain.json")
    alone = run("explain", "record", dsn, "--statement", SCAN)
    admin.execute("revoke select on orders from plain")
    refused = run("explain", "record", dsn, "--statement", SCAN, "-o", "x.json")
    admin.execute("drop role plain")

    assert "GRANT pg_read_all_stats TO plain;" in " ".join(done.stdout.split())
    assert 0 == alone.returncode, alone.stderr
    assert 2 == refused.returncode
    assert "permission denied" in refused.stdout
    for text in (done.stdout, done.stderr, alone.stdout, alone.stderr, refused.stderr):
        assert "s3cret" not in text


def _compared(before: Capture, after: Capture):
    from plimsoll.model.explain import CaptureFile

    files = [CaptureFile(captures=(capture,)) for capture in (before, after)]
    return plans.compare(*files, names=("a", "b")).pairs
