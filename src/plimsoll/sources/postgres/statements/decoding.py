"""
Provide the statements that sample updates: a temporary slot, the changes it decodes, and the old rows.

Rule: the statements return hashes of a table's values, never the values. `%s` is a parameter.
"""

from collections.abc import Sequence

# Before 17 the server does not report where a value is stored. There, values below this size are assumed to be
# in the row. TOAST_TUPLE_THRESHOLD is 2,032 bytes for the whole row at blocks of 8 kB.
OUT_OF_LINE_BYTES = 2_000
_KNOWS_CHUNK_ID = 170_000

# Keys of rows are parameters, and a log of statements or plans has them, unless a superuser forbids it.
KEEP_OUT_OF_LOG = """
select pg_catalog.set_config(s.name, s.value, false)
from (values ('log_parameter_max_length', '0'), ('auto_explain.log_min_duration', '-1')) s (name, value),
     pg_catalog.pg_roles r
where r.rolname = current_user and r.rolsuper
"""
CAN_DECODE = "select pg_catalog.current_setting('wal_level'), pg_catalog.pg_is_in_recovery()"

# Keys are compared with text that is cast to their type. A cast to a user-defined type may run code of the
# type's owner, so rows of such a table are not looked up.
COLUMNS = """
select a.attname::pg_catalog.text, pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod),
       a.attlen = -1 and a.attstorage in ('x', 'e', 'm'),
       coalesce(a.attnum = any(i.indkey), false),
       t.typtype = 'e' or t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid left join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indisprimary
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

# The first statement of a transaction takes the snapshot that all its statements use.
TAKE_SNAPSHOT = "select 1"
MAKE_SLOT = "select lsn from pg_catalog.pg_create_logical_replication_slot(%s, 'test_decoding', true)"
IS_WITHIN = "select pg_catalog.pg_current_wal_lsn() - %s::pg_catalog.pg_lsn <= %s"
CHANGES = (
    "select data from pg_catalog.pg_logical_slot_get_changes(%s, pg_catalog.pg_current_wal_lsn(), null, "
    "'skip-empty-xacts', '1') where pg_catalog.starts_with(data, %s)"
)
DROP_SLOT = "select pg_catalog.pg_drop_replication_slot(%s)"


def row_before(table: str, *, keys: Sequence[tuple[str, str]], columns: Sequence[str], version_number: int) -> str:
    """
    Return the query for an old row: for each column its hash, whether it is null, and whether it is in TOAST.

    Args:
        table: name of the table, quoted by the server.
        keys: columns of the primary key, quoted by the server, with their types.
        columns: names of the columns to read, quoted by the server.
        version_number: `server_version_num`; from 17 on the server reports where a value is stored.
    """
    out = (
        "pg_catalog.pg_column_toast_chunk_id({0}) is not null"
        if version_number >= _KNOWS_CHUNK_ID
        else f"pg_catalog.pg_column_size({{0}}) >= {OUT_OF_LINE_BYTES}"
    )
    parts = ", ".join(
        f"pg_catalog.md5(pg_catalog.convert_to(pg_catalog.format('%%s', {name}), 'UTF8')), {name} is null, "
        f"coalesce({out.format(name)}, false)"
        for name in columns
    )
    where = " and ".join(f"{name} = %s::{kind}" for name, kind in keys)
    return f"select {parts} from only {table} where {where}"  # noqa: S608 - quoted by the server
