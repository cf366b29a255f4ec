"""
One file, from the SFTP server to S3, part by part.

Rule 1: no part of it is ever on a disk of ours. Memory is bounded by the parts under way, of all files together.
Rule 2: what was done is what S3 lists: an upload goes on with the parts that it has not, whoever began it.
Rule 3: a file counts as received when its SHA-256 is the manifest's, of the bytes that were read, or, after somebody
        else began the upload, of the object itself. The note of that is `received/ORG/SHA256.json`. It has the time of
        the delivery too: of two files of one month the later one wins.
"""

import asyncio
import hashlib
import json
from datetime import datetime

from msgspec import Struct

from claims_pipeline.delivery import DeliveredFile, raw_key, received_key
from claims_pipeline.errors import DataError
from claims_pipeline.storage import Storage, part_bytes_of
from claims_pipeline.transfer.source import Source


class Received(Struct, frozen=True, kw_only=True):
    """What became of a file."""

    name: str
    bytes: int
    """Bytes that were read from the SFTP server now."""
    what: str
    """One sentence for people."""


class Receiver:
    """Receives files of an organisation's month."""

    def __init__(self, source: Source, storage: Storage, folder: tuple[str, str], parts: asyncio.Semaphore) -> None:
        """Keep where files come from and go to; each part under way holds one of `parts`."""
        self._source, self._storage, self._parts = source, storage, parts
        self._organisation, self._month = folder

    async def receive(self, file: DeliveredFile, delivered_at: datetime) -> Received:
        """
        Bring one file to S3, unless its content is there.

        Args:
            file: as the manifest has it.
            delivered_at: noted if it is received now.

        Raises:
            DataError: the file is not what the manifest says, or another content has its name already.
            UnavailableError: a server does not answer.
        """
        key = raw_key(self._organisation, self._month, file.name)
        note = received_key(self._organisation, file.sha256)
        known = await asyncio.to_thread(self._storage.get_json, note)
        if known is not None and known["key"] == key:
            return Received(name=file.name, bytes=0, what="received before")
        if known is not None:
            return Received(name=file.name, bytes=0, what=f"same content as {known['key']}")
        present = await asyncio.to_thread(self._storage.head, key)
        if present is not None:
            if present.sha256 != file.sha256:
                raise DataError(
                    f"s3://{self._storage.bucket}/{key} has another content than the manifest says",
                    "A file keeps its content: ask the sender for a new name.",
                )
            read_bytes, is_verified = 0, False
        else:
            read_bytes, is_verified = await self._upload(key, file)
        await self._accept(key, file, is_verified=is_verified)
        noted = {"key": key, "bytes": file.bytes, "delivered_at": delivered_at.isoformat()}
        await asyncio.to_thread(self._storage.put, note, json.dumps(noted).encode())
        return Received(name=file.name, bytes=read_bytes, what="received")

    async def _accept(self, key: str, file: DeliveredFile, *, is_verified: bool) -> None:
        if is_verified or await asyncio.to_thread(self._storage.sha256, key) == file.sha256:
            return
        await asyncio.to_thread(self._storage.delete, key)
        raise _other_content(file)

    async def _upload(self, key: str, file: DeliveredFile) -> tuple[int, bool]:
        """Complete the object; return the bytes that were read, and whether they had the SHA-256."""
        path = f"{self._organisation}/{self._month}/{file.name}"
        size = await self._source.size(path)
        if size != file.bytes:
            raise DataError(
                f"'{path}' has {size:,} bytes, and {file.bytes:,} in the manifest", "Ask the sender for the whole file."
            )
        upload, present = await self._begun(key, file)
        length = part_bytes_of(file.bytes)
        starts = range(0, max(file.bytes, 1), length)
        wanted = {n + 1: min(length, file.bytes - start) for n, start in enumerate(starts)}
        kept = {n: tag for n, (size, tag) in present.items() if wanted.get(n) == size}
        hashing = hashlib.sha256()
        tags = dict(kept)
        sending: set[asyncio.Task[None]] = set()

        async def send(number: int, content: bytes) -> None:
            try:
                tags[number] = await asyncio.to_thread(self._storage.put_part, key, upload, number, content)
            finally:
                self._parts.release()

        try:
            for number, size in wanted.items():
                if number in kept:
                    continue
                await self._parts.acquire()
                try:
                    content = await self._source.part(path, (number - 1) * length, size)
                    await asyncio.to_thread(hashing.update, content)
                except BaseException:
                    self._parts.release()
                    raise
                sending.add(asyncio.create_task(send(number, content)))
                del content
                for task in [task for task in sending if task.done()]:
                    sending.remove(task)
                    task.result()
        finally:
            ended = await asyncio.gather(*sending, return_exceptions=True)
        for one in ended:
            if isinstance(one, BaseException):
                raise one
        is_verified = not kept
        if is_verified and hashing.hexdigest() != file.sha256:
            await asyncio.to_thread(self._storage.abort, key, upload)
            raise _other_content(file)
        await asyncio.to_thread(self._storage.complete, key, upload, sorted(tags.items()))
        read_bytes = sum(size for number, size in wanted.items() if number not in kept)
        return read_bytes, is_verified

    async def _begun(self, key: str, file: DeliveredFile) -> tuple[str, dict[int, tuple[int, str]]]:
        """Return an upload and its parts: the newest unfinished one, or a new one."""
        uploads = await asyncio.to_thread(self._storage.uploads, key)
        for old in uploads[1:]:
            await asyncio.to_thread(self._storage.abort, key, old)
        if uploads:
            return uploads[0], await asyncio.to_thread(self._storage.parts, key, uploads[0])
        return await asyncio.to_thread(self._storage.begin, key, file.sha256), {}


def _other_content(file: DeliveredFile) -> DataError:
    return DataError(
        f"the content of '{file.name}' has not the SHA-256 of the manifest",
        "It was changed or damaged: ask the sender to deliver it again.",
    )
