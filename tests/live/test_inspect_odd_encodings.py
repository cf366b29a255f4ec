"""Databases whose bytes are in no encoding: inspected, diagnosed and recorded all the same."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.machine import Run
from plimsoll_lab.servers.postgres import Postgres


@pytest.fixture(scope="module", params=[DEBIANS, NEWEST])
def dsn(request: pytest.FixtureRequest) -> Iterator[str]:
    """A database in SQL_ASCII, with a table named `café` in Latin-1, which is no UTF-8."""
    with Postgres({"fsync": "off"}, binaries=postgres_binaries(request.param)) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("create database odd encoding 'SQL_ASCII' locale 'C' template template0")
        odd = server.dsn.replace("dbname=postgres", "dbname=odd")
        with psycopg.connect(odd, autocommit=True) as connection:
            connection.execute(b'create table "caf\xe9" as select g, g::text as word from generate_series(1, 1000) g')
            connection.execute(b'alter table "caf\xe9" set (autovacuum_enabled = off)')
            connection.execute(b'delete from "caf\xe9" where g > 300')
        yield odd


def test_a_database_in_sql_ascii_is_inspected(dsn: str, run: Run):
    """Its name is shown with a mark in the place of what cannot be read, and nothing is a traceback."""
    done = run("inspect", "--for", "1s", "--format", "json", PLIMSOLL_DSN=dsn)

    assert done.returncode in {0, 1}, done.stderr
    assert "Traceback" not in done.stderr
    assert "b'" not in done.stdout


def test_it_is_diagnosed_and_recorded(dsn: str, run: Run):
    """`diagnose --dsn` and `record host --dsn` read the same server."""
    target = str(Path(__file__).resolve().parents[2] / "examples" / "search-service")
    diagnosed = run("diagnose", target, "--dsn", dsn, "--for", "1s")
    recorded = run("record", "host", "--dsn", dsn, "--for", "1s", "-o", "odd.json")

    assert 1 == diagnosed.returncode, diagnosed.stderr
    assert 0 == recorded.returncode, recorded.stderr
