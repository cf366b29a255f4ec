"""
Create the tables for a workload, larger than everything that could cache them.

They are filled before a limit applies, in a server with settings for filling. Every row is frozen as it
is written, so the first read of a table writes nothing.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from string import ascii_letters, digits
from typing import Literal

from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll.units import MIB
from plimsoll_lab.servers.postgres import Postgres

# Size of pgbench's accounts and their index for each unit of scale (PostgreSQL 13 to 18: 14.9 to
# 15.0 MB), rounded down so that the tables have at least the requested size.
_SCALE_BYTES = 14_900_000
# 149 GB of tables: a larger run does not belong on a user's own machine.
SCALE_MAX = 10_000

# One row in each page of 8 KiB, so that a scan does little but read. 7,900 bytes with their headers leave
# no room for a second row. Plain storage keeps them in the row; other storage would move them to TOAST.
_PAGE_BYTES = 8192
_ROW = b"x" * 7900 + b"\n"
# About 1 MiB for each write; sending then costs little.
_ROWS_AT_ONCE = 128
# One loader copies while the other waits for the disk; more would compete for it.
_LOADERS = 2

# A document of five TOAST chunks, about 10 kB, of text that compression does not shrink. Four chunks fill
# a page (PostgreSQL, heaptoast.h, EXTERN_TUPLES_PER_PAGE), and the row itself is small.
_BODY_BYTES = 9_900
_DOCUMENT_BYTES = 5 / 4 * _PAGE_BYTES + 120
_DOCUMENTS = """
create table {table} (
  id int primary key, title text not null, status int not null, body text not null, note text not null
);
alter table {table} alter body set storage external;
-- As recommended for tables of this size; autovacuum must have work within a run of one minute.
alter table {table} set (toast.autovacuum_vacuum_scale_factor = 0.01);
"""

# Least ratio of tables to memory. Random reads find part of their pages in the caches. A scan of all tables
# in turn finds nothing once the tables exceed the caches at all (LRU). Documents are there to be written,
# and their table grows with the writes.
_RATIO = {"scan": 2.0, "pgbench": 4.0, "toast": 1.5}

LOADING = {
    # Without replicas, rows copied into a table of the same transaction are not logged
    # (PostgreSQL, wal_level).
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Rows are frozen when written, so autovacuum has no work; and it must not disturb the filling.
    "autovacuum": "off",
    # Tables lost in a crash are simply made again, so crash safety would only cost time here.
    "full_page_writes": "off",
    # No checkpoint in the middle: it would write pages that are about to be filled further.
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "maintenance_work_mem": "128MB",
}
"""Settings of the server while the tables are filled."""


TableKind = Literal["scan", "pgbench", "toast"]
"""Wide tables to scan, pgbench's tables, or one table of documents stored out of line."""


class Dataset(Struct, frozen=True, kw_only=True):
    """Describe the tables and their size."""

    kind: TableKind
    scale: int
    """Scale of pgbench; other tables have the same amount of data at the same scale."""
    table_count: int = 1
    """Number of tables to scan: one for each client, so that none finds pages that another has just read."""

    @property
    def size_bytes(self) -> int:
        """Return the approximate size of the tables."""
        return self.scale * _SCALE_BYTES

    @property
    def document_count(self) -> int:
        """Return the number of documents."""
        return int(self.size_bytes / _DOCUMENT_BYTES)


def dataset_of(kind: TableKind, *, memory_bytes: int, clients: int, scale: int | None = None) -> Dataset:
    """
    Return the tables for a workload.

    Args:
        kind: which tables.
        memory_bytes: everything that may cache them: the server's buffers and the page cache.
        clients: how many clients will use them.
        scale: pgbench's scale; None chooses one that exceeds the memory enough.

    Raises:
        UsageError: they would be larger than the largest scale.
    """
    if scale is None:
        scale = max(ceil(_RATIO[kind] * memory_bytes / _SCALE_BYTES), 1)
    if scale > SCALE_MAX:
        raise UsageError(
            f"tables that exceed {memory_bytes // MIB:,} MiB of memory need scale {scale:,}",
            f"Give less --memory; {SCALE_MAX:,} is the largest scale.",
        )
    return Dataset(kind=kind, scale=scale, table_count=clients if kind == "scan" else 1)


def fill(postgres: Postgres, dataset: Dataset) -> None:
    """
    Create the tables in a server that runs with `LOADING`.

    Raises:
        SourceError: the server refused, for example because the disk is full.
    """
    if dataset.kind == "pgbench":
        postgres.run("pgbench", "-i", "-q", "-s", str(dataset.scale))
        return
    if dataset.kind == "toast":
        _fill_documents(postgres, dataset.document_count)
        return
    rows = ceil(dataset.size_bytes / _PAGE_BYTES / dataset.table_count)
    with ThreadPoolExecutor(max_workers=_LOADERS) as pool:
        waiting = [pool.submit(_fill_one, postgres, n, rows) for n in range(dataset.table_count)]
        for one in waiting:
            one.result()


def _fill_one(postgres: Postgres, number: int, row_count: int) -> None:
    made = "create table {table} (filler text);\nalter table {table} alter filler set storage plain;\n"
    _load_table(postgres, f"{SCAN_TABLE}{number}", made, _rows(row_count))


def _fill_documents(postgres: Postgres, count: int) -> None:
    _load_table(postgres, DOCUMENTS_TABLE, _DOCUMENTS, _documents(count))


def _load_table(postgres: Postgres, name: str, made: str, rows: Iterator[bytes]) -> None:
    """Create a table and copy rows into it, all of them frozen."""
    import psycopg
    from psycopg import sql

    table = sql.Identifier(name)
    try:
        with psycopg.connect(postgres.dsn) as connection, connection.cursor() as cursor:
            for statement in made.split(";\n")[:-1]:
                cursor.execute(sql.SQL(statement).format(table=table))
            # Frozen rows are visible to all transactions, so no later read sets hint bits and
            # writes (PostgreSQL, COPY, FREEZE).
            into = sql.SQL("copy {} from stdin with (freeze)").format(table)
            with cursor.copy(into) as copy:
                for part in rows:
                    copy.write(part)
            connection.commit()
            # Otherwise autovacuum would do this at its first turn, during the measurement.
            connection.autocommit = True
            cursor.execute(sql.SQL("vacuum (analyze) {}").format(table))
    except psycopg.Error as error:
        last = (str(error).strip().splitlines() or ["no reason was given"])[0]
        raise SourceError(
            f"unable to create the tables of the workload: {last}", "Check the free space of this machine."
        ) from error


def _documents(count: int) -> Iterator[bytes]:
    """Yield rows of documents; each body is another slice of the same random letters."""
    # A fixed seed, so that two runs have the same tables.
    letters = random.Random(1).choices(ascii_letters + digits, k=2 * _BODY_BYTES)  # noqa: S311
    text = "".join(letters).encode()
    for number in range(1, count + 1):
        body = text[number % _BODY_BYTES :][:_BODY_BYTES]
        yield b"%d\tDocument %d\t0\t%b\tnone\n" % (number, number, body)


def _rows(count: int) -> Iterator[bytes]:
    many = _ROW * _ROWS_AT_ONCE
    for _ in range(count // _ROWS_AT_ONCE):
        yield many
    yield _ROW * (count % _ROWS_AT_ONCE)


SCAN_TABLE = "plimsoll_scan_"
"""Prefix of the name of a table to scan; its number follows."""

DOCUMENTS_TABLE = "documents"
"""Name of the table of documents in their statements."""
