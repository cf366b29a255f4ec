"""
From staging tables into the partition, the quarantine and the ledger, in one transaction.

Rule 1: every line of the file is a row or is in the quarantine, or nothing of the file is.
Rule 2: of rows with the same key the first is kept; for beneficiaries that of the newest delivery: of the latest month,
        and within a month of the file that was delivered last.
Rule 3: the partition is locked against other loads, not against readers.
"""

from datetime import datetime
from typing import Any

from msgspec import Struct
from psycopg.sql import SQL, Composed, Identifier

from claims_pipeline.database import ledger
from claims_pipeline.database.connection import Connection
from claims_pipeline.database.tables import BENEFICIARIES, SCHEMA, partition
from claims_pipeline.delivery import DeliveredFile, Manifest
from claims_pipeline.errors import DataError
from claims_pipeline.layout import Record, record

ROWS = "staged_rows"
LINES = "staged_lines"


class Work(Struct, frozen=True, kw_only=True):
    """A file that is loaded."""

    manifest: Manifest
    file: DeliveredFile
    file_id: int
    """Its number in the ledger, reserved before."""
    delivered_at: datetime


class Counts(Struct, frozen=True, kw_only=True):
    """What the formatter made of a file."""

    records: int
    rows: int
    quarantined: int


def stage(connection: Connection, work: Work) -> None:
    """Create the staging tables: of this session, without WAL, gone with the transaction."""
    for name, like in ((ROWS, work.file.kind), (LINES, "quarantine")):
        connection.execute(
            SQL("CREATE TEMP TABLE {} (LIKE {}) ON COMMIT DROP").format(Identifier(name), Identifier(SCHEMA, like))
        )


def merge(connection: Connection, work: Work, counts: Counts) -> str:
    """
    Move what is staged to its place, and return what was done as a sentence; the caller commits.

    Raises:
        DataError: lines are missing.
    """
    layout = record(work.file.kind)
    target = Identifier(SCHEMA, partition(work.file.kind, work.manifest.organisation))
    _check(connection, work, counts)
    connection.execute(SQL("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE").format(target))
    if work.file.kind == BENEFICIARIES:
        _give_way(connection, work, target)
    # Rows are read in the order in which they were written, that of the lines: the first of equal keys is kept.
    inserted = connection.execute(
        SQL("INSERT INTO {} SELECT * FROM {} ON CONFLICT DO NOTHING").format(target, Identifier(ROWS))
    ).rowcount
    duplicates = counts.rows - inserted
    quarantined = counts.quarantined + duplicates
    ledger.enter(
        connection, work.manifest, work.file, (work.file_id, work.delivered_at), (inserted, quarantined, duplicates)
    )
    connection.execute(
        SQL("INSERT INTO {} SELECT * FROM {}").format(Identifier(SCHEMA, "quarantine"), Identifier(LINES))
    )
    if duplicates:
        found = connection.execute(_duplicates(layout, target)).rowcount
        if found != duplicates:
            raise DataError(
                f"{duplicates - found} rows of '{work.file.name}' have no place",
                "Nothing of this file was loaded. See whether its key can be blank.",
            )
    return f"{inserted:,} rows, {quarantined:,} lines quarantined ({duplicates:,} duplicates)"


def _check(connection: Connection, work: Work, counts: Counts) -> None:
    """Compare what the manifest, the formatter and the staging tables say."""
    staged = [int(_one(connection, SQL("SELECT count(*) FROM {}").format(Identifier(name)))) for name in (ROWS, LINES)]
    said = (counts.records, counts.rows, counts.quarantined)
    if (work.file.records, *staged) != said or sum(staged) != counts.records:
        raise DataError(
            f"'{work.file.name}' has {work.file.records:,} records in its manifest, {counts.records:,} were read,"
            f" and {staged[0]:,} rows and {staged[1]:,} quarantined lines arrived",
            "Nothing of this file was loaded. Ask the sender for the whole file.",
        )


def _give_way(connection: Connection, work: Work, target: Identifier) -> None:
    """Remove rows of older deliveries that this one has again, and note them in the ledger."""
    connection.execute(
        SQL(
            """
            WITH gone AS (
              DELETE FROM {target} t USING {rows} s, claims.files f
              WHERE t.bene_mbi_id = s.bene_mbi_id AND f.file_id = t.file_id
                AND (f.month, f.delivered_at) < (%s, %s)
              RETURNING t.file_id)
            UPDATE claims.files f SET replaced = f.replaced + n.amount
            FROM (SELECT file_id, count(*) AS amount FROM gone GROUP BY file_id) n
            WHERE f.file_id = n.file_id"""
        ).format(target=target, rows=Identifier(ROWS)),
        (work.manifest.month, work.delivered_at),
    )


def _duplicates(layout: Record, target: Identifier) -> Composed:
    """Return the statement that quarantines staged rows whose key the partition has from another line."""
    same = SQL(" AND ").join(SQL("t.{0} = s.{0}").format(Identifier(name)) for name in ("organisation", *layout.key))
    return SQL(
        """
        INSERT INTO claims.quarantine (file_id, line_number, reason, raw)
        SELECT s.file_id, s.line_number,
          CASE WHEN {is_newest} AND t.file_id <> s.file_id
            THEN format('superseded by file %s line %s', t.file_id, t.line_number)
            ELSE format('duplicate of file %s line %s', t.file_id, t.line_number) END,
          s::text
        FROM {rows} s JOIN {target} t ON {same}
        WHERE (t.file_id, t.line_number) <> (s.file_id, s.line_number)"""
    ).format(
        is_newest=SQL("true" if layout.kind == BENEFICIARIES else "false"),
        rows=Identifier(ROWS),
        target=target,
        same=same,
    )


def _one(connection: Connection, query: Composed) -> Any:
    found = connection.execute(query).fetchone()
    assert found is not None
    return found[0]
