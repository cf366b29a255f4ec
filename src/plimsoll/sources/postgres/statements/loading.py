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
update {ledger} set row_count = %s, stored_in = %s
where target = %s and identity = %s and start_byte = %s
  and pg_catalog.to_regclass(target)::pg_catalog.oid = target_oid
"""
# Another content of the same name, the last that was loaded.
_OTHER = """
select identity from {ledger}
where target = %s and file = %s and identity <> %s
order by loaded_at desc limit 1
"""
_END_OF = "select end_byte, digest from {ledger} where target = %s and identity = %s and start_byte = %s"
_CHUNKS = """
select start_byte, end_byte, row_count, digest, head from {ledger}
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

# With it nobody adds a trigger, rule, policy, index or child table, or changes the table or its owner.
_LOCK_LEDGER = "lock table only {ledger} in row exclusive mode"
_LOCK_LEDGER_ALONE = "lock table only {ledger} in access exclusive mode"
# Default privileges may have let everybody write.
_KEEP_OTHERS_OUT = "revoke insert, update, delete, truncate, references, trigger on {ledger} from public"
_ADD_STORED_IN = "alter table {ledger} add column stored_in pg_catalog.text"

# Names and types of the columns, by name: text, oid, bigint and timestamptz.
_LEDGER_COLUMNS = (
    "digest 25, end_byte 20, file 25, head 25, identity 25, loaded_at 1184, row_count 20, start_byte 20,"
    " {}target 25, target_oid 26"
)
_OLD_COLUMNS, _COLUMNS = _LEDGER_COLUMNS.format(""), _LEDGER_COLUMNS.format("stored_in 25, ")
_COLUMNS_FOUND = """(
  select pg_catalog.string_agg(a.attname || ' ' || a.atttypid, ', ' order by a.attname)
  from pg_catalog.pg_attribute a where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
)"""
_KEY_FOUND = """(
  select pg_catalog.string_agg(a.attname, ' ' order by k.place)
  from pg_catalog.unnest(i.indkey::pg_catalog.int2[]) with ordinality k (number, place)
       join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
)"""
_WRITES = "g.grantee = 0 and g.privilege_type <> 'SELECT' and g.privilege_type <> 'MAINTAIN'"

# What makes a relation no ledger, and how that is found: `c` is its row in pg_class. What is built in has an OID below
# 16384. Rights of roles that are named are a decision of the ledger's owner, so they are not asked.
_FAULTS = (
    (
        "it is no plain table",
        """
        c.relkind <> 'r' or c.relispartition or c.reloftype <> 0
        or c.relpersistence <> case when c.relname = 'plimsoll_loaded' then 'p' else 'u' end
        or c.relam <> (select m.oid from pg_catalog.pg_am m where m.amname = 'heap')
        or exists (select from pg_catalog.pg_inherits h where c.oid in (h.inhrelid, h.inhparent))""",
    ),
    (
        "its owner is {owner}, who is neither your role, nor the owner of the table, nor a superuser",
        """
        pg_catalog.pg_get_userbyid(c.relowner) <> current_user
        and c.relowner <> (select t.relowner from pg_catalog.pg_class t where t.oid = %(table)s)
        and not exists (select from pg_catalog.pg_roles r where r.oid = c.relowner and r.rolsuper)""",
    ),
    ("it has a trigger", "exists (select from pg_catalog.pg_trigger g where g.tgrelid = c.oid)"),
    ("it has a rule", "exists (select from pg_catalog.pg_rewrite w where w.ev_class = c.oid)"),
    (
        "it has row level security",
        """
        c.relrowsecurity or c.relforcerowsecurity
        or exists (select from pg_catalog.pg_policy p where p.polrelid = c.oid)""",
    ),
    (
        "its columns are not those of a ledger",
        f"""
        {_COLUMNS_FOUND} is distinct from '{_COLUMNS}' and {_COLUMNS_FOUND} is distinct from '{_OLD_COLUMNS}'
        or exists (
          select from pg_catalog.pg_attribute a
          where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
            and (a.attcollation not in (0, 100) or a.attidentity <> '' or a.attgenerated <> '')
        )""",
    ),
    (
        "a column has a default that is not ours",
        """
        exists (
          select from pg_catalog.pg_attrdef d
               join pg_catalog.pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
          where d.adrelid = c.oid
            and (a.attname <> 'loaded_at' or pg_catalog.pg_get_expr(d.adbin, d.adrelid) <> 'now()')
        )""",
    ),
    (
        "it has a constraint",
        """
        exists (
          select from pg_catalog.pg_constraint k
          where k.conrelid = c.oid and k.contype not in ('p', 'n') or k.confrelid = c.oid
        )""",
    ),
    (
        "it has an index that is not ours",
        f"""
        exists (
          select from pg_catalog.pg_index i join pg_catalog.pg_class x on x.oid = i.indexrelid
          where i.indrelid = c.oid
            and (i.indexprs is not null or i.indpred is not null or i.indisunique and not i.indisprimary
                 or i.indisexclusion or x.relam >= 16384
                 or exists (select from pg_catalog.unnest(i.indclass::pg_catalog.oid[]) o where o >= 16384)
                 or exists (select from pg_catalog.unnest(i.indcollation::pg_catalog.oid[]) o
                            where o not in (0, 100)))
        )
        or not exists (
          select from pg_catalog.pg_index i
          where i.indrelid = c.oid and i.indisprimary and i.indisvalid and i.indimmediate
            and {_KEY_FOUND} = 'target identity start_byte'
        )""",  # noqa: S608 - parts of ours
    ),
    (
        "everybody may write to it",
        f"""
        exists (select from pg_catalog.aclexplode(c.relacl) g where {_WRITES})
        or exists (
          select from pg_catalog.pg_attribute a, pg_catalog.aclexplode(a.attacl) g
          where a.attrelid = c.oid and {_WRITES}
        )""",  # noqa: S608 - parts of ours
    ),
)
LEDGER_STATE = f"""
select array[{", ".join(f"({condition})" for _, condition in _FAULTS)}],
       pg_catalog.pg_get_userbyid(c.relowner)::pg_catalog.text,
       (select pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(t.relowner))
        from pg_catalog.pg_class t where t.oid = %(table)s),
       {_COLUMNS_FOUND} = '{_OLD_COLUMNS}', pg_catalog.pg_has_role(c.relowner, 'usage')
from pg_catalog.pg_class c where c.oid = pg_catalog.to_regclass(%(ledger)s)
"""  # noqa: S608 - parts of ours
LEDGER_FAULTS = tuple(fault for fault, _ in _FAULTS)
"""What the first column of `LEDGER_STATE` says, in its order."""

# What the ledger says to be in the table, of some contents.
_CLAIMS = """
select identity, row_count, coalesce(stored_in, ''), xmin::pg_catalog.text from {ledger}
where target = %s and identity = any(%s::pg_catalog.text[]) and row_count > 0
"""
# Where a table keeps its rows. The file changes with TRUNCATE, VACUUM FULL, CLUSTER and some kinds of ALTER TABLE.
_LEAVES = """
with recursive plimsoll_below as (
  select %s::pg_catalog.oid as oid
  union
  select i.inhrelid
  from pg_catalog.pg_inherits i join plimsoll_below b on b.oid = i.inhparent
       join pg_catalog.pg_class p on p.oid = b.oid and p.relkind = 'p'
)
select c.oid || '/' || pg_catalog.pg_relation_filenode(c.oid){columns}
from plimsoll_below b join pg_catalog.pg_class c on c.oid = b.oid and c.relkind = 'r'
order by c.oid
"""
# Of all transactions of the session whose counts were not sent yet, so two readings are compared.
PLACES = _LEAVES.format(columns=", pg_catalog.pg_stat_get_xact_tuples_inserted(c.oid)")
LEAVES = _LEAVES.format(
    columns=""",
       (select pg_catalog.quote_ident(n.nspname) from pg_catalog.pg_namespace n where n.oid = c.relnamespace)
         || '.' || pg_catalog.quote_ident(c.relname),
       pg_catalog.pg_relation_size(c.oid),
       case when c.reltuples >= 0
            then greatest(c.reltuples::pg_catalog.int8, pg_catalog.pg_stat_get_live_tuples(c.oid)) end"""
)
# Some pages of a table: rows, and those that some transactions wrote.
_SAMPLE = """
select pg_catalog.count(*),
       pg_catalog.count(*) filter (where xmin = any(%s::pg_catalog.text[]::pg_catalog.xid[]))
from {part} tablesample pg_catalog.system (%s::pg_catalog.float4)
"""
_ANY_ROW = "select exists (select from {part})"
# Of a table that had many rows, and lost them all, every page is read.
LOOK_SHORTLY = "set local statement_timeout = '10s'"

# Whoever comes after us in the queue for the lock waits as long as we do.
WAIT_SHORTLY = "set local lock_timeout = '5s'"
_TRUNCATE = "truncate {part}"
# Also of tables of this name that are no more.
_FORGET = """
delete from {ledger}
where target_oid = %s
   or target = %s and not exists (select from pg_catalog.pg_class c where c.oid = target_oid)
"""
IS_SAME = "select pg_catalog.to_regclass(%s)::pg_catalog.oid = %s"


def claims(ledger: str) -> str:
    """Return the query for what the ledger says to be in a table, of some contents."""
    return _CLAIMS.format(ledger=ledger)


def sample(part: str) -> str:
    """Return the query for rows on some pages, all and of some transactions; the part is from `part_of`."""
    return _SAMPLE.format(part=part)


def any_row(part: str) -> str:
    """Return the query for whether a table has a row; the part is from `part_of`."""
    return _ANY_ROW.format(part=part)


def truncated(part: str) -> str:
    """Return the command that empties a table; the part is from `part_of`."""
    return _TRUNCATE.format(part=part)


def forgotten(ledger: str) -> str:
    """Return the command that takes out of the ledger all of a table."""
    return _FORGET.format(ledger=ledger)


def part_of(table: str, *, is_partitioned: bool) -> str:
    """Return what COPY fills: a table without those that inherit from it, or all partitions."""
    return table if is_partitioned else f"only {table}"


def ledger_locked(ledger: str, *, is_alone: bool = False) -> str:
    """Return the command that keeps the ledger as it is for a transaction, alone to change it."""
    return (_LOCK_LEDGER_ALONE if is_alone else _LOCK_LEDGER).format(ledger=ledger)


def others_kept_out(ledger: str) -> str:
    """Return the command that takes from everybody the rights to write to a new ledger."""
    return _KEEP_OTHERS_OUT.format(ledger=ledger)


def place_added(ledger: str) -> str:
    """Return the command that gives a ledger of an earlier version the column it lacks."""
    return _ADD_STORED_IN.format(ledger=ledger)


def ledger_made(ledger: str, *, is_unlogged: bool) -> str:
    """Return the command that creates the ledger."""
    return f"""
create {"unlogged " if is_unlogged else ""}table {ledger} (
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
  stored_in pg_catalog.text,
  primary key (target, identity, start_byte)
) using heap"""


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
    """Return the query for where a chunk ends that is loaded, and for its digest."""
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
