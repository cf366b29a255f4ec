"""
Provide the statements of `pace`: counters of I/O and WAL, and the rates that other batches tell.

Rule 1: the rules of `recording` apply: no table of the user's is read, and every name has its schema.
Rule 2: a batch tells its rate in `application_name`, which every role may see; nothing is written.

Columns by version: PostgreSQL documentation, "The Cumulative Statistics System", editions 14 to 18.
"""

NAME_PREFIX = "plimsoll pace "
"""A paced batch's `application_name` begins so; then its rate in bytes/s: `3000000`."""

# Another batch's row is seen as long as its session is.
PEERS = f"""
select application_name from pg_catalog.pg_stat_activity
where application_name like '{NAME_PREFIX}%' and pid <> pg_catalog.pg_backend_pid()
order by pid
limit 100
"""  # noqa: S608 - a constant


def counts(version_number: int) -> str:
    """
    Return the query for bytes and operations of tables, and for WAL, since the counters began.

    The position of WAL is exact at any moment; the counters of a session are reported when its transaction
    ends. From 18 on, `pg_stat_io` also counts writes of WAL; before, `pg_stat_wal` does.
    """
    wal = """
       pg_catalog.pg_wal_lsn_diff(case when pg_catalog.pg_is_in_recovery() then null
                                  else pg_catalog.pg_current_wal_insert_lsn() end, '0/0')::double precision,
       w.wal_fpi::double precision, pg_catalog.current_setting('block_size')::int"""
    if version_number >= 180_000:
        return f"""
select i.table_bytes, i.ops, {wal}
from pg_catalog.pg_stat_wal w,
     (select pg_catalog.sum(coalesce(read_bytes, 0) + coalesce(write_bytes, 0) + coalesce(extend_bytes, 0))
                 filter (where object <> 'wal')::double precision as table_bytes,
             pg_catalog.sum(coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0))::double precision as ops
      from pg_catalog.pg_stat_io) i
"""  # noqa: S608 - constants
    if version_number >= 160_000:
        return f"""
select i.table_bytes, i.ops + w.wal_write, {wal}
from pg_catalog.pg_stat_wal w,
     (select pg_catalog.sum((coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0)) * op_bytes)::double precision
                 as table_bytes,
             pg_catalog.sum(coalesce(reads, 0) + coalesce(writes, 0) + coalesce(extends, 0))::double precision as ops
      from pg_catalog.pg_stat_io) i
"""  # noqa: S608 - constants
    return f"""
select (d.blocks + b.blocks) * pg_catalog.current_setting('block_size')::int, d.blocks + b.blocks + w.wal_write, {wal}
from pg_catalog.pg_stat_wal w,
     (select pg_catalog.sum(blks_read)::double precision as blocks from pg_catalog.pg_stat_database) d,
     (select (buffers_checkpoint + buffers_clean + buffers_backend)::double precision as blocks
      from pg_catalog.pg_stat_bgwriter) b
"""  # noqa: S608 - constants


def named(bytes_per_s: float) -> str:
    """Return the statement that tells other batches the rate of this one."""
    return f"set application_name = '{NAME_PREFIX}{bytes_per_s:.0f}'"
