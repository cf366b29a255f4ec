"""Counters that began a moment ago, on real servers: after a crash, a reset and a promotion, and what is not counted."""

import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import DEBIANS, NEWEST, postgres_binaries
from plimsoll.causes.inspect import inspect
from plimsoll.model.cause import Cause, Inspection
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.statements.inspection import MOMENT
from plimsoll.sources.postgres.statements.wal import PROMOTED
from plimsoll_lab.servers.postgres import Postgres

SETTINGS = {"fsync": "off", "autovacuum": "off", "shared_buffers": "32MB"}
DESTRUCTIVE = ("VACUUM (FULL", "DROP INDEX")
# A dense table of 32 MB with an index that is used, and others of which each looks empty for another reason.
SETUP = """
create table hist (id bigint, body text);
insert into hist select g, repeat('x', 200) from generate_series(1, 120000) g;
create index hist_body on hist (body, id);
create index hist_id on hist (id);
create table ordered (id bigint);
insert into ordered select g from generate_series(1, 500000) g;
create index ordered_third on ordered (id) with (fillfactor = 30);
create table thinned (id bigint, wide text);
insert into thinned select g, repeat('z', 300) from generate_series(1, 60000) g;
alter table thinned drop column wide;
create table blind (id bigint, note text);
alter table blind alter note set statistics 0;
insert into blind select g, repeat('x', 200) from generate_series(1, 80000) g;
create table widened (id bigint, note text);
insert into widened select g, repeat('x', 200) from generate_series(1, 80000) g;
create table emptied (id bigint, note text);
insert into emptied select g, repeat('x', 200) from generate_series(1, 80000) g;
delete from emptied where id % 20 <> 0;
select pg_stat_force_next_flush();
select 1;
vacuum analyze hist, ordered, thinned, blind, widened, emptied;
alter table widened add more text default 'more';
create table raw (id bigint, note text);
insert into raw select g, repeat('x', 200) from generate_series(1, 80000) g;
create extension if not exists pgstattuple;
"""


@pytest.fixture(scope="module", params=(DEBIANS, NEWEST))
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server whose tables were counted, and whose indexes were used."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            for statement in SETUP.split(";\n"):
                connection.execute(statement.encode())
            connection.execute("set enable_seqscan = off")
            connection.execute("select count(*) from hist where id = 7")
            flush_statistics(connection)
        yield running


def written(dsn: str) -> Observation:
    """A second in which rows are inserted, so that every index is maintained."""
    clock_s = 0.0

    def sleep(seconds: float) -> None:
        nonlocal clock_s
        clock_s += seconds
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("insert into hist select g, repeat('x', 200) from generate_series(1, 300) g")
            flush_statistics(connection)

    return observe(dsn, duration_s=1.0, clock=lambda: clock_s, sleep=sleep)


def printed(found: Inspection | Cause) -> list[str]:
    causes = found.causes if isinstance(found, Inspection) else (found,)
    return [c for cause in causes for remedy in cause.remedies for c in remedy.commands]


def harmless(seen: Observation) -> list[str]:
    """What would be destroyed, and which dense tables are called empty."""
    found = inspect(seen)
    empty = [e.text for c in found.causes if c.code == "TableBloat" for e in c.evidence]
    return [*(c for c in printed(found) if c.startswith(DESTRUCTIVE)), *(text for text in empty if "hist" in text)]


def crashed(server: Postgres) -> None:
    """One process is killed, so the server recovers; it comes back with counters at zero."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("checkpoint")
        (pid,) = connection.execute("select pid from pg_stat_activity where backend_type = 'checkpointer'").fetchone()
        os.kill(pid, signal.SIGKILL)
        with suppress(psycopg.Error):
            while True:
                connection.execute("select 1")
    for _ in range(4000):
        with suppress(psycopg.OperationalError):
            psycopg.connect(server.dsn, connect_timeout=2).close()
            return
    raise AssertionError("the server did not come back")


def test_after_a_crash_nothing_is_destroyed_on_the_word_of_counters(server: Postgres):
    """pg_stat_database has no date then; the views of the whole server have that of the recovery."""
    crashed(server)
    seen = written(server.dsn)

    assert [] == harmless(seen)
    assert seen.last.counters.reset_s is not None
    assert 0 <= seen.last.time_s - seen.last.counters.reset_s < 3600


@pytest.mark.parametrize(
    "reset",
    [
        "select pg_stat_reset()",
        "select pg_stat_reset_single_table_counters('hist'::regclass)",
        "select pg_stat_reset_shared('bgwriter')",
    ],
)
def test_after_a_reset_nothing_is_destroyed_either(server: Postgres, reset: str):
    """A reset of one table dates its database; that of another kind of counter leaves the age as it was."""
    before = written(server.dsn).last.counters.reset_s
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(reset.encode())
    seen = written(server.dsn)

    assert [] == harmless(seen)
    assert ("bgwriter" in reset) == (before == seen.last.counters.reset_s)


def test_a_promoted_standby_has_counters_as_young_as_its_promotion(server: Postgres):
    """No view tells of it: the history of its timeline does."""
    data = Path(server.data_directory).parent / "standby"
    server.run("pg_basebackup", "-D", str(data), "-X", "stream", "-c", "fast")
    (data / "standby.signal").touch()
    for path in (data, *data.rglob("*")):
        server.account.own(path)
    settings = {**SETTINGS, "primary_conninfo": server.dsn.replace("'", "")}
    with server.relocated(data, settings) as standby:
        with psycopg.connect(standby.dsn, autocommit=True) as connection:
            (before,) = connection.execute(PROMOTED).fetchone()
            (at_s,) = connection.execute(MOMENT).fetchone()
            connection.execute("select pg_promote()")
            (promoted_s,) = connection.execute(PROMOTED).fetchone()
        seen = written(standby.dsn)
    shutil.rmtree(data, ignore_errors=True)

    assert [] == harmless(seen)
    assert before is None
    # The time of a file has whole seconds.
    assert at_s - 1 <= promoted_s <= (seen.last.counters.reset_s or 0.0) <= seen.last.time_s


def test_an_index_is_as_full_as_it_was_ordered_to_be(server: Postgres):
    """Built with a fillfactor of 30, two thirds of each page are empty; a rebuild would change nothing."""
    found = inspect(written(server.dsn))

    assert not any("ordered_third" in command for command in printed(found))


def test_what_has_no_statistics_is_named(server: Postgres):
    """A column with none by order, one added since, and a table that was never analyzed."""
    (gap,) = [gap for gap in inspect(written(server.dsn)).missing if gap.name == "column statistics"]

    assert [True] * 3 == [f"public.{name}" in gap.hides for name in ("blind", "widened", "raw")]
    assert "public.emptied" not in gap.hides


def test_a_dropped_column_is_told_apart_from_free_space(server: Postgres):
    """The check that is printed runs, and tells them apart: rows, not free space."""
    (cause,) = [c for c in inspect(written(server.dsn)).causes if c.code == "TableBloat"]

    assert "Columns of public.thinned were dropped" in cause.text
    assert "New rows reuse" not in cause.text
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        shares = {
            command.split("'")[1]: connection.execute(command.encode()).fetchone()
            for command in printed(cause)
            if command.startswith("SELECT")
        }
    assert shares["public.emptied"][0] > 80
    assert shares["public.thinned"][0] < 5
    assert "CREATE EXTENSION IF NOT EXISTS pgstattuple;" == printed(cause)[0]
