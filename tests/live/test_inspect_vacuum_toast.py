"""Rewritten values, vacuums and autovacuum settings on real servers: created, seen, and their bytes."""

import contextlib
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import DEBIANS, NEWEST, WITH_CAUSES, postgres_binaries
from live.machine import Run
from live.working import working
from plimsoll.causes.budget import Budget, budget_of
from plimsoll.causes.toast import toast
from plimsoll.causes.vacuum import autovacuum_settings, vacuum
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.prove_toast import incompressible
from plimsoll.sources.postgres.read import observe
from plimsoll.sources.postgres.sample_toast import sample_toast
from plimsoll_lab.servers.postgres import Postgres

ROWS = 60
TEXT = incompressible(60_000)
WRITTEN = """
select pg_current_wal_insert_lsn() - '0/0', pg_table_size(c.reltoastrelid),
       pg_indexes_size(c.reltoastrelid)
from pg_class c where c.oid = 'letters'::regclass
"""
BUDGET = Budget(read_bytes_per_s=None, written_bytes_per_s=None)


# What takes seconds and is the same in every version is shown on the newest and on Debian's.
ON_TWO = pytest.mark.parametrize("server", [DEBIANS, NEWEST], indirect=True)


@pytest.fixture(scope="module", params=WITH_CAUSES)
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """PostgreSQL of four versions; all log what decoding needs."""
    settings = {
        "fsync": "off",
        "wal_level": "logical",
        "shared_buffers": "16MB",
        "max_wal_size": "4GB",
        # A server that has run for a while recycles its WAL files. The zeros of a new one are 16 MB at any moment.
        "wal_init_zero": "off",
        "autovacuum_naptime": "1s",
        "shared_preload_libraries": "pg_stat_statements",
    }
    if request.param == NEWEST:
        # What a process reads is then read by itself, and can be counted from outside.
        settings["io_method"] = "sync"
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
        yield running


@pytest.fixture
def letters(server: Postgres) -> Iterator[dict[int, str]]:
    """A table of letters, 2 to 60 kB each, that autovacuum leaves alone; the letters by id."""
    dice = random.Random(5)
    sizes = {row: int(2_100 * 28 ** dice.random()) for row in range(1, ROWS + 1)}
    bodies = {row: TEXT[row : row + size] for row, size in sizes.items()}
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(
            "create table letters (id int primary key, title text, status int, body text, note text) "
            "with (autovacuum_enabled = off, toast.autovacuum_enabled = off)"
        )
        connection.execute("alter table letters alter body set storage external")
        with connection.cursor().copy("copy letters from stdin") as copy:
            for row, body in bodies.items():
                copy.write_row((row, "Dear", 0, body, "none"))
        connection.execute("analyze letters")
        # What is touched for the first time after a checkpoint is logged as a whole page.
        connection.execute("checkpoint")
        connection.execute("update letters set body = body || ''")
        flush_statistics(connection)
    yield bodies
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("drop table letters")


def written(server: Postgres) -> int:
    """WAL so far, and the size of the letters' TOAST relation with its index, bytes."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        return sum(int(part) for part in connection.execute(WRITTEN).fetchone())


def watch(server: Postgres, work: Callable[[psycopg.Connection], object]) -> Observation:
    """Two readings, and the work in between, in a session that tells its counts before it goes."""
    slept = []

    def sleep(seconds: float) -> None:
        if not slept:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                work(connection)
                flush_statistics(connection)
        slept.append(seconds)

    return observe(server.dsn, duration_s=2.0, clock=lambda: float(sum(slept)), sleep=sleep)


def of_letters(causes: tuple[Cause, ...]) -> list[Cause]:
    return [cause for cause in causes if cause.subject.startswith("public.letters")]


def test_values_sent_again_are_found_with_their_bytes(server: Postgres, letters: dict[int, str]):
    """Whole rows sent back as they were: table, column, and bytes within 15 % of those written."""

    def save(connection: psycopg.Connection, *, is_whole: bool) -> None:
        for turn in range(4):
            for row, body in letters.items():
                if is_whole:
                    connection.execute(
                        "update letters set title = %s, status = %s, body = %s, note = %s where id = %s",
                        ("Dear", turn, body, "none", row),
                    )
                else:
                    connection.execute(
                        "update letters set title = %s, status = %s, note = %s where id = %s",
                        ("Dear", turn, "none", row),
                    )

    marks = [written(server)]
    untouched = watch(server, lambda c: save(c, is_whole=False))
    marks.append(written(server))
    sent = watch(server, lambda c: save(c, is_whole=True))
    marks.append(written(server))
    (cause,) = of_letters(toast.causes(sent, budget_of(sent)))
    true_bytes = (marks[2] - marks[1]) - (marks[1] - marks[0])
    chunks = sum(-(-len(body) // 1996) for body in letters.values()) / ROWS

    assert not of_letters(toast.causes(untouched, budget_of(untouched)))
    assert "public.letters.body" == cause.subject
    assert cause.evidence[0].value == pytest.approx(1 + chunks)
    assert cause.bytes_per_s * sent.seconds == pytest.approx(true_bytes, rel=0.15)
    assert "Statements set whole rows" in cause.text


def test_values_that_change_are_told_where_they_can_be(server: Postgres, letters: dict[int, str]):
    """Values that grow, and those that a statement compares first, are no finding."""

    def grow(connection: psycopg.Connection) -> None:
        connection.execute("update letters set body = body || repeat('x', 4000)")

    def compare(connection: psycopg.Connection) -> None:
        for row, body in letters.items():
            connection.execute(
                "insert into letters (id, body) values (%s, %s) on conflict (id) do update "
                "set body = excluded.body where letters.body is distinct from excluded.body",
                (row, body[::-1]),
            )

    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("select pg_stat_statements_reset()")
    growing, compared = watch(server, grow), watch(server, compare)

    assert not of_letters(toast.causes(growing, budget_of(growing)))
    assert not of_letters(toast.causes(compared, budget_of(compared)))


@ON_TWO
def test_a_sample_settles_what_counters_cannot(server: Postgres, letters: dict[int, str]):
    """The same counters, once of equal values and once of changed ones: decoding tells them apart."""
    for is_same in (True, False):

        def save(worker: psycopg.Connection, turn: int, is_same: bool = is_same) -> None:
            row = turn % ROWS + 1
            body = letters[row] if is_same else f"{turn:09}" + letters[row][9:]
            worker.execute("update letters set body = %s where id = %s", (body, row))

        with working(server.dsn, save):
            samples = sample_toast(server.dsn, "public.letters", seconds=0.3)
        seen = watch(server, lambda c: c.execute("update letters set body = overlay(body placing 'x' from 1)"))
        found = of_letters(toast.causes(msgspec.structs.replace(seen, toast_samples=samples), BUDGET))
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.cursor().executemany(
                "update letters set body = %s where id = %s", [(body, row) for row, body in letters.items()]
            )

        assert is_same == bool(found)
        assert not found or found[0].code == "ToastValuesRewritten"


@ON_TWO
def test_an_inspection_with_a_sample_is_certain(server: Postgres, letters: dict[int, str], run: Run):
    """`plimsoll inspect --decode-toast` names the column, says that values were the same, and leaves no slot."""

    def save(worker: psycopg.Connection, turn: int) -> None:
        row = turn % ROWS + 1
        worker.execute("update letters set body = %s where id = %s", (letters[row], row))

    with working(server.dsn, save, pause_s=0.005):
        done = run(*("inspect", server.dsn, "--for", "2s", "--decode-toast", "1s", "--format", "json"))
    found = [c for c in json.loads(done.stdout)["causes"] if c["kind"] == "toast"]
    with psycopg.connect(server.dsn) as connection:
        slots = connection.execute("select count(*) from pg_replication_slots").fetchone()

    assert not done.stderr
    assert [("ToastValuesRewritten", "public.letters.body")] == [(cause["code"], cause["subject"]) for cause in found]
    assert (0,) == slots


def test_a_vacuum_of_a_toast_relation_is_seen_with_its_bytes(server: Postgres, letters: dict[int, str]):
    """The vacuum of the letters' TOAST relation is named by the table; reads are within 15 %."""
    texts: list[str] = []
    started = threading.Event()
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for _ in range(12):
            connection.execute("update letters set body = body || ''")
        # Other pages into the buffers, so that the vacuum has to read its own.
        connection.execute("create table filler as select repeat('x', 1000) from generate_series(1, 18000)")
        connection.execute("select count(*) from filler")
        connection.execute("drop table filler")
        flush_statistics(connection)

    def run() -> None:
        with psycopg.connect(server.dsn, autocommit=True) as worker:
            worker.add_notice_handler(lambda notice: texts.append(notice.message_primary or ""))
            worker.add_notice_handler(lambda notice: texts.append(notice.message_detail or ""))
            worker.execute("set vacuum_cost_delay = 20; set vacuum_cost_limit = 600")
            started.set()
            worker.execute("vacuum (verbose) letters")

    thread = threading.Thread(target=run)

    def begin(seconds: float) -> None:
        if not thread.ident:
            thread.start()
        started.wait()
        thread.join(0.1)

    seen = observe(
        server.dsn,
        duration_s=60.0,
        every_s=0.1,
        clock=over_after(lambda: thread.ident is not None and not thread.is_alive()),
        sleep=begin,
    )
    thread.join()
    (cause,) = [c for c in vacuum.causes(seen, budget_of(seen)) if "TOAST" in c.subject]
    misses = [int(n) for line in texts for n in re.findall(r"(\d+) (?:misses|reads)", line)]

    assert "public.letters (TOAST)" == cause.subject
    assert cause.title.startswith("VACUUM of public.letters (TOAST) ")
    assert seen.glances
    assert cause.is_estimated == (seen.last.io is None)
    if seen.last.io is not None:
        assert cause.read_bytes_per_s * seen.seconds == pytest.approx(sum(misses) * 8192, rel=0.15)
    assert any(piece.kind == "cost_limit" for piece in cause.evidence)


def over_after(is_so: Callable[[], bool]) -> Callable[[], float]:
    """A clock that stands until something is so, and then goes on to let some more glances come."""
    moments = itertools.count(0.0, 10.0)
    return lambda: next(moments) if is_so() else 0.0


def test_an_autovacuum_is_seen_with_its_bytes(server: Postgres, letters: dict[int, str]):
    """Autovacuum's reads of the TOAST relation are within 15 % of those that the relation counts."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for _ in range(12):
            connection.execute("update letters set body = body || ''")
        connection.execute("create table filler as select repeat('x', 1000) from generate_series(1, 18000)")
        connection.execute("drop table filler")
        flush_statistics(connection)
    ticks = iter(range(200))

    def sleep(seconds: float) -> None:
        if next(ticks) == 0:
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute(
                    "alter table letters set (toast.autovacuum_enabled = on, "
                    "toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 50, "
                    "toast.autovacuum_vacuum_cost_delay = 20, toast.autovacuum_vacuum_cost_limit = 600)"
                )
        threading.Event().wait(min(seconds, 0.1))

    def is_over() -> bool:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            return connection.execute(
                "select pg_stat_get_autovacuum_count(reltoastrelid) > 0 from pg_class where oid = 'letters'::regclass"
            ).fetchone()[0]

    seen = observe(server.dsn, duration_s=60.0, every_s=0.1, clock=over_after(is_over), sleep=sleep)
    (cause,) = [c for c in vacuum.causes(seen, budget_of(seen)) if "letters" in c.subject]
    before, after = (
        next(r for r in reading.relations if r.owner_oid and r.name == cause_relation(cause))
        for reading in (seen.first, seen.last)
    )
    read = sum(getattr(after, name) - getattr(before, name) for name in ("heap_blocks_read", "index_blocks_read"))

    assert "public.letters (TOAST)" == cause.subject
    # Hardly anything else is read and written meanwhile, and it comes once: whatever its share.
    assert "note" == cause.severity
    assert cause.title.startswith("autovacuum of public.letters (TOAST)")
    assert cause.is_estimated == (seen.last.io is None)
    assert read > 500
    if seen.last.io is not None:
        assert cause.read_bytes_per_s * seen.seconds == pytest.approx(read * 8192, rel=0.15)
    autovacuum_limit = next(p for p in cause.evidence if p.kind == "cost_limit")
    assert "600 per 20 ms" in autovacuum_limit.text


@ON_TWO
def test_bytes_of_a_running_vacuum_are_estimated(server: Postgres, letters: dict[int, str]):
    """The server says nothing of its bytes until it ends; the estimate is within 15 % of what the process read."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for _ in range(30):
            connection.execute("update letters set body = body || ''")
        connection.execute("create table filler as select repeat('x', 1000) from generate_series(1, 18000)")
        connection.execute("drop table filler")
    worker = psycopg.connect(server.dsn, autocommit=True)
    worker.execute("set vacuum_cost_delay = 20; set vacuum_cost_limit = 600")
    pid = worker.info.backend_pid
    thread = threading.Thread(target=lambda: ended(worker, "vacuum letters"))
    marks: list[tuple[float, int]] = []

    def sleep(seconds: float) -> None:
        marks.append((time.monotonic(), bytes_read_by(pid)))
        threading.Event().wait(0.2)

    try:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            thread.start()
            scanning = "select count(*) from pg_stat_progress_vacuum where heap_blks_scanned > 200"
            while connection.execute(scanning).fetchone() == (0,):
                assert thread.is_alive()
        moments = itertools.count(0.0, 0.5)
        seen = observe(server.dsn, duration_s=4.0, every_s=0.2, clock=lambda: next(moments), sleep=sleep)
    finally:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute("select pg_cancel_backend(%s)", (pid,))
        thread.join()
        worker.close()
    (cause,) = [c for c in vacuum.causes(seen, budget_of(seen)) if "letters" in c.subject]
    (begun_s, before), (ended_s, after) = marks[0], marks[-1]

    assert cause.is_estimated
    assert "has run for" in cause.title
    assert cause.read_bytes_per_s == pytest.approx((after - before) / (ended_s - begun_s), rel=0.15)


def ended(worker: psycopg.Connection, statement: str) -> None:
    """Run a statement that somebody is going to cancel."""
    with contextlib.suppress(psycopg.errors.QueryCanceled):
        worker.execute(statement.encode())


def bytes_read_by(pid: int) -> int:
    """What a process asked the system to read so far (proc_pid_io(5))."""
    text = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    return int(re.search(r"rchar: (\d+)", text)[1])


def cause_relation(cause: Cause) -> str:
    """The TOAST relation's own name, out of the finding's text."""
    return re.search(r"pg_toast\.pg_toast_\d+", cause.text)[0]


@ON_TWO
def test_settings_are_read_from_the_table_and_its_toast(server: Postgres):
    """A large table written often waits for a fifth by default, and for what its options say."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("create table counts (id int primary key, n int, body text) with (fillfactor = 50)")
        connection.execute("insert into counts select g, 0 from generate_series(1, 110000) g")
        connection.execute("analyze counts")
    found = watch(server, lambda c: [c.execute("update counts set n = n + 1") for _ in range(3)])
    (late,) = [c for c in autovacuum_settings.causes(found, BUDGET) if "counts" in c.subject]
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute(late.remedies[0].commands[0].encode())
    reading = watch(server, lambda c: c.execute("update counts set n = n + 1"))
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("drop table counts")

    assert ("public.counts", "note") == (late.subject, late.severity)
    # The server's own count of rows is an estimate: a vacuum beside an update sees some rows twice.
    (estimate,) = [r.row_estimate for r in found.last.relations if r.name == "public.counts"]
    assert 0.98 * 110_000 < estimate < 2 * 110_000
    assert late.evidence[0].value == pytest.approx(50 + 0.2 * estimate)
    assert "public.counts" not in {cause.subject for cause in autovacuum_settings.causes(reading, BUDGET)}
