"""What tests of loads share: a table, rows for it, and questions to the server."""

import psycopg

from plimsoll_lab.servers.postgres import Postgres

BY_LIMITS = ("--class", "db.m6g.16xlarge", "--storage", "gp3", "--size-gib", "1000")
"""Half of the baseline of a large instance: the pace is in play, and a test does not take long."""


def asked(server: Postgres, query: str) -> list[tuple]:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


def table(server: Postgres, name: str) -> str:
    asked(server, f"drop table if exists {name}, plimsoll_loaded, plimsoll_loaded_unlogged")
    asked(server, f"create table {name} (id int, name text, note text)")
    return name


def rows(count: int) -> bytes:
    """Rows of which every seventh has a newline, quotes and a comma in a value."""
    note = '"two\nlines, ""quoted"""'
    return "".join(f"{n},name {n},{note if n % 7 == 0 else 'plain'}\n" for n in range(count)).encode()


def counts(server: Postgres, name: str) -> tuple:
    return asked(server, f"select count(*), count(distinct id), sum(id) from {name}")[0]


def whole(count: int) -> tuple:
    return count, count, count * (count - 1) // 2
