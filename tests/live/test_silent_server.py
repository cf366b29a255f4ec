"""A server that lets us in and then stops answering: every command ends, and says so."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from fixtures.stalled_server import Stall, StalledServer
from live.connecting import COMMANDS, arguments_of, rows_in
from live.machine import clean_environment
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live

# The same command with deadlines of a second, so that no test waits for minutes.
_SHORT = """
import sys
from msgspec.structs import force_setattr
from plimsoll.sources.postgres import answers
from plimsoll.sources.postgres.statements import terms
answers.PATIENCE_S = 1.0
for one in terms.ALL:
    if one.answer_s <= 15:
        force_setattr(one, "answer_s", 1)
from plimsoll.cli.main import main
main()
"""
# When it stops: after the handshake, after some answers, and in the middle of a later one.
_MOMENTS = {Stall.SILENT: 0, Stall.DRIP: 3, Stall.MIDDLE: 8}
_ENDS_S = 100.0


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    settings = {"shared_buffers": "1MB", "fsync": "off", "wal_level": "logical"}
    settings["shared_preload_libraries"] = "pg_stat_statements"
    with Postgres(settings) as made:
        with psycopg.connect(made.dsn, autocommit=True) as connection:
            for statement in _SETUP:
                connection.execute(statement)
        yield made


_SETUP = (
    "create extension pg_stat_statements",
    "create extension pg_prewarm",
    "create table documents (id int primary key, body text)",
    "insert into documents select n, repeat(md5(n::text), 30) from generate_series(1, 20000) n",
    "create table target (id int, body text)",
    "vacuum analyze",
)


@pytest.mark.attack(
    "A server accepts the connection and then sends nothing, a byte now and then, or half of an answer",
    "every command ends at the deadline of its terms, and nothing waits for that connection again",
)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_silent_server_ends_every_command(server: Postgres, tmp_path: Path, command: str):
    """In silence, with a byte now and then, and in the middle of an answer: it ends, and says why where nothing came."""
    rows = rows_in(tmp_path)
    with ExitStack() as stack:
        running = {}
        for stall, answers in _MOMENTS.items():
            backend = ("127.0.0.1", server.port)
            stalled = stack.enter_context(StalledServer(stall, backend=backend, answers=answers))
            dsn = server.dsn.replace(f"port={server.port}", f"port={stalled.port}")
            process = subprocess.Popen(
                [sys.executable, "-c", _SHORT, *arguments_of(command, dsn=dsn, rows=rows)],
                cwd=tmp_path,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            stack.callback(process.wait)
            stack.callback(process.kill)
            running[stall] = process
        # Without an end, this one ends the test.
        told = {stall: one.communicate(timeout=_ENDS_S)[0] for stall, one in running.items()}

    assert "no answer within" in told[Stall.SILENT], told[Stall.SILENT]
    for stall, text in told.items():
        assert running[stall].returncode in (0, 1, 2), text
        assert "Traceback" not in text, text
        assert "made a mistake" not in text, text
