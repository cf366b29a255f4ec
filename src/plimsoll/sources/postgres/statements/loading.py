"""
Provide the statements of `load`: the ledger of what is loaded, and COPY.

Rule: `table` and `ledger` are names with their schema that the server or `quoted_name` has quoted; `%s` is a
parameter. A row of the ledger and the rows of its chunk are of one transaction.
"""

LEDGER_NAME = "plimsoll_loaded"
# A crash of the server empties an unlogged table, and so it must empty its ledger.
UNLOGGED_LEDGER_NAME = "plimsoll_loaded_unlogged"

COMMIT = "commit"

# Some bytes of WAL, so that the commit after it waits for the disk, whatever the role's default is; no row.
SYNCHRONOUS = "set local synchronous_commit = on"
EMPTY_MESSAGE = "select pg_catalog.pg_logical_emit_message(true, 'plimsoll', '')"

# A commit that does not wait may be lost in a crash, after the load has said that everything is there. What
# waits for a standby, too, stays so.
DURABLE = (
    "select pg_catalog.set_config('synchronous_commit', 'on', true)"
    " where pg_catalog.current_setting('synchronous_commit') = 'off'"
)

# Waits until another transaction that has the same chunk ends; gives no row if that one committed.
_CLAIM = """
insert into {ledger} (target, target_oid, file, identity, start_byte, end_byte, digest, head)
values (%s, %s, %s, %s, %s, %s, %s, %s)
on conflict do nothing
returning start_byte
"""
# COPY has locked the table that it found: if the name means another one now, it did so then.
_COUNT_ROWS = """
update {ledger} set row_count = %s
where target = %s and identity = %s and start_byte = %s
  and pg_catalog.to_regclass(target)::pg_catalog.oid = target_oid
"""
# Another content of the same name, the last that was loaded.
_OTHER = """
select identity from {ledger}
where target = %s and file = %s and identity <> %s
order by loaded_at desc limit 1
"""
_END_OF = "select end_byte from {ledger} where target = %s and identity = %s and start_byte = %s"
_CHUNKS = """
select start_byte, end_byte, coalesce(row_count, 0), digest, head from {ledger}
where target = %s and identity = %s order by start_byte
"""
_ELSEWHERE = """
select target, target_oid::pg_catalog.int8 from {ledger}
where identity = %s and (target = %s) <> (target_oid = %s) limit 1
"""
_MOVE = """
update {ledger} set identity = %s, start_byte = %s, end_byte = %s
where target = %s and identity = %s and start_byte = %s
"""

COLUMNS = """
select pg_catalog.array_agg(a.attname::pg_catalog.text order by a.attnum)
from pg_catalog.pg_attribute a
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
"""
SCHEMA_OF = """
select pg_catalog.quote_ident(n.nspname), c.relpersistence = 'u'
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = %s
"""
IS_THERE = "select pg_catalog.to_regclass(%s) is not null"


def ledger_made(ledger: str, *, is_unlogged: bool) -> str:
    """Return the command that creates the ledger if it is not there."""
    return f"""
create {"unlogged " if is_unlogged else ""}table if not exists {ledger} (
  target pg_catalog.text not null,
  target_oid pg_catalog.oid not null,
  file pg_catalog.text not null,
  identity pg_catalog.text not null,
  start_byte bigint not null,
  end_byte bigint not null,
  digest pg_catalog.text not null,
  head pg_catalog.text not null,
  row_count bigint,
  loaded_at timestamptz not null default pg_catalog.now(),
  primary key (target, identity, start_byte)
)"""


def chunks(ledger: str) -> str:
    """Return the query for the chunks of a content that are loaded, in order."""
    return _CHUNKS.format(ledger=ledger)


def loaded_elsewhere(ledger: str) -> str:
    """Return the query for a table of the same name, or the same table under another name, that has this content."""
    return _ELSEWHERE.format(ledger=ledger)


def other_content(ledger: str) -> str:
    """Return the query for other content that was loaded from a file of the same name."""
    return _OTHER.format(ledger=ledger)


def moved(ledger: str) -> str:
    """Return the command that makes a chunk of one content that of another, at another place."""
    return _MOVE.format(ledger=ledger)


def claimed(ledger: str) -> str:
    """Return the command that claims a chunk; it returns no row if the chunk is loaded."""
    return _CLAIM.format(ledger=ledger)


def end_of(ledger: str) -> str:
    """Return the query for where a chunk ends that is loaded."""
    return _END_OF.format(ledger=ledger)


def counted(ledger: str) -> str:
    """Return the command that notes how many rows a chunk had; it changes no row if the table was exchanged."""
    return _COUNT_ROWS.format(ledger=ledger)


def copied(table: str, columns: str, options: str) -> str:
    """Return the COPY command; columns and options are quoted."""
    return f"copy {table} ({columns}) from stdin with ({options})"


def literal(text: str) -> str:
    """Return a text as a literal; the guards set standard_conforming_strings."""
    return "'" + text.replace("'", "''") + "'"
