"""Loads that are run again after something changed: the file, the table or its name. Every row once, or a sentence."""

import gzip
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from live.loads import BY_LIMITS, asked, counts, rows, table, whole
from live.machine import Run
from plimsoll.errors import UsageError
from plimsoll.load.copy.inputs import LocalFile, stream_of
from plimsoll.load.copy.rows import Chunk, chunks_of
from plimsoll.load.copy.run import CHUNK_BYTES, ROW_BYTES_MAX
from plimsoll.load.copy.table import CopyOptions, TableSession
from plimsoll_lab.servers.postgres import Postgres

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with Postgres({"shared_buffers": "32MB", "max_connections": "40"}) as made:
        yield made


def wrong_in(data: bytes, place: int, row: bytes) -> bytes:
    """The same rows with another one after the first that ends at a place or later."""
    at = data.index(b",plain\n", place) + len(b",plain\n")
    return data[:at] + row + data[at:]


def load_chunks(server: Postgres, name: str, file: Path, numbers: tuple[int, ...]) -> None:
    """Load some of the chunks that a load cuts."""
    one = LocalFile(file)
    options = CopyOptions(is_csv=True)
    session = TableSession(server.dsn, options)
    found = session.find(name)
    chunks = chunks_of(
        stream_of(one).pieces(0), options.row_format, chunk_bytes=CHUNK_BYTES, row_bytes_max=ROW_BYTES_MAX
    )
    for number, chunk in enumerate(chunks):
        if number in numbers:
            session.load(found, chunk, file=one.name, identity=one.identity, wait=lambda _: None)
    session.close()


def await_start(server: Postgres) -> None:
    """The server starts again by itself."""
    until = time.monotonic() + 60
    while True:
        try:
            asked(server, "select 1")
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.1)
        else:
            return


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("corrected", [b"", b"-1,a name that is longer than the wrong one,x\n"])
def test_a_corrected_file_goes_on(server: Postgres, run: Run, tmp_path: Path, is_packed: bool, corrected: bytes):
    """The second of four chunks has a wrong row; the first and the third are loaded, as several workers leave it."""
    name = table(server, "corrected")
    data = rows(800_000)
    file = tmp_path / ("a.csv.gz" if is_packed else "a.csv")

    def write(content: bytes) -> None:
        file.write_bytes(gzip.compress(content, 1) if is_packed else content)

    write(wrong_in(data, 6 * 2**20, b"not-a-number,x,y\n"))
    load_chunks(server, name, file, (0, 2))
    first = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    before = counts(server, name)[0]
    write(wrong_in(data, 6 * 2**20, corrected))
    done = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    again = run("load", str(file), name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == first.returncode
    assert "Correct that row and run the command again" in first.stderr
    assert 0 < before < 800_000
    assert (0, "") == (done.returncode, done.stderr)
    assert again.stdout.startswith("0 rows loaded")
    assert whole(800_000) == asked(server, f"select count(*), count(distinct id), sum(id) from {name} where id >= 0")[0]
    assert [(1 if corrected else 0,)] == asked(server, f"select count(*) from {name} where id < 0")


def test_a_file_that_was_cut_off_goes_on(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "cut")
    file = tmp_path / "a.csv.gz"
    packed = gzip.compress(rows(1_000_000), 1)
    file.write_bytes(packed[: len(packed) * 9 // 10])
    # One worker has loaded the first chunk before the end of the file is read.
    command = ("load", str(file), name, "--workers", "1", *BY_LIMITS)
    first = run(*command, PLIMSOLL_DSN=server.dsn)
    before = counts(server, name)[0]
    file.write_bytes(packed)
    done = run(*command, PLIMSOLL_DSN=server.dsn)

    assert 2 == first.returncode
    assert "is cut off" in first.stderr
    assert 0 < before < 1_000_000
    assert (0, "") == (done.returncode, done.stderr)
    assert whole(1_000_000) == counts(server, name)


@pytest.mark.parametrize(
    ("was", "now", "count"),
    [
        ("1,a,b\n", "1,a,b\n2,a,b\n", 2),
        ("1,a,b\n2,a,b\n", "0,a,b\n1,a,b\n2,a,b\n", None),
        ("1,a,b\n", "1,a,c\n", None),
        # What was the last row goes on now.
        ("1,a,b", "1,a,b2\n2,a,b\n", None),
    ],
)
def test_other_content_of_the_name(server: Postgres, run: Run, tmp_path: Path, was: str, now: str, count: int | None):
    """Rows that were added are loaded; whatever else changed is refused, because its rows may be there."""
    name = table(server, "changed")
    file = tmp_path / "a.csv"
    file.write_text(was)
    run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    before = counts(server, name)[0]
    file.write_text(now)
    done = run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert ("other content of 'a.csv' was loaded" in done.stderr) == (count is None)
    assert (2 if count is None else 0) == done.returncode
    assert (before if count is None else count) == counts(server, name)[0]


def test_an_unlogged_table_that_a_crash_emptied_is_loaded_again(server: Postgres, run: Run, tmp_path: Path):
    """The server ends one of its processes' death with a restart, which empties unlogged tables."""
    name = table(server, "fast")
    asked(server, f"alter table {name} set unlogged")
    (tmp_path / "a.csv").write_bytes(rows(1000))
    run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    before = counts(server, name)
    connection = psycopg.connect(server.dsn)
    os.kill(connection.info.backend_pid, signal.SIGKILL)
    with pytest.raises(psycopg.OperationalError):
        connection.execute("select pg_sleep(30)")
    connection.close()
    await_start(server)
    emptied = counts(server, name)
    done = run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert whole(1000) == before
    assert 0 == emptied[0]
    assert (0, "") == (done.returncode, done.stderr)
    assert whole(1000) == counts(server, name)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_table_that_was_made_again_is_asked_about(server: Postgres, run: Run, tmp_path: Path, is_there: bool):
    """Of its name alone nobody knows whether the rows are in it; the printed statements say it."""
    name = table(server, "again")
    (tmp_path / "a.csv").write_bytes(rows(10))
    run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    copied = f"as table {name}_old" if is_there else f"(like {name}_old)"
    asked(server, f"drop table if exists {name}_old; alter table {name} rename to {name}_old")
    asked(server, f"create table {name} {copied}")
    asked(server, f"drop table {name}_old")
    refused = run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    statements = re.findall(r"(DELETE|UPDATE)( [^;]+;)", refused.stderr)
    asked(server, "".join(statements[1 if is_there else 0]))
    done = run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == refused.returncode
    assert "another table public.again, which was dropped, renamed or restored" in refused.stderr
    assert (0, "") == (done.returncode, done.stderr)
    assert whole(10) == counts(server, name)


def test_a_table_that_was_renamed_is_asked_about(server: Postgres, run: Run, tmp_path: Path):
    name = table(server, "first_name")
    (tmp_path / "a.csv").write_bytes(rows(10))
    run("load", "a.csv", name, *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    asked(server, f"drop table if exists other_name; alter table {name} rename to other_name")
    refused = run("load", "a.csv", "other_name", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)
    (statement,) = re.findall(r"UPDATE [^;]+;", refused.stderr)
    asked(server, statement)
    done = run("load", "a.csv", "other_name", *BY_LIMITS, PLIMSOLL_DSN=server.dsn)

    assert 2 == refused.returncode
    assert "was loaded into this table when its name was public.first_name" in refused.stderr
    assert done.stdout.startswith("0 rows loaded")
    assert whole(10) == counts(server, "other_name")


def test_another_run_that_cuts_elsewhere_is_no_chunk_that_is_loaded(server: Postgres, tmp_path: Path):
    """What is between the two ends would be in nobody's chunk."""
    name = table(server, "cut_twice")
    session = TableSession(server.dsn, CopyOptions(is_csv=True))
    found = session.find(name)
    for size, outcome in ((10, 10), (10, None)):
        chunk = Chunk(start_byte=0, pieces=(rows(size),))
        assert outcome == session.load(found, chunk, file="a", identity="x", wait=lambda _: None)
    longer = Chunk(start_byte=0, pieces=(rows(12),))
    with pytest.raises(UsageError, match="another run loads 'a' in other pieces"):
        session.load(found, longer, file="a", identity="x", wait=lambda _: None)
    session.close()

    assert 10 == counts(server, name)[0]


def test_a_table_that_is_exchanged_in_the_middle_gets_nothing(server: Postgres, tmp_path: Path):
    name = table(server, "exchanged")
    (tmp_path / "a.csv").write_bytes(rows(10))
    file = LocalFile(tmp_path / "a.csv")
    session = TableSession(server.dsn, CopyOptions(is_csv=True))
    found = session.find(name)
    asked(server, f"alter table {name} rename to {name}_old; create table {name} (like {name}_old)")
    chunk = Chunk(start_byte=0, pieces=tuple(file.pieces(0)))
    with pytest.raises(UsageError, match="is another table than at the beginning"):
        session.load(found, chunk, file=file.name, identity=file.identity, wait=lambda _: None)
    session.close()

    assert 0 == counts(server, name)[0]
    assert [] == asked(server, "select * from plimsoll_loaded")
    asked(server, f"drop table {name}_old")
