"""
Statements of an inspection, by version; beside them it sends those of `wal`, `standing` and `locks`.

Rule 1: statistics functions and views, catalogs and settings only; no table of the user's is read.
Rule 2: no lock above ACCESS SHARE, and that only where a size is asked for.
Rule 3: rows are bounded by the numbers below, whatever the size of the database.
Rule 4: a part that fails (a right, an extension, a view of another vendor's server) fails alone.
Rule 5: object identifiers are written into statements as numbers; nothing that is text is.
Rule 6: every function, relation and type is named with its schema (`recording`, rule 3).

Columns by version: PostgreSQL documentation, "The Cumulative Statistics System", editions 14 to 18,
checked against live servers. The functions are those below pg_stat_all_tables and
pg_statio_all_tables: asked directly, only the chosen relations are counted, not all of them.
"""

from collections.abc import Iterable

# Judgements: what matters is among the first hundred tables; two thousand leave room, and cost
# about a tenth of a second. A table brings its TOAST relation with it.
TABLES_MAX = 2_000
INDEXES_MAX = 4_000
# Looking at a file costs more than all counters of its relation: we do it for those that matter most.
SIZED_TABLES_MAX = 500
SIZED_INDEXES_MAX = 1_000
SESSIONS_MAX = 10_000
STATEMENTS_MAX = 2_000
# Texts are read from a file that the server keeps; we want enough to recognise a statement.
STATEMENT_TEXTS_MAX = 300
STATEMENT_TEXT_CHARACTERS_MAX = 2_000
COLUMN_TABLES_MAX = 200
DEFINITIONS_MAX = 300
DATABASES_MAX = 10_000

FACTS = """
select current_user::pg_catalog.text,
       pg_catalog.current_setting('server_version'),
       pg_catalog.current_setting('server_version_num')::int,
       pg_catalog.pg_is_in_recovery(),
       pg_catalog.current_setting('block_size')::int,
       array(select r from pg_catalog.unnest(array['pg_monitor', 'pg_read_all_stats', 'pg_read_all_settings']) r
             where pg_catalog.pg_has_role(current_user, r, 'usage'))
"""

# Tells one run of a server from the next, and one server from another behind the same name.
RUN = (
    "select extract(epoch from pg_catalog.pg_postmaster_start_time())::double precision, pg_catalog.pg_is_in_recovery()"
)

# After a crash counters begin at zero, and this is the time of the recovery.
COUNTED_FROM = "select extract(epoch from stats_reset)::double precision from pg_catalog.pg_stat_bgwriter"

MOMENT = "select extract(epoch from pg_catalog.clock_timestamp())::double precision"

# Asking takes no transaction id. The age of multixact 1 is the newest one less 1, of 32 bits with a sign.
MOMENT_AND_IDS = """
select extract(epoch from pg_catalog.clock_timestamp())::double precision,
       pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::bigint,
       pg_catalog.mxid_age('1'::pg_catalog.xid)
"""

# The control file knows how long a TOAST chunk may be.
TOAST_CHUNK = "select max_toast_chunk_size from pg_catalog.pg_control_init()"

EXTENSIONS = """
select e.extname::pg_catalog.text, e.extversion, pg_catalog.quote_ident(n.nspname)
from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace
order by 1
"""

# `reset_val`, not `setting`: the guards above have changed some for our own transaction.
SETTINGS = """
select name, coalesce(reset_val, '')
from pg_catalog.pg_settings
where name ~ '^(autovacuum|vacuum_|checkpoint_|bgwriter_|wal_|max_wal|min_wal|track_|io_|log_temp)'
   or name ~ '^(auto_explain[.]|pg_stat_statements[.]|rds[.]|tcp_keepalives|max_parallel)'
   or name ~ '(_timeout|_io_concurrency|_mem|_buffers|_connections|_flush_after|_page_cost)$'
   or name in ('full_page_writes', 'synchronous_commit', 'default_toast_compression',
               'effective_cache_size', 'hash_mem_multiplier', 'temp_file_limit', 'block_size',
               'shared_preload_libraries', 'log_autovacuum_min_duration', 'max_worker_processes',
               'client_connection_check_interval', 'hot_standby_feedback', 'max_replication_slots',
               'commit_delay', 'fsync', 'data_checksums', 'huge_pages', 'data_directory')
order by name
"""

# Marks of the platform, for `model.platform`: settings, superusers and a function of providers. Of commands and
# folders only whether they are those of CloudNativePG's manager.
PLATFORM = """
select distinct pg_catalog.split_part(s.name, '.', 1)
from pg_catalog.pg_settings s where s.name ~ '^(rds|cloudsql|azure|alloydb|neon|supautils)[.]'
union all
select r.rolname::pg_catalog.text from pg_catalog.pg_roles r
where r.rolsuper and r.rolname in ('rdsadmin', 'cloudsqladmin', 'alloydbadmin', 'azuresu', 'supabase_admin')
union all
select 'aurora' from pg_catalog.pg_proc p
where p.proname = 'aurora_version' and p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace
union all
select 'cnpg' where pg_catalog.current_setting('cnpg.config_sha256', true) is not null
union all
select 'cnpg' from pg_catalog.pg_settings s
where s.name in ('unix_socket_directories', 'archive_command') and s.setting ~ '/controller/'
union all
select 'file' from pg_catalog.pg_settings s where s.name = 'allow_alter_system' and s.setting = 'off'
"""

# Of other users' sessions a role without pg_read_all_stats sees process, user, database, application.
SESSIONS = f"""
select pid, backend_type, usename::pg_catalog.text, datname::pg_catalog.text, application_name, pg_catalog.host(client_addr), state,
       wait_event_type, wait_event,
       extract(epoch from pg_catalog.clock_timestamp() - backend_start)::double precision,
       extract(epoch from pg_catalog.clock_timestamp() - xact_start)::double precision,
       extract(epoch from pg_catalog.clock_timestamp() - state_change)::double precision,
       query_id
from pg_catalog.pg_stat_activity
where pid <> pg_catalog.pg_backend_pid()
limit {SESSIONS_MAX}
"""  # noqa: S608 - constants


def transactions(version_number: int) -> str:
    """
    Return transactions so far in all databases, and seconds spent on statements; None before 15.

    There a file with the statistics of all tables is written and read for every such question.
    """
    if version_number < 150_000:
        return "select null::bigint, null::double precision"
    return """
select pg_catalog.sum(xact_commit + xact_rollback)::bigint, pg_catalog.sum(active_time) / 1000
from pg_catalog.pg_stat_database
"""


def vacuums(version_number: int) -> str:
    """Return the query for running vacuums in all databases; from 18 on with the time slept for cost limits."""
    delay = "p.delay_time" if version_number >= 180_000 else "null::double precision"
    return f"""
select p.pid, p.relid,
       coalesce((select pg_catalog.format('%I.%I', n.nspname, c.relname)
                 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
                 where c.oid = p.relid and p.datname = pg_catalog.current_database()),
                pg_catalog.format('%s: relation %s', p.datname, p.relid)),
       p.phase, p.heap_blks_total, p.heap_blks_scanned, p.heap_blks_vacuumed, p.index_vacuum_count,
       a.backend_type = 'autovacuum worker', a.query like '%to prevent wraparound%',
       extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::double precision, {delay}
from pg_catalog.pg_stat_progress_vacuum p join pg_catalog.pg_stat_activity a on a.pid = p.pid
where p.relid is not null
"""  # noqa: S608 - constants


# By database, so that one that was dropped or reset meanwhile can be left out of the differences.
DATABASES = f"""
select datid, xact_commit, xact_rollback, temp_files, temp_bytes, blks_read, blks_hit, sessions,
       sessions_abandoned, sessions_fatal, sessions_killed,
       extract(epoch from stats_reset)::double precision
from pg_catalog.pg_stat_database
order by numbackends desc, datid
limit {DATABASES_MAX}
"""  # noqa: S608 - constants


def checkpoints(version_number: int) -> str:
    """Return the query for checkpoints, and for blocks by checkpointer, background writer and backends."""
    if version_number >= 170_000:
        return """
select c.num_timed, c.num_requested, c.buffers_written, b.buffers_clean, null::bigint
from pg_catalog.pg_stat_checkpointer c, pg_catalog.pg_stat_bgwriter b
"""
    return """
select checkpoints_timed, checkpoints_req, buffers_checkpoint, buffers_clean, buffers_backend
from pg_catalog.pg_stat_bgwriter
"""


def io(version_number: int) -> str | None:
    """Return the query for bytes by backend type, object and context; None before 16. 16 and 17 count operations."""
    if version_number < 160_000:
        return None
    columns = (
        "read_bytes::double precision, write_bytes::double precision, extend_bytes::double precision"
        if version_number >= 180_000
        else "(reads * op_bytes)::double precision, (writes * op_bytes)::double precision, (extends * op_bytes)::double precision"
    )
    return f"""
select backend_type, object, context, {columns}, read_time, write_time
from pg_catalog.pg_stat_io
where coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0) > 0
"""  # noqa: S608 - constants


_ACTIVITY = """
       pg_catalog.pg_stat_get_blocks_fetched({0}) + pg_catalog.pg_stat_get_tuples_inserted({0})
       + pg_catalog.pg_stat_get_tuples_updated({0}) + pg_catalog.pg_stat_get_tuples_deleted({0})
"""

_COUNTED = """
       c.relkind in ('r', 'm') and c.relpersistence <> 't'
       and c.relnamespace not in (select oid from pg_catalog.pg_namespace where nspname in
                                  ('pg_catalog', 'information_schema', 'pg_toast'))
"""


def tables_chosen() -> str:
    """Return the query for the tables with the most blocks and changes, with their TOAST relation or 0."""
    return f"""
select c.oid, c.reltoastrelid
from pg_catalog.pg_class c
where {_COUNTED}
order by c.relpages::bigint + {_ACTIVITY.format("c.oid")}
         + case when c.reltoastrelid <> 0 then {_ACTIVITY.format("c.reltoastrelid")} else 0 end desc,
         c.oid
limit {TABLES_MAX}
"""  # noqa: S608 - constants


def tables_largest(count: int) -> str:
    """Return the query for the largest tables by pg_class, as of their last vacuum or analyze."""
    return f"""
select c.oid, c.reltoastrelid
from pg_catalog.pg_class c
where {_COUNTED}
order by c.relpages desc, c.oid
limit {int(count)}
"""  # noqa: S608 - numbers and constants


def tables_since(newest: int) -> str:
    """Return the query for tables created after the relation `newest`, with their TOAST relation or 0."""
    return f"""
select c.oid, c.reltoastrelid
from pg_catalog.pg_class c
where {_COUNTED} and c.oid > {int(newest)}
order by c.oid
limit {TABLES_MAX}
"""  # noqa: S608 - numbers and constants


NEWEST = "select pg_catalog.max(oid) from pg_catalog.pg_class"

# The index counters of one table: scans, blocks fetched, blocks hit.
_INDEXES_OF = """
  left join lateral (
    select pg_catalog.sum(pg_catalog.pg_stat_get_numscans(i.indexrelid))::bigint as scans,
           pg_catalog.sum(pg_catalog.pg_stat_get_blocks_fetched(i.indexrelid)
               - pg_catalog.pg_stat_get_blocks_hit(i.indexrelid))::bigint as blocks_read
    from pg_catalog.pg_index i where i.indrelid = c.oid) x on true
"""


def relations(oids: Iterable[int]) -> str:
    """Return the query for counters of tables and TOAST relations by OID; dropped relations give no row."""
    return f"""
select c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), c.relkind, c.relispartition, c.reltoastrelid,
       c.relpages, c.reltuples::double precision, c.reloptions,
       pg_catalog.pg_stat_get_tuples_inserted(c.oid), pg_catalog.pg_stat_get_tuples_updated(c.oid),
       pg_catalog.pg_stat_get_tuples_hot_updated(c.oid), pg_catalog.pg_stat_get_tuples_deleted(c.oid),
       pg_catalog.pg_stat_get_live_tuples(c.oid), pg_catalog.pg_stat_get_dead_tuples(c.oid),
       pg_catalog.pg_stat_get_mod_since_analyze(c.oid), pg_catalog.pg_stat_get_ins_since_vacuum(c.oid),
       pg_catalog.pg_stat_get_numscans(c.oid), pg_catalog.pg_stat_get_tuples_returned(c.oid), x.scans,
       pg_catalog.pg_stat_get_blocks_fetched(c.oid) - pg_catalog.pg_stat_get_blocks_hit(c.oid),
       pg_catalog.pg_stat_get_blocks_hit(c.oid), x.blocks_read,
       extract(epoch from pg_catalog.pg_stat_get_last_vacuum_time(c.oid))::double precision,
       extract(epoch from pg_catalog.pg_stat_get_last_autovacuum_time(c.oid))::double precision,
       pg_catalog.pg_stat_get_vacuum_count(c.oid), pg_catalog.pg_stat_get_autovacuum_count(c.oid)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace {_INDEXES_OF}
where c.oid = any({_oids(oids)})
"""  # noqa: S608 - numbers and constants


def indexes(version_number: int, table_oids: Iterable[int]) -> str:
    """Return the query for the largest and busiest indexes of the tables."""
    last_scan = (
        "pg_catalog.pg_stat_get_lastscan(i.indexrelid)" if version_number >= 160_000 else "null::pg_catalog.timestamptz"
    )
    return f"""
select i.indexrelid, pg_catalog.format('%I.%I', n.nspname, c.relname), i.indrelid, c.relpages,
       pg_catalog.pg_stat_get_numscans(i.indexrelid),
       pg_catalog.pg_stat_get_blocks_fetched(i.indexrelid) - pg_catalog.pg_stat_get_blocks_hit(i.indexrelid),
       pg_catalog.pg_stat_get_blocks_hit(i.indexrelid), i.indisunique,
       i.indexrelid in (select conindid from pg_catalog.pg_constraint where contype in ('p', 'u', 'x', 'f')),
       i.indisvalid, extract(epoch from {last_scan})::double precision
from pg_catalog.pg_index i join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where i.indrelid = any({_oids(table_oids)}) and c.relkind = 'i'
order by c.relpages::bigint + pg_catalog.pg_stat_get_blocks_fetched(i.indexrelid) desc, i.indexrelid
limit {INDEXES_MAX}
"""  # noqa: S608 - numbers and constants


def sizes(oids: Iterable[int]) -> str:
    """
    Return the query for current sizes of main forks.

    Reading a size locks the relation with ACCESS SHARE. Relations with a held or requested exclusive lock are
    excluded, so that we do not wait.
    """
    return f"""
select c.oid, pg_catalog.pg_relation_size(c.oid)
from pg_catalog.pg_class c
where c.oid = any({_oids(oids)})
  and c.oid not in (select relation from pg_catalog.pg_locks
                    where mode = 'AccessExclusiveLock' and relation is not null)
"""  # noqa: S608 - numbers and constants


def definitions(index_oids: Iterable[int]) -> str:
    """Return the query for the definitions of indexes."""
    return f"""
select c.oid, pg_catalog.pg_get_indexdef(c.oid)
from pg_catalog.pg_class c
where c.oid = any({_oids(index_oids)})
"""  # noqa: S608 - numbers and constants


def columns(table_oids: Iterable[int]) -> str:
    """
    Return the query for columns whose values may be stored in TOAST, with their mean width in the row.

    pg_stats shows widths only of columns that the role may select.
    """
    return f"""
select a.attrelid, a.attname::pg_catalog.text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attstorage,
       a.attcompression,
       (select s.avg_width from pg_catalog.pg_stats s
        where s.schemaname = n.nspname and s.tablename = c.relname and s.attname = a.attname
        order by s.inherited limit 1)::double precision,
       pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')
from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where a.attrelid = any({_oids(table_oids)}) and a.attnum > 0 and not a.attisdropped
  and a.attlen = -1 and a.attstorage <> 'p'
order by a.attrelid, a.attnum
"""  # noqa: S608 - numbers and constants


def statements(schema: str, extension_version: str, known: Iterable[int] | None) -> str | None:
    """
    Return the query for counters of the most expensive statements in all databases; None before version 1.8.

    Without ALTER EXTENSION … UPDATE the view is older than the server, so the extension's version
    decides.

    Args:
        schema: schema of the extension, quoted by the server.
        extension_version: version of the extension, for example `1.10`.
        known: query IDs to read again; None for the most expensive ones.
    """
    version = numbered(extension_version)
    if version < (1, 8):
        return None
    times = (
        "pg_catalog.sum(shared_blk_read_time + local_blk_read_time), pg_catalog.sum(shared_blk_write_time + local_blk_write_time)"
        if version >= (1, 11)
        else "pg_catalog.sum(blk_read_time), pg_catalog.sum(blk_write_time)"
    )
    which = "" if known is None else f"and queryid = any({_query_ids(known)})"
    return f"""
select queryid, pg_catalog.sum(calls)::bigint, pg_catalog.sum(rows)::bigint, pg_catalog.sum(total_exec_time),
       pg_catalog.sum(shared_blks_read)::bigint, pg_catalog.sum(shared_blks_hit)::bigint,
       pg_catalog.sum(shared_blks_dirtied)::bigint, pg_catalog.sum(shared_blks_written)::bigint,
       pg_catalog.sum(temp_blks_read)::bigint, pg_catalog.sum(temp_blks_written)::bigint,
       {times}, pg_catalog.sum(wal_bytes)::double precision
from {schema}.pg_stat_statements(false)
where queryid is not null {which}
group by queryid
order by pg_catalog.sum(total_exec_time) + pg_catalog.sum(shared_blks_read + shared_blks_written + temp_blks_written) desc,
         queryid
limit {STATEMENTS_MAX}
"""  # noqa: S608 - numbers, constants and a name quoted by the server


def statements_known(schema: str) -> str:
    """Return the query for all query IDs, and for whether some are hidden from the role."""
    return f"""
select coalesce(pg_catalog.array_agg(distinct queryid) filter (where queryid is not null), '{{}}'),
       coalesce(pg_catalog.bool_or(queryid is null), false)
from {schema}.pg_stat_statements(false)
"""  # noqa: S608 - a name quoted by the server


def statement_texts(schema: str, query_ids: Iterable[int]) -> str:
    """Return the beginning of the texts, which are normalised: they hold no values."""
    return f"""
select queryid, pg_catalog.left(pg_catalog.min(query), {STATEMENT_TEXT_CHARACTERS_MAX})
from {schema}.pg_stat_statements(true)
where queryid = any({_query_ids(query_ids)})
group by queryid
"""  # noqa: S608 - numbers and a name quoted by the server


def parents(oids: Iterable[int]) -> str:
    """Return the topmost parent of each partition among the relations, quoted by the server."""
    return f"""
select c.oid, pg_catalog.format('%I.%I', n.nspname, r.relname)
from pg_catalog.pg_class c
join pg_catalog.pg_class r on r.oid = pg_catalog.pg_partition_root(c.oid)
join pg_catalog.pg_namespace n on n.oid = r.relnamespace
where c.relispartition and c.oid = any({_oids(oids)})
"""  # noqa: S608 - numbers


# When the counters of the whole server were last set to zero, by name. The checkpointer's are those of the
# background writer before 17. Each view has one row, or the same time in every row.
_RESET_TIMES = {
    "wal": ("pg_stat_wal", 140_000),
    "bgwriter": ("pg_stat_bgwriter", 140_000),
    "io": ("pg_stat_io", 160_000),
    "checkpointer": ("pg_stat_checkpointer", 170_000),
}


def reset_times(version_number: int) -> str:
    """Name and time of the last reset of each kind of counter that this version keeps apart."""
    views = [(name, view) for name, (view, since) in _RESET_TIMES.items() if version_number >= since]
    return " union all ".join(
        f"select '{name}', "  # noqa: S608 - names of the table above
        f"pg_catalog.max(extract(epoch from v.stats_reset))::pg_catalog.float8 "
        f"from pg_catalog.{view} v"
        for name, view in views
    )


# The database we are connected to: its tables are reset with it.
OUR_DATABASE = "select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()"


def statements_reset_time(schema: str) -> str:
    """Return when pg_stat_statements was last emptied; `schema` comes quoted from the server."""
    return (
        f"select 'statements', extract(epoch from i.stats_reset)::pg_catalog.float8 "  # noqa: S608
        f"from {schema}.pg_stat_statements_info() i"
    )


def numbered(version: str) -> tuple[int, ...]:
    """Return `1.10` as (1, 10)."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _oids(numbers: Iterable[int]) -> str:
    return f"'{{{_listed(numbers)}}}'::pg_catalog.oid[]"


def _query_ids(numbers: Iterable[int]) -> str:
    return f"'{{{_listed(numbers)}}}'::bigint[]"


def _listed(numbers: Iterable[int]) -> str:
    return ",".join(str(int(number)) for number in numbers)
