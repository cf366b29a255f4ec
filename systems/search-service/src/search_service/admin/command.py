"""Rebuild, verify and clean the index, while searches and changes go on."""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from sqlalchemy import Engine as Database
from sqlalchemy import select

from search_service.admin.clean import drop, purge
from search_service.admin.rebuild import Progress, alone, rebuild
from search_service.admin.verify import compare, repair
from search_service.database import connect, transaction
from search_service.engine import Engine, EngineError
from search_service.errors import ServiceError
from search_service.generations import live_of
from search_service.mapping import change_of, index_body
from search_service.model import GenerationRow
from search_service.settings import Settings

SHOWN = 20
EVERY_S = 2.0
EQUAL, DIFFERENT = 0, 1


def add(parser: argparse.ArgumentParser) -> None:
    """Add the operators' commands."""
    commands = parser.add_subparsers(dest="task", metavar="TASK", required=True)
    commands.add_parser("generations", help="list the indexes")
    build = commands.add_parser("rebuild", help="build an index beside the live one, then use it")
    build.add_argument("--shards", type=int, metavar="N", help="of the new index (SEARCH_SHARDS)")
    build.add_argument(
        "--mapping",
        type=Path,
        metavar="FILE",
        help="JSON with 'properties' and 'settings' that replace those of the service",
    )
    check = commands.add_parser("verify", help="compare an index with the database")
    check.add_argument("--index", metavar="NAME", help="which (the live one)")
    check.add_argument("--repair", action="store_true", help="index again what differs")
    clean = commands.add_parser("purge", help="remove the tombstones of deleted products")
    clean.add_argument("--days", type=float, default=7.0, metavar="N", help="deleted before (7)")
    gone = commands.add_parser("drop", help="delete an index that is not live")
    gone.add_argument("index", metavar="NAME")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Do the task; `verify` returns 1 if the index differs."""
    database = connect(settings.database_url, size=3)
    try:
        if arguments.task == "generations":
            return _list(database)
        with Engine(settings.engine_url) as engine, alone(database):
            return _run(arguments, settings, database, engine)
    except EngineError as error:
        if error.status != 404:
            raise
        raise ServiceError(str(error), "See: search-service admin generations.") from None
    finally:
        database.dispose()


def _run(arguments: argparse.Namespace, settings: Settings, database: Database, engine: Engine) -> int:
    if arguments.task == "rebuild":
        return _rebuild(arguments, settings, database, engine)
    if arguments.task == "drop":
        drop(database, engine, arguments.index)
        _print(f"{arguments.index} is deleted")
        return 0
    index = getattr(arguments, "index", None) or _live(database)
    if arguments.task == "purge":
        if not arguments.days >= 0:
            raise ServiceError("--days must be 0 or more")
        _print(f"{purge(database, engine, index, arguments.days)} tombstones removed from {index}")
        return 0
    return _verify(database, engine, index, is_repairing=arguments.repair)


def _verify(database: Database, engine: Engine, index: str, *, is_repairing: bool) -> int:
    compared = compare(database, engine, index)
    for title, side in (("database", compared.copy), (index, compared.index)):
        _print(f"{title}: {side.documents} documents, checksum {side.checksum:016x}")
    if not compared.differences:
        _print("equal")
        return EQUAL
    for one in compared.differences[:SHOWN]:
        ours = "nothing" if one.copy_version is None else f"version {one.copy_version}"
        theirs = "nothing" if one.index_version is None else f"version {one.index_version}"
        _print(f"{one.id}: the database has {ours}, the index {theirs}")
    count = len(compared.differences)
    _print(f"{count} {'document differs' if count == 1 else 'documents differ'}")
    if is_repairing:
        repair(database, engine, index, compared.differences)
        _print("The indexer indexes them again; then verify once more.")
    return DIFFERENT


def _rebuild(arguments: argparse.Namespace, settings: Settings, database: Database, engine: Engine) -> int:
    shards = settings.shards if arguments.shards is None else arguments.shards
    if not 1 <= shards <= 1024:
        raise ServiceError("--shards must be from 1 to 1024")
    body = index_body(shards=shards, change=_change(arguments.mapping))
    last = -EVERY_S

    def report(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY_S or progress.filled >= progress.products:
            last = time.monotonic()
            _print(f"{progress.index}: {progress.filled} of {progress.products} products")

    name, compared = rebuild(database, engine, settings, body, report)
    _print(f"{name} is live: {compared.index.documents} documents, equal to the database")
    return 0


def _change(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return change_of(path.read_bytes())
    except OSError as error:
        raise ServiceError(f"{path} cannot be read: {error.strerror}") from None


def _list(database: Database) -> int:
    with transaction(database) as session:
        for row in session.scalars(select(GenerationRow).order_by(GenerationRow.name)):
            _print(f"{row.name}: {row.state}, {row.shards} shards, since {row.created_at:%Y-%m-%d}")
    return 0


def _live(database: Database) -> str:
    with transaction(database) as session:
        live = live_of(session)
        if live is None:
            raise ServiceError("there is no live index", "Run: search-service setup.")
        return live.name


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
