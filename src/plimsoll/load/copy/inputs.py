"""
Read files and S3 objects as streams of bytes.

Rule 1: memory is one piece, whatever the size of the file.
Rule 2: an input has an identity, so that a later run knows whether the same bytes are there.
"""

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct

from plimsoll.errors import AccessDenied, DataError, PlimsollError, SourceError, UsageError

# A judgement: four system calls for a megabyte, and little memory.
PIECE_BYTES = 262_144
S3 = "s3://"
_GZIP = b"\x1f\x8b"
# 128 bits: no two files are taken for one by chance.
_IDENTITY_DIGITS = 32
# An interrupted object is read on from where it stopped; after so many interruptions without a byte, it fails.
_ATTEMPTS = 5


class Input(Protocol):
    """A file or an object."""

    name: str
    """Path or address, as it was given."""
    size_bytes: int
    """As it is stored."""
    identity: str
    """Changes with the content."""
    is_gzip: bool

    def pieces(self, start_byte: int) -> Iterator[bytes]:
        """Yield the bytes from a place on, as they are stored."""


class LocalFile:
    """A file of this machine."""

    def __init__(self, path: Path) -> None:
        """
        Look at a file, and read it once for its identity: a row that was corrected changes no size.

        Raises:
            UsageError: it is not there, or is no file.
        """
        # The ledger and messages are UTF-8; a name need not be.
        self.name = os.fsencode(path).decode(errors="backslashreplace")
        if not path.exists():
            raise UsageError(f"there is no file '{self.name}'", "Give files, or s3://BUCKET/KEY.")
        if not path.is_file():
            raise UsageError(
                f"'{self.name}' is no regular file",
                "It is read more than once: write the rows to a file, or send them through plimsoll pace --cat.",
            )
        self.path = path
        with path.open("rb") as file:
            self._state = _state_of(file.fileno())
            self.size_bytes = os.fstat(file.fileno()).st_size
            self.is_gzip = file.read(len(_GZIP)) == _GZIP
            file.seek(0)
            self.identity = hashlib.file_digest(file, "sha256").hexdigest()[:_IDENTITY_DIGITS]

    def pieces(self, start_byte: int) -> Iterator[bytes]:
        """
        Yield the bytes from a place on.

        Raises:
            SourceError: it is not as it was when its identity was taken.
        """
        with self.path.open("rb", buffering=0) as file:
            file.seek(start_byte)
            while piece := file.read(PIECE_BYTES):
                if _state_of(file.fileno()) != self._state:
                    raise SourceError(
                        f"'{self.name}' was changed while it was read",
                        "Run the command again when nobody writes to it: what was loaded stays.",
                    )
                yield piece


def _state_of(descriptor: int) -> tuple[int, int, int, int]:
    """Return what changes when a file is written to, or another one takes its name."""
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class S3Object:
    """An object of S3, or of a server that speaks its protocol."""

    def __init__(self, address: str, client: Any) -> None:
        """
        Look at an object.

        Args:
            address: `s3://BUCKET/KEY`.
            client: of boto3.

        Raises:
            UsageError: the address is incomplete, or there is no such object.
            AccessDenied: S3 refused.
            SourceError: S3 did not answer.
        """
        self._client = client
        self.name = address
        self._bucket, _, self._key = address.removeprefix(S3).partition("/")
        if not self._bucket or not self._key:
            raise UsageError(f"'{address}' names no object", "Write it as s3://BUCKET/KEY.")
        head = self._ask(client.head_object, Bucket=self._bucket, Key=self._key)
        self.size_bytes = int(head["ContentLength"])
        self._tag = str(head["ETag"])
        text = b"%d\0" % self.size_bytes + self._tag.encode()
        self.identity = hashlib.sha256(text).hexdigest()[:_IDENTITY_DIGITS]
        first = b"".join(self._from(0, min(2, self.size_bytes))) if self.size_bytes else b""
        self.is_gzip = first.startswith(_GZIP)

    def pieces(self, start_byte: int) -> Iterator[bytes]:
        """Yield the bytes from a place on; read on where a connection was lost."""
        failures = 0
        while start_byte < self.size_bytes:
            try:
                for piece in self._from(start_byte, self.size_bytes):
                    start_byte += len(piece)
                    failures = 0
                    yield piece
            except PlimsollError:
                raise
            except Exception as error:
                failures += 1
                if failures >= _ATTEMPTS:
                    raise SourceError(
                        f"reading '{self.name}' stopped at byte {start_byte:,}",
                        "Run the command again: what was loaded stays.",
                    ) from error

    def _from(self, start_byte: int, end_byte: int) -> Iterator[bytes]:
        answer = self._ask(
            self._client.get_object,
            Bucket=self._bucket,
            Key=self._key,
            Range=f"bytes={start_byte}-{end_byte - 1}",
            IfMatch=self._tag,
        )
        body = answer["Body"]
        try:
            yield from body.iter_chunks(PIECE_BYTES)
        finally:
            body.close()

    def _ask(self, call: Any, **parameters: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return call(**parameters)
        except ClientError as error:
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
            if status == 404:
                raise UsageError(f"there is no object '{self.name}'", "Check bucket, key and region.") from error
            if status == 403:
                raise AccessDenied(
                    f"unable to read '{self.name}': access denied", "Allow s3:GetObject on it for this role."
                ) from error
            if status == 412:
                raise SourceError(
                    f"'{self.name}' was replaced while it was read", "Load the new object by itself."
                ) from error
            raise SourceError(f"unable to read '{self.name}': S3 answered {status}") from error
        except BotoCoreError as error:
            raise SourceError(
                f"unable to read '{self.name}': {type(error).__name__}", "Check the network and the region."
            ) from error


class Stream(Struct, frozen=True, kw_only=True):
    """The bytes of an input as rows are in them: unpacked."""

    of: Any
    """The input."""
    size_bytes: int | None
    """None for a packed file: its size is known at its end."""

    def pieces(self, start_byte: int) -> Iterator[bytes]:
        """
        Yield the unpacked bytes from a place on; a packed file is read from its beginning.

        Raises:
            DataError: the packed file is damaged or cut off.
        """
        if not self.of.is_gzip:
            yield from self.of.pieces(start_byte)
            return
        left = start_byte
        for piece in _unpacked(self.of):
            if left >= len(piece):
                left -= len(piece)
                continue
            yield piece[left:]
            left = 0


def stream_of(one: Input) -> Stream:
    """Return an input as a stream of rows."""
    return Stream(of=one, size_bytes=None if one.is_gzip else one.size_bytes)


def _unpacked(one: Input) -> Iterator[bytes]:
    """Unpack a gzip file of one or several members."""
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    is_begun = False
    for packed in one.pieces(0):
        rest = packed
        while rest:
            try:
                piece = member.decompress(rest, PIECE_BYTES)
            except zlib.error as error:
                raise DataError(f"'{one.name}' is not a whole gzip file: {error}", "Pack or copy it again.") from error
            is_begun = True
            rest = member.unconsumed_tail
            if piece:
                yield piece
            if member.eof:
                rest = member.unused_data.lstrip(b"\0")
                member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
                is_begun = bool(rest)
    while is_begun and not member.eof:
        piece = member.decompress(member.unconsumed_tail, PIECE_BYTES)
        if not piece and not member.eof:
            raise DataError(f"'{one.name}' is cut off", "Copy the file again.")
        if piece:
            yield piece
