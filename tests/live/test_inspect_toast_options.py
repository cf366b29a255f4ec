"""Which parameters a TOAST relation has, on real servers: autovacuum decides, and the printed command keeps them."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import DEBIANS, NEWEST, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.causes.vacuum.toast_options import options_of, set_command
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

# Each table with its parameters, and whether autovacuum comes to its TOAST relation.
TABLES = {
    "bare": ("autovacuum_enabled = off", False),
    "paced": ("autovacuum_enabled = off, toast.autovacuum_vacuum_cost_delay = 1", True),
    "untruncated": ("autovacuum_enabled = off, toast.vacuum_truncate = off", True),
    "repeated": (
        "autovacuum_enabled = off, toast.autovacuum_vacuum_cost_delay = 1, toast.autovacuum_enabled = off",
        False,
    ),
}
VACUUMED = """
select c.relname from pg_class c
where c.relname = any(%s) and pg_stat_get_autovacuum_count(c.reltoastrelid) > 0 order by 1
"""
_PATIENCE_S = 60.0


@pytest.fixture(scope="module", params=(DEBIANS, NEWEST))
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with dead rows in the TOAST relation of each table, which autovacuum looks at each second."""
    settings = {"fsync": "off", "autovacuum_naptime": "1s"}
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            for name, (options, _) in TABLES.items():
                connection.execute(f"create table {name} (id int, v text) with ({options})".encode())
                connection.execute(f"alter table {name} alter v set storage external".encode())
                connection.execute(
                    f"insert into {name} select g, repeat('x', 6000) from generate_series(1, 400) g".encode()
                )
                connection.execute(f"update {name} set v = v || 'y'".encode())
            flush_statistics(connection)
        yield running


@pytest.fixture(scope="module")
def seen(server: Postgres) -> Observation:
    return observe(server.dsn, duration_s=0.4, every_s=0.2)


def test_autovacuum_takes_one_set_or_the_other(server: Postgres, seen: Observation):
    """It comes to each TOAST relation of which we say so, and to no other."""
    expected = sorted(name for name, (_, is_vacuumed) in TABLES.items() if is_vacuumed)
    last = {relation.oid: relation for relation in seen.last.relations}
    ours = sorted(
        last[toast.owner_oid].name.removeprefix("public.")
        for toast in seen.last.relations
        if toast.owner_oid and options_of(toast, last[toast.owner_oid]).get("autovacuum_enabled") != "off"
    )
    found: list[str] = []
    until_s = time.monotonic() + _PATIENCE_S
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        while found != expected and time.monotonic() < until_s:
            found = [name for (name,) in connection.execute(VACUUMED, [list(TABLES)]).fetchall()]

    assert expected == ours
    assert expected == found


def detached(server: Postgres) -> list[Cause]:
    found = inspect(observe(server.dsn, duration_s=0.4, every_s=0.2))
    return [cause for cause in found.causes if cause.code == "ToastParametersDetached"]


def test_the_printed_command_keeps_what_the_table_has(server: Postgres, seen: Observation):
    """Another trigger for the TOAST relation of a table where autovacuum is off leaves it off."""
    last = {relation.name: relation for relation in seen.last.relations}
    table = last["public.bare"]
    toast = next(one for one in seen.last.relations if one.owner_oid == table.oid)
    command = set_command(toast, table, {"autovacuum_vacuum_threshold": "5000"})
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(command.encode())
        (options,) = connection.execute(
            "select t.reloptions from pg_class c join pg_class t on t.oid = c.reltoastrelid where c.relname = 'bare'"
        ).fetchone()

    assert ["autovacuum_enabled=off", "autovacuum_vacuum_threshold=5000"] == sorted(options)


def test_a_detached_relation_is_found_and_its_remedy_ends_it(server: Postgres):
    """Two of the four tables; after the printed commands none."""
    (cause,) = detached(server)
    named = " ".join(piece.text for piece in cause.evidence)

    assert [True, True, False] == [n in named for n in ("paced", "untruncated", "repeated")]
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for command in cause.remedies[0].commands:
            connection.execute(command.encode())
    assert [] == detached(server)
