"""
Provide the statements of `record host --dsn`, and the guards of queries to pg_stat_statements.

Rule 1: statistics views and settings only; user tables are never read.
Rule 2: each statement returns one row, whatever the size of the server.
Rule 3: every function, relation and type is named with its schema, and `terms.SAFE_PATH` is set before anything
        that uses an operator: the owner of a database chooses its search_path, and what we call runs
        with our rights, which may be a superuser's.
The views' columns by version: PostgreSQL documentation, "The Cumulative Statistics System",
editions 14 to 18, checked against live servers.
"""

# A role without pg_read_all_settings does not see the row data_directory of pg_settings;
# `show data_directory` would be an error instead.
FACTS = """
select current_user::pg_catalog.text as role,
       pg_catalog.current_setting('server_version') as version,
       pg_catalog.current_setting('max_connections')::int as connection_max,
       (select setting from pg_catalog.pg_settings where name = 'data_directory') as data_directory,
       pg_catalog.pg_has_role(current_user, 'pg_read_all_stats', 'usage') as sees_all_sessions
"""

# Dropping a database or resetting its statistics changes the sum over all databases. The number of databases and
# the time of the last reset show when two sums cannot be compared.
_TRANSACTIONS = """
select coalesce(pg_catalog.sum(xact_commit + xact_rollback), 0)::bigint as transaction_count,
       coalesce(pg_catalog.sum(xact_rollback), 0)::bigint as rollback_count,
       pg_catalog.concat(pg_catalog.count(*), ' ', pg_catalog.max(stats_reset)) as transaction_epoch
from pg_catalog.pg_stat_database
"""

# Without pg_read_all_stats the columns that describe a session are null. Our own session is excluded.
_SESSIONS = """
select pg_catalog.count(*) filter (where backend_type = 'client backend') as connection_count,
       pg_catalog.count(*) filter (where backend_type = 'client backend' and state = 'active')
           as active_count,
       pg_catalog.count(*) filter (where backend_type = 'client backend' and state = 'active'
                          and wait_event_type is not null) as waiting_count,
       pg_catalog.count(*) filter (where backend_type is null) as hidden_count
from pg_catalog.pg_stat_activity
where pid <> pg_catalog.pg_backend_pid() and application_name is distinct from 'plimsoll'
"""

# Relation extension writes too. Since 18 the view counts bytes, and WAL with them.
_IO_SINCE_18 = """
select coalesce(pg_catalog.sum(read_bytes), 0)::bigint as read_bytes,
       coalesce(pg_catalog.sum(coalesce(write_bytes, 0) + coalesce(extend_bytes, 0)), 0)::bigint
           as written_bytes,
       pg_catalog.max(stats_reset)::pg_catalog.text as io_epoch
from pg_catalog.pg_stat_io
"""

# 16 and 17 count operations, all of op_bytes each, and no WAL.
_IO_16_AND_17 = """
select coalesce(pg_catalog.sum(reads * op_bytes), 0)::bigint as read_bytes,
       coalesce(pg_catalog.sum((coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes), 0)::bigint
           as written_bytes,
       pg_catalog.max(stats_reset)::pg_catalog.text as io_epoch
from pg_catalog.pg_stat_io
"""

_NO_IO = "select null::bigint as read_bytes, null::bigint as written_bytes, null::pg_catalog.text as io_epoch"


def reading_query(version_number: int) -> str:
    """
    Return the statement of a reading for a server's `server_version_num`.

    The columns of its row: transaction_count, rollback_count, transaction_epoch, connection_count, active_count,
    waiting_count, hidden_count, read_bytes, written_bytes, io_epoch; the last three are null before PostgreSQL 16.
    """
    if version_number >= 180000:
        io = _IO_SINCE_18
    elif version_number >= 160000:
        io = _IO_16_AND_17
    else:
        io = _NO_IO
    return f"select * from ({_TRANSACTIONS}) t, ({_SESSIONS}) s, ({io}) i"  # noqa: S608 - constants


def lock_statements(schema: str) -> str:
    """Return the lock that prevents replacement of pg_stat_statements until the transaction ends."""
    return f"lock table {schema}.pg_stat_statements in access share mode"


def genuine_statements(schema: str) -> str:
    """
    Return a query that divides by zero if a function of pg_stat_statements is not in C.

    The owner of the schema may drop the extension and create functions with the same names. Only superusers create
    functions in C. Send this after the lock, in the transaction that reads the view. The server quotes `schema`.
    """
    return f"""
select 1 / (case when pg_catalog.bool_and(l.lanname = 'c') then 1 else 0 end)
from pg_catalog.pg_proc p join pg_catalog.pg_language l on l.oid = p.prolang
     join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where p.proname in ('pg_stat_statements', 'pg_stat_statements_info')
      and pg_catalog.quote_ident(n.nspname) = '{schema.replace("'", "''")}'
"""  # noqa: S608 - a name quoted by the server
