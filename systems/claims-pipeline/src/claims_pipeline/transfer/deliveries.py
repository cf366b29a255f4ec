"""
List the complete deliveries on the SFTP server that are not loaded.

Rule 1: a delivery with a bad manifest is listed, and keeps no other from the list. Its own transfer fails then, with the
        sentence that is also on standard error here.
"""

import argparse
import asyncio
import json
import sys

from claims_pipeline.delivery import MANIFEST, manifest_of
from claims_pipeline.errors import DataError
from claims_pipeline.settings import Settings
from claims_pipeline.transfer.command import folders_of
from claims_pipeline.transfer.source import Source
from claims_pipeline.views.session import open_database

_LOADED = "SELECT organisation, sha256 FROM claims.files"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--json", action="store_true", help="write a list of JSON for programs")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """List them, by organisation and month."""
    with open_database(settings) as connection:
        loaded = set(connection.execute(_LOADED).fetchall())
    found = asyncio.run(_missing(settings, loaded))
    if arguments.json:
        sys.stdout.write(json.dumps([{"organisation": name, "month": month} for name, month in found]) + "\n")
    else:
        sys.stdout.writelines(f"{name} {month}\n" for name, month in found)
    return 0


async def _missing(settings: Settings, loaded: set[tuple[str, str]]) -> list[tuple[str, str]]:
    found = []
    async with Source(settings) as source:
        for name, month in await folders_of(source, None, None):
            content = await source.content(f"{name}/{month}/{MANIFEST}") or b""
            if not _is_loaded(content, name, month, loaded):
                found.append((name, month))
    return found


def _is_loaded(content: bytes, name: str, month: str, loaded: set[tuple[str, str]]) -> bool:
    try:
        files = manifest_of(content, name, month).files
    except DataError as error:
        sys.stderr.write(f"{name}/{month}: {error.sentence}\n")
        return False
    return all((name, file.sha256) in loaded for file in files)
