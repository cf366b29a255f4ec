"""
Provide the statements of `prove toast`: a schema of our own in a transaction that is rolled back, and updates.

Rule: `{s}` stands for the schema, `{name}` for a name that the server quoted, `%s` for a value. A table of the
user's is read by `COPY` and `COPY_FILL` alone, where it is named.
"""

IS_STANDBY = "select pg_catalog.pg_is_in_recovery()"

MAKE_SCHEMA = "create schema {s}"

# With a savepoint, a command that the server refuses does not abort the transaction.
ATTEMPT = "savepoint attempt"
ATTEMPT_FAILED = "rollback to savepoint attempt"
ATTEMPT_DONE = "release savepoint attempt"

SERVER_VERSION = "show server_version"
BLOCK_SIZE = "show block_size"
LZ4_TABLE = "create table {s}.z (a pg_catalog.text compression lz4)"

TABLE = "create table {s}.t (id int primary key, n int, body pg_catalog.text)"
KEEPER = """
create function {s}.keep() returns trigger language plpgsql as $$
begin
  if new.body is not distinct from old.body then new.body := old.body; end if;
  return new;
end $$
"""

SEND_BODY = "update {s}.t set body = %s where id = 1"

LEAVE = "leave it alone"
SEND = "send the same value again"

# Name, statement, number of parameters that take the value, and commands to run before.
UPDATES = (
    (LEAVE, "update {s}.t set n = n + 1 where id = 1", 0, ""),
    ("set it to itself", "update {s}.t set body = body where id = 1", 0, ""),
    (SEND, SEND_BODY, 1, ""),
    (
        "upsert the same value",
        "insert into {s}.t values (1, 0, %s) on conflict (id) do update set body = excluded.body",
        1,
        "",
    ),
    (
        "upsert where it IS DISTINCT FROM",
        (
            "insert into {s}.t as old values (1, 0, %s) on conflict (id) do update "
            "set body = excluded.body where old.body is distinct from excluded.body"
        ),
        1,
        "",
    ),
    (
        "CASE WHEN it IS DISTINCT FROM",
        ("update {s}.t set n = n + 1, body = case when body is distinct from %s then %s else body end where id = 1"),
        2,
        "",
    ),
    (
        "suppress_redundant_updates_trigger",
        SEND_BODY,
        1,
        (
            "create trigger k before update on {s}.t for each row "
            "execute function pg_catalog.suppress_redundant_updates_trigger()"
        ),
    ),
    (
        "trigger that puts the old value back",
        SEND_BODY,
        1,
        "create trigger k before update of body on {s}.t for each row execute function {s}.keep()",
    ),
)

STORE_AS = "alter table {s}.t alter body set storage {storage}"
COMPRESS_BY = "alter table {s}.t alter body set compression {method}"
INSERT_ROW = "insert into {s}.t values (1, 0, %s)"
STORED_BYTES = "select pg_catalog.pg_column_size(body) from {s}.t"
# Sent only if nothing failed: after an error the transaction accepts only its end.
DROP_TABLE = "drop table {s}.t"

COPY = "create table {s}.copy (like {table} including storage including compression)"
COPY_FILL = """
insert into {s}.copy
select * from (select * from {table} limit %s) r
where pg_catalog.pg_column_size(r.{column}) <= %s
order by pg_catalog.pg_column_size(r.{column}) desc
limit %s
"""
# The value as text, as a client would get and send it, stays on the server: a parameter could reach its log.
KEEP_LARGEST = """
select plimsoll_row, pg_catalog.octet_length(
         pg_catalog.set_config('plimsoll.value', pg_catalog.format('%s', {column}), true)),
       pg_catalog.pg_column_size({column})
from (
  select plimsoll_row, {column} from {s}.copy where {column} is not null
  order by pg_catalog.pg_column_size({column}) desc limit 1
) c
"""
# A value is cast to text and back. For domains, composite types and types with user-defined casts, this runs code
# of the type's owner. Only superusers create base types.
COLUMNS = """
select a.attname::pg_catalog.text, pg_catalog.quote_ident(a.attname),
       pg_catalog.format_type(a.atttypid, a.atttypmod),
       t.typnamespace = 'pg_catalog'::pg_catalog.regnamespace
       or t.typtype = 'b' and coalesce(e.typtype, 'b') = 'b'
from pg_catalog.pg_attribute a join pg_catalog.pg_type t on t.oid = a.atttypid
     left join pg_catalog.pg_type e on e.oid = t.typelem
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attlen = -1
  and a.attstorage in ('x', 'e', 'm') and a.attgenerated = ''
order by a.attnum
"""
NUMBER_ROWS = "alter table {s}.copy add plimsoll_row int generated always as identity"
LEAVE_COLUMN = "update {s}.copy set {column} = {column} where plimsoll_row = %s"
SEND_COLUMN = (
    "update {s}.copy set {column} = pg_catalog.current_setting('plimsoll.value')::{type} where plimsoll_row = %s"
)
DROP_COPY = "drop table {s}.copy"

ROWS_TOUCHED = """
select pg_catalog.pg_stat_get_xact_tuples_updated(oid),
       pg_catalog.pg_stat_get_xact_tuples_inserted(reltoastrelid),
       pg_catalog.pg_stat_get_xact_tuples_deleted(reltoastrelid)
from pg_catalog.pg_class where oid = '{s}.{counted}'::pg_catalog.regclass
"""


def explained(statement: str) -> str:
    """Return the command that runs one of our statements and counts what it wrote."""
    return f"explain (analyze, buffers, wal, costs off, timing off, format json) {statement}"
