"""
Provide the statements that find a table by the name that the user typed, and that keep code of others out of ours.

Rule: names are compared with those in the catalogs; typed text is never part of a statement.
"""

PATH = "select pg_catalog.current_schemas(true)::pg_catalog.text[]"

# After we read the catalogs, somebody may replace the table by a view. Servers since August 2024 can
# refuse to expand views (CVE-2024-7348, found in pg_dump).
KEEP_VIEWS_OUT = """
select pg_catalog.set_config(name, 'view, foreign-table', %s)
from pg_catalog.pg_settings where name = 'restrict_nonsystem_relation_kind'
"""

# An event trigger runs with the rights of the role whose command fires it. Superusers create such triggers (on RDS
# members of rds_superuser too), but another role may own the function and may replace it. From 17 on a superuser can
# disable them all for a while.
NO_EVENT_TRIGGERS = """
select pg_catalog.set_config(s.name, 'off', %s)
from pg_catalog.pg_settings s, pg_catalog.pg_roles r
where s.name = 'event_triggers' and r.rolname = current_user and r.rolsuper
"""
# By the role that connected: their code could take its rights back from `current_user`.
EVENT_TRIGGERS = """
select e.evtname::pg_catalog.text
from pg_catalog.pg_event_trigger e join pg_catalog.pg_proc p on p.oid = e.evtfoid
     join pg_catalog.pg_roles r on r.oid = p.proowner
where e.evtenabled <> 'D' and e.evtevent <> 'login' and not r.rolsuper and r.rolname <> session_user
order by 1
"""

FIND = """
select c.oid::bigint, pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname),
       c.relkind::pg_catalog.text, c.relreplident::pg_catalog.text
from rows from (pg_catalog.unnest(%s::pg_catalog.text[]), pg_catalog.unnest(%s::pg_catalog.text[]))
         with ordinality w (schema, name, place)
     join pg_catalog.pg_namespace n on n.nspname = w.schema
     join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relname = w.name
where c.relkind in ('r', 'p')
order by w.place
limit 1
"""
# Reading a table also reads its child tables, which may be foreign tables.
FOREIGN = """
with recursive plimsoll_below as (
  select %s::pg_catalog.oid as oid
  union select i.inhrelid from pg_catalog.pg_inherits i join plimsoll_below b on b.oid = i.inhparent
)
select true from plimsoll_below b join pg_catalog.pg_class c on c.oid = b.oid where c.relkind = 'f' limit 1
"""
