"""The upkeep of an idle index, held against the same work on the same server without the index."""

import time
from collections.abc import Iterator

import psycopg
import pytest

from live.counted import flush_statistics
from live.installed import DEBIANS, NEWEST, VERSIONS, postgres_binaries
from plimsoll.causes.budget import budget_of
from plimsoll.causes.indexes.unused import causes
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

# Nothing writes but the work and the checkpoints that it asks for: bytes are then the same each time,
# however fast or busy the machine is.
SETTINGS = {
    "autovacuum": "off",
    "bgwriter_lru_maxpages": "0",
    "checkpoint_timeout": "3600",
    "max_wal_size": "4GB",
    "fsync": "off",
}
WITHIN = 0.15
ROWS = 300_000

UPDATED = "update kept set customer = (customer * 31 + 7) % 100003 where id between {0} and {0} + 9"
# By name: the buffers, and the statements of the work.
WORKS = {
    "updates anywhere": ("128MB", [UPDATED.format(n * 977 % 299_990) for n in range(400)]),
    "entries at the end": (
        "128MB",
        [
            f"insert into kept select {ROWS} + {n} + g, 200000 + {n} + g, repeat('y', 100) "
            "from generate_series(1, 1000) g"
            for n in range(0, 20_000, 1000)
        ],
    ),
    "few values": (
        "128MB",
        [
            f"insert into kept select {ROWS} + {n} + g, g % 5 * 20000, repeat('y', 100) from generate_series(1, 300) g"
            for n in range(0, 18_000, 300)
        ],
    ),
    "two checkpoints": (
        "128MB",
        [
            *(UPDATED.format(n * 977 % 299_990) for n in range(200)),
            "checkpoint",
            *(UPDATED.format(n * 1999 % 299_990) for n in range(200)),
        ],
    ),
    "updates in few buffers": ("4MB", [UPDATED.format(n * 977 % 299_990) for n in range(200)]),
}


# Every version counts growing and reading in its own way; where entries go is alike in all of them.
CASES = [
    pytest.param((version, buffers), name, id=f"{version}, {name}")
    for version in VERSIONS
    for name, (buffers, _) in WORKS.items()
    if version in (DEBIANS, NEWEST) or name == "entries at the end"
]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A quiet server of some version, with buffers that hold all or hardly anything."""
    version, buffers = request.param
    found = {**SETTINGS, "shared_buffers": buffers}
    with Postgres(found, binaries=postgres_binaries(version)) as running:
        yield running


def checkpointed(connection: psycopg.Connection) -> None:
    """A checkpoint, and its pages counted: the views hear of them a moment after it is over."""
    view = "pg_stat_checkpointer" if connection.info.server_version >= 170_000 else "pg_stat_bgwriter"
    column = "num_requested" if view == "pg_stat_checkpointer" else "checkpoints_req"
    written = "buffers_written" if view == "pg_stat_checkpointer" else "buffers_checkpoint"
    before = connection.execute(f"select {column}, {written} from {view}").fetchone()
    connection.execute("checkpoint")
    for _ in range(3000):
        connection.execute("select pg_stat_clear_snapshot()")
        after = connection.execute(f"select {column}, {written} from {view}").fetchone()
        if after[0] > before[0] and after[1] > before[1]:
            return
        time.sleep(0.01)
    raise AssertionError("the checkpoint was never counted")


def worked(server: Postgres, work: list[str], *, is_indexed: bool) -> tuple[float, Observation]:
    """Bytes that the work and a checkpoint read and wrote, with an index that nothing asks or without."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        connection.execute("drop table if exists kept")
        connection.execute(
            "create table kept as select g as id, (g * 7919::bigint) % 100003 as customer, "
            f"repeat('x', 100) as note from generate_series(1, {ROWS}) g"
        )
        connection.execute("create unique index on kept (id)")
        if is_indexed:
            connection.execute("create index kept_idle on kept (customer)")
        connection.execute("vacuum (freeze, analyze) kept")
        checkpointed(connection)
        # Else what this session did may be counted during the work.
        flush_statistics(connection)

    def work_instead(_: float) -> None:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            for statement in work:
                connection.execute(statement)
            checkpointed(connection)
            flush_statistics(connection)

    seen = observe(server.dsn, duration_s=0.01, sleep=work_instead)
    load = budget_of(seen).load_bytes_per_s
    assert load is not None
    return load * seen.seconds, seen


@pytest.mark.parametrize(("server", "name"), CASES, indirect=["server"])
def test_the_upkeep_of_an_idle_index_is_what_goes_without_it(server: Postgres, name: str):
    """Reads and writes of the same work with the index and without differ by what was told of it."""
    _, work = WORKS[name]
    without, _ = worked(server, work, is_indexed=False)
    total, seen = worked(server, work, is_indexed=True)
    (idle,) = [c for c in causes(seen, budget_of(seen)) if c.subject == "public.kept_idle"]

    assert pytest.approx(total - without, rel=WITHIN) == idle.bytes_per_s * seen.seconds
