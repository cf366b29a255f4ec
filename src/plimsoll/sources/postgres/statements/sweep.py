"""
Provide the statements of `sweep --dsn`: find the largest tables, read one, and create a table of our own if allowed.

Rule: the server quotes the names of tables and functions; `%s` is a parameter.
"""

READ_ONLY = "set default_transaction_read_only = on"
FACTS = """
select pg_catalog.current_setting('server_version_num')::int as version_number,
       pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1) as version,
       pg_catalog.current_setting('block_size')::int as block_bytes,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers')) as buffers_bytes,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('effective_cache_size')) as cache_bytes,
       coalesce(pg_catalog.current_setting('debug_io_direct', true), '') as direct,
       pg_catalog.current_setting('io_max_combine_limit', true) as combine_limit,
       (select reset_val = 'on' from pg_catalog.pg_settings where name = 'default_transaction_read_only')
           as is_read_only,
       pg_catalog.pg_is_in_recovery() as is_standby,
       pg_catalog.current_setting('max_connections')::int
           - (select pg_catalog.count(*) from pg_catalog.pg_stat_activity where backend_type = 'client backend')
           - pg_catalog.current_setting('superuser_reserved_connections')::int as connections_left,
       current_user::pg_catalog.text as role
"""

# Plain tables of the main fork that the role may read, the largest first.
LARGEST = """
select c.oid::pg_catalog.regclass::pg_catalog.text as name, pg_catalog.pg_relation_size(c.oid) as size_bytes
from pg_catalog.pg_class c
where c.relkind in ('r', 'm') and c.relpersistence <> 't'
  and pg_catalog.has_table_privilege(c.oid, 'select')
order by 2 desc, 1
limit 1
"""
NAMED = """
select c.oid::pg_catalog.regclass::pg_catalog.text as name,
       pg_catalog.pg_relation_size(c.oid) as size_bytes, c.relkind as kind
from rows from (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[]))
         with ordinality w (schema, name, place)
     join pg_catalog.pg_namespace n on n.nspname = w.schema
     join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.name
order by w.place
limit 1
"""
# Only superusers create functions in C, so a function in C was not replaced by another role.
FUNCTION = """
select pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(p.proname) as name
from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
     join pg_catalog.pg_language l on l.oid = p.prolang and l.lanname = 'c'
where p.proname = %s and pg_catalog.has_function_privilege(p.oid, 'execute')
  and exists (select from pg_catalog.pg_depend d where d.objid = p.oid and d.deptype = 'e')
limit 1
"""

SETTINGS = (
    "set effective_io_concurrency = 0",
    "set max_parallel_workers_per_gather = 0",
    "set enable_seqscan = off",
    "set jit = off",
)
# The counters of a session become visible, also to itself, only when it reports them. This requests a report
# at the end of the statement.
_REPORT = "pg_catalog.pg_stat_force_next_flush()"
OWN_COUNTS = """
select coalesce(pg_catalog.sum(reads), 0)::bigint as reads, coalesce(pg_catalog.sum(read_bytes), 0)::bigint as bytes
from pg_catalog.pg_stat_get_backend_io(pg_catalog.pg_backend_pid()) where object = 'relation'
"""
SEEN = """
select pg_catalog.count(*) filter (where state = 'active' and wait_event_type = 'IO') as waiting,
       pg_catalog.count(*) filter (where state = 'active' and wait_event_type is null) as computing
from pg_catalog.pg_stat_activity where pid = any(%s)
"""
REPORT = f"select {_REPORT}"

# The time to fill a table is not bounded.
NO_TIMEOUT = "set statement_timeout = 0"
CHECKPOINT = "checkpoint"


def largest_request(kib: int) -> str:
    """Return the setting that combines reads of consecutive blocks up to that many KiB."""
    return f"set io_combine_limit = '{kib}kB'"


def scattered(prewarm: str) -> str:
    """Return the query that reads chosen blocks in requests of one size; `prewarm` is pg_prewarm with its schema."""
    call = f"{prewarm}(%s::pg_catalog.regclass, 'buffer', 'main', b, b + %s)"
    return (
        f"select pg_catalog.sum({call}) as blocks, {_REPORT}"  # noqa: S608 - quoted by the server
        " from pg_catalog.unnest(%s::bigint[]) as b"
    )


def scan(table: str, *, first: int, end: int) -> str:
    """Return the query that reads the blocks [first, end) in order."""
    return (
        f"select pg_catalog.count(*), {_REPORT} from {table}"  # noqa: S608 - quoted by the server
        f" where ctid >= '({first},0)' and ctid < '({end},0)'"
    )


def evicted(function: str) -> str:
    """Return the query that evicts a table from shared buffers."""
    return f"select {function}(%s::pg_catalog.regclass)"


def made(table: str) -> str:
    """Return the command that creates our unlogged table, with rows stored uncompressed."""
    return f"create unlogged table {table} (filler pg_catalog.text storage plain) with (autovacuum_enabled = off)"


def filled(table: str, *, width: int, count: int) -> str:
    """Return the command that inserts a number of rows of a number of characters."""
    return f"insert into {table} select pg_catalog.repeat('x', {width}) from pg_catalog.generate_series(1, {count})"  # noqa: S608 - our own table


def frozen(table: str) -> str:
    """Return the command that marks all rows as visible, so that a later read writes nothing."""
    return f"vacuum (freeze) {table}"


def dropped(table: str) -> str:
    """Return the command that drops our table."""
    return f"drop table if exists {table}"
