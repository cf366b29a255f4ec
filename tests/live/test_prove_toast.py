"""`plimsoll prove toast` on a real server: what it counts, and that it leaves nothing behind."""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from live.machine import Run, clean_environment
from live.working import working
from plimsoll.model.toast import ToastSample
from plimsoll.sources.postgres.prove_toast import incompressible
from plimsoll.sources.postgres.sample_toast import sample_toast
from plimsoll_lab.servers.postgres import Postgres

ROWS = 40


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server that logs what decoding needs, with a table of values out of line."""
    with Postgres({"wal_level": "logical", "shared_buffers": "16MB"}) as postgres:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            connection.execute("create schema docs")
            connection.execute(
                'create table docs."Letters" (id int primary key, n int default 0, body text, '
                "\"It's\" jsonb default '{}')"
            )
            connection.execute('alter table docs."Letters" alter body set storage external')
            connection.execute(
                'insert into docs."Letters" (id, body) select g, %s from generate_series(1, %s) g',
                (incompressible(9980), ROWS),
            )
            connection.execute("create role plain login password 'plain-secret'")
        yield postgres


def left_behind(server: Postgres) -> list[tuple[str]]:
    """Schemas and slots that bear our name."""
    with psycopg.connect(server.dsn) as connection:
        return connection.execute(
            "select nspname::text from pg_namespace where nspname like 'plimsoll%' "
            "union all select slot_name::text from pg_replication_slots"
        ).fetchall()


def test_every_way_to_send_a_value_is_counted(server: Postgres, run: Run):
    """A value of five chunks leaves 6 dead rows however it is sent, and 1 where it is kept."""
    done = run("prove", "toast", server.dsn, "--table", 'docs."Letters"', "--format", "json")
    assert not done.returncode, done.stderr
    report = json.loads(done.stdout)
    dead = {
        case["name"]: case["rows_updated"] + case["chunks_dead"]
        for case in reversed(report["cases"])
        if case["storage"] == "external"
    }
    copies = {case["name"]: case["chunks_written"] for case in report["copies"]}
    compressed = [c for c in report["cases"] if c["name"].endswith("text that repeats")]

    assert 1996 == report["chunk_bytes"]
    assert 6 == dead["send the same value again"] == dead["upsert the same value"]
    assert 6 == dead["suppress_redundant_updates_trigger"]
    assert 1 == dead["leave it alone"] == dead["set it to itself"]
    assert 1 == dead["CASE WHEN it IS DISTINCT FROM"] == dead["trigger that puts the old value back"]
    assert 0 == dead["upsert where it IS DISTINCT FROM"]
    assert {"leave it alone": 0, "send the same value again": 5} == copies
    assert {0, 5} == {c["chunks_written"] for c in compressed}
    assert [] == left_behind(server)


def test_the_arithmetic_is_the_servers_own_count_of_dead_rows(server: Postgres):
    """Committed updates that send 9,980 bytes again leave 6 dead rows each in the server's statistics."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(
            "create table sent (id int primary key, body text) with (autovacuum_enabled = off, "
            "toast.autovacuum_enabled = off, fillfactor = 50)"
        )
        connection.execute("alter table sent alter body set storage external")
        value = incompressible(9980)
        connection.execute("insert into sent values (1, %s)", (value,))
        for _ in range(10):
            connection.execute("update sent set body = %s where id = 1", (value,))
        connection.execute("select pg_stat_force_next_flush()")
        row = connection.execute(
            "select pg_stat_get_tuples_updated(c.oid), pg_stat_get_dead_tuples(t.oid) "
            "from pg_class c join pg_class t on t.oid = c.reltoastrelid where c.relname = 'sent'"
        ).fetchone()
        connection.execute("drop table sent")

    assert (10, 50) == row


def test_a_sample_tells_sent_again_from_changed(server: Postgres):
    """Of the values sent, those that were the same are counted, as are those that were left alone."""
    with psycopg.connect(server.dsn) as connection:
        (same,) = connection.execute('select body from docs."Letters" where id = 1').fetchone()
    with working(server.dsn, lambda worker, turn: send(worker, turn, same), pause_s=0.005):
        (sample,) = sample_toast(server.dsn, 'docs."Letters"', seconds=1.5)

    assert ('docs."Letters"', "body") == (sample.table, sample.column)
    assert sample.resent_unknown == 0
    assert sample.untouched > 5
    assert sample.resent_changed > 5
    # Of five updates three send the same value, one another, one none.
    assert shares(sample) == pytest.approx((0.6, 0.2, 0.2), abs=0.06)
    assert [] == left_behind(server)


def send(worker: psycopg.Connection, turn: int, same: str) -> None:
    """Three of five updates send what is there, one something else (to a row of its own), one nothing."""
    table, row = 'docs."Letters"', turn % ROWS // 2 + 1
    if turn % 5 == 0:
        worker.execute(f"update {table} set n = n + 1 where id = %s", (row,))
    elif turn % 5 == 1:
        changed = hashlib.md5(b"%d" % turn).hexdigest() + same[32:]
        worker.execute(f"update {table} set body = %s where id = %s", (changed, row + ROWS // 2))
    else:
        worker.execute(f"update {table} set n = n + 1, body = %s where id = %s", (same, row))


def shares(sample: ToastSample) -> tuple[float, float, float]:
    """Of all updates seen: the same value sent, another, none."""
    seen = sample.resent_same + sample.resent_changed + sample.untouched
    return (sample.resent_same / seen, sample.resent_changed / seen, sample.untouched / seen)


@pytest.mark.attack(
    "The server logs all statements with their parameters, and plans, while a superuser proves with a table of others",
    "no value of a row is in the log",
)
def test_no_value_of_a_row_reaches_the_servers_log(server: Postgres, run: Run):
    """Values are copied on the server; the keys of a sample are parameters whose logging is off."""
    log = server._directory / "log"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table docs.private (code text primary key, body text, more jsonb)")
        connection.execute("alter table docs.private alter body set storage external")
        connection.execute(
            "insert into docs.private select 'secret-key-' || g, 'secret-body-' || %s, "
            "jsonb_build_object('a', 'secret-more-' || %s) from generate_series(1, 5) g",
            (incompressible(9980), incompressible(9000)),
        )
        connection.execute("create role logged superuser login password 'logged'")
        for setting in (
            *("log_statement = 'all'", "log_min_duration_statement = 0"),
            *("session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = 0"),
            *("auto_explain.log_analyze = on", "auto_explain.log_verbose = on"),
        ):
            connection.execute(f"alter role logged set {setting}")
    dsn = f"host=127.0.0.1 port={server.port} user=logged dbname=postgres password=logged"
    begun = log.stat().st_size
    update = "update docs.private set body = body || 'x' where code like '%1'"
    with working(server.dsn, lambda worker, _: worker.execute(update), pause_s=0.01):
        done = run(*("prove", "toast", dsn, "--table", "docs.private", "--decode", "2s"), *("--format", "json"))
    logged = log.read_bytes()[begun:].decode()
    report = json.loads(done.stdout)

    assert not done.returncode, done.stderr
    assert "update plimsoll_proof_" in logged
    assert "from only docs.private where code" in logged
    assert "Query Text" in logged
    assert [] == [line[:200] for line in logged.splitlines() if "secret-" in line]
    assert {"column body", "column more"} == {case["storage"] for case in report["copies"]}
    assert all(case["chunks_written"] for case in report["copies"] if case["name"].startswith("send"))
    assert 9000 < min(case["value_bytes"] for case in report["copies"])


def test_a_sample_ends_at_its_bound_on_wal(server: Postgres):
    """A minute of sampling ends as soon as the server has written what may be decoded."""
    update = 'update docs."Letters" set body = %s where id = 1'
    with working(server.dsn, lambda worker, _: worker.execute(update, (incompressible(9980),))):
        (sample,) = sample_toast(server.dsn, 'docs."Letters"', seconds=60, wal_bytes_max=200_000)

    assert not sample.is_whole
    assert sample.seconds < 20


def test_a_role_without_rights_is_told_which(server: Postgres, run: Run):
    """Neither schema nor slot can be made; the message says what is missing, and never the password."""
    dsn = f"host=127.0.0.1 port={server.port} user=plain dbname=postgres password=plain-secret"
    schema = run("prove", "toast", dsn)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("grant create on database postgres to plain")
    slot = run("prove", "toast", dsn, "--table", "docs.nothing")
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table public.mine (id int primary key, body text)")
        connection.execute("grant select on public.mine to plain")
    decode = run("prove", "toast", dsn, "--table", "public.mine", "--decode", "1s")

    assert (2, 2, 2) == (schema.returncode, slot.returncode, decode.returncode)
    assert "CREATE on the database" in schema.stderr
    assert "REPLICATION" in decode.stderr
    assert "plain-secret" not in schema.stderr + slot.stderr + decode.stderr
    assert [] == left_behind(server)


def test_a_role_needs_no_more_than_is_said(server: Postgres, run: Run):
    """CREATE on the database, SELECT on the table and REPLICATION are enough; nobody has to be superuser."""
    dsn = f"host=127.0.0.1 port={server.port} user=modest dbname=postgres password=modest-secret"
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        if not connection.execute("select from pg_roles where rolname = 'modest'").fetchone():
            connection.execute("create role modest login replication password 'modest-secret'")
        connection.execute("grant create on database postgres to modest")
        connection.execute("grant usage on schema docs to modest")
        connection.execute('grant select on docs."Letters" to modest')
    done = run("prove", "toast", dsn, "--table", 'docs."Letters"', "--decode", "1s")

    assert not done.returncode, done.stderr
    assert "left 6 dead rows" in done.stdout
    assert 'No update of docs."Letters" was seen' in done.stdout
    assert [] == left_behind(server)


def test_a_standby_is_told_that_it_is_one(server: Postgres, run: Run):
    """Nothing can be made or decoded on a standby; it says so, and where to go."""
    data = Path(server.data_directory).parent / "standby"
    server.run("pg_basebackup", "-D", str(data), "-X", "stream", "-c", "fast")
    (data / "standby.signal").touch()
    for path in (data, *data.rglob("*")):
        server.account.own(path)
    settings = {"wal_level": "logical", "primary_conninfo": server.dsn.replace("'", "")}
    with server.relocated(data, settings) as standby:
        done = run("prove", "toast", standby.dsn)

    assert 2 == done.returncode
    assert "the server is a standby" in done.stderr
    assert "primary" in done.stderr


def test_a_killed_sample_leaves_no_slot(server: Postgres, tmp_path: Path):
    """The server drops the slot of a process that was killed while it watched, and its snapshot with it."""
    slots = "select count(*) from pg_replication_slots where active"
    killed = subprocess.Popen(
        [
            *(sys.executable, "-m", "plimsoll", "prove", "toast", server.dsn),
            *("--table", 'docs."Letters"', "--decode", "60s"),
        ],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
    )
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        wait_until(lambda: connection.execute(slots).fetchone() == (1,))
        killed.kill()
        killed.wait()
        wait_until(lambda: connection.execute(slots).fetchone() == (0,))
        wait_until(
            lambda: (
                connection.execute(
                    "select count(*) from pg_stat_activity where application_name = 'plimsoll'"
                ).fetchone()
                == (0,)
            )
        )

    assert [] == left_behind(server)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Ask again and again, for half a minute at most."""
    until_s = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.05)
