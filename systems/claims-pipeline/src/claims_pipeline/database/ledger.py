"""
The ledger: which files are loaded.

Rule 1: whoever loads a file holds its lock from before formatting to after the commit.
Rule 2: a file is loaded once. Its name never gets another content, and its content is not loaded under another name.
"""

from datetime import datetime

from claims_pipeline.database.connection import Connection
from claims_pipeline.delivery import DeliveredFile, Manifest
from claims_pipeline.errors import DataError


def lock(connection: Connection, organisation: str, name: str) -> None:
    """Wait for the lock of a file; the server frees it when the connection ends."""
    connection.execute("SELECT pg_advisory_lock(hashtextextended(%s, 1))", (f"claims/{organisation}/{name}",))
    connection.commit()


def loaded_before(connection: Connection, manifest: Manifest, file: DeliveredFile) -> str | None:
    """
    Return a sentence if there is nothing to do for a file, else None.

    Raises:
        DataError: another content was loaded under its name.
    """
    found = connection.execute(
        "SELECT name, sha256, month FROM claims.files"
        " WHERE organisation = %s AND (name = %s OR sha256 = %s) ORDER BY name <> %s",
        (manifest.organisation, file.name, file.sha256, file.name),
    ).fetchone()
    connection.commit()
    if found is None:
        return None
    name, sha256, month = found
    if sha256 != file.sha256:
        raise DataError(
            f"'{file.name}' was loaded with another content in {month}",
            "A file keeps its content: ask the sender for a new name.",
        )
    return "loaded before" if name == file.name else f"same content as {name}, loaded before"


def reserve(connection: Connection) -> int:
    """Return the number of a new file; a load that fails leaves a gap."""
    found = connection.execute("SELECT nextval(pg_get_serial_sequence('claims.files', 'file_id'))").fetchone()
    connection.commit()
    assert found is not None
    return int(found[0])


def enter(
    connection: Connection,
    manifest: Manifest,
    file: DeliveredFile,
    entry: tuple[int, datetime],
    counts: tuple[int, int, int],
) -> None:
    """
    Write a file's row, and that its table changed.

    Args:
        connection: its transaction is the load's.
        manifest: of the delivery.
        file: as the manifest has it.
        entry: the file's number, and when it was delivered.
        counts: rows, quarantined lines and duplicates.
    """
    (file_id, delivered_at), (rows, quarantined, duplicates) = entry, counts
    connection.execute(
        "INSERT INTO claims.files (file_id, organisation, month, name, kind, sha256, bytes,"
        " records, rows, quarantined, duplicates, delivered_at) VALUES (%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s)",
        (
            *(file_id, manifest.organisation, manifest.month, file.name, file.kind, file.sha256),
            *(file.bytes, file.records, rows, quarantined, duplicates, delivered_at),
        ),
    )
    connection.execute(
        "INSERT INTO claims.changes (table_name, organisation, file_id) VALUES (%s, %s, %s)",
        (file.kind, manifest.organisation, file_id),
    )
