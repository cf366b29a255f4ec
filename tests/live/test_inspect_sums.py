"""What is small one by one and large together, made for real: unused indexes, and partitions of one table."""

from collections.abc import Callable, Iterator

import psycopg
import pytest

from live.installed import NEWEST, postgres_binaries
from live.working import working
from plimsoll.causes.inspect import inspect
from plimsoll.cli.inspect import status_of
from plimsoll.model.cause import Cause
from plimsoll.model.database import Observation
from plimsoll.sources.postgres.read import observe
from plimsoll_lab.servers.postgres import Postgres

INDEXES, PARTITIONS = 10, 120
ROWS = 40_000


@pytest.fixture(scope="module", params=["14", NEWEST])
def server(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """
    A table with ten indexes that nothing asks, and one of 120 partitions without any, both larger than
    the buffers.
    """
    settings = {
        "fsync": "off",
        "autovacuum_naptime": "1h",
        "shared_buffers": "4MB",
        "shared_preload_libraries": "pg_stat_statements",
    }
    columns = ", ".join(f"(g * {7919 + 2 * n}::bigint) %% 100003 as c{n}".replace("%%", "%") for n in range(INDEXES))
    with Postgres(settings, binaries=postgres_binaries(request.param)) as running:
        with psycopg.connect(running.dsn, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
            connection.execute(f"create table kept as select g as id, {columns} from generate_series(1, {ROWS}) g")
            connection.execute("create unique index on kept (id)")
            for n in range(INDEXES):
                connection.execute(f"create index kept_{n} on kept (c{n})")
            connection.execute("create table parted (id int, customer int, note text) partition by range (id)")
            for n in range(PARTITIONS):
                connection.execute(
                    f"create table parted_{n} partition of parted for values from ({n * 1000}) to ({n * 1000 + 1000})"
                )
            connection.execute(
                "insert into parted select g, g % 60000, repeat('x', 150)"
                f" from generate_series(0, {PARTITIONS * 1000 - 1}) g"
            )
            connection.execute("vacuum analyze")
        yield running


def watched(
    server: Postgres, work: Callable[[psycopg.Connection, int], object]
) -> tuple[Observation, dict[str, Cause], int]:
    """Three seconds of it, what was found by code, and the exit status."""
    with working(server.dsn, work):
        seen = observe(server.dsn, duration_s=3.0)
    inspection = inspect(seen)
    return seen, {cause.code: cause for cause in inspection.causes}, status_of(inspection)


def test_unused_indexes_are_one_finding_with_their_sum(server: Postgres):
    """Ten of them take most of the load: a warning, not ten notes; status 1."""

    def update(connection: psycopg.Connection, turn: int) -> None:
        connection.execute(
            "update kept set c0 = c0 + 1 where id between %s and %s",
            (turn * 977 % (ROWS - 9), turn * 977 % (ROWS - 9) + 9),
        )

    _, reading, status = watched(server, update)
    cause = reading["UnusedIndexes"]

    assert 1 == status
    assert "warning" == cause.severity
    assert f"{INDEXES} indexes of public.kept have never been scanned" in cause.title
    # The counters are younger than a week: the check of all, and no DROP INDEX.
    (check,) = cause.remedies[0].commands
    assert INDEXES == check.count("public.kept_")
    assert (cause.share_of_load or 0.0) > 0.25


def test_partitions_are_read_as_one_table(server: Postgres):
    """Scans of all partitions are the parent's, and it gets the index that a plain table would get."""

    def select(connection: psycopg.Connection, turn: int) -> None:
        connection.execute("select count(note) from parted where customer = %s", (turn,))

    seen, reading, status = watched(server, select)
    cause = reading["SequentialScans"]

    assert 1 == status
    assert ("public.parted", "critical") == (cause.subject, cause.severity)
    assert (cause.share_of_load or 0.0) > 0.5
    assert "CREATE INDEX ON public.parted (customer);" == cause.remedies[0].commands[0]
    assert {"public.parted"} == {r.parent for r in seen.last.relations if r.kind == "partition"}
