"""Make a server count what sessions did: from PostgreSQL 15 on by request, before at the end of a session."""

import psycopg

# In 14 a process collects the counters in a file that may be half a second old.
_ASKED_FOR = 150_000
_WAIT = "select pg_stat_clear_snapshot(), pg_sleep(0.02)"
_IS_GONE = "select not exists (select from pg_stat_activity where pid = %s)"
_IS_FRESH = "select pg_stat_get_snapshot_timestamp() > %s"


def flush_statistics(connection: psycopg.Connection) -> None:
    """Make the views count what this session did so far; before 15 this ends the session."""
    if connection.info.server_version >= _ASKED_FOR:
        connection.execute("select pg_stat_force_next_flush()")
        connection.execute("select 1")
        return
    pid, dsn = connection.info.backend_pid, connection.info.dsn
    password = connection.info.password
    connection.close()
    with psycopg.connect(dsn, password=password, autocommit=True) as other:
        while not other.execute(_IS_GONE, (pid,)).fetchone()[0]:
            other.execute(_WAIT)
        (mark,) = other.execute("select clock_timestamp()").fetchone()
        while not other.execute(_IS_FRESH, (mark,)).fetchone()[0]:
            other.execute(_WAIT)
