"""
Shares that an inspection tells, held against /proc/PID/io of all processes of the server.

Fourteen causes alone and seven mixtures, on the Debian's PostgreSQL, which has no pg_stat_io, and on the newest. Counts
of bytes are no timing: they are the same on a busy machine.
"""

import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from msgspec.structs import replace

from live.asked_bytes import Asked, asked_by, postmaster_of
from live.counted import flush_statistics
from live.installed import DEBIANS, NEWEST, postgres_binaries
from live.share_cases import MIXTURES, PARTS, SETTINGS, SETUP, STALE, VACUUMED, Part, Work, running
from plimsoll.causes.inspect import inspect
from plimsoll.model.cause import Cause, Inspection
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

# The load may be off by a twentieth, and by what the reading of the counters takes.
LOAD_WITHIN, LOAD_WITHIN_BYTES = 0.05, 2e6

NOTHING = Asked(0, 0)


@pytest.fixture(scope="module", params=(DEBIANS, NEWEST))
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server with small buffers on which nothing runs by itself."""
    with Postgres(SETTINGS, binaries=postgres_binaries(request.param)) as started:
        with psycopg.connect(started.dsn, autocommit=True) as connection:
            for statement in SETUP:
                connection.execute(statement.encode())
            flush_statistics(connection)
        yield started


def ran(server: Postgres, work: Work) -> Asked:
    """What all processes asked for while one session worked, its end included."""
    postmaster = postmaster_of(server.data_directory)
    before = asked_by(postmaster)
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        work(connection)
        flush_statistics(connection)
    # The session's process ends after its connection; WAL of its end is written by another.
    time.sleep(0.1)
    return asked_by(postmaster).since(before)


def prepared(server: Postgres, part: Part) -> Asked:
    """What the part asks for without its cause, measured before the window."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        for statement in part.prepared:
            connection.execute(statement.encode())
        flush_statistics(connection)
    return ran(server, part.without) if part.without is not None else NOTHING


def inspected(server: Postgres, parts: list[Part]) -> tuple[Inspection, list[float], float]:
    """An inspection of parts that run one after the other; the true share of each, and all bytes."""
    # What others left changed would be written by a checkpoint in the window.
    ran(server, running("checkpoint"))
    spared = [prepared(server, part) for part in parts]
    asked: list[Asked] = []

    def work_instead(_: float) -> None:
        asked.extend(ran(server, part.work) for part in parts)

    seen = observe(server.dsn, duration_s=0.01, sleep=work_instead)
    whole = sum(one.all for one in asked)
    true = [part.bytes_of(one, without) / whole for part, one, without in zip(parts, asked, spared, strict=True)]
    return inspect(seen), true, float(whole)


def bytes_of(inspection: Inspection, part: Part) -> float:
    """The share that the part's cause is said to have; 0 where it is not named."""
    found = [
        cause.share_of_load
        for cause in inspection.causes
        if cause.code == part.code and cause.subject.lower().startswith(part.subject)
    ]
    return sum(share for share in found if share is not None)


@pytest.mark.parametrize("names", [*((name,) for name in PARTS), *MIXTURES], ids=" + ".join)
def test_shares_are_those_of_what_all_processes_asked_for(server: Postgres, names: tuple[str, ...]):
    """Each cause's share of the load, and the load itself."""
    parts = [PARTS[name] for name in names]
    result, true, whole = inspected(server, parts)
    # Files of several parts are one cause.
    wanted: dict[tuple[str, str], float] = {}
    for part, share in zip(parts, true, strict=True):
        key = (part.code, part.subject)
        wanted[key] = wanted.get(key, 0.0) + share
    found = {(part.code, part.subject): bytes_of(result, part) for part in parts}
    seconds = result.end_s - result.start_s
    load = (result.load_read_bytes_per_s + result.load_written_bytes_per_s) * seconds

    within = max(part.within for part in parts)

    assert pytest.approx(wanted, abs=within) == found
    assert pytest.approx(whole, rel=LOAD_WITHIN, abs=LOAD_WITHIN_BYTES) == load


def vacuumed(server: Postgres, work: Work) -> tuple[Observation, float, float]:
    """
    What glances saw of a VACUUM and of work after it; the bytes of the VACUUM without its WAL, and all bytes.

    WAL is told as what every change costs, whoever made it, the zeros of new files among it.
    """
    ran(server, running(*STALE))
    counted: list[Asked] = []
    logged: list[float] = []

    def position(connection: psycopg.Connection) -> float:
        # A new file of WAL is filled with zeros before.
        (at,) = connection.execute(
            "select (pg_current_wal_insert_lsn() - '0/0' + sum(size))::float8 from pg_ls_waldir()"
        ).fetchone()
        return at

    def vacuum(connection: psycopg.Connection) -> None:
        before = position(connection)
        running(*VACUUMED)(connection)
        logged.append(position(connection) - before)

    worker = threading.Thread(target=lambda: counted.extend(ran(server, one) for one in (vacuum, work)))
    now_s = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds
        if worker.ident is None:
            worker.start()
        time.sleep(min(seconds, 0.1))

    def clock() -> float:
        return now_s if worker.ident is None or worker.is_alive() else 1e9

    # Glances take no time by this clock, so that they come as often as they are asked for.
    seen = observe(server.dsn, duration_s=1e6, every_s=0.1, clock=clock, sleep=sleep)
    return seen, counted[0].all - logged[0], float(sum(one.all for one in counted))


def vacuum_of(inspection: Inspection) -> Cause:
    (cause,) = [one for one in inspection.causes if one.code == "VacuumRunning"]
    return cause


@pytest.mark.parametrize("other", [None, "sequential scan"])
def test_a_vacuum_has_its_share(server: Postgres, other: str | None):
    """Pages that it read and wrote, alone and beside another: counted by pg_stat_io, or by pg_stat_statements before 16."""
    work = PARTS[other].work if other else running("select 1")
    seen, moved, whole = vacuumed(server, work)
    cause = vacuum_of(inspect(seen))

    assert "public.stale" == cause.subject
    assert not cause.is_estimated
    assert pytest.approx(moved / whole, abs=0.05) == cause.share_of_load
    assert pytest.approx(moved, rel=0.05) == (cause.bytes_per_s or 0.0) * seen.seconds
    assert {"note"} == {one.severity for one in inspect(seen).causes if one.subject.startswith("vacuum")}


@pytest.mark.parametrize("server", [DEBIANS], indirect=True)
def test_without_either_counter_a_vacuum_is_estimated(server: Postgres):
    """Before 16 without pg_stat_statements: by blocks and dead rows that it found, no more than all processes wrote."""
    seen, moved, whole = vacuumed(server, running("select 1"))
    blind = replace(seen, first=replace(seen.first, statements=None), last=replace(seen.last, statements=None))
    cause = vacuum_of(inspect(blind))

    assert cause.is_estimated
    assert pytest.approx(moved / whole, abs=0.12) == cause.share_of_load
