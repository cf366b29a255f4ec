"""What the owner of a database can make run with the rights of whoever inspects it: nothing."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from live.connecting import COMMANDS, HELD_ON, REFUSED, arguments_of, rows_in
from live.hostile_database import HostileDatabase
from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.machine import Run
from plimsoll.app.watched_databases import databases_of
from plimsoll.sources.postgres import connect
from plimsoll.sources.postgres.parts import EVERYTHING
from plimsoll.sources.postgres.pg_stat import DatabaseCounters, DatabaseProbe
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.reader import Reader
from plimsoll.sources.postgres.statements import terms
from plimsoll.watch.config import InspectionSettings, TargetSettings, WatchSettings
from plimsoll_lab.servers.postgres import Postgres

SETTINGS = {
    "wal_level": "logical",
    # Of the largest table, a sweep reads at least three times as much.
    "shared_buffers": "2MB",
    "shared_preload_libraries": "pg_stat_statements",
    "fsync": "off",
}


def made(version: str) -> Iterator[HostileDatabase]:
    with Postgres(SETTINGS, binaries=postgres_binaries(version)) as server:
        database = HostileDatabase(server)
        database.make()
        assert [] == database.steps
        yield database


@pytest.fixture(scope="module")
def hostile() -> Iterator[HostileDatabase]:
    """A server with a database full of traps."""
    yield from made(NEWEST)


@pytest.fixture(scope="module", params=[DEBIANS, "17", NEWEST])
def of_a_version(request: pytest.FixtureRequest) -> Iterator[HostileDatabase]:
    """The same on versions whose views, and so our statements, differ."""
    if request.param == NEWEST:
        yield request.getfixturevalue("hostile")
    else:
        yield from made(request.param)


@pytest.fixture(scope="module")
def of_two(hostile: HostileDatabase) -> Iterator[dict[str, HostileDatabase]]:
    """The same on the two versions of the table in SECURITY.md."""
    with contextmanager(made)(DEBIANS) as older:
        yield {"15": older, "18": hostile}


def test_the_traps_work(hostile: HostileDatabase):
    """A superuser who asks as most programs do runs the owner's code, which writes a file."""
    with psycopg.connect(hostile.dsn) as careless:
        careless.execute("select quote_ident('x'), count(*) from pg_class where oid = 1")
        careless.rollback()
        careless.execute("begin transaction read only")
        careless.execute("select 1::bigint = 1")

    steps = hostile.steps
    assert {"quote_ident", "int84eq"} <= {line.split(" ")[0] for line in steps}
    assert all("as plimsoll" in line for line in steps)


@pytest.mark.attack(
    "A database owner creates functions, operators, types and views with every name we use, changes the database settings, and adds policies, domains, casts and event triggers; each tries to write a file and a row and to take a lock while a superuser runs a command",
    "none of them runs, in any command that connects: [each command, on two versions](#each-command-in-that-database)",
)
@pytest.mark.parametrize("version", HELD_ON)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_code_of_the_databases_owner(
    of_two: dict[str, HostileDatabase], run: Run, tmp_path: Path, command: str, version: str
):
    """As a superuser: no file is written, no row, no lock taken; and it ends as the table of SECURITY.md says."""
    hostile = of_two[version]
    if command == "explain record --top":
        # So that the longest statements have one that only reads.
        with psycopg.connect(hostile.dsn, options="-c search_path=pg_catalog") as connection:
            connection.execute("select id, pg_catalog.pg_sleep(0.02) from public.documents limit 50")
    done = run(*arguments_of(command, dsn=hostile.dsn, rows=rows_in(tmp_path)))

    assert [] == hostile.steps
    assert "Traceback" not in done.stderr, done.stderr
    refusal = REFUSED.get((command, version))
    assert (refusal is None) == ("error:" not in done.stderr), done.stderr
    assert (refusal or "") in done.stderr


@pytest.mark.parametrize("version", HELD_ON)
def test_a_watch_runs_no_code_of_the_databases_owner(of_two: dict[str, HostileDatabase], version: str):
    """Its inspections, which do not end by themselves, so that one of them is asked for here."""
    target = TargetSettings(target="rds:orders", dsn_env="DSN")
    settings = WatchSettings(targets=(target,), inspection=InspectionSettings(window_s=1))
    hostile = of_two[version]
    (observe_database,) = databases_of(target, settings, {"DSN": hostile.dsn}).values()
    seen = observe_database(time.sleep)

    assert [] == hostile.steps
    assert seen.first.relations


@pytest.mark.attack(
    "The owner's schema is first in the search path",
    "no function, type or relation in it is used: every name has its schema",
)
def test_every_name_is_written_with_its_schema(of_a_version: HostileDatabase, monkeypatch: pytest.MonkeyPatch):
    """
    Even where the path begins with the owner's schema, no function, type or view of the owner's is found.

    Operators cannot be qualified and stay readable; those are behind another schema here, and found
    by the path alone.
    """
    careless = "evil, pg_catalog"
    monkeypatch.setattr(terms, "SAFE_PATH", careless)
    assert all(careless in one.opening(150_000) for one in (terms.RECORDING, terms.INSPECTION))
    seen = observe(of_a_version.dsn, duration_s=0.1, every_s=0.05)
    probe = DatabaseProbe(of_a_version.dsn, time.monotonic)
    probe.open()
    reading = probe.read()
    probe.close()

    assert [] == of_a_version.steps
    assert seen.first.relations
    assert seen.standing is not None
    assert seen.standing.tables
    assert seen.standing.indexes
    assert seen.first.statements
    assert isinstance(reading, DatabaseCounters)


@pytest.mark.attack(
    "The owner drops `pg_stat_statements` while we read it, and creates functions with the same names",
    "they are not called; the report says that statements are missing, and why",
)
def test_a_replaced_extension_is_not_called(hostile: HostileDatabase):
    """The owner of a schema may drop an extension while it is read, and make functions of its names."""
    connection = connect.ServerConnection(hostile.dsn)
    reader = Reader(connection, EVERYTHING)
    reader.meet()
    reader.first()
    try:
        hostile.replace_statements()
        last = reader.last()
    finally:
        hostile.restore_statements()
        connection.close()

    assert [] == hostile.steps
    assert last.reading.statements is None
    assert "another role replaced it" in reader.missing["statements"]


@pytest.mark.parametrize("name", ["public.Order", 'public."Order"', "sch.ema.$(touch pwned)"])
def test_a_proof_finds_a_table_whatever_its_name(hostile: HostileDatabase, run: Run, name: str):
    """With capital letters, as object mappers make them, and where a shell took the quotes."""
    done = run("prove", "toast", hostile.dsn, "--table", name, "--format", "json")

    assert not done.returncode, done.stderr
    assert json.loads(done.stdout)["copies"]
    assert [] == hostile.steps


@pytest.mark.parametrize("command", ["prove", "sweep"])
@pytest.mark.attack(
    "A user names a view where a table is required", "refused, status 2: reading the view would run its owner's code"
)
def test_a_view_is_refused(hostile: HostileDatabase, run: Run, command: str):
    """Neither a proof nor a sweep reads one."""
    first = {"prove": ("prove", "toast", hostile.dsn), "sweep": ("sweep", "--dsn", hostile.dsn)}
    done = run(*first[command], "--table", "public.shown")

    assert 2 == done.returncode
    assert "there is no table 'public.shown'" in done.stderr
    assert [] == hostile.steps


@pytest.mark.attack(
    "An event trigger calls a function of the owner, and the role that runs `prove toast` cannot disable it",
    "refused, status 2, with the name of the trigger",
)
def test_event_triggers_of_others_stop_a_proof(hostile: HostileDatabase, run: Run):
    """Before anything is made that would fire them."""
    done = run("prove", "toast", hostile.as_a_role_that_may_create())

    assert 2 == done.returncode
    assert "event triggers of other roles would run with your rights: 'watch'" in done.stderr
    assert [] == hostile.steps


@pytest.mark.parametrize("command", ["load", "rehearse"])
@pytest.mark.attack(
    "The same trigger, and a role that may create in the database loads a file or rehearses a load",
    "refused, status 2, with the name of the trigger, before anything is created",
)
def test_event_triggers_of_others_stop_a_load_and_a_rehearsal(
    hostile: HostileDatabase, run: Run, tmp_path: Path, command: str
):
    """Both create a table, beside the user's or in a schema of their own."""
    dsn = hostile.as_a_role_that_may_create()
    # A test before may have made the ledger, as a superuser. In this role no event trigger fires.
    with psycopg.connect(hostile.dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("drop table if exists public.plimsoll_loaded")
    done = run(*arguments_of(command, dsn=dsn, rows=rows_in(tmp_path)))

    assert 2 == done.returncode
    assert "event triggers of other roles would run with your rights: 'watch'" in done.stderr
    assert [] == hostile.steps
