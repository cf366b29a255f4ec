"""Bring deliveries from the SFTP server to S3; a delivery is taken when its manifest is there, and only once."""

import argparse
import asyncio
import re
import sys
from datetime import UTC, datetime, timedelta

from claims_pipeline.delivery import MANIFEST, MONTH, ORGANISATION, check_names, manifest_of, raw_key
from claims_pipeline.errors import ClaimsError
from claims_pipeline.settings import Settings
from claims_pipeline.storage import Storage
from claims_pipeline.transfer.source import Source
from claims_pipeline.transfer.upload import Received, Receiver

FILES = 3
"""Files at the same time."""
PARTS = 4
"""Parts in memory at the same time, of all files: 32 MiB with parts of 8 MiB; clients hold each twice for a while."""


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--organisation", metavar="ID", help="only this one (default: all)")
    parser.add_argument("--month", metavar="CCYY-MM", help="only this month (default: all)")


def run(arguments: argparse.Namespace, settings: Settings) -> int:
    """Transfer what is complete, and say what was done."""
    check_names(arguments.organisation or "A0000", arguments.month or "2000-01")
    return asyncio.run(transfer(settings, arguments.organisation, arguments.month))


async def transfer(settings: Settings, organisation: str | None, month: str | None) -> int:
    """
    Transfer complete deliveries, each on its own: one that fails does not keep others back.

    Returns:
        0.

    Raises:
        ClaimsError: the first delivery that failed, after the others were done.
    """
    storage = Storage(settings)
    await asyncio.to_thread(storage.prepare)
    failed: list[ClaimsError] = []
    async with Source(settings) as source:
        folders = await folders_of(source, organisation, month)
        for folder in folders:
            try:
                await _deliver(source, storage, folder)
            except ClaimsError as error:
                failed.append(error)
                sys.stderr.write(f"{'/'.join(folder)}: {error.sentence}\n")
    if failed:
        raise failed[0]
    if not folders:
        sys.stdout.write("no complete delivery is there\n")
    return 0


async def folders_of(source: Source, organisation: str | None, month: str | None) -> list[tuple[str, str]]:
    """Return the folders with a manifest."""
    names = [organisation] if organisation else await source.names("")
    folders = [
        (name, inner)
        for name in names
        if re.match(ORGANISATION, name)
        for inner in ([month] if month else await source.names(name))
        if re.match(MONTH, inner)
    ]
    return [(name, inner) for name, inner in folders if MANIFEST in await source.names(f"{name}/{inner}")]


async def _deliver(source: Source, storage: Storage, folder: tuple[str, str]) -> None:
    """Receive the files of a delivery, then its manifest: who sees the manifest finds the files."""
    place = "/".join(folder)
    content = await source.content(f"{place}/{MANIFEST}") or b""
    manifest = manifest_of(content, *folder)
    key = raw_key(*folder, MANIFEST)
    if await asyncio.to_thread(storage.get, key) == content:
        sys.stdout.write(f"{place}: received before, nothing to do\n")
        return
    receiver = Receiver(source, storage, folder, asyncio.Semaphore(PARTS))
    places = asyncio.Semaphore(FILES)
    begun_at = datetime.now(UTC)

    async def receive(number: int) -> Received:
        async with places:
            # Files of one delivery are in the order of its manifest.
            delivered_at = begun_at + timedelta(microseconds=number)
            return await receiver.receive(manifest.files[number], delivered_at)

    # All are brought to their end: a file that fails does not undo the others.
    ended = await asyncio.gather(*map(receive, range(len(manifest.files))), return_exceptions=True)
    for one in ended:
        if isinstance(one, Received):
            sys.stdout.write(f"{place}/{one.name}: {one.what}\n")
    for one in ended:
        if isinstance(one, BaseException):
            raise one
    await asyncio.to_thread(storage.put, key, content)
    total = sum(one.bytes for one in ended if isinstance(one, Received))
    sys.stdout.write(f"{place}: complete, {total:,} bytes read\n")
