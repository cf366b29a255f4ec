"""`plimsoll inspect`, as people run it, on a real server: silent when healthy, right when not."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from live.machine import Run, clean_environment
from live.working import working
from plimsoll_lab.servers.postgres import Postgres

ROWS = 300
# Out of line as it is, so that its chunks are counted: 10 kB are six of 2 kB.
SETUP = f"""
create table documents (id int primary key, status int, body text);
alter table documents alter body set storage external;
insert into documents
select i, 0, repeat(md5(i::text), 312) from generate_series(1, {ROWS}) i;
vacuum analyze documents
"""


@contextmanager
def rewriting(dsn: str) -> Iterator[None]:
    """A program that sends every column whenever one has changed, for as long as the block lasts."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in SETUP.split(";"):
            connection.execute(statement)
        rows = connection.execute("select id, body from documents").fetchall()

    def save(connection: psycopg.Connection, turn: int) -> None:
        number, body = rows[turn % ROWS]
        connection.execute("update documents set status = status + 1, body = %s where id = %s", (body, number))

    try:
        with working(dsn, save):
            yield
    finally:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("drop table documents")


@contextmanager
def benching(postgres: Postgres) -> Iterator[None]:
    """pgbench with two clients, for as long as the block lasts."""
    program = str(postgres.program("pgbench"))
    bench = subprocess.Popen(
        [program, "-n", "-c", "2", "-T", "60"],
        env={**clean_environment(), **postgres.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        bench.terminate()
        bench.wait()


def test_a_healthy_database_gives_nothing_above_a_note(postgres: Postgres, run: Run):
    """pgbench alone: exit status 0, and the headline says that nothing calls for a change."""
    with benching(postgres):
        ran = run("inspect", "--for", "3s", PLIMSOLL_DSN=postgres.dsn)

    assert 0 == ran.returncode, ran.stdout + ran.stderr
    assert ran.stdout.startswith(f"No problem found in 127.0.0.1:{postgres.port}/postgres in")
    assert "critical" not in ran.stdout
    assert "warning" not in ran.stdout


def test_values_sent_again_are_the_headline(postgres: Postgres, run: Run, tmp_path: Path):
    """The table and the column by name, with bytes, share and commands; exit status 1; no secret."""
    file = tmp_path / "inspection.json"
    with rewriting(postgres.dsn):
        ran = run(*("inspect", postgres.dsn, "--for", "3s", "--format", "json", "-o", str(file)))
    report = json.loads(file.read_text(encoding="utf-8"))
    first = report["causes"][0]
    password = postgres.environment["PGPASSWORD"]

    assert 1 == ran.returncode, ran.stdout + ran.stderr
    assert "toast" == first["kind"]
    assert "public.documents.body" == first["subject"]
    assert "public.documents.body" in report["headline"]
    assert first["written_bytes_per_s"] > 0.5e6
    assert first["share_of_load"] > 0.05
    assert first["remedies"][0]["commands"]
    assert password not in file.read_text(encoding="utf-8") + ran.stdout + ran.stderr


def test_the_causes_stand_in_the_report_of_a_diagnosis(postgres: Postgres, run: Run):
    """
    `diagnose --dsn`: one report, the causes held against the ceiling that it names; `record host
    --inspect` keeps them for a diagnosis of the same minute.
    """
    root = Path(__file__).resolve().parents[2]
    target = str(root / "examples" / "search-service")
    with rewriting(postgres.dsn):
        ran = run("diagnose", target, "--dsn", postgres.dsn, "--for", "2s")
        recorded = run(*("record", "host", "--inspect", "--for", "2s", "-o", "host.json"), PLIMSOLL_DSN=postgres.dsn)
    flat = " ".join(ran.stdout.split())
    of_host = run("diagnose", "host.json").stdout

    assert 0 == recorded.returncode, recorded.stderr
    assert "CAUSES\n  Each update of public.documents.body leaves" in of_host
    assert "at another time" not in of_host

    assert 1 == ran.returncode, ran.stderr
    assert "CAUSES Each update of public.documents.body leaves 7 dead rows" in flat
    assert "of instance EBS throughput, legacy baseline (212.5 MB/s)" in flat


def test_ctrl_c_reports_what_there_is(postgres: Postgres):
    """Watching that was to last an hour ends at once, with a report that says it was interrupted."""
    inspecting = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "inspect", postgres.dsn, "--for", "1h"],
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with psycopg.connect(postgres.dsn, autocommit=True) as connection:
            # Its first glance follows its first reading.
            asked = """
                select count(*) from pg_stat_activity
                where application_name = 'plimsoll' and query like '%pg_stat_progress_vacuum%'
            """
            while not connection.execute(asked).fetchone()[0]:
                assert inspecting.poll() is None
            inspecting.send_signal(signal.SIGINT)
            out, err = inspecting.communicate(timeout=30)
            left = connection.execute(
                "select count(*) from pg_stat_activity where application_name = 'plimsoll'"
            ).fetchone()[0]
    finally:
        inspecting.kill()

    assert inspecting.returncode in {0, 1}, out + err
    assert "The observation was interrupted: the counters cover the time until then." in " ".join(out.split())
    assert 0 == left
