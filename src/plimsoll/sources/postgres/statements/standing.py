"""
What stands on a server and may stop it one day: ages of ids, what holds vacuum or WAL back, sequences near
their end, invalid indexes, and the sizes that bloat is estimated from.

Asked once, at the end of an inspection. Rule 1: catalogs and statistics only; no lock that anybody waits for: the
size of nothing is looked up in files, and of a sequence the lock of nextval is taken, which only its ALTER and
DROP wait for. Rule 2: every statement has a number of rows at most, and the timeouts of every question of
ours; one that is too slow on a huge catalog is left out and named. Rule 3: every name is qualified.
"""

# Judgements: the ten worst of a kind show the problem; more add nothing.
ROWS_MAX = 10
SLOTS_MAX = 100
# Ten MiB: a smaller relation is read quickly, however empty it is.
BLOAT_PAGES_MIN = 1_280
BLOAT_TABLES_MAX = 200
BLOAT_INDEXES_MAX = 200
# A sequence that has used less than half of its numbers is not reported. A judgement.
SEQUENCE_RATIO_MIN = 0.5
SEQUENCES_MAX = 20
# The largest number of sequences whose value is read.
SEQUENCES_READ_MAX = 5_000

DATABASES = f"""
select d.datname::pg_catalog.text, pg_catalog.age(d.datfrozenxid), pg_catalog.mxid_age(d.datminmxid),
       d.datallowconn
from pg_catalog.pg_database d
order by greatest(pg_catalog.age(d.datfrozenxid), pg_catalog.mxid_age(d.datminmxid)) desc, d.datname
limit {ROWS_MAX}
"""  # noqa: S608 - constants


def oldest_tables(which: str) -> str:
    """Return the query for the tables of this database with the oldest IDs; `which` is `xid` or `mxid`."""
    age = {"xid": "pg_catalog.age(c.relfrozenxid)", "mxid": "pg_catalog.mxid_age(c.relminmxid)"}[which]
    return f"""
select pg_catalog.format('%I.%I', n.nspname, coalesce(o.relname, c.relname)), {age}
from pg_catalog.pg_class c
left join pg_catalog.pg_class o on c.relkind = 't' and o.reltoastrelid = c.oid
join pg_catalog.pg_namespace n on n.oid = coalesce(o.relnamespace, c.relnamespace)
where c.relkind in ('r', 'm', 't')
order by {age} desc, c.oid
limit {ROWS_MAX}
"""  # noqa: S608 - constants


def slots(version_number: int) -> str:
    """Return the query for replication slots with retained WAL and IDs; from 17 on with the time since last use."""
    since = (
        "extract(epoch from pg_catalog.clock_timestamp() - s.inactive_since)::pg_catalog.float8"
        if version_number >= 170_000
        else "null::pg_catalog.float8"
    )
    return f"""
select s.slot_name::pg_catalog.text, s.slot_type, s.database::pg_catalog.text, s.active, s.temporary,
       s.active_pid,
       (case when pg_catalog.pg_is_in_recovery()
             then coalesce(pg_catalog.pg_last_wal_receive_lsn(), pg_catalog.pg_last_wal_replay_lsn())
             else pg_catalog.pg_current_wal_lsn() end - s.restart_lsn)::pg_catalog.float8,
       pg_catalog.age(s.xmin), pg_catalog.age(s.catalog_xmin), s.wal_status,
       s.safe_wal_size::pg_catalog.float8, {since}
from pg_catalog.pg_replication_slots s
order by s.restart_lsn nulls last, s.slot_name
limit {SLOTS_MAX}
"""  # noqa: S608 - constants


PREPARED = f"""
select p.gid, p.owner::pg_catalog.text, p.database::pg_catalog.text,
       extract(epoch from pg_catalog.clock_timestamp() - p.prepared)::pg_catalog.float8,
       pg_catalog.age(p.transaction)
from pg_catalog.pg_prepared_xacts p
order by p.prepared, p.gid
limit {ROWS_MAX}
"""  # noqa: S608 - constants

# Our own session is excluded: its snapshot ends with this statement.
HOLDERS = f"""
select a.pid, a.backend_type, a.usename::pg_catalog.text, a.datname::pg_catalog.text,
       a.application_name, pg_catalog.host(a.client_addr), a.state,
       extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::pg_catalog.float8,
       greatest(pg_catalog.age(a.backend_xmin), pg_catalog.age(a.backend_xid)),
       pg_catalog.left(a.query, 300)
from pg_catalog.pg_stat_activity a
where (a.backend_xmin is not null or a.backend_xid is not null)
  and a.pid <> pg_catalog.pg_backend_pid()
  and a.backend_type <> 'autovacuum worker'
order by greatest(pg_catalog.age(a.backend_xmin), pg_catalog.age(a.backend_xid)) desc, a.xact_start
limit {ROWS_MAX}
"""  # noqa: S608 - constants

# The column that a sequence fills: the one that owns it, or one whose default calls it.
SEQUENCES = f"""
select * from (
  select pg_catalog.format('%I.%I', n.nspname, c.relname) as name, v.last, q.seqincrement,
         case when q.seqincrement > 0 then q.seqmax else q.seqmin end as bound, q.seqcycle,
         u.column_name, u.type_name, u.table_oid,
         case u.type_oid when 21 then 32767 when 23 then 2147483647 end as column_bound
  from (select * from pg_catalog.pg_sequence s order by s.seqrelid limit {SEQUENCES_READ_MAX}) q
  join pg_catalog.pg_class c on c.oid = q.seqrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select case when pg_catalog.has_sequence_privilege(c.oid, 'SELECT,USAGE')
                then pg_catalog.pg_sequence_last_value(c.oid) end as last) v
  left join lateral (
    select pg_catalog.format('%I.%I.%I', tn.nspname, t.relname, a.attname) as column_name,
           a.atttypid as type_oid, pg_catalog.format_type(a.atttypid, null) as type_name,
           t.oid as table_oid
    from (
      select d.refobjid as table_oid, d.refobjsubid as number
      from pg_catalog.pg_depend d
      where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid
        and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjsubid > 0
      union all
      select f.adrelid, f.adnum
      from pg_catalog.pg_depend d join pg_catalog.pg_attrdef f on f.oid = d.objid
      where d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass
        and d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.refobjid = c.oid) x
    join pg_catalog.pg_attribute a on a.attrelid = x.table_oid and a.attnum = x.number
    join pg_catalog.pg_class t on t.oid = x.table_oid
    join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
    order by a.attlen, t.oid limit 1) u on true
  where c.relpersistence <> 't') s
where s.last is not null
  and s.last::pg_catalog.float8 / least(s.bound, coalesce(s.column_bound, s.bound)) >= {SEQUENCE_RATIO_MIN}
order by s.last::pg_catalog.float8 / least(s.bound, coalesce(s.column_bound, s.bound)) desc, s.name
limit {SEQUENCES_MAX}
"""  # noqa: S608 - constants

# An index that is being built is excluded, although it is not valid yet.
INVALID_INDEXES = f"""
select pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.format('%I.%I', tn.nspname, t.relname),
       c.relpages, i.indisready, pg_catalog.pg_get_indexdef(c.oid)
from pg_catalog.pg_index i
join pg_catalog.pg_class c on c.oid = i.indexrelid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class t on t.oid = i.indrelid
join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
where not i.indisvalid and c.relkind = 'i'
  and not exists (select from pg_catalog.pg_stat_progress_create_index p
                  where p.index_relid = i.indexrelid)
order by c.relpages desc, c.oid
limit {ROWS_MAX}
"""  # noqa: S608 - constants

# pg_stats shows widths only of columns that the role may select; `known` counts them.
TABLE_BLOAT = f"""
select pg_catalog.format('%I.%I', n.nspname, c.relname), c.oid, c.relpages, c.reltuples::pg_catalog.float8,
       coalesce((select o.option_value from pg_catalog.pg_options_to_table(c.reloptions) o
                 where o.option_name = 'fillfactor'), '100'),
       w.width, w.known, w.columns, w.nullable,
       pg_catalog.pg_stat_get_live_tuples(c.oid), pg_catalog.pg_stat_get_dead_tuples(c.oid),
       pg_catalog.has_table_privilege(c.oid, 'select'), t.relpages, t.reltuples::pg_catalog.float8,
       (select pg_catalog.count(*) from pg_catalog.pg_attribute d
        where d.attrelid = c.oid and d.attnum > 0 and d.attisdropped)
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
left join pg_catalog.pg_class t on t.oid = c.reltoastrelid
cross join lateral (
  select pg_catalog.sum((1 - s.null_frac) * s.avg_width)::pg_catalog.float8 as width, pg_catalog.count(s.attname) as known,
         pg_catalog.count(*) as columns, pg_catalog.bool_or(s.null_frac > 0) as nullable
  from pg_catalog.pg_attribute a
  left join pg_catalog.pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname
       and s.attname = a.attname and not s.inherited
  where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) w
where c.relkind in ('r', 'm') and c.relpersistence <> 't'
  and (c.relpages >= {BLOAT_PAGES_MIN} or t.relpages >= {BLOAT_PAGES_MIN})
  and n.nspname not in ('pg_catalog', 'information_schema')
order by c.relpages desc, c.oid
limit {BLOAT_TABLES_MAX}
"""  # noqa: S608 - constants

INDEX_BLOAT = f"""
select pg_catalog.format('%I.%I', n.nspname, c.relname), pg_catalog.format('%I.%I', tn.nspname, t.relname),
       c.relpages, c.reltuples::pg_catalog.float8, w.width, w.known = i.indnatts,
       coalesce((select o.option_value from pg_catalog.pg_options_to_table(c.reloptions) o
                 where o.option_name = 'fillfactor'), '90')
from (select c.* from pg_catalog.pg_class c join pg_catalog.pg_am m on m.oid = c.relam
      where c.relkind = 'i' and m.amname = 'btree' and c.relpages >= {BLOAT_PAGES_MIN}
      order by c.relpages desc, c.oid limit {BLOAT_INDEXES_MAX}) c
join pg_catalog.pg_index i on i.indexrelid = c.oid
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_class t on t.oid = i.indrelid
join pg_catalog.pg_namespace tn on tn.oid = t.relnamespace
cross join lateral (
  select pg_catalog.sum((1 - s.null_frac) * s.avg_width)::pg_catalog.float8 as width, pg_catalog.count(s.attname) as known
  from pg_catalog.generate_series(1, i.indnatts::pg_catalog.int4) k
  join pg_catalog.pg_attribute x on x.attrelid = c.oid and x.attnum = k
  left join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[k - 1]
       and i.indkey[k - 1] > 0
  left join pg_catalog.pg_stats s on s.schemaname = tn.nspname and not s.inherited
       and s.tablename = case when a.attname is null then c.relname else t.relname end
       and s.attname = coalesce(a.attname, x.attname)) w
where n.nspname not in ('pg_catalog', 'pg_toast')
order by c.relpages desc, c.oid
limit {BLOAT_INDEXES_MAX}
"""  # noqa: S608 - constants
