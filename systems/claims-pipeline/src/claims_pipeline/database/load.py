"""Load the files of a delivery that is in S3; a file that is loaded stays as it is."""

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from claims_pipeline.database import ledger, load_new, load_old
from claims_pipeline.database.connection import connected
from claims_pipeline.database.merge import Work
from claims_pipeline.delivery import MANIFEST, DeliveredFile, Manifest, check_names, manifest_of, raw_key, received_key
from claims_pipeline.errors import DataError, UnavailableError, UsageError
from claims_pipeline.layout import records
from claims_pipeline.settings import Settings
from claims_pipeline.storage import Storage

PATHS = ("new", "old")
TRIES = 6
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 20.0


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("organisation", metavar="ORGANISATION", help="for example A1001")
    parser.add_argument("month", metavar="MONTH", help="for example 2023-01")
    parser.add_argument(
        "--path",
        choices=PATHS,
        default=PATHS[0],
        help="new: PostgreSQL reads from S3; old: through the worker's disk (default: new)",
    )
    parser.add_argument("--file", metavar="NAME", help="only this file (default: all)")
    parser.add_argument("--disk", type=Path, metavar="FOLDER", help="of the old path (default: the temporary one)")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Load, and say what was done with each file."""
    check_names(arguments.organisation, arguments.month)
    manifest = manifest_in(settings, arguments.organisation, arguments.month)
    files = [file for file in manifest.files if arguments.file in (None, file.name)]
    if arguments.file and not files:
        raise UsageError(f"the delivery has no file '{arguments.file}'", "See its manifest.")
    for file in files:
        said = load_file(settings, manifest, file, arguments.path, arguments.disk)
        sys.stdout.write(f"{file.name}: {said}\n")
        sys.stdout.flush()
    return 0


def manifest_in(settings: Settings, organisation: str, month: str) -> Manifest:
    """
    Return the manifest of a delivery in S3.

    Raises:
        DataError: it is not there, or is none.
    """
    content = Storage(settings).get(raw_key(organisation, month, MANIFEST))
    if content is None:
        raise DataError(
            f"the delivery {organisation}/{month} is not complete in S3", "Bring it there: claims-pipeline transfer."
        )
    return manifest_of(content, organisation, month)


def load_file(
    settings: Settings, manifest: Manifest, file: DeliveredFile, path: str = PATHS[0], disk: Path | None = None
) -> str:
    """
    Load one file unless it is loaded, and return what was done.

    A server that goes away is tried again: the ledger says whether the last commit came through.

    Raises:
        UnavailableError: a server stays away, or the disk is full.
        DataError: the file is not what it must be; nothing of it was loaded.
    """
    if file.kind not in records():
        raise DataError(f"'{file.name}' is of an unknown kind '{file.kind}'", "See layout/cclf.toml.")
    pause_s = FIRST_PAUSE_S
    for number in range(1, TRIES + 1):
        try:
            return _load(settings, manifest, file, path, disk)
        except UnavailableError as error:
            is_full = "disk is full" in error.sentence
            if number == TRIES or is_full:
                raise
            sys.stderr.write(f"{file.name}: {error.sentence}; trying again\n")
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    raise AssertionError


def _load(settings: Settings, manifest: Manifest, file: DeliveredFile, path: str, disk: Path | None) -> str:
    with connected(settings) as connection:
        ledger.lock(connection, manifest.organisation, file.name)
        before = ledger.loaded_before(connection, manifest, file)
        if before is not None:
            return before
        key, delivered_at = _received(settings, manifest, file)
        work = Work(manifest=manifest, file=file, file_id=ledger.reserve(connection), delivered_at=delivered_at)
        if path == "old":
            return load_old.load(settings, connection, work, key, disk)
        return load_new.load(settings, connection, work, key)


def _received(settings: Settings, manifest: Manifest, file: DeliveredFile) -> tuple[str, datetime]:
    """Return where the content is, and when it was delivered: perhaps under another name before."""
    storage = Storage(settings)
    known = storage.get_json(received_key(manifest.organisation, file.sha256)) or {}
    key = str(known.get("key") or raw_key(manifest.organisation, manifest.month, file.name))
    if "delivered_at" in known:
        return key, datetime.fromisoformat(known["delivered_at"])
    # Somebody else put it there. One that is not there is an error of the program that reads it.
    present = storage.head(key)
    return key, datetime.now(UTC) if present is None else present.changed_at
