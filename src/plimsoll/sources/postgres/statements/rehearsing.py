"""
Provide the statements of `rehearse`: a scratch table of the shape of another one, and what filling it cost.

Rule 1: the named table is read in the catalogs only. What is created lies in a schema of our own, which is dropped.
Rule 2: `schema` is a name of ours; other names were quoted by the server; `%s` is a parameter.
Rule 3: a run holds an advisory lock on its schema as long as its session lives, so that the next run knows which
        schemas a killed run has left.
"""

import secrets

from plimsoll.sources.postgres.statements.loading import LEDGER_NAME, UNLOGGED_LEDGER_NAME

SCHEMA_PREFIX = "plimsoll_rehearsal_"
TABLE = "sample"
# "plim" in ASCII: the first half of the key of our advisory locks.
_LOCK_CLASS = 0x706C696D

NUMBERS = "numbers"
# 64 random bits in hex: no two rehearsals meet.
_SUFFIX_DIGITS = 16

# A schema is ours by its name and its owner, and as long as nothing else is in it: our tables and sequence, the ledger
# of the load, and what the shape of the table has brought along (sequences of identity columns, statistics). Indexes
# and row types depend on their table alone.
LEFT = f"""
select n.nspname::pg_catalog.text
from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner and r.rolname = current_user
where n.nspname ~ '^{SCHEMA_PREFIX}[0-9a-f]{{{_SUFFIX_DIGITS}}}$'
  and not exists (
    select from pg_catalog.pg_depend d
    left join pg_catalog.pg_class c on d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and c.oid = d.objid
    left join pg_catalog.pg_statistic_ext s
      on d.classid = 'pg_catalog.pg_statistic_ext'::pg_catalog.regclass and s.oid = d.objid
    left join pg_catalog.pg_depend o
      on c.relkind = 'S' and o.classid = d.classid and o.objid = d.objid and o.deptype = 'i'
    left join pg_catalog.pg_class t on t.oid = coalesce(s.stxrelid, o.refobjid, c.oid) and t.relnamespace = n.oid
    where d.refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass and d.refobjid = n.oid
      and (t.relname in ('{TABLE}', '{LEDGER_NAME}', '{UNLOGGED_LEDGER_NAME}') and t.relkind = 'r'
           or t.relname = '{NUMBERS}' and t.relkind = 'S') is not true)
order by 1
"""  # noqa: S608 - constants
LOCK = f"select pg_catalog.pg_try_advisory_lock({_LOCK_CLASS}, pg_catalog.hashtext(%s))"
UNLOCK = f"select pg_catalog.pg_advisory_unlock({_LOCK_CLASS}, pg_catalog.hashtext(%s))"

IS_STANDBY = "select pg_catalog.pg_is_in_recovery()"

SHAPE = """
select c.relpersistence = 'u' as is_unlogged, c.relkind = 'p' as is_partitioned,
       pg_catalog.array_to_string(c.reloptions, ', ') as options,
       (select pg_catalog.count(*) from pg_catalog.pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal) as triggers,
       (select pg_catalog.count(*) from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'f') as keys
from pg_catalog.pg_class c where c.oid = %s
"""
# Defaults that take numbers from a sequence of the user's.
TAKES_NUMBERS = """
select pg_catalog.quote_ident(a.attname)
from pg_catalog.pg_attrdef d join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
where d.adrelid = %s and a.attgenerated = ''
  and pg_catalog.pg_get_expr(d.adbin, d.adrelid) like '%%nextval(%%'
order by a.attnum
"""
# By the definition without names: those of the scratch table are others.
PRESENT_INDEXES = """
select i.indexrelid::pg_catalog.regclass::pg_catalog.text, pg_catalog.pg_relation_size(i.indexrelid)::double precision,
       pg_catalog.regexp_replace(pg_catalog.pg_get_indexdef(i.indexrelid), '^.* USING ', '')
from pg_catalog.pg_index i where i.indrelid = %s and i.indisready
order by i.indexrelid
"""
SCRATCH_INDEXES = """
select i.indexrelid::bigint, a.amname::pg_catalog.text, pg_catalog.pg_relation_size(i.indexrelid)::double precision,
       pg_catalog.regexp_replace(pg_catalog.pg_get_indexdef(i.indexrelid), '^.* USING ', ''),
       array(select pg_catalog.pg_get_indexdef(i.indexrelid, n, true)
             from pg_catalog.generate_series(1, i.indnkeyatts::int) n),
       pg_catalog.pg_get_expr(i.indpred, i.indrelid)
from pg_catalog.pg_index i
     join pg_catalog.pg_class c on c.oid = i.indexrelid join pg_catalog.pg_am a on a.oid = c.relam
where i.indrelid = %s
order by i.indexrelid
"""
OID = "select %s::pg_catalog.regclass::pg_catalog.oid::bigint"

# TOAST with its index; what the table itself uses is counted by its rows.
TOAST_BYTES = """
select coalesce(pg_catalog.pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0)::double precision
from pg_catalog.pg_class c where c.oid = %s
"""

SETTINGS = """
select pg_catalog.current_setting('block_size')::double precision,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers'))::double precision,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('effective_cache_size'))::double precision,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('max_wal_size'))::double precision,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('wal_segment_size'))::double precision,
       extract(epoch from pg_catalog.current_setting('checkpoint_timeout')::interval)::double precision,
       pg_catalog.current_setting('checkpoint_completion_target')::double precision,
       pg_catalog.current_setting('full_page_writes') = 'on',
       pg_catalog.current_setting('wal_compression') <> 'off',
       pg_catalog.current_setting('autovacuum') = 'on'
"""
# The position is exact; images are counted when a session reports them, which is when its transaction ends.
WAL = """
select pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::double precision,
       w.wal_fpi::double precision
from pg_catalog.pg_stat_wal w
"""


def schema_new() -> str:
    """Return a name for a schema of ours that no other has."""
    return f"{SCHEMA_PREFIX}{secrets.token_hex(_SUFFIX_DIGITS // 2)}"


def schema_made(schema: str) -> str:
    """Return the command that creates our schema."""
    return f"create schema {schema}"


def schema_dropped(schema: str) -> str:
    """Return the command that drops our schema and all that is in it."""
    return f"drop schema if exists {schema} cascade"


def table_made(schema: str, like: str, *, is_unlogged: bool, options: str) -> str:
    """Return the command that creates the scratch table; `options` are those of the other table, or empty."""
    kind = "unlogged table" if is_unlogged else "table"
    settings = f" with ({options})" if options else ""
    return f"create {kind} {schema}.{TABLE} (like {like} including all){settings}"


def numbers_made(schema: str) -> str:
    """Return the command that creates our own sequence."""
    return f"create sequence {schema}.{NUMBERS}"


def numbers_taken(schema: str, column: str) -> str:
    """Return the command that lets a column take numbers from our own sequence."""
    return f"alter table {schema}.{TABLE} alter column {column} set default pg_catalog.nextval('{schema}.{NUMBERS}')"


def blocks_used(schema: str) -> str:
    """Return the query for rows, and blocks of the scratch table that have one."""
    return (
        "select pg_catalog.count(*), pg_catalog.count(distinct (ctid::pg_catalog.text::pg_catalog.point)[0])"  # noqa: S608 - ours
        f" from {schema}.{TABLE}"
    )


def pages_touched(schema: str, keys: str, predicate: str | None) -> str:
    """
    Return the query for how many pages of an index windows of consecutive rows touch, on average.

    Parameters: rows on a page, and rows of a window. Rows are ranked by the keys of the index: rank ÷ rows on a
    page is the page.
    """
    where = f" where {predicate}" if predicate else ""
    return f"""
select pg_catalog.avg(pages)::double precision, pg_catalog.avg(count)::double precision from (
  select pg_catalog.count(distinct pg_catalog.floor(place / %s::double precision)) as pages, pg_catalog.count(*) as count
  from (
    select pg_catalog.row_number() over (order by {keys}) - 1 as place,
           (pg_catalog.row_number() over (order by ctid) - 1) / %s::bigint as part
    from {schema}.{TABLE}{where}
  ) ranked
  group by part
) windows
"""  # noqa: S608 - from the server's own definition of the index
