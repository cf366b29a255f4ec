"""
Provide the statements of an inspection about WAL and its readers; the rules are those of `inspection.py`.

Before 18 a server counts the WAL that it generates, not what it writes. Two more counters give the
difference: the number of writes (each writes whole pages, also if it begins or ends within one), and the
number of WAL files (a new file is filled with zeros before it is used).
"""


def wal(version_number: int) -> str:
    """Return bytes, full pages and records generated; writes, and those of full buffers. 18 counts bytes in `io`."""
    if version_number >= 180_000:
        return """
select wal_bytes::double precision, wal_fpi, wal_records, null::bigint, null::bigint
from pg_catalog.pg_stat_wal
"""
    return """
select wal_bytes::double precision, wal_fpi, wal_records, wal_write, wal_buffers_full
from pg_catalog.pg_stat_wal
"""


def wal_files(version_number: int) -> str | None:
    """Return bytes of the files that WAL has, a folder's listing; None from 18 on, where `io` counts zeros."""
    if version_number >= 180_000:
        return None
    return "select pg_catalog.sum(size)::double precision from pg_catalog.pg_ls_waldir()"


# A transaction is decoded in memory up to logical_decoding_work_mem; the rest goes to files and is read again.
# Where a slot has got to is how much WAL was read for it.
DECODING = """
select s.slot_name::pg_catalog.text, s.plugin::pg_catalog.text, d.spill_txns, d.spill_count,
       d.spill_bytes::double precision, d.stream_bytes::double precision, d.total_bytes::double precision,
       pg_catalog.pg_wal_lsn_diff(s.confirmed_flush_lsn, '0/0')::double precision
from pg_catalog.pg_replication_slots s
     join pg_catalog.pg_stat_replication_slots d on d.slot_name = s.slot_name::pg_catalog.text
where s.slot_type = 'logical'
order by 1
limit 1000
"""

# A promotion writes the history of the new timeline; the file stays, also in copies of the server.
PROMOTED = """
select extract(epoch from pg_catalog.max(f.modification))::pg_catalog.float8
from pg_catalog.pg_ls_waldir() f
where f.name ~ '[.]history$'
"""
