"""Tables that lost what their ledger says: never status 0 without a word; and `load --truncate`."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.loads import BY_LIMITS, asked, counts, rows, table, whole
from live.machine import Run, clean_environment
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

COUNT = 1000


@pytest.fixture(scope="module", params=[DEBIANS, NEWEST])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    settings = {"fsync": "off", "max_connections": "40"}
    with Postgres(settings, binaries=postgres_binaries(request.param)) as made:
        asked(made, "grant create on schema public to public")
        asked(made, "create role etl login password 'etl'")
        yield made


def loaded(server: Postgres, run: Run, tmp_path: Path, name: str) -> tuple[str, ...]:
    """Load a file; return the command that does it again."""
    (tmp_path / "a.csv").write_bytes(rows(COUNT))
    command = ("load", "a.csv", name, *BY_LIMITS)
    first = run(*command, PLIMSOLL_DSN=server.dsn)
    assert (0, "") == (first.returncode, first.stderr)
    return command


def parted(server: Postgres, name: str) -> str:
    """A table with three partitions, of which a file of `COUNT` rows fills two."""
    asked(server, f"drop table if exists {name}, {name}_low, plimsoll_loaded")
    asked(server, f"create table {name} (id int, name text, note text) partition by range (id)")
    asked(server, f"create table {name}_low partition of {name} for values from (0) to (300)")
    asked(server, f"create table {name}_high partition of {name} for values from (300) to (5000)")
    asked(server, f"create table {name}_more partition of {name} for values from (5000) to (9000)")
    return name


def statement(text: str, begin: str) -> str:
    """The printed statement that begins so."""
    found = re.findall(rf"{begin} [^;]+;", text)
    assert found, text
    return found[0]


@pytest.mark.parametrize(
    ("how", "answer", "count"),
    [
        ("truncate {0}", "DELETE FROM", COUNT),
        ("delete from {0}", "DELETE FROM", COUNT),
        ("delete from {0}; vacuum {0}", "DELETE FROM", COUNT),
        # Rows that were removed on purpose stay away.
        ("truncate {0}", "UPDATE", 0),
    ],
)
def test_an_emptied_table_is_asked_about(server: Postgres, run: Run, tmp_path: Path, how: str, answer: str, count: int):
    """Of the printed statements one makes the same command load all again, the other keep it as it is."""
    name = table(server, "emptied")
    command = loaded(server, run, tmp_path, name)
    for one in how.format(name).split("; "):
        asked(server, one)
    refused = run(*command, PLIMSOLL_DSN=server.dsn)
    asked(server, statement(refused.stderr, answer))
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (refused.returncode, refused.stdout)
    assert "public.emptied is empty, but by the ledger 1,000 rows of 'a.csv' are in it" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert (whole(COUNT) if count else (0, 0, None)) == counts(server, name)


def test_a_table_that_is_emptied_between_files_is_nobodys_question(server: Postgres, run: Run, tmp_path: Path):
    """As staging tables are."""
    name = table(server, "staging")
    loaded(server, run, tmp_path, name)
    asked(server, f"truncate {name}")
    (tmp_path / "b.csv").write_bytes(rows(7))
    done = run("load", "b.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (done.returncode, done.stderr)
    assert whole(7) == counts(server, name)


@pytest.mark.parametrize("how", ["vacuum full {0}", "cluster {0} using rewritten_id"])
def test_a_table_that_was_rewritten_has_its_rows(server: Postgres, run: Run, tmp_path: Path, how: str):
    """The rows are those of the transactions that wrote the ledger."""
    name = table(server, "rewritten")
    asked(server, f"create index rewritten_id on {name} (id)")
    command = loaded(server, run, tmp_path, name)
    asked(server, how.format(name))
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("0 rows loaded")


@pytest.mark.parametrize("is_there", [True, False])
def test_other_rows_in_another_file_are_asked_about(server: Postgres, run: Run, tmp_path: Path, is_there: bool):
    """A changed type and a load after TRUNCATE look alike; each has its statement."""
    name = table(server, "other_rows")
    command = loaded(server, run, tmp_path, name)
    if is_there:
        asked(server, f"alter table {name} alter id type bigint")
    else:
        asked(server, f"truncate {name}")
        (tmp_path / "b.csv").write_bytes(b"-1,x,y\n")
        run("load", "b.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    refused = run(*command, PLIMSOLL_DSN=server.dsn)
    asked(server, statement(refused.stderr, "UPDATE" if is_there else "DELETE FROM"))
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (refused.returncode, refused.stdout)
    assert "public.other_rows was emptied or rewritten since" in refused.stderr
    assert "whether they are in it is not known" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert [whole(COUNT)] == asked(server, f"select count(*), count(distinct id), sum(id) from {name} where id >= 0")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("drop table {0}_low", "was dropped or detached"),
        ("alter table {0} detach partition {0}_low", "was dropped or detached"),
        ("truncate {0}_low", "public.parts_low was emptied or rewritten"),
        ("truncate {0}", "public.parts is empty"),
    ],
)
def test_a_lost_partition_is_asked_about(server: Postgres, run: Run, tmp_path: Path, how: str, said: str):
    """Of those that got rows of the file; all again is one command."""
    name = parted(server, "parts")
    command = loaded(server, run, tmp_path, name)
    asked(server, how.format(name))
    refused = run(*command, PLIMSOLL_DSN=server.dsn)
    asked(server, f"create table {name}_rest partition of {name} default")
    done = run(*command, "--truncate", PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (refused.returncode, refused.stdout)
    assert said in refused.stderr
    assert "--truncate" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert whole(COUNT) == counts(server, name)


def test_partitions_without_rows_of_the_file_come_and_go(server: Postgres, run: Run, tmp_path: Path):
    """Also one that is rewritten with its rows."""
    name = parted(server, "parts")
    command = loaded(server, run, tmp_path, name)
    asked(server, f"drop table {name}_more")
    asked(server, f"create table {name}_rest partition of {name} default")
    asked(server, f"vacuum full {name}_high")
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("0 rows loaded")


def test_a_role_that_may_not_read_the_table_is_asked_as_well(server: Postgres, run: Run, tmp_path: Path):
    """Sizes and statistics need no right; while the rows are there, nothing is asked."""
    name = table(server, "unread")
    asked(server, f"grant insert on {name} to etl")
    (tmp_path / "a.csv").write_bytes(rows(COUNT))
    dsn = f"{server.dsn} user=etl password=etl"
    command = ("load", "a.csv", name, *BY_LIMITS)
    done = [run(*command, PLIMSOLL_DSN=dsn) for _ in range(2)]
    asked(server, f"truncate {name}")
    refused = run(*command, PLIMSOLL_DSN=dsn)

    assert [(0, ""), (0, "")] == [(one.returncode, one.stderr) for one in done]
    assert (2, "") == (refused.returncode, refused.stdout)
    assert "public.unread is empty" in refused.stderr


def test_truncate_loads_all_again_and_forgets_one_table(server: Postgres, run: Run, tmp_path: Path):
    """Another table of the same ledger keeps its entries."""
    name = table(server, "again")
    asked(server, "drop table if exists beside; create table beside (like again)")
    command = loaded(server, run, tmp_path, name)
    run("load", "a.csv", "beside", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    (tmp_path / "b.csv").write_bytes(rows(5))
    run("load", "b.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    done = run(*command, "--truncate", PLIMSOLL_DSN=server.dsn)

    assert (0, "") == (done.returncode, done.stderr)
    assert done.stdout.startswith("1,000 rows loaded")
    assert whole(COUNT) == counts(server, name)
    assert [("public.again", 1000), ("public.beside", 1000)] == asked(
        server, "select target, sum(row_count)::int from plimsoll_loaded group by 1 order by 1"
    )


def test_a_truncate_that_is_killed_goes_on_without_it(server: Postgres, run: Run, tmp_path: Path):
    """Killed after its first chunk; what was there before is gone, and every row is there once."""
    count = 900_000
    name = table(server, "killed_again")
    command = loaded(server, run, tmp_path, name)
    (tmp_path / "a.csv").write_bytes(rows(count))
    process = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", *command, "--truncate", "--workers", "1"],
        cwd=tmp_path,
        env={**clean_environment(), "PLIMSOLL_DSN": server.dsn},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    query = "select count(*) from plimsoll_loaded where row_count > 1000"
    while process.poll() is None and asked(server, query) == [(0,)]:
        pass
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = counts(server, name)[0]
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert -signal.SIGKILL == process.returncode
    assert 1000 < before < count
    assert (0, "") == (done.returncode, done.stderr)
    assert whole(count) == counts(server, name)


def test_a_table_in_use_is_not_emptied(server: Postgres, run: Run, tmp_path: Path):
    """Whoever comes later would wait as well, so the wait is short; nothing is changed."""
    name = table(server, "used")
    command = loaded(server, run, tmp_path, name)
    with psycopg.connect(server.dsn) as reader:
        reader.execute(f"select from {name} limit 1")
        refused = run(*command, "--truncate", PLIMSOLL_DSN=server.dsn)

    assert (2, "") == (refused.returncode, refused.stdout)
    assert "unable to empty public.used: canceling statement due to lock timeout" in refused.stderr
    assert whole(COUNT) == counts(server, name)
    assert [(1000,)] == asked(server, "select sum(row_count)::int from plimsoll_loaded")


def test_a_truncate_needs_its_rights(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "kept")
    asked(server, f"grant insert on {name} to etl")
    (tmp_path / "a.csv").write_bytes(rows(COUNT))
    dsn = f"{server.dsn} user=etl password=etl"
    refused = run("load", "a.csv", name, "--truncate", *BY_LIMITS, PLIMSOLL_DSN=dsn)

    assert 2 == refused.returncode
    assert "unable to empty public.kept: permission denied for table kept" in refused.stderr
    assert "Needed: TRUNCATE on the table, and DELETE on the ledger." in refused.stderr
