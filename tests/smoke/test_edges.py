"""
One test for each edge, as a user meets it: does the command work at all with what is on the other side?

On the PostgreSQL 18 of a wheel, local doubles of AWS and Prometheus, and this machine's files. The tests in `live`,
which `make check-live` runs, ask everything else.
"""

import json
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import numpy as np
import psycopg
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from fixtures.aws import simulated
from fixtures.aws.double import Double, environment
from fixtures.aws.holdings import hold, write
from fixtures.prometheus.expositions import CLOUDWATCH, history
from fixtures.prometheus.servers import Double as PrometheusDouble
from fixtures.receivers.doubles import Recorder
from live.gate_machine import BASELINE, T3, fill, quick_folder, rate_of
from live.loads import BY_LIMITS, asked, counts, rows, table, whole
from live.machine import clean_environment
from live.small_lake import small_lake
from plimsoll import __version__
from plimsoll.model.ceiling import Family
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.smoke

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PLIMSOLL = [sys.executable, "-m", "plimsoll"]
PATIENCE_S = 120.0
# More than an hour ago, so that the watch has something to say at any time of the day: there are no newer data.
END_S = simulated.recent_end_s() - 3600


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """A server with 300,000 orders."""
    with Postgres({"shared_buffers": "16MB", "shared_preload_libraries": "pg_stat_statements"}) as made:
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute("create table orders (id int primary key, customer int, note text)")
            connection.execute(
                "insert into orders select g, g % 1000, repeat('x', 90) from generate_series(1, 300000) g"
            )
            connection.execute("analyze orders")
        yield made


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Double]:
    """AWS over HTTP with the incident of the claims pipeline, simulated, which ends within the last hour."""
    folder = tmp_path_factory.mktemp("account")
    snapshot = simulated.moved(simulated.example("claims-pipeline"), END_S, identifier="orders-primary")
    with Double(write(folder, [hold(folder, snapshot)])) as double:
        yield double


def ran(*arguments: object, status: int = 0, **variables: str) -> str:
    """Run `plimsoll …`, and return what it prints."""
    done = subprocess.run(
        [*PLIMSOLL, *map(str, arguments)],
        env=clean_environment() | variables,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def until(is_so: Callable[[], object]) -> None:
    """Wait for what another process does."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


def test_inspect_names_the_statement_that_reads(server: Postgres):
    """A scan that lacks an index, executed again and again while it is watched."""
    program = (
        "import psycopg, sys\n"
        "with psycopg.connect(sys.argv[1], autocommit=True) as c:\n"
        "    while True: c.execute('select count(*) from orders where customer = 7')\n"
    )
    client = subprocess.Popen([sys.executable, "-c", program, server.dsn])
    try:
        found = json.loads(ran("inspect", server.dsn, "--for", "4s", "--format", "json", status=1))
    finally:
        client.kill()
        client.wait()

    assert "SequentialScans" == found["causes"][0]["code"]
    assert "public.orders" == found["causes"][0]["subject"]


def test_explain_records_and_compares_a_plan(server: Postgres, tmp_path: Path):
    """Without an index, then with one: the plans differ."""
    statement = "select note from orders where customer = 7"
    files = [tmp_path / name for name in ("before.json", "after.json")]
    for file, change in zip(
        files, ("create index by_customer on orders (customer)", "drop index by_customer"), strict=True
    ):
        ran("explain", "record", server.dsn, "--statement", statement, "-o", file)
        asked(server, change)

    assert "by_customer" in ran("explain", "compare", *files, status=1)


def test_a_load_that_is_killed_goes_on(server: Postgres, tmp_path: Path):
    """Every row is there once."""
    name = table(server, "loaded")
    file = tmp_path / "a.csv"
    file.write_bytes(rows(400_000))
    command = [*PLIMSOLL, "load", str(file), name, *BY_LIMITS]
    first = subprocess.Popen(
        command,
        env=clean_environment() | {"PLIMSOLL_DSN": server.dsn},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until(lambda: first.poll() is not None or has_ledger_rows(server))
    first.kill()
    first.wait()
    ran("load", file, name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert whole(400_000) == counts(server, name)


def has_ledger_rows(server: Postgres) -> bool:
    (there,) = asked(server, "select to_regclass('plimsoll_loaded') is not null")[0]
    return there and asked(server, "select exists (select from plimsoll_loaded)")[0][0]


def test_a_pace_copies_its_input(server: Postgres):
    """All bytes, in order, within the limits of the instance."""
    sent = rows(50_000)
    done = subprocess.run(
        [*PLIMSOLL, "pace", EXAMPLES / "claims-pipeline", "--cat", "--dsn", server.dsn],
        input=sent,
        env=clean_environment(),
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (0, sent) == (done.returncode, done.stdout), done.stderr


def test_an_account_is_read_and_diagnosed(account: Double, tmp_path: Path):
    """The limit by name, from descriptions and metrics over HTTP."""
    text = ran("diagnose", "rds:orders-primary", "--last", "2d", status=1, **environment(account.url, tmp_path))

    assert "86.875 MB/s" in text


def test_a_watch_tells_a_receiver(account: Double, tmp_path: Path):
    """From the account to a webhook, in one round."""
    with Recorder() as hook:
        config = tmp_path / "watch.toml"
        config.write_text(
            f'[[targets]]\ntarget = "rds:*"\n[web]\nlisten_address = "127.0.0.1:0"\n'
            f'[[receivers]]\nkind = "webhook"\nname = "ops"\nurl = "{hook.url}"\n'
        )
        watch = subprocess.Popen(
            [*PLIMSOLL, "watch", "--config", config],
            cwd=tmp_path,
            env=environment(account.url, tmp_path),
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            until(lambda: hook.sent or watch.poll() is not None)
        finally:
            watch.send_signal(signal.SIGTERM)
            _, errors = watch.communicate(timeout=PATIENCE_S)

    assert hook.sent, errors
    assert "orders-primary" in json.dumps(hook.sent[0].json)
    assert 0 == watch.returncode, errors


def test_a_prometheus_is_read(tmp_path: Path):
    """Series of an exporter, over its interface."""
    minutes_ms = 1000 * (END_S - 3600 + 60 * np.arange(60))
    series = history("cloudwatch_exporter", minutes_ms, {name: np.full(60, 5.0) for name in CLOUDWATCH.values()})
    out = tmp_path / "snapshot.json"
    with PrometheusDouble(series) as double:
        ran("record", f"prom:{double.url}", "--identifier", "orders-primary", "--last", "6h", "-o", out)

    assert "orders-primary" == json.loads(out.read_text())["instance"]["identifier"]


@pytest.mark.realtime
def test_a_gate_holds_its_rate():
    """Without credits, reads past the page cache get the baseline, and never more."""
    with quick_folder() as folder:
        (folder / "data").mkdir()
        fill(folder / "data")
        with Gate(GateSetup(instance=T3, clock=240.0), folder / "data", folder / "disk") as gate:
            gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
            rate = rate_of(gate, gate.mount / "table")

    assert rate.is_of(BASELINE), rate


def test_a_database_runs_under_limits():
    """Ten seconds of PostgreSQL behind a gate. A machine slower than the emulated one is told apart, by status 2."""
    done = subprocess.run(
        [
            *(*PLIMSOLL, "lab", "postgres", "--class", "db.t3.micro", "--storage", "gp2", "--size-gib", "100"),
            *("--workload", "select", "--for", "10s", "--scale", "5", "--memory", "64MiB"),
        ],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert done.returncode in (0, 1) or "void" in done.stdout + done.stderr, done.stderr
    assert "db.t3.micro" in done.stdout


def test_a_fleet_is_ranked(tmp_path: Path):
    """The instance at its ceiling comes first."""
    small_lake(tmp_path)
    table = json.loads(ran("fleet", tmp_path / "lake", "--no-plan", "--format", "json", status=1))

    assert "billing" == table["rows"][0]["instance"]


def test_an_assistant_gets_a_diagnosis():
    """Over standard input and output, by the official client."""

    async def use() -> str:
        server = StdioServerParameters(command=sys.executable, args=["-m", "plimsoll", "mcp", "--root", str(EXAMPLES)])
        async with Client(stdio_client(server)) as client:
            answer = await client.call_tool("diagnose", {"target": "claims-pipeline"})
            return answer.content[0].text

    assert "86.875 MB/s" in anyio.run(use)


def test_wheels_are_built(tmp_path: Path):
    """From what is built already: the core and the documentation, and the lab with the daemon of the gate."""
    command = [sys.executable, "packaging/backend.py", "--lab", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=600)
    names = {file.name.split("-")[0]: set(zipfile.ZipFile(file).namelist()) for file in tmp_path.glob("*.whl")}

    assert any(name.startswith("plimsoll/_core") for name in names["plimsoll_db"])
    assert "plimsoll/docs/index.md" in names["plimsoll_db"]
    assert {f"plimsoll_lab-{__version__}.data/scripts/plimsoll-gate", "plimsoll_lab/docs/lab.md"} <= names[
        "plimsoll_lab"
    ]
    assert {"plimsoll"} == {name.split("/")[0] for name in names["plimsoll_db"] if "dist-info" not in name}
