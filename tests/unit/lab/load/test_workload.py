"""The clients of a workload: how they are chosen, what they report, how they fail."""

import os
from itertools import pairwise
from pathlib import Path

import pytest

from plimsoll.errors import UsageError
from plimsoll_lab.load.workload import Clients, Workload, workload_of
from plimsoll_lab.servers.postgres import Postgres
from programs import script

SUMMARY = """\
transaction type: <builtin: select only>
number of transactions actually processed: 991
latency average = 3.211 ms
initial connection time = 12.345 ms
tps = 495.512345 (without initial connection time)
"""
PROGRESS = """\
pgbench (18.6)
progress: 1.0 s, 410.0 tps, lat 39.012 ms stddev 3.100, 0 failed
progress: 2.0 s, 495.5 tps, lat 32.125 ms stddev 2.204, 0 failed
"""


@pytest.fixture
def server(tmp_path: Path):
    """A PostgreSQL whose pgbench writes a given text, and keeps its arguments."""

    def made(*, says: str = "", tells: str = "", then: str = "exit 0") -> Postgres:
        folder = tmp_path / "bin"
        (tmp_path / "says").write_text(says)
        (tmp_path / "tells").write_text(tells)
        bodies = {
            "initdb": "exit 0",
            "postgres": "exit 0",
            "pgbench": f'echo "$@" > {tmp_path}/arguments; cat {tmp_path}/says; cat {tmp_path}/tells >&2; {then}',
        }
        for name, body in bodies.items():
            script(folder / name, body)
        return Postgres(binaries=folder)

    return made


def clients_of(server: Postgres, folder: Path, name: str = "select", count: int = 8) -> Clients:
    return Clients(workload_of(name, clients=count), server, duration_s=2, folder=folder)


def over(clients: Clients) -> Clients:
    clients.start()
    clients._command.wait(60)
    return clients


@pytest.mark.parametrize(
    ("name", "tables"),
    [("tpcb", "pgbench"), ("select", "pgbench"), ("scan", "scan"), ("toast", "toast"), ("toast-fixed", "toast")],
)
def test_a_workload_says_which_tables_it_needs(name, tables):
    """Scans and documents have tables of their own."""
    assert tables == workload_of(name, clients=1).tables


def test_the_users_statements_use_pgbenchs_tables(tmp_path):
    """A file with the name of a workload is still that workload; any other file is the user's."""
    script = tmp_path / "orders.sql"
    script.write_text("select 1;\n")
    workload = workload_of(str(script), clients=2)

    assert Workload(name="orders.sql", script=script, clients=2) == workload
    assert "pgbench" == workload.tables


@pytest.mark.parametrize(
    ("name", "rate_per_s", "hint"),
    [
        *((name, None, "tpcb, select, scan, toast") for name in ("tpcc", "no/such.sql", "", ".")),
        *(("toast", rate, "--rate") for rate in (0.0, -1.0, 1e7)),
    ],
)
def test_a_workload_that_cannot_be_is_refused(name, rate_per_s, hint):
    """The hint lists the known ones, or the option of the rate; none means as many as possible."""
    with pytest.raises(UsageError) as raised:
        workload_of(name, clients=1, rate_per_s=rate_per_s)

    assert hint in raised.value.hint


def test_progress_is_read_while_they_work_and_the_summary_at_the_end(server, tmp_path):
    """The last line of progress counts; the summary covers the whole time."""
    clients = clients_of(server(says=SUMMARY, tells=PROGRESS), tmp_path)

    assert None is clients.pace()
    pace, whole = over(clients).pace(), clients.end(60)
    assert (495.5, 0.032125) == (pace.transactions_per_s, pace.latency_s)
    assert (495.512345, 0.003211) == (whole.transactions_per_s, whole.latency_s)


def test_clients_that_were_cut_short_have_no_summary(server, tmp_path, monkeypatch):
    """A scan takes too long to wait for its end."""
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    clients = clients_of(server(then=f"trap 'kill $!; exit 1' INT; sleep 600 & echo > {ready}; wait"), tmp_path, "scan")
    clients.start()
    ready.read_text()
    monkeypatch.delattr(type(clients._command), "wait")

    assert not clients.is_over()
    assert None is clients.end(30)
    assert clients.is_over()


def test_scans_read_one_table_each(server, tmp_path):
    """The number of the client is the number of its table."""
    over(clients_of(server(), tmp_path, "scan", 3))
    arguments = (tmp_path / "arguments").read_text().split()
    script = Path(arguments[arguments.index("-f") + 1])

    assert "3" == arguments[arguments.index("-c") + 1]
    assert 3600 < int(arguments[arguments.index("-T") + 1])
    assert "select count(*) from plimsoll_scan_:client_id\n" == script.read_text()


@pytest.mark.parametrize(("name", "sets_body"), [("toast", True), ("toast-fixed", False)])
def test_documents_are_loaded_and_saved(server, tmp_path, name, sets_body):
    """Whole, or only the changed column; values are parameters, and the number of documents is set."""
    workload = workload_of(name, clients=2, rate_per_s=40)
    clients = Clients(workload, server(), duration_s=2, folder=tmp_path, document_count=77)
    over(clients)
    arguments = (tmp_path / "arguments").read_text().split()
    given = dict(pairwise(arguments))
    statements = Path(given["-f"]).read_text()

    assert ("documents=77", "prepared", "40") == (given["-D"], given["-M"], given["-R"])
    assert "select title, body, note from documents" in statements
    assert sets_body == ("body = :body" in statements)
    assert "status = :status" in statements


@pytest.mark.parametrize(("name", "builtin"), [("tpcb", "tpcb-like"), ("select", "select-only")])
def test_pgbenchs_own_work_is_done_with_plans_that_are_kept(server, tmp_path, name, builtin):
    """The clients' time goes to the disk, and they work a little longer than they are watched."""
    over(clients_of(server(), tmp_path, name))
    arguments = (tmp_path / "arguments").read_text().split()
    given = dict(pairwise(arguments))

    assert (builtin, "prepared", "8", "3") == (given["-b"], given["-M"], given["-c"], given["-T"])


def test_the_servers_error_is_the_cause_of_a_failure(server, tmp_path):
    """pgbench's messages about its clients follow it."""
    found = (
        "pgbench: error: client 2 script 0 aborted in command 0 query 0: "
        'ERROR:  relation "orders" does not exist\n'
        "LINE 1: select * from orders\n"
        "pgbench: error: Run was aborted due to an error in thread 0\n"
    )
    clients = over(clients_of(server(tells=PROGRESS + found, then="exit 2"), tmp_path))

    assert clients.is_over()
    assert clients.failure().message.endswith('early: relation "orders" does not exist')


def test_clients_that_never_began_end_at_once(server, tmp_path):
    """Clearing up after another failure is no failure."""
    clients = clients_of(server(), tmp_path)

    assert None is clients.end(60)
    assert not clients.is_over()
