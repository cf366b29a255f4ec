"""What an inspection prints for a server of one's own runs there: each statement, on a real PostgreSQL 18."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from msgspec.structs import replace

from databases import START_S, WINDOW_S, budget, index, observation, reading, seen, server, table
from live.installed import DEBIANS, postgres_binaries
from plimsoll.causes import checks
from plimsoll.causes.indexes import invalid, unused
from plimsoll.causes.platform import KNOWN_SETTINGS, ServerPlace, placed
from plimsoll.causes.vacuum import bloat, toast_options
from plimsoll.errors import SourceError
from plimsoll.model.cause import Cause, Remedy
from plimsoll.model.standing import IndexSpace, InvalidIndex, ServerHealth, TableSpace
from plimsoll_lab.servers.postgres import Postgres

MIB = 1024**2
# A value of each setting that a detector names.
VALUES = {
    "autovacuum": "on",
    "checkpoint_completion_target": "0.9",
    "checkpoint_timeout": "15min",
    "client_connection_check_interval": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "log_autovacuum_min_duration": "0",
    "log_disconnections": "on",
    "log_temp_files": "10MB",
    "logical_decoding_work_mem": "256MB",
    "max_prepared_transactions": "0",
    "max_slot_wal_keep_size": "8GB",
    "max_wal_size": "24576MB",
    "track_counts": "on",
    "wal_compression": "pglz",
}
SETUP = """
create schema "My Shop"; create table "My Shop"."it's" (id int, note text) with (autovacuum_vacuum_cost_delay = 3);
create index "it's all" on "My Shop"."it's" (note);
create table parted (id int, note text) partition by range (id);
create table part partition of parted for values from (0) to (9);
create index whole on parted (note)
"""
TABLE, INDEX = '"My Shop"."it\'s"', '"My Shop"."it\'s all"'


@pytest.fixture(scope="module", params=("18", DEBIANS))
def running(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with tables whose names need quotes, and one whose index is partitioned."""
    settings = {"fsync": "off", "autovacuum": "off", "max_prepared_transactions": "2"}
    with Postgres(settings, binaries=postgres_binaries(request.param)) as started:
        with psycopg.connect(started.dsn, autocommit=True) as connection:
            connection.execute(SETUP)
            connection.execute("create extension pgstattuple")
        yield started


def runs(running: Postgres, commands: list[str]) -> None:
    """Each command alone, as people run it; concurrent ones want no transaction."""
    with psycopg.connect(running.dsn, autocommit=True) as connection:
        for command in commands:
            connection.execute(command.encode())


def printed(causes: tuple[Cause, ...]) -> list[str]:
    return [c for cause in causes for remedy in cause.remedies for c in remedy.commands]


def test_every_setting_is_set(running: Postgres):
    """ALTER SYSTEM takes each value; those that need no restart are in effect after the reload."""
    assert VALUES.keys() == KNOWN_SETTINGS.keys()
    for setting in VALUES.items():
        done = placed(Remedy(text="", settings=(setting,)), ServerPlace())
        assert done is not None
        runs(running, list(done.commands))
    with psycopg.connect(running.dsn, autocommit=True) as connection:
        rows = connection.execute(
            "select name, context, coalesce(unit, '') from pg_settings where name = any(%s)", [list(VALUES)]
        ).fetchall()
        (errors,) = connection.execute(
            "select count(*) from pg_file_settings where error is not null and name <> 'max_prepared_transactions'"
        ).fetchone()
        connection.execute("alter system reset all")
    units = {name: unit for name, _, unit in rows}
    restarts = {name for name, context, _ in rows if context == "postmaster"}

    assert {name: known.unit for name, known in KNOWN_SETTINGS.items()} == units
    assert {name for name, known in KNOWN_SETTINGS.items() if known.needs_restart} == restarts
    assert 0 == errors


def test_every_check_runs(running: Postgres):
    """With names that need quotes; a slot, a transaction and a build that are not there give no row."""
    with psycopg.connect(running.dsn, autocommit=True) as connection:
        version = connection.info.server_version
        answers = [
            connection.execute(command.encode()).fetchall()
            for command in (
                checks.scans_of([INDEX], version),
                checks.scans_of_parts("public.whole", version),
                checks.leaf_density(INDEX),
                checks.density(TABLE),
                checks.toast_density(TABLE),
                checks.being_built([INDEX]),
                checks.slot_of("it's gone"),
                checks.prepared_of("it's gone"),
            )
        ]

    assert [1, 1, 1, 1, 1, 0, 0, 0] == [len(rows) for rows in answers]


def health(**parts):
    week = reading(START_S + WINDOW_S)
    old = replace(week, counters=replace(week.counters, reset_s=START_S - 30 * 86_400))
    return observation(reading(START_S), old, standing=ServerHealth(**parts))


def test_bloat_and_invalid_indexes(running: Postgres):
    """Check, rewrite, rebuild and drop, of a table and an index with names that need quotes."""
    space = TableSpace(
        name=TABLE, oid=1, pages=10_000, row_estimate=1000.0, fill_ratio=1.0, row_bytes=40.0,
        has_nulls=False, column_count=2, live_rows=1000, dead_rows=0, may_select=True,
        toast_pages=10_000, toast_rows=10.0,
    )  # fmt: skip
    leaf = IndexSpace(name=INDEX, table=TABLE, pages=9_000, entry_estimate=1e4, key_bytes=8.0)
    lost = InvalidIndex(name=INDEX, table=TABLE, size_bytes=MIB, is_maintained=True, definition="")
    commands = [
        *printed(bloat.causes(health(tables=(space,), indexes=(leaf,)), budget())),
        *printed(invalid.causes(health(invalid_indexes=(lost,)), budget())),
    ]

    assert any("VACUUM (FULL" in command for command in commands)
    assert any("DROP INDEX CONCURRENTLY" in command for command in commands)
    runs(running, commands)
    runs(running, [f'create index "it\'s all" on {TABLE} (note)'])


def test_unused_indexes(running: Postgres):
    """Alone, and as parts of a partitioned one, which goes with its parent."""
    relations = tuple(
        table(n, name, size_bytes=80 * MIB, live_rows=10**6, row_estimate=1e6)
        for n, name in ((1, TABLE), (2, "public.part"))
    )
    one = index(10, relations[0], INDEX, size_bytes=30 * MIB)
    part = index(11, relations[1], "public.part_note_idx", size_bytes=30 * MIB, parent="public.whole")
    old = reading(0.0).counters
    watched = seen(relations, tuple(replace(r, inserted=120_000) for r in relations))
    version = 180_000 if running.version.startswith("18") else 150_000
    watched = replace(
        watched,
        server=server(version_number=version),
        first=replace(watched.first, indexes=(one, part)),
        last=replace(
            watched.last,
            indexes=tuple(replace(i, blocks_hit=360_000) for i in (one, part)),
            counters=replace(old, reset_s=START_S - 30 * 86_400),
        ),
    )
    commands = printed(unused.causes(watched, budget(10e6, 10e6)))

    assert ["DROP INDEX", "DROP INDEX"] == [c[:10] for c in commands if c.startswith("DROP")]
    runs(running, commands)
    runs(running, [f'create index "it\'s all" on {TABLE} (note)', "create index whole on parted (note)"])


def test_parameters_of_a_toast_relation(running: Postgres):
    """All that a table and a TOAST relation can share is repeated in one command."""
    shared = {
        "autovacuum_enabled": "off", "autovacuum_vacuum_threshold": "9",
        "autovacuum_vacuum_insert_threshold": "9", "autovacuum_vacuum_scale_factor": "0.1",
        "autovacuum_vacuum_insert_scale_factor": "0.1", "autovacuum_vacuum_cost_delay": "3",
        "autovacuum_vacuum_cost_limit": "99", "autovacuum_freeze_min_age": "9",
        "autovacuum_freeze_max_age": "300000000", "autovacuum_freeze_table_age": "9",
        "autovacuum_multixact_freeze_min_age": "9", "autovacuum_multixact_freeze_max_age": "300000000",
        "autovacuum_multixact_freeze_table_age": "9", "log_autovacuum_min_duration": "9",
        "autovacuum_analyze_threshold": "9", "autovacuum_analyze_scale_factor": "0.1",
        "fillfactor": "90", "toast_tuple_target": "200", "parallel_workers": "1",
        **({"autovacuum_vacuum_max_threshold": "9"} if running.version.startswith("18") else {}),
    }  # fmt: skip
    owner = table(1, TABLE, options=shared, toast_oid=2)
    toast = replace(
        table(2, "pg_toast.x", size_bytes=MIB, owner_oid=1, options={"vacuum_truncate": "off"}), kind="toast"
    )
    (cause,) = toast_options.causes(seen((owner, toast), (owner, toast)), budget())

    runs(running, printed((cause,)))
    assert "autovacuum_analyze" not in printed((cause,))[0]


def test_a_server_with_a_prepared_transaction_does_not_start_without_room_for_it():
    """Why two-phase commit is disabled only once pg_prepared_xacts is empty."""
    folder = Path(tempfile.mkdtemp(prefix="plimsoll-prepared-", dir="/var/tmp"))
    try:
        first = Postgres({"fsync": "off", "max_prepared_transactions": "2"}, data_directory=folder / "data")
        first.account.own(folder)
        with first, psycopg.connect(first.dsn, autocommit=True) as connection:
            connection.execute("create table kept (id int)")
            connection.execute("begin; insert into kept values (1); prepare transaction 'orphan'")
        without = first.relocated(folder / "data", {"max_prepared_transactions": "0"})
        with pytest.raises(SourceError) as refused, without:
            pass
        with first.relocated(folder / "data", {"max_prepared_transactions": "2"}) as again:
            again.run("psql", "-c", "rollback prepared 'orphan'")
    finally:
        shutil.rmtree(folder, ignore_errors=True)

    assert "did not start" in refused.value.message
