"""
The old path: download to the worker's disk, format there, and copy the rows through the worker's connection.

Rule 1: what it wrote is removed, also what a worker that was killed left of the same file.
"""

import errno
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO

from psycopg.sql import SQL, Identifier

from claims_pipeline.database.connection import Connection
from claims_pipeline.database.formatting import Formatting
from claims_pipeline.database.merge import LINES, ROWS, Counts, Work, merge, stage
from claims_pipeline.errors import ClaimsError, DataError, UnavailableError
from claims_pipeline.settings import Settings
from claims_pipeline.storage import CHUNK_BYTES, Storage

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def load(settings: Settings, connection: Connection, work: Work, key: str, disk: Path | None = None) -> str:
    """
    Load a file, commit, and return what was done.

    Raises:
        UnavailableError: the worker's disk is full.
    """
    with _folder(disk, settings, work) as folder, _room(folder):
        raw, rows, lines = (folder / name for name in ("raw", "rows.csv", "quarantine.csv"))
        with raw.open("wb") as file:
            content = Storage(settings).download(key, file)
        if content != work.file.sha256:
            raise DataError(
                f"'{key}' has another SHA-256 than the manifest says",
                "Nothing of this file was loaded. Ask the sender to deliver it again.",
            )
        counts = _format(settings, work, raw, (rows, lines))
        raw.unlink()
        stage(connection, work)
        for table, path in ((ROWS, rows), (LINES, lines)):
            _copy(connection, table, path)
        done = merge(connection, work, counts)
        connection.commit()
        return done


def _format(settings: Settings, work: Work, raw: Path, to: tuple[Path, Path]) -> Counts:
    with (
        raw.open("rb") as source,
        to[0].open("wb") as rows,
        to[1].open("wb") as lines,
        Formatting(settings, work, source, "") as formatting,
    ):
        return formatting.read(
            rows=lambda stream: shutil.copyfileobj(stream, rows, CHUNK_BYTES),
            lines=lambda stream: shutil.copyfileobj(stream, lines, CHUNK_BYTES),
        )


def _copy(connection: Connection, table: str, path: Path) -> None:
    statement = SQL("COPY {} FROM STDIN (FORMAT csv)").format(Identifier("pg_temp", table))
    with path.open("rb") as file, connection.cursor().copy(statement) as copy:
        while chunk := _next(file):
            copy.write(chunk)


def _next(file: IO[bytes]) -> bytes:
    return file.read(CHUNK_BYTES)


@contextmanager
def _folder(disk: Path | None, settings: Settings, work: Work) -> Iterator[Path]:
    """Provide an empty folder of this file's own; who loads a file into a database holds its lock there."""
    target = sha256(f"{settings.database_url} {settings.s3_bucket}".encode()).hexdigest()[:12]
    name = f"claims-{target}-{work.manifest.organisation}-{work.file.name}"
    folder = (disk or Path(tempfile.gettempdir())) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _room(folder: Path) -> Iterator[None]:
    try:
        yield
    except ClaimsError:
        raise
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise UnavailableError(
            f"the worker's disk is full at '{folder}'",
            "Give it room for three times the file, or load with --path new.",
        ) from error
