"""
Provide the statements of `explain record`: facts of the server, its counters, and the transaction around EXPLAIN.

Rule 1: a statement of the user is sent unchanged after EXPLAIN, in a transaction that is rolled back.
Rule 2: our own statements find names in pg_catalog only. Statements of the user search pg_catalog first, then
        the role's own search_path.
"""

# A longer wait would delay the sessions that queue for the same lock after us.
LOCK_TIMEOUT_MS = 500
_PREPARED = "plimsoll_explain"

FACTS = "select pg_catalog.current_setting('block_size')::int as block_bytes"

# Roles that let their members read statistics and settings, and nothing of a table. The owner of a database is a member
# of the last; as an owner it is asked for below.
_HARMLESS = (
    "'pg_monitor', 'pg_read_all_settings', 'pg_read_all_stats', 'pg_stat_scan_tables', "
    "'pg_use_reserved_connections', 'pg_database_owner'"
)
# Roles with smaller ids come with the server (FirstNormalObjectId).
_FIRST_MADE = "'16384'::pg_catalog.oid"
# Everything in this database that is code, has some, or may get some from its owner. pg_shdepend has no owner that came
# with the server. Temporary objects are found by the names of their schemas alone, which `allowed` refuses.
_OWNERS = """
select o.owner from (
  select nspowner as owner, oid as schema from pg_catalog.pg_namespace
  union all select relowner, relnamespace from pg_catalog.pg_class
  union all select proowner, pronamespace from pg_catalog.pg_proc
  union all select typowner, typnamespace from pg_catalog.pg_type
  union all select oprowner, oprnamespace from pg_catalog.pg_operator
  union all select opcowner, opcnamespace from pg_catalog.pg_opclass
  union all select opfowner, opfnamespace from pg_catalog.pg_opfamily
  union all select collowner, collnamespace from pg_catalog.pg_collation
  union all select conowner, connamespace from pg_catalog.pg_conversion
  union all select stxowner, stxnamespace from pg_catalog.pg_statistic_ext
  union all select cfgowner, cfgnamespace from pg_catalog.pg_ts_config
  union all select dictowner, dictnamespace from pg_catalog.pg_ts_dict
  union all select lanowner, 0 from pg_catalog.pg_language
  union all select fdwowner, 0 from pg_catalog.pg_foreign_data_wrapper
  union all select srvowner, 0 from pg_catalog.pg_foreign_server
  union all select evtowner, 0 from pg_catalog.pg_event_trigger
  union all select extowner, 0 from pg_catalog.pg_extension
  union all select datdba, 0 from pg_catalog.pg_database where datname = pg_catalog.current_database()
) o
where o.schema not in (
  select n.oid from pg_catalog.pg_namespace n where n.nspname ~ '^pg_(toast_)?temp_'
)
"""
POWER = f"""
select r.rolname::pg_catalog.text as role
from pg_catalog.pg_roles s join pg_catalog.pg_roles r on pg_catalog.pg_has_role(s.oid, r.oid, 'member')
where s.rolname in (session_user, %s) and (
  r.rolsuper or r.rolcreaterole or r.rolreplication or r.rolbypassrls
  or r.oid < {_FIRST_MADE} and r.rolname not in ({_HARMLESS})
  or r.oid <> s.oid and r.oid in ({_OWNERS})
)
order by r.oid = s.oid desc, r.rolsuper desc, 1
limit 1
"""  # noqa: S608 - constants
"""
A role that we are or may become and that can do more than read statistics; no row if there is none.

A function may set and reset the role, so membership of every kind counts, for the role that logged in (`%s`), too.
"""
STRANGER = f"""
with plimsoll_trusted as (
  select oid from pg_catalog.pg_roles
  where rolsuper or rolname = 'pg_database_owner' or rolname = session_user and rolname = %s
)
select coalesce(r.rolname::pg_catalog.text, 'PUBLIC') as role, f.does
from (
  select o.owner as oid, 'owns objects' as does from ({_OWNERS}) o
  union select a.grantee, 'may create objects' from pg_catalog.pg_namespace n,
    lateral pg_catalog.aclexplode(n.nspacl) a where a.privilege_type = 'CREATE'
  union select a.grantee, 'may create objects' from pg_catalog.pg_database d,
    lateral pg_catalog.aclexplode(d.datacl) a
    where a.privilege_type = 'CREATE' and d.datname = pg_catalog.current_database()
) f left join pg_catalog.pg_roles r on r.oid = f.oid
where f.oid not in (select oid from plimsoll_trusted) and (f.oid <> '0'::pg_catalog.oid or exists (
  select from pg_catalog.pg_roles e
  where e.oid >= {_FIRST_MADE} and e.oid not in (select oid from plimsoll_trusted)
))
order by 2 desc, 1
limit 1
"""  # noqa: S608 - constants
"""
A role that owns a part of this database or may create one, and is neither a superuser nor ours; no row if there is none.

Where there is no row, nobody's code is there and none can come while we plan. `%s` is the role that logged in.
"""
EXTENSION = """
select pg_catalog.quote_ident(n.nspname) as schema,
       (pg_catalog.string_to_array(e.extversion, '.'))[1]::int * 1000
           + (pg_catalog.string_to_array(e.extversion, '.'))[2]::int as version
from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
where e.extname = 'pg_stat_statements'
"""
# The role's own search_path, after pg_catalog, so that no function of a user replaces one of the server.
PATH = "select pg_catalog.current_schemas(false)::pg_catalog.text[] as path"

BEFORE = "savepoint plimsoll_explain"
BACK_BEFORE = "rollback to savepoint plimsoll_explain"
DEALLOCATE = f"deallocate {_PREPARED}"

BEFORE_TIMING = "savepoint plimsoll_timing"
TIME_IO = "set local track_io_timing = on"
BACK_BEFORE_TIMING = "rollback to savepoint plimsoll_timing"


def statements(schema: str, extension_version: int, *, limit: int) -> str:
    """
    Return the query for the counters of pg_stat_statements for this database, the longest total time first.

    Names of columns by version of the extension: documentation of pg_stat_statements, 14 to 18.

    Args:
        schema: schema of the extension, quoted by the server.
        extension_version: 1011 for 1.11, which counts times of shared, local and temporary I/O separately;
            earlier versions have one column for all.
        limit: largest number of statements.
    """
    kind = "shared_blk" if extension_version >= 1011 else "blk"
    return f"""
select coalesce(queryid, 0) as query_id, query as text, calls, rows, total_exec_time / 1000 as exec_s,
       shared_blks_read as read_blocks, shared_blks_hit as hit_blocks,
       shared_blks_dirtied as dirtied_blocks, shared_blks_written as written_blocks,
       temp_blks_read as temp_read_blocks, temp_blks_written as temp_written_blocks,
       {kind}_read_time / 1000 as read_s, {kind}_write_time / 1000 as write_s,
       wal_bytes::double precision as wal_bytes
from {schema}.pg_stat_statements(true)
where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and toplevel
order by total_exec_time desc
limit {int(limit)}
"""  # noqa: S608 - numbers, constants and a name quoted by the server


def beginning(path: str, *, timeout_s: int, allows_writes: bool, is_generic: bool) -> tuple[str, ...]:
    """
    Return the commands to send, one by one, before a statement of the user.

    Args:
        path: search_path for the statement, quoted.
        timeout_s: time after which the server cancels the statement.
        allows_writes: whether the statement may write; the transaction is rolled back in any case.
        is_generic: whether to plan it without the values of its parameters.
    """
    access = "write" if allows_writes else "only"
    # By default PostgreSQL chooses between custom and generic plan by earlier executions.
    mode = "force_generic_plan" if is_generic else "force_custom_plan"
    return (
        f"begin transaction isolation level read committed, read {access}, not deferrable",
        f"set local search_path = {path}",
        f"set local statement_timeout = {timeout_s * 1000}",
        f"set local lock_timeout = {LOCK_TIMEOUT_MS}",
        f"set local plan_cache_mode = {mode}",
    )


def prepared(statement: str) -> str:
    """Return the command that prepares a statement, so that it can have parameters."""
    return f"prepare {_PREPARED} as {statement}"


def executed(arguments: str) -> str:
    """Return the command that executes the prepared statement; `arguments` are literals in parentheses or empty."""
    return f"execute {_PREPARED}{arguments}"


def explained(statement: str, *, is_run: bool) -> str:
    """Return the command that plans a statement, and executes it if `is_run`."""
    options = "analyze, buffers, settings" if is_run else "settings"
    return f"explain ({options}, format json) {statement}"


def setting(name: str) -> str:
    """Return the command that shows the value of a setting."""
    return f"show {name}"
