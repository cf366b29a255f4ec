"""A ledger that others made, changed or filled: it is no ledger for a load, none of its code runs, nothing is written."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.loads import BY_LIMITS, asked, rows
from live.machine import Run
from plimsoll.errors import UsageError
from plimsoll.load.copy.inputs import LocalFile
from plimsoll.load.copy.rows import Chunk
from plimsoll.load.copy.table import CopyOptions, TableSession
from plimsoll.sources.postgres.statements import loading
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

LEDGER = "public.plimsoll_loaded"
MADE = loading.ledger_made(LEDGER, is_unlogged=False)
COUNT = 400_000

# What a trap does with the rights of whoever steps on it. It passes every value, so nobody is warned.
_TRAPS = """
create function evil.told(what text) returns boolean language plpgsql as $trap$
begin
  execute format('copy (select %L) to program %L', what || ' as ' || current_user, 'cat >> CANARY');
  return true;
exception when insufficient_privilege then return true;
end $trap$;
create function evil.trap(what text) returns boolean language plpgsql immutable as
  $$ begin return evil.told(what); end $$;
create collation evil.odd from "C";
create foreign data wrapper nowhere;
create server nowhere foreign data wrapper nowhere;
grant usage on foreign server nowhere to public;
create function evil.fired() returns trigger language plpgsql as
  $$ begin perform evil.trap('trigger'); return new; end $$;
create function evil.now() returns timestamptz language sql as
  $$ select pg_catalog.now() where evil.trap('default') $$;
create domain evil.checked as text check (evil.trap('domain'));
create type evil.shape as (target text, target_oid oid, file text, identity text, start_byte bigint,
  end_byte bigint, digest text, head text, row_count bigint, loaded_at timestamptz, stored_in text);
"""


class Planted:
    """A server on which `seller` owns the table, and `attacker` may create in its schema."""

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.canary = server.data_directory / "canary"

    def make(self) -> None:
        """Make roles, traps and the table."""
        for role in ("seller", "attacker"):
            asked(self.server, f"create role {role} login password '{role}'")
        asked(self.server, "grant create on schema public to public; create schema evil")
        asked(self.server, _TRAPS.replace("CANARY", str(self.canary)))
        asked(self.server, "grant usage on schema evil to public")

    def begin(self) -> None:
        """Make an empty table, and no ledger."""
        asked(
            self.server,
            "set client_min_messages = error; drop table if exists public.sales;"
            " drop table if exists public.parents cascade",
        )
        kinds = {"r": "table", "p": "table", "v": "view", "f": "foreign table", "m": "materialized view"}
        for name, kind in asked(
            self.server,
            "select oid::regclass::text, relkind::text from pg_class where relname like 'plimsoll\\_loaded%'"
            " and relkind in ('r', 'p', 'v', 'f', 'm')",
        ):
            asked(self.server, f"drop {kinds[kind]} if exists {name} cascade")
        self.as_role("seller", "create table public.sales (id int, name text, note text)")
        self.canary.unlink(missing_ok=True)

    def as_role(self, role: str, statements: str) -> None:
        """Run statements of a role."""
        dsn = f"{self.server.dsn} user={role} password={role}"
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(statements.encode())

    def load(self, run: Run, tmp_path: Path, *more: str):
        """Load ten rows as a superuser."""
        (tmp_path / "a.csv").write_bytes(rows(10))
        return run("load", "a.csv", "public.sales", *more, *BY_LIMITS, PLIMSOLL_DSN=self.server.dsn)

    @property
    def steps(self) -> list[str]:
        """What was run with the rights of the superuser."""
        return self.canary.read_text().splitlines() if self.canary.exists() else []


@pytest.fixture(scope="module", params=[DEBIANS, NEWEST])
def planted(request: pytest.FixtureRequest) -> Iterator[Planted]:
    with Postgres({"fsync": "off"}, binaries=postgres_binaries(request.param)) as server:
        made = Planted(server)
        made.make()
        yield made


# What the owner of the table does to the ledger, and what is said of it.
CHANGES = {
    "trigger": (
        f"create trigger t before insert on {LEDGER} for each row execute function evil.fired()",
        "it has a trigger",
    ),
    "trigger of a statement": (
        f"create trigger t after update on {LEDGER} execute function evil.fired()",
        "it has a trigger",
    ),
    "rule": (f"create rule r as on insert to {LEDGER} do also select evil.trap('rule')", "it has a rule"),
    "policy": (
        f"create policy p on {LEDGER} using (evil.trap('policy')) with check (evil.trap('policy'))",
        "it has row level security",
    ),
    "row security": (f"alter table {LEDGER} force row level security", "it has row level security"),
    "default": (
        f"alter table {LEDGER} alter loaded_at set default evil.now()",
        "a column has a default that is not ours",
    ),
    "another default": (
        f"alter table {LEDGER} alter row_count set default (evil.trap('default'))::int",
        "a column has a default that is not ours",
    ),
    "check": (f"alter table {LEDGER} add check (evil.trap(file))", "it has a constraint"),
    "foreign key": (
        (
            f"create table public.parents (id text primary key);"
            f" alter table {LEDGER} add foreign key (file) references public.parents"
        ),
        "it has a trigger",
    ),
    "index expression": (f"create index on {LEDGER} ((evil.trap(file)))", "it has an index that is not ours"),
    "index predicate": (f"create index on {LEDGER} (file) where evil.trap(file)", "it has an index that is not ours"),
    # Then a chunk of a second content would count as loaded.
    "unique index": (f"create unique index on {LEDGER} (file)", "it has an index that is not ours"),
    "collation": (f"create index on {LEDGER} (file collate evil.odd)", "it has an index that is not ours"),
    # Then every chunk would be loaded again.
    "no key": (f"alter table {LEDGER} drop constraint plimsoll_loaded_pkey", "it has an index that is not ours"),
    "domain": (f"alter table {LEDGER} alter file type evil.checked", "its columns are not those of a ledger"),
    "generated column": (
        f"alter table {LEDGER} add more boolean generated always as (evil.trap('generated')) stored",
        "its columns are not those of a ledger",
    ),
    "child table": (f"create table public.plimsoll_loaded_child () inherits ({LEDGER})", "it is no plain table"),
    "unlogged": (f"alter table {LEDGER} set unlogged", "it is no plain table"),
    "typed table": (
        (f"drop table {LEDGER}; create table {LEDGER} of evil.shape (primary key (target, identity, start_byte))"),
        "it is no plain table",
    ),
    "view": (
        (
            f"alter table {LEDGER} rename to plimsoll_loaded_behind;"
            f" create view {LEDGER} as select * from public.plimsoll_loaded_behind where evil.trap('view')"
        ),
        "it is no plain table",
    ),
    "partitioned table": (
        (
            f"drop table {LEDGER};"
            f" {MADE.replace('using heap', '')} partition by range (target);"
            f" create table public.plimsoll_loaded_part partition of {LEDGER} default"
        ),
        "it is no plain table",
    ),
    "foreign table": (
        f"drop table {LEDGER}; create foreign table {LEDGER} (target text) server nowhere",
        "it is no plain table",
    ),
    "public may write": (f"grant insert on {LEDGER} to public", "everybody may write to it"),
    "public may write a column": (f"grant update (end_byte) on {LEDGER} to public", "everybody may write to it"),
    "another owner": (None, "its owner is attacker"),
}


@pytest.mark.attack(
    "A user makes a table, view or partitioned table with the name of the ledger of `load`, or adds a trigger, rule, policy, default, constraint, index, domain or child table to it; a superuser loads",
    "refused, status 2, with the reason; none of its code runs, nothing is written",
)
@pytest.mark.parametrize("change", CHANGES)
def test_a_ledger_of_others_is_refused(planted: Planted, run: Run, tmp_path: Path, change: str):
    """Also of an owner that is trusted, because others may add code to a table."""
    planted.begin()
    statements, reason = CHANGES[change]
    planted.as_role("seller" if statements else "attacker", MADE)
    if statements:
        planted.as_role("seller", statements)
    planted.canary.unlink(missing_ok=True)
    done = planted.load(run, tmp_path)

    assert [] == planted.steps
    assert (2, "") == (done.returncode, done.stdout), done.stderr
    assert f"{LEDGER} is no ledger for a load: {reason}" in done.stderr
    assert [(0,)] == asked(planted.server, "select count(*) from public.sales")


def test_a_ledger_of_the_owner_of_the_table_is_one(planted: Planted, run: Run, tmp_path: Path):
    """A superuser loads through it; an index of its columns alone changes nothing."""
    planted.begin()
    planted.as_role("seller", f"{MADE}; create index on {LEDGER} (loaded_at)")
    done = planted.load(run, tmp_path)

    assert (0, "") == (done.returncode, done.stderr)
    assert [(10,)] == asked(planted.server, "select count(*) from public.sales")


def test_a_ledger_that_we_make_is_one_whatever_tables_get(planted: Planted, run: Run, tmp_path: Path):
    """Default privileges would let everybody write to it."""
    planted.begin()
    asked(planted.server, "alter default privileges in schema public grant all on tables to public")
    try:
        done = [planted.load(run, tmp_path) for _ in range(2)]
    finally:
        asked(planted.server, "alter default privileges in schema public revoke all on tables from public")

    assert [(0, ""), (0, "")] == [(one.returncode, one.stderr) for one in done]
    assert [(10,)] == asked(planted.server, "select count(*) from public.sales")


def test_a_trigger_that_comes_while_a_load_runs_does_not_run(planted: Planted):
    """Each transaction looks again."""
    planted.begin()
    planted.as_role("seller", MADE)
    session = TableSession(planted.server.dsn, CopyOptions(is_csv=True))
    found = session.find("public.sales")
    chunk = Chunk(start_byte=0, pieces=(rows(10),))
    session.load(found, chunk, file="a", identity="x", wait=lambda _: None)
    planted.as_role("seller", CHANGES["trigger"][0])
    planted.canary.unlink(missing_ok=True)
    with pytest.raises(UsageError, match="it has a trigger"):
        session.load(found, chunk, file="a", identity="y", wait=lambda _: None)
    session.close()

    assert [] == planted.steps
    assert [(10,)] == asked(planted.server, "select count(*) from public.sales")


# What is done to the entry of the first chunk, and what is said.
TAMPERED = {
    "absurd": ("start_byte = -5, end_byte = 9223372036854775807", "bytes -5 to 9,223,372,036,854,775,807"),
    "beyond the end": ("end_byte = 9223372036854775807", "are not in a file of"),
    "backwards": ("end_byte = 0", "bytes 0 to 0"),
    "overlap": ("end_byte = (select max(start_byte) + 7 from {ledger})", "overlap"),
    "moved on": ("end_byte = end_byte - 1000", "the bytes are others"),
    "digest": ("digest = repeat('x', 32)", "the bytes are others"),
    "rows": ("row_count = 9223372036854775807", "9,223,372,036,854,775,807 rows"),
    "less than no rows": ("row_count = -1", "-1 rows"),
    "no count": ("row_count = null", "has no count of its rows"),
    "no digest": ("digest = ''", "the bytes are others"),
}  # fmt: skip


@pytest.mark.attack(
    "Somebody who may write to the ledger of `load` changes ranges, counts or digests, to hide rows or to load some twice",
    "one sentence with the range, status 2; nothing is written",
)
@pytest.mark.parametrize("change", TAMPERED)
def test_an_entry_that_cannot_be_true_is_refused(planted: Planted, run: Run, tmp_path: Path, change: str):
    planted.begin()
    file = tmp_path / "b.csv"
    file.write_bytes(rows(COUNT))
    command = ("load", "b.csv", "public.sales", *BY_LIMITS)
    first = run(*command, PLIMSOLL_DSN=planted.server.dsn)
    values, reason = TAMPERED[change]
    asked(planted.server, f"update {LEDGER} set {values.format(ledger=LEDGER)} where start_byte = 0")
    # What is missing now would be loaded.
    asked(planted.server, f"delete from {LEDGER} where start_byte = (select max(start_byte) from {LEDGER})")
    done = run(*command, PLIMSOLL_DSN=planted.server.dsn)

    assert 0 == first.returncode
    assert (2, "") == (done.returncode, done.stdout)
    assert f"the ledger {LEDGER} does not fit 'b.csv': " in done.stderr
    assert reason in done.stderr
    assert [(COUNT,)] == asked(planted.server, "select count(*) from public.sales")


def test_a_range_that_is_planted_while_a_load_runs_is_no_chunk_of_ours(planted: Planted):
    """Its digest is that of other bytes."""
    planted.begin()
    session = TableSession(planted.server.dsn, CopyOptions(is_csv=True))
    found = session.find("public.sales")
    chunk = Chunk(start_byte=0, pieces=(rows(10),))
    asked(
        planted.server,
        f"insert into {LEDGER} (target, target_oid, file, identity, start_byte, end_byte, digest, head, row_count)"
        f" select 'public.sales', 'public.sales'::regclass, 'a', 'x', 0, {chunk.end_byte}, 'd', 'h', 10",
    )
    with pytest.raises(UsageError, match="does not fit 'a'"):
        session.load(found, chunk, file="a", identity="x", wait=lambda _: None)
    session.close()


def test_a_ledger_of_an_earlier_version_gets_the_new_column(planted: Planted, run: Run, tmp_path: Path):
    """From its owner; another role gets the statement."""
    planted.begin()
    first = planted.load(run, tmp_path)
    asked(planted.server, f"alter table {LEDGER} drop column stored_in")
    asked(planted.server, f"grant select, insert, update on {LEDGER} to seller")
    identity = LocalFile(tmp_path / "a.csv").identity
    dsn = f"{planted.server.dsn} user=seller password=seller"
    refused = run("load", "a.csv", "public.sales", *BY_LIMITS, PLIMSOLL_DSN=dsn)
    done = planted.load(run, tmp_path)

    assert 0 == first.returncode
    assert 2 == refused.returncode
    assert f"ALTER TABLE {LEDGER} ADD COLUMN stored_in text;" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("0 rows loaded")
    assert [(identity, None)] == asked(planted.server, f"select identity, stored_in from {LEDGER}")
