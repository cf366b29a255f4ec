"""
The tables that a workload works on: larger than all that could keep them from the disk.

They are filled before a limit applies, in a server with settings for filling, and every row is
frozen as it is written: the first read of a table then writes nothing.
"""

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import ceil
from string import ascii_letters, digits
from typing import Literal

from msgspec import Struct

from plimsoll.errors import SourceError, UsageError
from plimsoll.lab.servers.postgres import Postgres
from plimsoll.units import MIB

# pgbench's accounts and their index take this much for each of scale (PostgreSQL 13 to 18: 14.9 to
# 15.0 MB), rounded down so that what is asked for is reached.
_SCALE_BYTES = 14_900_000
# 149 GB of tables: more is no run for somebody's own machine.
SCALE_MAX = 10_000

# One row to a page of 8 KiB, so that a scan costs little but reading. 7,900 bytes with their headers
# leave no room for a second row, and stay below what would be cut into pieces only if storage is plain.
_PAGE_BYTES = 8192
_ROW = b"x" * 7900 + b"\n"
# About a mebibyte a write, at which sending costs little.
_ROWS_AT_ONCE = 128
# One copies while the other waits for the disk; more contend for it.
_LOADERS = 2

# A document of five chunks of TOAST, in round numbers 10 kB, of text that does not get shorter by being
# compressed. Four chunks fill a page (PostgreSQL, heaptoast.h), and the row itself is small.
_BODY_BYTES = 9_900
_DOCUMENT_BYTES = 5 / 4 * _PAGE_BYTES + 120
_DOCUMENTS = """
create table {table} (
  id int primary key, title text not null, status int not null, body text not null, note text not null
);
alter table {table} alter body set storage external;
-- As is advised for tables of this size; in a run of a minute, autovacuum shall have something to do.
alter table {table} set (toast.autovacuum_vacuum_scale_factor = 0.01);
"""

# Random reads find a part of what they seek in the caches, a scan of all tables in turn finds
# nothing once they exceed the caches at all: least ratio of tables to memory for each. Documents are
# there to be written, and their table grows as they are.
_RATIO = {"scan": 2.0, "pgbench": 4.0, "toast": 1.5}

LOADING = {
    # Without replicas, what is copied into a table of the same transaction is not logged.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    # Rows are frozen as they come in, so there is nothing for it to do; and nothing is to be
    # measured.
    "autovacuum": "off",
    # Tables that are lost in a crash are made again: safety costs time here and buys nothing.
    "full_page_writes": "off",
    # No checkpoint in the middle, which would write pages that are filled further.
    "checkpoint_timeout": "1h",
    "max_wal_size": "4GB",
    "maintenance_work_mem": "128MB",
}
"""Settings of the server while it is filled."""


TableKind = Literal["scan", "pgbench", "toast"]
"""Wide tables to scan, those of pgbench, or one of documents that are stored out of line."""


class Dataset(Struct, frozen=True, kw_only=True):
    """Which tables, and how large."""

    kind: TableKind
    scale: int
    """Of pgbench; for other tables as many times the same amount of data."""
    table_count: int = 1
    """Tables to scan: one for each client, so that none finds what another has just read."""

    @property
    def size_bytes(self) -> int:
        """About how large the tables are."""
        return self.scale * _SCALE_BYTES

    @property
    def document_count(self) -> int:
        """Of documents, how many."""
        return int(self.size_bytes / _DOCUMENT_BYTES)


def dataset_of(
    kind: TableKind, *, memory_bytes: int, clients: int, scale: int | None = None
) -> Dataset:
    """
    Return the tables for a workload.

    Args:
        kind: which tables.
        memory_bytes: all that may cache them: the server's buffers and the page cache.
        clients: how many will work on them.
        scale: as pgbench counts; None for what exceeds the memory enough.

    Raises:
        UsageError: they would be larger than pgbench can make them.
    """
    if scale is None:
        scale = max(ceil(_RATIO[kind] * memory_bytes / _SCALE_BYTES), 1)
    if scale > SCALE_MAX:
        raise UsageError(
            f"tables that exceed {memory_bytes // MIB:,} MiB of memory would be at scale {scale:,}",
            f"Give less --memory; {SCALE_MAX:,} is the largest scale.",
        )
    return Dataset(kind=kind, scale=scale, table_count=clients if kind == "scan" else 1)


def fill(postgres: Postgres, dataset: Dataset) -> None:
    """
    Make the tables in a server that runs with `LOADING`.

    Raises:
        SourceError: the server refused, as for want of space.
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
    made = (
        "create table {table} (filler text);\nalter table {table} alter filler set storage plain;\n"
    )
    _copied(postgres, f"{SCAN_TABLE}{number}", made, _rows(row_count))


def _fill_documents(postgres: Postgres, count: int) -> None:
    _copied(postgres, DOCUMENTS_TABLE, _DOCUMENTS, _documents(count))


def _copied(postgres: Postgres, name: str, made: str, rows: Iterator[bytes]) -> None:
    """Make a table and copy rows into it, all of them frozen."""
    import psycopg
    from psycopg import sql

    table = sql.Identifier(name)
    try:
        with psycopg.connect(postgres.dsn) as connection, connection.cursor() as cursor:
            for statement in made.split(";\n")[:-1]:
                cursor.execute(sql.SQL(statement).format(table=table))
            # Frozen rows are visible to all: no later read sets hint bits and writes (PostgreSQL,
            # COPY, FREEZE).
            into = sql.SQL("copy {} from stdin with (freeze)").format(table)
            with cursor.copy(into) as copy:
                for part in rows:
                    copy.write(part)
            connection.commit()
            # What autovacuum would do at its first turn, in the middle of the measurement.
            connection.autocommit = True
            cursor.execute(sql.SQL("vacuum (analyze) {}").format(table))
    except psycopg.Error as error:
        last = (str(error).strip().splitlines() or ["no reason was given"])[0]
        raise SourceError(
            f"the tables of the workload could not be made: {last}",
            "Check the space of this machine.",
        ) from error


def _documents(count: int) -> Iterator[bytes]:
    """Yield rows of documents, the body of each cut out of the same random letters at another place."""
    # A seed, so that two runs have the same tables.
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
"""Name of a table to scan; its number follows."""

DOCUMENTS_TABLE = "documents"
"""Name of the table of documents, as their statements have it."""
