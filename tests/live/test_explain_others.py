"""`explain record --top` as a role that is or may become powerful: nobody else's code runs, not even to plan."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.machine import Run
from plimsoll.sources.explain.file import read_captures
from plimsoll_lab.servers.postgres import USER, Postgres

SETTINGS = {"shared_buffers": "16MB", "shared_preload_libraries": "pg_stat_statements", "fsync": "off"}

# What the owner writes in the place of a body that was harmless.
TRAP = """
create function s.trap(what text) returns int language plpgsql volatile set search_path = pg_catalog as $$
begin
  begin set role PLIMSOLL; exception when others then null; end;
  execute format('copy (select %L) to program %L', what || ' as ' || current_user, 'cat >> CANARY');
  return 1;
exception when others then return 1;
end $$
""".replace("PLIMSOLL", USER)
BODY = "begin return s.trap('{}'); end"

POWERFUL = ("inherits", "keeps", "chained", "files", "reads", "makes", "copies", "checks")


class Owned:
    """A database of a plain role, on a server of ours; `canary` has what its code did with the rights of others."""

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.canary = Path(server.data_directory) / "canary"
        with psycopg.connect(server.dsn, autocommit=True) as admin:
            admin.execute("create role dbown login password 'own'")
            admin.execute("create database owned owner dbown")
            for line in ROLES.strip().splitlines():
                admin.execute(line.replace("PLIMSOLL", USER))
            for role in (*POWERFUL, "plain"):
                admin.execute(f"alter role {role} login password 'x'; grant pg_monitor to {role}")
            if admin.info.server_version >= 160000:
                admin.execute(f"grant {USER} to keeps with inherit false")
        with self.as_admin() as admin:
            admin.execute("create extension pg_stat_statements")
        with self.as_owner() as owner:
            owner.execute("create schema s; create table s.t as select generate_series(1, 3) id")
            owner.execute("set check_function_bodies = off")
            owner.execute(TRAP.replace("CANARY", str(self.canary)))
            owner.execute("grant usage on schema s to public; grant select on s.t to public")

    @property
    def dsn(self) -> str:
        """The superuser's."""
        return self.server.dsn.replace("dbname=postgres", "dbname=owned")

    def of(self, role: str, password: str = "x") -> str:
        """The DSN of a role."""
        return f"host=127.0.0.1 port={self.server.port} dbname=owned user={role} password={password}"

    def as_admin(self) -> psycopg.Connection:
        """The superuser, in this database."""
        return psycopg.connect(self.dsn, autocommit=True)

    def as_owner(self) -> psycopg.Connection:
        """The owner of the database."""
        return psycopg.connect(self.of("dbown", "own"), autocommit=True)

    @property
    def steps(self) -> list[str]:
        """What code of the owner did with the rights of others; forgotten once asked for."""
        if not self.canary.exists():
            return []
        lines = self.canary.read_text().splitlines()
        self.canary.unlink()
        return lines


# Each may become powerful in another way, and does not look so.
ROLES = """
create role inherits; grant PLIMSOLL to inherits
create role keeps noinherit; grant PLIMSOLL to keeps
create role middle; create role chained noinherit; grant PLIMSOLL to middle; grant middle to chained
create role files; grant pg_read_server_files to files
create role reads; grant pg_read_all_data to reads
create role makes createrole
create role copies replication
create role checks bypassrls
create role plain
"""

# What an administrator asked one day of objects that were harmless, and what the owner makes of them afterwards.
TRAPS = {
    "a function": (
        "create function s.f(int) returns int language sql as 'select $1'",
        "select count(s.f(id)) from s.t",
        f"create or replace function s.f(int) returns int language plpgsql as $$ {BODY.format('f')} $$",
    ),
    "a view": (
        "create view s.v as select id from s.t",
        "select count(id) from s.v",
        "create or replace view s.v as select id from s.t where s.trap('view') = 1",
    ),
    "an immutable function": (
        "create function s.i() returns int immutable language sql as 'select 1'",
        "select count(*) from s.t where id = s.i()",
        (
            "create or replace function s.i() returns int immutable language plpgsql as "
            f"$$ {BODY.format('immutable')} $$"
        ),
    ),
    "an operator": (
        (
            "create function s.o(int, int) returns boolean immutable language sql as 'select $1 = $2'; "
            "create operator s.=== (leftarg = int, rightarg = int, function = s.o)"
        ),
        "select count(*) from s.t where id operator(s.===) id and length(current_user) operator(s.===) 1",
        (
            "create or replace function s.o(int, int) returns boolean immutable language plpgsql as "
            "$$ begin perform s.trap('operator'); return true; end $$"
        ),
    ),
    "a domain": (
        "create domain s.d as int",
        "select count(*) from s.t where id = any (array[id]::s.d[])",
        "alter domain s.d add check (s.trap('domain') = 1)",
    ),
    "a cast": (
        (
            "create type s.c as (a int); create function s.as_int(s.c) returns int immutable language sql "
            "as 'select 1'; create cast (s.c as int) with function s.as_int(s.c)"
        ),
        "select count(*) from s.t where id = row(id)::s.c::int",
        (
            "create or replace function s.as_int(s.c) returns int immutable language plpgsql as "
            f"$$ {BODY.format('cast')} $$"
        ),
    ),
    "a policy": (
        "create policy p on s.t using (true); alter table s.t enable row level security",
        "select count(*) from s.t where id > 0",
        "alter policy p on s.t using (s.trap('policy') = 1)",
    ),
    "an aggregate": (
        (
            "create function s.state(int, int) returns int language sql as 'select $1'; "
            "create aggregate s.a(int) (sfunc = s.state, stype = int, initcond = '0')"
        ),
        "select s.a(id) from s.t",
        (
            "create or replace function s.state(int, int) returns int language plpgsql as "
            f"$$ {BODY.format('aggregate')} $$"
        ),
    ),
}


@pytest.fixture(scope="module", params=[NEWEST, DEBIANS])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server that counts statements."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as running:
        yield running


@pytest.fixture(scope="module")
def owned(server: Postgres) -> Owned:
    """The database, every trap set after an administrator had asked for it without harm."""
    database = Owned(server)
    for before, asked, after in TRAPS.values():
        with database.as_owner() as owner:
            owner.execute(before)
            owner.execute("grant select on all tables in schema s to public")
        with database.as_admin() as admin:
            admin.execute("set row_security = on")
            admin.execute(asked)
        for role in POWERFUL:
            # A role that does not inherit pg_monitor sees its own statements only.
            with psycopg.connect(database.of(role), autocommit=True) as other:
                other.execute(asked)
        with database.as_owner() as owner:
            owner.execute(after)
    with database.as_admin() as admin:
        for name, (_, asked, _) in TRAPS.items():
            admin.execute(asked)
            assert [] != database.steps or name == "a policy", name
    return database


@pytest.mark.attack(
    "The owner of a database replaces a function, view, operator, domain, cast, policy or aggregate that an "
    "administrator's statement had used, also one that is evaluated while a statement is planned; a superuser runs "
    "`explain record --top`",
    "nothing is executed or planned; status 2, and the answer names `--statement`",
)
def test_nothing_that_another_role_replaced_runs_for_a_superuser(owned: Owned, run: Run):
    """The identifiers of the statements are those of before, and the superuser had run them itself."""
    done = run("explain", "record", owned.dsn, "--top", "20", "-o", "top.json")

    assert [] == owned.steps
    assert 2 == done.returncode, done.stdout
    assert "'dbown' owns" in " ".join(done.stdout.split())
    assert "--statement" in done.stdout


@pytest.mark.attack(
    "The same, for a role that is not a superuser but may become one or is powerful in another way: a member of a "
    "superuser role, inheriting or not, through another role, of `pg_read_server_files` or `pg_read_all_data`, or "
    "with `CREATEROLE`, `REPLICATION` or `BYPASSRLS`",
    "the same",
)
@pytest.mark.parametrize("role", POWERFUL)
def test_nothing_runs_for_a_role_that_may_become_powerful(owned: Owned, run: Run, role: str):
    """Membership of any kind counts, because a function can set the role."""
    done = run("explain", "record", owned.of(role), "--top", "20", "-o", "top.json")

    assert [] == owned.steps
    assert 2 == done.returncode, done.stdout
    assert "--statement" in done.stdout


def test_a_role_that_may_become_the_owner_runs_nothing(owned: Owned, run: Run):
    """Code of a third role could read and lock all that the owner has."""
    with owned.as_admin() as admin:
        admin.execute("create role developer login password 'x'")
        admin.execute("grant dbown, pg_monitor to developer")
    done = run("explain", "record", owned.of("developer"), "--top", "20", "-o", "top.json")

    assert 2 == done.returncode, done.stdout
    assert "rights of 'dbown'" in " ".join(done.stdout.split())


def test_a_superuser_that_calls_itself_another_role_runs_nothing(owned: Owned, run: Run):
    """A function could reset the role; so the role that logged in counts."""
    with owned.as_admin() as admin:
        admin.execute("create role lesser; grant pg_monitor to lesser")
    for name in ("role", "session_authorization"):
        done = run(
            *("explain", "record", f"{owned.dsn} options='-c {name}=lesser'"), *("--top", "20", "-o", "top.json")
        )

        assert [] == owned.steps
        assert 2 == done.returncode, done.stdout
        assert "--statement" in done.stdout


def test_a_plain_role_runs_the_top_statements(owned: Owned, run: Run, tmp_path: Path):
    """With pg_monitor and SELECT alone they run; code of others has no more rights than that."""
    with owned.as_admin() as admin:
        admin.execute("select count(*) from s.t a, s.t b")
    done = run("explain", "record", owned.of("plain"), "--top", "20", "-o", "top.json")
    found = read_captures(tmp_path / "top.json")

    assert done.returncode in (0, 1), done.stderr
    assert any(c.was_run and c.statement.endswith("s.t a, s.t b") for c in found.captures)
    assert [] == owned.steps


def test_a_named_statement_runs_for_a_superuser(owned: Owned, run: Run):
    """Whoever names a statement answers for what it calls."""
    done = run("explain", "record", owned.dsn, "--statement", "select count(id) from s.t", "-o", "a.json")

    assert 0 == done.returncode, done.stdout
    assert [] == owned.steps


@pytest.fixture(scope="module")
def closed(server: Postgres, owned: Owned) -> str:
    """The DSN of a database in which a superuser owns everything and nobody else may create."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("create extension pg_stat_statements")
        admin.execute("create table kept (id int primary key, note text, gone timestamptz)")
        admin.execute("create index on kept (lower(note)) where gone is null")
        admin.execute("create view shown as select id, note from kept where gone is null")
        admin.execute("create type mood as enum ('a', 'b')")
        admin.execute("create function twice(int) returns int immutable language sql as 'select 2 * $1'")
        admin.execute(
            "create function counted() returns int language plpgsql as "
            f"$$ begin copy (select 1) to program 'cat >> {owned.canary}'; return 1; end $$"
        )
        admin.execute("grant select on kept, shown to public")
        for asked in CLOSED:
            admin.execute(f"{asked} and pg_sleep(0.05) is not null")
        assert [] != owned.steps
        # As PostgreSQL 15 has it from the start.
        admin.execute("revoke create on schema public from public")
    return server.dsn


CLOSED = (
    "select count(*) from kept where lower(note) = 'a' and gone is null",
    "select note from shown where id = twice(4)",
    "select count(counted()) from (values (1)) v (n) left join kept on true where n = 1",
)


@pytest.mark.parametrize("role", [USER, "inherits", "files"])
def test_a_powerful_role_plans_where_nobody_else_can_have_code(
    closed: str, owned: Owned, run: Run, tmp_path: Path, role: str
):
    """All objects are a superuser's: each statement is planned, and none runs."""
    dsn = closed if role == USER else owned.of(role).replace("dbname=owned", "dbname=postgres")
    done = run("explain", "record", dsn, "--top", "10", "-o", "top.json")
    found = read_captures(tmp_path / "top.json")
    statements = [c.statement for c in found.captures]

    assert 0 == done.returncode, done.stdout
    assert 3 == sum(any(s.startswith(asked[:30]) for s in statements) for asked in CLOSED)
    assert {False} == {c.was_run for c in found.captures}
    assert all(c.plan is not None for c in found.captures)
    assert "were planned, not run" in found.note
    assert "were planned, not run" in " ".join(done.stdout.split())
    assert [] == owned.steps


OPENED = {
    "the schema": ("grant create on schema public to dbown", "revoke create on schema public from dbown"),
    "everybody": ("grant create on schema public to public", "revoke create on schema public from public"),
    "the database": ("grant create on database postgres to dbown", "revoke create on database postgres from dbown"),
    "a schema": ("create schema o authorization dbown", "drop schema o"),
    "a table": ("create table o (); alter table o owner to dbown", "drop table o"),
    "a type": ("create type o as enum (); alter type o owner to dbown", "drop type o"),
    "a function": (
        "create function o() returns int language sql as 'select 1'; alter function o owner to pg_monitor",
        "drop function o",
    ),
    "a dictionary": (
        "create text search dictionary o (template = simple); alter text search dictionary o owner to dbown",
        "drop text search dictionary o",
    ),
    "the whole": ("alter database postgres owner to dbown", f"alter database postgres owner to {USER}"),
}


@pytest.mark.attack(
    "Another role owns a table, type, function or schema of the database, or may create some, and puts code there after "
    "`explain record --top` has checked that there is none",
    "a powerful role does not plan there; status 2, and the answer names the role and `--statement`",
)
@pytest.mark.parametrize("what", OPENED)
def test_a_powerful_role_does_not_plan_where_others_may_create(closed: str, run: Run, what: str):
    """A check of the code that is there would be too early: a function can be made right after it."""
    opened, restored = OPENED[what]
    with psycopg.connect(closed, autocommit=True) as admin:
        admin.execute(opened)
        try:
            done = run("explain", "record", closed, "--top", "10", "-o", "top.json")
        finally:
            admin.execute(restored)
    text = " ".join(done.stdout.split())

    assert 2 == done.returncode, done.stdout
    assert "--statement" in text
    assert any(f"'{role}'" in text for role in ("dbown", "PUBLIC", "pg_monitor"))


@pytest.mark.attack(
    "Another role, which may create temporary objects alone, calls a temporary function under the name of its session's "
    "schema, so that a superuser's `explain record --top` finds it there",
    "the statement is not planned",
)
def test_temporary_functions_of_others_are_not_planned(closed: str, owned: Owned, run: Run):
    """As written, and behind an escape; temporary tables of others do not stop the rest."""
    dsn = owned.of("dbown", "own").replace("dbname=owned", "dbname=postgres")
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("create temp table mine as select 1 as id")
        other.execute(
            "create function pg_temp.trap() returns int immutable language plpgsql as $$ begin "
            f"copy (select current_user) to program 'cat >> {owned.canary}'; return 1; "
            "exception when others then return 1; end $$"
        )
        (schema,) = other.execute("select pg_my_temp_schema()::regnamespace::text").fetchone()
        hidden = schema.replace("_t", "\\005ft", 1)
        for name in (schema, f'"{schema}"', schema.upper(), f'U&"{hidden}"', f'u&"{hidden}"'):
            other.execute(f"select {name}.trap() from kept full join (select pg_sleep(0.02)) x on true")
        done = run("explain", "record", closed, "--top", "20", "-o", "top.json")

    assert [] == owned.steps
    assert done.returncode in (0, 1), done.stdout
