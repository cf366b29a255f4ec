"""
Provide the statement that finds who waits for a lock, and for whom; sent only if a glance saw a waiting session.

Rule: `pg_blocking_pids` stops the lock manager for a moment, so it is asked for the sessions that have waited
longest and no more of them than the number below.
"""

# A judgement: many waiting sessions have one cause, and a hundred of them are enough to show it.
WAITING_MAX = 100
STATEMENT_CHARACTERS_MAX = 300

LOCK_WAITS = f"""
with waiting as materialized (
  select a.pid, pg_catalog.pg_blocking_pids(a.pid) as blockers
  from (select s.pid from pg_catalog.pg_stat_activity s
        where s.wait_event_type = 'Lock' and s.pid <> pg_catalog.pg_backend_pid()
        order by s.state_change, s.pid limit {WAITING_MAX}) a)
select s.pid, w.blockers, pg_catalog.left(s.query, {STATEMENT_CHARACTERS_MAX})
from pg_catalog.pg_stat_activity s left join waiting w on w.pid = s.pid
where s.pid in (select pid from waiting)
   or s.pid in (select pg_catalog.unnest(blockers) from waiting)
"""  # noqa: S608 - constants
