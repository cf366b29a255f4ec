"""Loads into a real PostgreSQL: every row once, whatever ends a run."""

import gzip
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest

from live.loads import BY_LIMITS, asked, counts, rows, table, whole
from live.machine import Run, clean_environment
from plimsoll.load.copy.commits import CommitWatch
from plimsoll.load.pace.law.commits import PROBES_BEFORE
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres({"shared_buffers": "32MB", "max_connections": "40"}) as made:
        yield made


def commits_so_far(server: Postgres) -> int:
    """Commits of all sessions; those that have ended have reported theirs."""
    query = "select sum(xact_commit)::int from pg_stat_database where datname = current_database()"
    return asked(server, query)[0][0]


@pytest.mark.parametrize("packed", [False, True])
def test_every_row_is_loaded_once(server: Postgres, run: Run, tmp_path: Path, packed: bool):
    """In several chunks by several workers; a second run finds all of it in the ledger."""
    name = table(server, "orders")
    data = rows(400_000)
    file = tmp_path / ("a.csv.gz" if packed else "a.csv")
    file.write_bytes(gzip.compress(data, 1) if packed else data)
    first = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    again = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (first.returncode, first.stderr)
    assert first.stdout.startswith("400,000 rows loaded")
    assert again.stdout.startswith("0 rows loaded")
    assert whole(400_000) == counts(server, name)
    assert [('two\nlines, "quoted"',)] == asked(server, f"select note from {name} where id = 7")
    assert len(data) == asked(server, "select sum(end_byte - start_byte) from plimsoll_loaded")[0][0]
    assert [(400_000,)] == asked(server, "select sum(row_count) from plimsoll_loaded")


def test_pages_are_written_evenly(server: Postgres, run: Run, tmp_path: Path):
    """The sessions of a load hand few pages at a time to the disk; sessions of others do what they did."""
    name = table(server, "orders")
    asked(server, f"alter table {name} add flushed text default current_setting('backend_flush_after')")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(10))
    done = run("load", str(file), name, "--columns", "id,name,note", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    asked(server, f"insert into {name} (id) values (10)")

    assert (0, "") == (done.returncode, done.stderr)
    assert [("0", 1), ("128kB", 10)] == asked(server, f"select flushed, count(*) from {name} group by 1 order by 1")


def test_commits_are_watched_while_rows_are_loaded(server: Postgres, run: Run, tmp_path: Path):
    """The watch commits again and again, and adds no row."""
    name = table(server, "watched")
    commits = []
    for number, more in enumerate(((), ("--commit-latency", "1.5"))):
        file = tmp_path / f"{number}.csv"
        file.write_bytes(rows(1000 + number))
        before = commits_so_far(server)
        done = run("load", str(file), name, *more, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
        assert (0, "") == (done.returncode, done.stderr)
        commits.append(commits_so_far(server) - before)
        lines = done.stdout.splitlines()
        assert len(lines) == 1 + number

    # However short the load: perhaps no commit ended while it ran.
    assert "1.5 times the 95th percentile before the load" in lines[1]
    assert commits[1] >= commits[0] + PROBES_BEFORE
    assert [(2001,)] == asked(server, f"select count(*) from {name}")


def test_a_table_is_missed_before_commits_are_measured(server: Postgres, run: Run, tmp_path: Path):
    file = tmp_path / "a.csv"
    file.write_bytes(rows(10))
    before = commits_so_far(server)
    done = run(*("load", str(file), "missing", "--commit-latency", "1.5", *BY_LIMITS), PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (done.returncode, done.stdout)
    assert "missing" in done.stderr
    assert commits_so_far(server) - before < PROBES_BEFORE


def test_a_watch_waits_for_the_disk_whatever_the_role_does(server: Postgres):
    """Commits that do not wait for their WAL would all be fast."""

    class Told:
        shares: ClassVar[list[float]] = []

        def set_share(self, ratio: float) -> None:
            """Keep it."""
            self.shares.append(ratio)

    dsn = f"{server.dsn} options='-c synchronous_commit=off'"
    position = "select pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()"
    with CommitWatch(dsn, Told(), 100.0), psycopg.connect(server.dsn, autocommit=True) as other:
        behind = []
        for _ in range(50):
            inserted, flushed = other.execute(position).fetchall()[0]
            behind.append(inserted != flushed)
            time.sleep(0.01)

    # Seen in the middle of a commit now and then, and not after each of them.
    assert sum(behind) < 25


def test_a_watch_needs_its_right(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "watched")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(10))
    # PostgreSQL 17 gave it a fourth parameter.
    function = "function pg_logical_emit_message(boolean, text, text, boolean)"
    asked(server, "drop role if exists etl")
    asked(server, "create role etl login password 'etl'")
    asked(server, f"grant insert on {name} to etl; grant create on schema public to etl")
    asked(server, f"revoke execute on {function} from public")
    try:
        done = run(
            *("load", str(file), name, "--commit-latency", "1.5", *BY_LIMITS),
            PLIMSOLL_DSN=f"{server.dsn} user=etl password=etl",
        )
    finally:
        asked(server, f"grant execute on {function} to public")

    assert (2, "") == (done.returncode, done.stdout)
    assert done.stderr == (
        "error: unable to measure commits: permission denied for function pg_logical_emit_message\n"
        "hint: Grant EXECUTE on it to the role, or leave out --commit-latency.\n"
    )
    assert [(0,)] == asked(server, f"select count(*) from {name}")


def test_a_load_that_is_killed_goes_on(server: Postgres, tmp_path: Path):
    """Killed with SIGKILL at any moment, several times; at the end every row is there once."""
    name = table(server, "killed")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(900_000))
    command = [sys.executable, "-m", "plimsoll", "load", str(file), name, *BY_LIMITS]
    environment = {**clean_environment(), "PLIMSOLL_DSN": server.dsn}
    dice = random.Random(1)
    for _ in range(6):
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.0 + dice.random())
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    assert (0, "") == (done.returncode, done.stderr)
    assert whole(900_000) == counts(server, name)


def test_two_loads_of_the_same_file_load_it_once(server: Postgres, tmp_path: Path):
    name = table(server, "twice")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(300_000))
    command = [sys.executable, "-m", "plimsoll", "load", str(file), name, *BY_LIMITS]
    environment = {**clean_environment(), "PLIMSOLL_DSN": server.dsn}
    both = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)
    ]
    errors = [process.communicate(timeout=300)[1] for process in both]

    assert [b"", b""] == errors
    assert whole(300_000) == counts(server, name)


def test_a_wrong_row_is_named_and_not_repeated(server: Postgres, run: Run, tmp_path: Path):
    """File, place and line; no value of the row. What was loaded stays, and the corrected file is another one."""
    name = table(server, "wrong")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(10) + b"not-a-number,secret value,x\n" + rows(3))
    done = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == done.returncode
    assert f"unable to load '{file}', bytes 0 to" in done.stderr
    # Two of ten rows have two lines each; servers count the lines of a row that is refused differently.
    assert re.search(r"line 1[1-3] of them, column id", done.stderr)
    assert "invalid input syntax for type integer" in done.stderr
    assert "not-a-number" not in done.stderr
    assert "secret" not in done.stderr
    assert (0, 0, None) == counts(server, name)


def test_headers_columns_and_delimiters(server: Postgres, run: Run, tmp_path: Path):
    """Of two files; the table's other columns have their defaults."""
    name = table(server, "parts")
    for part in (1, 2):
        (tmp_path / f"{part}.txt").write_text(f"name|id\nn{part}|{part}\n-|{part + 2}\n")
    done = run(
        "load", "1.txt", "2.txt", name, *BY_LIMITS, "--format", "csv", "--with-header", "--delimiter", "|",
        "--null", "-", "--columns", "name, id", PLIMSOLL_DSN=server.dsn,
    )  # fmt: skip

    assert (0, "") == (done.returncode, done.stderr)
    found = asked(server, f"select id, name, note from {name} order by id")
    assert [(1, "n1", None), (2, "n2", None), (3, None, None), (4, None, None)] == found


@pytest.mark.parametrize(
    ("arguments", "cause"),
    [(["absent"], "there is no table 'absent'"), (["known", "--columns", "id,colour"], "has no column 'colour'")],
)
def test_what_is_not_there_is_one_sentence(
    server: Postgres, run: Run, tmp_path: Path, arguments: list[str], cause: str
):
    table(server, "known")
    (tmp_path / "a.csv").write_text("1,a,b\n")
    done = run("load", "a.csv", *arguments, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == done.returncode
    assert cause in done.stderr


def test_a_lost_connection_is_no_lost_row(server: Postgres, tmp_path: Path):
    """Sessions that copy are ended while the load runs; it goes on by itself."""
    name = table(server, "lost")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(900_000))
    process = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "load", str(file), name, *BY_LIMITS],
        env={**clean_environment(), "PLIMSOLL_DSN": server.dsn},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = "select pg_terminate_backend(pid) from pg_stat_activity where query like 'copy %'"
    while process.poll() is None:
        time.sleep(0.7)
        asked(server, f"{end} and random() < 0.5")
    _, errors = process.communicate(timeout=60)

    assert (0, "") == (process.returncode, errors)
    assert whole(900_000) == counts(server, name)
