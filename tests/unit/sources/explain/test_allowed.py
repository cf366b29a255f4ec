"""Which statements may be run to be explained, and how they are found in files."""

from pathlib import Path

import pytest

from plimsoll.errors import DataError
from plimsoll.sources.explain.allowed import kind_of, parameter_count, reads_tables, refusal
from plimsoll.sources.explain.record import parameters_for
from plimsoll.sources.explain.statements import StatementToRun, parameters_in, split, without_comments


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        # What only reads may run, whatever is written in its strings, names and comments.
        ("select 1", ""),
        ("  -- why\n/* not */ SELECT 1;", ""),
        ("(select 1) union (select 2)", ""),
        ("values (1), (2)", ""),
        ("table orders", ""),
        ("with x as (select 1) select * from x", ""),
        ("with recursive x as materialized (select 1) table x", ""),
        ("select ';' , \"a;b\" from t", ""),
        ("select 'delete from t'", ""),
        ("select into_date, \"into\" from t where x = 'for update'", ""),
        ('select "update" from t', ""),
        # What changes something is refused by name, before it is sent.
        ("delete from t", "a DELETE"),
        ("insert into t values (1)", "an INSERT"),
        ("with x as (delete from t returning 1) select * from x", "DELETE"),
        ("with x as (select 1) update t set a = 1", "an UPDATE"),
        ("with x as not materialized ( insert into t values (1)) select 1", "INSERT"),
        ("select * into u from t", "makes a table"),
        ("select * from t for no key update", "locks rows"),
        ("select 1; select 2", "more than one"),
        ("drop table t", "begins with 'drop'"),
        ("explain analyze delete from t", "begins with 'explain'"),
        ("execute p", "begins with 'execute'"),
        ("call p()", "begins with 'call'"),
        ("copy t to '/x'", "begins with 'copy'"),
        ("", "no SELECT"),
        ("select pg_terminate_backend(7)", "pg_terminate_backend()"),
        ("select DBLINK_exec ('x', 'drop table t')", "dblink_exec()"),
        ("select pg_advisory_lock(1)", "pg_advisory_lock()"),
        ("select lo_create(0)", "lo_create()"),
    ],
)
def test_what_changes_something_may_not_run(statement: str, why: str):
    found = refusal(statement, allows_writes=False)

    assert why in found
    assert bool(why) is bool(found)


def test_with_leave_changes_run_and_what_lasts_does_not():
    """INSERT, UPDATE, DELETE and MERGE are rolled back; what a rollback does not undo stays refused."""
    for statement in (
        *("delete from t", "select * from t for update", "select * into u from t"),
        "with x as (delete from t returning 1) select * from x",
    ):
        assert "" == refusal(statement, allows_writes=True)
    for statement in ("drop table t", "select pg_reload_conf()", "delete from t; commit"):
        assert refusal(statement, allows_writes=True)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        # The users', however the names of their tables begin.
        ("select * from orders", True),
        ("select * from selections", True),
        ("select * from shop.values_2024 v join lateral f(v.id) on true", True),
        ('select * from only "Orders"', True),
        ("table orders", True),
        ("with o as (select * from orders) select * from o", True),
        ("select * from pg_class c join orders o on o.id = c.oid", True),
        ("select * from (select 1) s, unnest($1) u join unnested t on t.id = u", True),
        # Neither ours nor those of other programs that watch the server.
        ("select 1", False),
        ("select extract(epoch from stats_reset)", False),
        ("select * from pg_catalog.pg_stat_activity", False),
        ("select * from shop.pg_stat_statements(true)", False),
        ("select * from rows from (pg_stat_get_activity(null)) r", False),
        ("select * from pg_class c cross join lateral (select 1) s", False),
        ("with s (pid) as (select pid from pg_stat_activity), t as materialized (select * from s) table t", False),
        ("select * from unnest($1), generate_series(1, $2)", False),
        ("select 'from orders'", False),
        ("delete from orders", False),
    ],
)
def test_statements_about_tables_are_the_users(statement: str, expected):
    assert expected is reads_tables(statement)


def test_a_statement_is_told_by_its_main_part():
    """Not by what stands in brackets before; of its parameters the highest number outside of strings counts."""
    assert "select" == kind_of("with a as (update t set x = 1 returning 1) select 1")
    assert "merge" == kind_of("with a as (select 1) merge into t using a on true when matched then")
    assert 0 == parameter_count("select '$7', \"$8\"")
    assert 3 == parameter_count("select $1 where a = $3")


def test_statements_are_split_at_their_semicolons_only():
    """Not within strings, names, comments and bodies."""
    text = "select ';'; -- a;b\nselect $x$ ; $x$, \"a;b\" /* ; */;\n ; -- nothing"

    assert ("select ';'", '-- a;b\nselect $x$ ; $x$, "a;b" /* ; */') == split(text)


def test_comments_go_and_hints_stay():
    """What an application writes beside a statement may be anybody's name; a hint changes the plan."""
    text = "/*+ SeqScan(t) */ select '--x' /* user=eve */ from t -- trace=1"

    assert "/*+ SeqScan(t) */ select '--x'   from t" == without_comments(text)


def test_parameters_are_found_by_identifier_by_statement_or_for_all():
    """In this order."""
    wanted = StatementToRun(statement="select * from t where a = $1", query_id=42)
    given = {"42": ("x",), "SELECT * FROM t WHERE a = 5": ("y",)}

    assert ("x",) == parameters_for(wanted, given, ("z",)).parameters
    other = StatementToRun(statement=wanted.statement)
    assert ("y",) == parameters_for(other, given, ("z",)).parameters
    another = StatementToRun(statement="select $1")
    assert ("z",) == parameters_for(another, given, ("z",)).parameters
    assert parameters_for(StatementToRun(statement="table u"), given, ("z",)).parameters is None
    assert parameters_for(other, {}, None).parameters is None


def test_a_file_of_parameters_that_is_wrong_is_not_quoted(tmp_path: Path):
    """It may hold what nobody should read."""
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text('{"42": ["7", null]}', encoding="utf-8")
    bad.write_text('{"42": ["s3cret", 7]}', encoding="utf-8")

    assert {"42": ("7", None)} == parameters_in(good)
    with pytest.raises(DataError) as raised:
        parameters_in(bad)
    assert "s3cret" not in raised.value.message + raised.value.hint
