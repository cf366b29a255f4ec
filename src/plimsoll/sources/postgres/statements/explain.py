"""
Provide the statements of `explain record`: facts of the server, its counters, and the transaction around EXPLAIN.

Rule 1: a statement of the user is sent unchanged after EXPLAIN, in a transaction that is rolled back.
Rule 2: our own statements find names in pg_catalog only. Statements of the user search pg_catalog first, then
        the role's own search_path.
"""

# A longer wait would delay the sessions that queue for the same lock after us.
LOCK_TIMEOUT_MS = 500
_PREPARED = "plimsoll_explain"

# A function in a statement of the user runs with these rights of the role, so we check them first.
SELF = """
select pg_catalog.current_setting('block_size')::int as block_bytes,
       (select r.rolsuper from pg_catalog.pg_roles r where r.rolname = current_user)
       or pg_catalog.pg_has_role(current_user, 'pg_execute_server_program', 'usage')
       or pg_catalog.pg_has_role(current_user, 'pg_write_server_files', 'usage') as is_powerful
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
       wal_bytes::double precision as wal_bytes,
       userid = (select r.oid from pg_catalog.pg_roles r where r.rolname = current_user) as is_own
from {schema}.pg_stat_statements(true)
where dbid = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
      and toplevel
order by total_exec_time desc
limit {int(limit)}
"""  # noqa: S608 - numbers, constants and a name quoted by the server


def beginning(
    path: str, *, timeout_s: int, allows_writes: bool, is_generic: bool
) -> tuple[str, ...]:
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
