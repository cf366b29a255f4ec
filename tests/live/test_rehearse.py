"""Rehearsals on a real PostgreSQL: the sample, the prediction, and nothing left behind."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.loads import asked
from live.machine import Run, clean_environment
from plimsoll.app.load import inputs_of
from plimsoll.app.options import ReadOptions
from plimsoll.errors import SourceError
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.rehearse import scratch as rehearse_scratch
from plimsoll.load.rehearse.measure import measure
from plimsoll.load.rehearse.sample import take_sample
from plimsoll.load.rehearse.scratch import scratch_table
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

BOUGHT = ("--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000")
ROWS = 60_000
LEFT = "select count(*) from pg_namespace where nspname like 'plimsoll_rehearsal%'"


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    settings = {"shared_buffers": "32MB", "max_connections": "40", "autovacuum": "off"}
    with Postgres(settings) as made:
        yield made


@pytest.fixture
def table(server: Postgres) -> str:
    """A table with rows, a sequence, a TOAST table and two indexes: by a random key, and by one in order."""
    asked(server, "drop table if exists claims, plimsoll_loaded")
    asked(
        server,
        "create table claims (number bigserial, key text, place int, note text check (note <> ''), "
        "primary key (number)) with (fillfactor = 90)",
    )
    asked(server, "create index on claims (key)")
    asked(server, "create index on claims (place) where place is not null")
    asked(server, "insert into claims (key, place, note) values ('a', 1, 'b')")
    return "claims"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.csv"
    note = "a note of some words " * 10
    path.write_text("".join(f"{(n * 2654435761) % 2**32:x},{n},{note}{n}\n" for n in range(ROWS)))
    return path


def state(server: Postgres) -> list[tuple]:
    """All that a rehearsal must not change."""
    return [
        *asked(server, "select count(*), max(number) from claims"),
        *asked(server, "select last_value, is_called from claims_number_seq"),
        *asked(server, "select pg_total_relation_size('claims')"),
        *asked(server, "select count(*) from pg_class where relname like 'plimsoll%'"),
        *asked(server, LEFT),
    ]


def test_a_rehearsal_answers_and_leaves_nothing(server: Postgres, run: Run, table: str, file: Path):
    """The first line is the answer; the table, its sequence and the catalogs are as before."""
    before = state(server)
    done = run(
        *("rehearse", str(file), table, "--columns", "key,place,note", *BOUGHT),
        *("--region", "us-east-1", "--finish-within", "1h"),
        PLIMSOLL_DSN=server.dsn,
    )

    assert (0, "") == (done.returncode, done.stderr)
    assert re.search(r"1\d\.\d MB will take .* on\s+db\.t3\.xlarge: ", done.stdout)
    assert "It finishes within 1 h here." in done.stdout
    assert before == state(server)


def test_json_has_indexes_as_the_rows_come(server: Postgres, run: Run, table: str, file: Path):
    """The random key is scattered, the ordered ones are not; sizes are those of a real load."""
    command = ("rehearse", str(file), table, "--columns", "key,place,note", "--sample", "30%")
    done = run(*command, *BOUGHT, "--json", PLIMSOLL_DSN=server.dsn)
    found = json.loads(done.stdout)
    by_name = {one["name"].removeprefix("public."): one for one in found["cost"]["indexes"]}
    wal = "select pg_current_wal_insert_lsn() - '0/0'"
    asked(server, "checkpoint")
    ((start,),) = asked(server, wal)
    with (
        psycopg.connect(server.dsn, autocommit=True) as connection,
        connection.cursor().copy("copy claims (key, place, note) from stdin csv") as copy,
    ):
        copy.write(file.read_bytes())
    ((end,),) = asked(server, wal)
    ((heap, indexes),) = asked(server, "select pg_relation_size('claims'), pg_indexes_size('claims')")
    size = file.stat().st_size

    assert 0 == done.returncode, done.stderr
    assert size == found["input_bytes"]
    assert by_name["claims_key_idx"]["scatter_ratio"] > 0.8
    assert by_name["claims_place_idx"]["scatter_ratio"] < 0.1
    assert by_name["claims_pkey"]["scatter_ratio"] < 0.1
    assert 0.85 < found["cost"]["table_per_byte"] * size / heap < 1.15
    assert 0.7 < found["cost"]["index_per_byte"] * size / indexes < 1.3
    assert 0.8 < found["cost"]["wal_per_byte"] * size / float(end - start) < 1.2
    assert found["work"]["device_bytes"]["low"] <= found["work"]["device_bytes"]["high"]


def test_the_time_is_that_of_a_load_with_the_same_options(server: Postgres, run: Run, table: str, file: Path):
    """Without metrics: at half of the baseline of a small class, which is slower than this machine."""
    bought = ("--class", "db.t3.micro", "--storage", "gp3", "--size-gib", "100")
    options = (str(file), table, "--columns", "key,place,note", *bought)
    rehearsed = run("rehearse", *options, "--json", PLIMSOLL_DSN=server.dsn)
    began_s = time.monotonic()
    loaded = run("load", *options, PLIMSOLL_DSN=server.dsn)
    elapsed_s = time.monotonic() - began_s
    seconds = json.loads(rehearsed.stdout)["present"]["seconds"]

    assert 0 == loaded.returncode, loaded.stderr
    assert seconds["low"] < elapsed_s < seconds["high"]


def test_the_scratch_table_has_the_sample_and_the_shape(server: Postgres, table: str, file: Path, tmp_path: Path):
    """Each row of the sample once, whole; the same indexes, checks and options."""
    options = CopyOptions(is_csv=True, columns=("key", "place", "note"))
    path = tmp_path / "sample"
    with path.open("w+b") as rows, scratch_table(server.dsn, table) as scratch:
        sample = take_sample(inputs_of([str(file)], ReadOptions()), options, ratio=0.2, file=rows)
        measured = measure(scratch, sample, dsn=server.dsn, options=options, workers=4)
        loaded = asked(server, f"select place from {scratch.name} order by place")
        shape = "select reloptions, (select count(*) from pg_constraint where conrelid = c.oid and contype = 'c') from pg_class c where c.oid = '{}'::regclass"
        shapes = [asked(server, shape.format(name)) for name in (scratch.name, table)]
    places = [int(line.split(",")[1]) for line in path.read_text().splitlines()]

    assert [(place,) for place in sorted(places)] == loaded
    assert len(places) == measured.sample.row_count
    assert max(places) - min(places) > 0.98 * ROWS
    assert shapes[0] == shapes[1]
    assert 3 == len(measured.sample.indexes)
    assert [(0,)] == asked(server, LEFT)


def temporary_of(file: Path) -> Path:
    """The folder for temporary files of a rehearsal of this file."""
    folder = file.parent / "temporary"
    folder.mkdir(exist_ok=True)
    return folder


def begun(server: Postgres, file: Path, table: str) -> subprocess.Popen[str]:
    """A rehearsal of the whole file whose schema is there."""
    command = ("rehearse", str(file), table, "--columns", "key,place,note", "--sample", "100%")
    process = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", *command, *BOUGHT],
        env={**clean_environment(), "PLIMSOLL_DSN": server.dsn, "TMPDIR": str(temporary_of(file))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while asked(server, LEFT) == [(0,)] and time.monotonic() < end and process.poll() is None:
        time.sleep(0.02)
    return process


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_more_signals_do_not_end_the_drop(server: Postgres, table: str, file: Path, sign: signal.Signals):
    """Three, while another session keeps the schema from being dropped."""
    process = begun(server, file, table)
    ((schema,),) = asked(server, LEFT.replace("count(*)", "nspname"))
    with psycopg.connect(server.dsn) as other:
        end = time.monotonic() + 10
        there = f"select to_regclass('{schema}.sample') is not null"
        while asked(server, there) != [(True,)] and time.monotonic() < end:
            time.sleep(0.01)
        other.execute(f"lock table {schema}.sample in access share mode")
        for _ in range(3):
            os.kill(process.pid, sign)
            time.sleep(0.5)
        assert process.poll() is None
    process.communicate(timeout=60)

    assert 130 == process.returncode
    assert [(0,)] == asked(server, LEFT)


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_schema_that_stays_is_told(
    server: Postgres, table: str, monkeypatch: pytest.MonkeyPatch, *, is_interrupted: bool
):
    """With the command that drops it: in a note, or in the error with which the block ends."""
    monkeypatch.setattr(rehearse_scratch, "_ATTEMPTS", 1)
    told = []
    with psycopg.connect(server.dsn) as other:
        try:
            with scratch_table(server.dsn, table) as scratch:
                other.execute(f"lock table {scratch.name} in access share mode")
                if is_interrupted:
                    raise KeyboardInterrupt
        except SourceError as error:
            told.append(error.hint)
    command = f"drop schema if exists {scratch.schema} cascade"
    asked(server, command)
    told += scratch.left

    assert [command] == [one.rpartition(": ")[2] for one in told]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_every_ending_leaves_nothing(server: Postgres, run: Run, table: str, file: Path, sign: signal.Signals):
    """Ended as soon as its schema is there. After kill -9 the next run drops it, and says so; rows of the file are not left."""
    process = begun(server, file, table)
    os.kill(process.pid, sign)
    process.communicate(timeout=60)

    assert [] == list(temporary_of(file).iterdir())
    if sign is not signal.SIGKILL:
        assert 130 == process.returncode
        assert [(0,)] == asked(server, LEFT)
        return
    assert [(1,)] == asked(server, LEFT)
    # The server notices the lost session; its lock is free then.
    wait_for_sessions(server)
    command = ("rehearse", str(file), table, "--columns", "key,place,note")
    again = run(*command, *BOUGHT, "--json", PLIMSOLL_DSN=server.dsn)
    assert any("which a rehearsal that was killed had left" in note for note in json.loads(again.stdout)["notes"])
    assert [(0,)] == asked(server, LEFT)


def wait_for_sessions(server: Postgres) -> None:
    end = time.monotonic() + 60
    sessions = "select count(*) from pg_stat_activity where application_name like 'plimsoll%'"
    while asked(server, sessions) != [(0,)] and time.monotonic() < end:
        time.sleep(0.1)


def test_a_wrong_row_leaves_nothing(server: Postgres, run: Run, table: str, tmp_path: Path):
    (tmp_path / "b.csv").write_text("x,not-a-number,secret value\n")
    done = run("rehearse", "b.csv", table, "--columns", "key,place,note", *BOUGHT, PLIMSOLL_DSN=server.dsn)

    assert 2 == done.returncode
    assert (
        "error: unable to load 'b.csv', line 1, column place: invalid input syntax for type integer\n"
        "hint: Correct such rows in the files, or say how they are written (--format, --encoding). "
        "Your table is unchanged.\n"
    ) == done.stderr
    assert [(0,)] == asked(server, LEFT)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("wrong", ["x,not-a-number,a", 'x,1,""'])
def test_a_wrong_row_is_named_by_its_place_in_the_file(
    server: Postgres, run: Run, table: str, tmp_path: Path, end: str, wrong: str
):
    """Line 9,002 of the second file, which is packed: a value, and a check of the table."""
    row = f'x,1,"a note of{end}two, and a lone newline\n in quotes"{end}'
    (tmp_path / "b.csv").write_text(f"key,place,note{end}{row * 3_000}", newline="")
    text = f"key,place,note{end}{row * 3_000}{wrong}{end}{row * 3_000}"
    (tmp_path / "c.csv.gz").write_bytes(gzip.compress(text.encode(), 1))
    options = ("--columns", "key,place,note", "--with-header", "--sample", "100%")
    done = run(*("rehearse", "b.csv", "c.csv.gz", table, *options, *BOUGHT), PLIMSOLL_DSN=server.dsn)

    assert 2 == done.returncode
    assert re.match(r"error: unable to load 'c.csv.gz', line 9,002(, column place)?: ", done.stderr)
    assert "Your table is unchanged." in done.stderr


def test_a_role_without_create_is_told(server: Postgres, run: Run, table: str, file: Path):
    asked(server, "drop role if exists reader")
    asked(server, "create role reader login password 'secret-word'")
    dsn = psycopg.conninfo.make_conninfo(server.dsn, user="reader", password="secret-word")
    done = run("rehearse", str(file), table, *BOUGHT, PLIMSOLL_DSN=dsn)

    assert 2 == done.returncode
    assert "unable to make a scratch table: permission denied for database" in done.stderr
    assert "`CREATE` on the database" in done.stderr
    assert "secret-word" not in done.stderr


OTHERS = (
    ("plimsoll_rehearsal_ab", "precious", ""),
    ("plimsoll_rehearsal_2026", "sample", ""),
    ("plimsoll_rehearsal_results", "sample", ""),
    ("plimsoll_rehearsal_0123456789abcdef0", "sample", ""),
    ("plimsoll_rehearsal_0123456789ABCDEF", "sample", ""),
    ("plimsoll_rehearsal_0123456789abcde0", "precious", ""),
    ("plimsoll_rehearsal_0123456789abcde1", "sample", "other"),
    ("plimsoll_rehearsal_0123456789abcde2", "numbers", ""),
)


@pytest.mark.attack(
    "Somebody has schemas whose names begin as those of a rehearsal, and a superuser rehearses a load",
    "they are left alone and do not stop it; only what has the exact form, belongs to the role and has nothing else inside is dropped",
)
def test_schemas_of_others_are_left_alone_and_stop_nobody(server: Postgres, table: str, file: Path, run: Run):
    """By their name, their owner or what is in them; of a superuser, who may drop them all, too."""
    with psycopg.connect(server.dsn, autocommit=True) as admin:
        admin.execute("drop role if exists other")
        admin.execute("create role other")
        for schema, inside, owner in OTHERS:
            whose = f" authorization {owner}" if owner else ""
            admin.execute(f'create schema "{schema}"{whose}')
            admin.execute(f'create table "{schema}"."{inside}" (a int)')
        admin.execute(
            'create function "plimsoll_rehearsal_0123456789abcde2".f() returns int language sql as $$ select 1 $$'
        )
        ours = "plimsoll_rehearsal_0123456789abcdef"
        admin.execute(f"create schema {ours}")
        admin.execute(f"create table {ours}.sample (like claims including all, n int generated always as identity)")
        admin.execute(f"create table {ours}.plimsoll_loaded (a int primary key)")
        admin.execute(f"create sequence {ours}.numbers")
        admin.execute(f"create statistics {ours}.s on key, place from {ours}.sample")
        try:
            done = run(*("rehearse", str(file), table, "--columns", "key,place,note", *BOUGHT), PLIMSOLL_DSN=server.dsn)
            left = [
                name
                for (name,) in admin.execute(
                    "select nspname from pg_namespace where nspname like 'plimsoll_rehearsal%'"
                ).fetchall()
            ]
        finally:
            for schema, _, _ in OTHERS:
                admin.execute(f'drop schema if exists "{schema}" cascade')

    assert 0 == done.returncode, done.stderr
    assert sorted(left) == sorted(schema for schema, _, _ in OTHERS)
    assert f"{ours}, which a rehearsal that was killed had left, was dropped" in " ".join(
        (done.stdout + done.stderr).split()
    )
