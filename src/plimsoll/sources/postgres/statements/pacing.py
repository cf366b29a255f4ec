"""
Provide the statements of `pace`: counters of I/O and WAL, and the rates that other batches tell.

Rule 1: the rules of `recording` apply: no table of the user's is read, and every name has its schema.
Rule 2: a batch tells its rate in `application_name`, which every role may see; nothing is written.

Columns by version: PostgreSQL documentation, "The Cumulative Statistics System", editions 14 to 18.
"""

NAME_PREFIX = "plimsoll pace "
"""A paced batch's `application_name` begins so; then its rate in bytes/s: `3000000`."""

# Another batch's row is seen as long as its session is. By role: whoever can log in can call himself so.
PEERS = f"""
select p.application_name, p.usesysid::bigint, p.is_of_ours
from (select a.application_name, a.pid, a.usesysid, a.usesysid = o.usesysid as is_of_ours,
             pg_catalog.row_number() over (partition by a.usesysid order by a.pid) as place
      from pg_catalog.pg_stat_activity a
           join pg_catalog.pg_stat_activity o on o.pid = pg_catalog.pg_backend_pid()
      where a.application_name like '{NAME_PREFIX}%' and a.pid <> o.pid) p
where p.place <= 100
order by p.is_of_ours desc, p.usesysid, p.pid
limit 1000
"""  # noqa: S608 - a constant


def counts(version_number: int) -> str:
    """
    Return the query for bytes that tables read, wrote and grew by, and for WAL, since the counters began.

    The position of WAL is exact at any moment; the counters of a session are reported when its transaction
    ends. From 18 on, `pg_stat_io` also counts writes of WAL, which the position has already. Before 16 growth
    counts as written.
    """
    rest = """
       pg_catalog.pg_wal_lsn_diff(case when pg_catalog.pg_is_in_recovery() then null
                                  else pg_catalog.pg_current_wal_insert_lsn() end, '0/0')::double precision,
       w.wal_fpi::double precision,
       pg_catalog.pg_size_bytes(pg_catalog.current_setting('shared_buffers')),
       pg_catalog.current_setting('block_size')::int"""
    if version_number >= 160_000:
        is_table, size = ("object <> 'wal'", "") if version_number >= 180_000 else ("true", "op_bytes")
        sums = ", ".join(
            f"pg_catalog.sum({_bytes_of(kind, size)}) filter (where {is_table})::double precision as {kind}"
            for kind in ("read", "write", "extend")
        )
        ops = "pg_catalog.sum(coalesce(reads, 0) + coalesce(writes, 0))::double precision as ops"
        wal_ops = "0" if version_number >= 180_000 else "w.wal_write"
        return f"""
select i.read, i.write, i.extend, i.ops + {wal_ops}, {rest}
from pg_catalog.pg_stat_wal w, (select {sums}, {ops} from pg_catalog.pg_stat_io) i
"""  # noqa: S608 - constants
    return f"""
select d.blocks * pg_catalog.current_setting('block_size')::int,
       b.blocks * pg_catalog.current_setting('block_size')::int, 0,
       d.blocks + b.blocks + w.wal_write, {rest}
from pg_catalog.pg_stat_wal w,
     (select pg_catalog.sum(blks_read)::double precision as blocks from pg_catalog.pg_stat_database) d,
     (select (buffers_checkpoint + buffers_clean + buffers_backend)::double precision as blocks
      from pg_catalog.pg_stat_bgwriter) b
"""  # noqa: S608 - constants


def _bytes_of(kind: str, size: str) -> str:
    """Return the expression for the bytes of one kind of I/O; before 18 there are counts and a size."""
    return f"coalesce({kind}s, 0) * {size}" if size else f"coalesce({kind}_bytes, 0)"


def named(bytes_per_s: float) -> str:
    """Return the statement that tells other batches the rate of this one."""
    return f"set application_name = '{NAME_PREFIX}{bytes_per_s:.0f}'"
