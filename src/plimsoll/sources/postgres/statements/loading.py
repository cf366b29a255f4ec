"""
Provide the statements of `load`: the ledger of what is loaded, and COPY.

Rule: `table` and `ledger` are names with their schema that the server or `quoted_name` has quoted; `%s` is a
parameter. A row of the ledger and the rows of its chunk are of one transaction.
"""

LEDGER_NAME = "plimsoll_loaded"

COMMIT = "commit"

# Some bytes of WAL, so that the commit after it waits for the disk, whatever the role's default is; no row.
SYNCHRONOUS = "set local synchronous_commit = on"
EMPTY_MESSAGE = "select pg_catalog.pg_logical_emit_message(true, 'plimsoll', '')"

# Waits until another transaction that has the same chunk ends; gives no row if that one committed.
_CLAIM = """
insert into {ledger} (target, file, identity, start_byte, end_byte)
values (%s, %s, %s, %s, %s)
on conflict do nothing
returning start_byte
"""
_COUNT_ROWS = (
    "update {ledger} set row_count = %s where target = %s and identity = %s and start_byte = %s"
)

COLUMNS = """
select pg_catalog.array_agg(a.attname::pg_catalog.text order by a.attnum)
from pg_catalog.pg_attribute a
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
"""
SCHEMA_OF = """
select pg_catalog.quote_ident(n.nspname)
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = %s
"""


def ledger_made(ledger: str) -> str:
    """Return the command that creates the ledger if it is not there."""
    return f"""
create table if not exists {ledger} (
  target pg_catalog.text not null,
  file pg_catalog.text not null,
  identity pg_catalog.text not null,
  start_byte bigint not null,
  end_byte bigint not null,
  row_count bigint,
  loaded_at timestamptz not null default pg_catalog.now(),
  primary key (target, identity, start_byte)
)"""


def loaded(ledger: str) -> str:
    """Return the query for the chunks of a file that are loaded, in order."""
    return (
        f"select start_byte, end_byte, coalesce(row_count, 0) from {ledger}"  # noqa: S608 - quoted
        " where target = %s and identity = %s order by start_byte"
    )


def other_content(ledger: str) -> str:
    """Return the query for whether other content of the same name was loaded."""
    return f"select 1 from {ledger} where target = %s and file = %s and identity <> %s limit 1"  # noqa: S608 - quoted


def claimed(ledger: str) -> str:
    """Return the command that claims a chunk; it returns no row if the chunk is loaded."""
    return _CLAIM.format(ledger=ledger)


def counted(ledger: str) -> str:
    """Return the command that notes how many rows a chunk had."""
    return _COUNT_ROWS.format(ledger=ledger)


def copied(table: str, columns: str, options: str) -> str:
    """Return the COPY command; columns and options are quoted."""
    return f"copy {table} ({columns}) from stdin with ({options})"


def literal(text: str) -> str:
    """Return a text as a literal; the guards set standard_conforming_strings."""
    return "'" + text.replace("'", "''") + "'"
