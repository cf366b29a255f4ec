"""
Statements of a sample of updates: a temporary slot, the changes it decodes, and rows as they were before.

Rule: of a table's values only hashes are asked for; `%s` stands for a value.
"""

from collections.abc import Sequence

# Values in the row are not out of line; below this they are taken to be in it where the server (before
# 17) cannot say. TOAST_TUPLE_THRESHOLD is 2,032 bytes for the whole row at blocks of 8 kB.
OUT_OF_LINE_BYTES = 2_000
_KNOWS_CHUNK_ID = 170_000

CAN_DECODE = "select pg_catalog.current_setting('wal_level'), pg_catalog.pg_is_in_recovery()"

# Keys are compared with text that is turned into their type; with a type of somebody's own, that may
# run code of its owner. Rows of such a table are not looked up.
COLUMNS = """
select a.attname::pg_catalog.text, pg_catalog.quote_ident(a.attname), pg_catalog.format_type(a.atttypid, a.atttypmod),
       a.attlen = -1 and a.attstorage in ('x', 'e', 'm'),
       coalesce(a.attnum = any(i.indkey), false),
       t.typtype = 'e' or t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid left join pg_catalog.pg_index i on i.indrelid = a.attrelid and i.indisprimary
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

# The first statement of a transaction takes the snapshot that all others see.
TAKE_SNAPSHOT = "select 1"
MAKE_SLOT = (
    "select lsn from pg_catalog.pg_create_logical_replication_slot(%s, 'test_decoding', true)"
)
IS_WITHIN = "select pg_catalog.pg_current_wal_lsn() - %s::pg_catalog.pg_lsn <= %s"
CHANGES = (
    "select data from pg_catalog.pg_logical_slot_get_changes(%s, pg_catalog.pg_current_wal_lsn(), null, "
    "'skip-empty-xacts', '1') where pg_catalog.starts_with(data, %s)"
)
DROP_SLOT = "select pg_catalog.pg_drop_replication_slot(%s)"


def row_before(
    table: str, *, keys: Sequence[tuple[str, str]], columns: Sequence[str], version_number: int
) -> str:
    """
    Return a row as it was: of each column its hash, whether it is null, whether it is out of line.

    Args:
        table: quoted by the server.
        keys: columns of the primary key, quoted by the server, with their types.
        columns: those to look at, quoted by the server.
        version_number: `server_version_num`; 17 says where a value is.
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
