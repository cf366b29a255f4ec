"""
Measure what an inspection costs the server, on a database of many tables.

    python bench/inspect_cost.py [--tables 10000] [--seconds 60] [--sessions 50] [--binaries DIR] [--require]

A throwaway server gets tables with a primary key, a row and a TOASTed value each; `observe` watches it
for a minute. Counted are statements, bytes of rows, and the processor time of the server process of our
connection, from /proc. With --require it must stay below one hundredth of one core.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg

from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

SHARE_MAX = 0.01
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "shared_buffers": "256MB",
    "max_connections": "400",
    "max_locks_per_transaction": "1024",
    "max_wal_size": "4GB",
    "autovacuum": "off",
}
BATCH = 250
# As many indexes and statistics as usual tables have: a key, another index, a value out of line.
TABLE = (
    "create table t{0} (id int primary key, at int, body text); create index on t{0} (at);"
    "alter table t{0} alter body set storage external; insert into t{0} values (1, 1, repeat('x', 3000))"
)


class ProcessorTime:
    """Measure the processor time of the server process of our connection."""

    def __init__(self, admin: psycopg.Connection) -> None:
        self._admin = admin
        self._pid: int | None = None
        self.seconds = 0.0

    def clock(self) -> float:
        """
        Return the time, and look up the processor time.

        `observe` reads its clock after every answer, so the last look-up is after the last answer.
        """
        if self._pid is None:
            row = self._admin.execute("select pid from pg_stat_activity where application_name = 'plimsoll'").fetchone()
            self._pid = row[0] if row else None
        if self._pid is not None:
            self.seconds = int(Path(f"/proc/{self._pid}/schedstat").read_text().split()[0]) / 1e9
        return time.monotonic()


def fill(server: Postgres, tables: int) -> None:
    """Create the tables, a few hundred in each transaction."""
    with psycopg.connect(server.dsn) as connection:
        for start in range(0, tables, BATCH):
            for number in range(start, min(start + BATCH, tables)):
                connection.execute(TABLE.format(number).encode())
            connection.commit()
        connection.autocommit = True
        connection.execute("vacuum analyze pg_class")


def left_behind(admin: psycopg.Connection) -> int:
    """Return how many of our connections the server has a second after the last one was closed."""
    time.sleep(1.0)
    row = admin.execute("select count(*) from pg_stat_activity where application_name = 'plimsoll'").fetchone()
    return row[0] if row else 0


def main() -> int:
    """Measure once; return 1 if the cost is too high and --require was given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--tables", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--binaries", type=Path)
    parser.add_argument("--require", action="store_true")
    flags = parser.parse_args()
    with ExitStack() as stack:
        server = stack.enter_context(Postgres(SETTINGS, binaries=flags.binaries))
        began = time.monotonic()
        fill(server, flags.tables)
        print(
            f"PostgreSQL {server.version}, {flags.tables:,} tables made in "
            f"{time.monotonic() - began:.0f} s, {flags.sessions} sessions beside"
        )
        for _ in range(flags.sessions):
            stack.enter_context(psycopg.connect(server.dsn))
        admin = stack.enter_context(psycopg.connect(server.dsn, autocommit=True))
        spent = ProcessorTime(admin)
        seen = observe(server.dsn, duration_s=flags.seconds, clock=spent.clock)
        left = left_behind(admin)
    minutes = flags.seconds / 60
    share = spent.seconds / flags.seconds
    print(f"seen       {len(seen.last.relations):>9,} relations, {len(seen.last.indexes):,} indexes")
    print(f"missing    {seen.missing or 'nothing'}")
    print(f"statements {seen.query_count / minutes:>9,.0f} per minute")
    print(f"bytes      {seen.received_bytes / minutes:>9,.0f} per minute")
    print(f"waited     {seen.asked_s / minutes * 1000:>9,.0f} ms per minute for answers")
    print(f"processor  {spent.seconds / minutes * 1000:>9,.0f} ms per minute, {share:.2%} of one core")
    print(f"left       {left:>9,} connections")
    if flags.require and share > SHARE_MAX:
        print(f"error: more than {SHARE_MAX:.0%} of one core", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
