"""
The bucket: objects by key, with errors as sentences.

Rule 1: an object under its name is whole. Large ones are multipart uploads, which appear when they are complete.
Rule 2: a store that is away is tried again by the client with growing pauses, then it is one sentence.
"""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from claims_pipeline.errors import ClaimsError, UnavailableError
from claims_pipeline.settings import Settings

CONNECT_S = 5
ANSWER_S = 30
TRIES = 6
"""Tries of one request; the client doubles the pause after each, to 20 s."""
PART_BYTES = 8 * 1024 * 1024
"""Smallest part of a multipart upload here; S3 asks for 5 MiB."""
PARTS = 10_000
"""Most parts of an upload (S3, multipart upload limits)."""
CHUNK_BYTES = 1024 * 1024
_MISSING = ("404", "NoSuchKey", "NoSuchUpload", "NotFound")


class StoredObject(Struct, frozen=True, kw_only=True):
    """What the store says of an object."""

    bytes: int
    sha256: str
    """As its metadata have it; empty if they do not."""
    changed_at: datetime


def part_bytes_of(size_bytes: int) -> int:
    """Return the length of parts for an object: the same for the same size, so that an upload can go on."""
    return max(PART_BYTES, -(-size_bytes // PARTS))


def md5_of(content: bytes) -> "hashlib._Hash":
    """Return the MD5 of content, with which S3 checks what it got; it guards against accidents only."""
    return hashlib.md5(content, usedforsecurity=False)


class Storage:
    """One bucket."""

    def __init__(self, settings: Settings) -> None:
        """Prepare a client; nothing is asked yet."""
        self.bucket = settings.s3_bucket
        self.where = settings.s3_endpoint or "AWS"
        is_own = settings.s3_endpoint is not None
        with self._errors():
            self.client = boto3.client(
                "s3",
                endpoint_url=settings.s3_endpoint,
                region_name=region(),
                config=Config(
                    connect_timeout=CONNECT_S,
                    read_timeout=ANSWER_S,
                    retries={"total_max_attempts": TRIES, "mode": "standard"},
                    max_pool_connections=32,
                    s3={"addressing_style": "path" if is_own else "auto"},
                    # Stores that are not AWS's may not know newer checksums; all know Content-MD5.
                    request_checksum_calculation="when_required" if is_own else "when_supported",
                    response_checksum_validation="when_required" if is_own else "when_supported",
                ),
            )

    @contextmanager
    def _errors(self, key: str = "") -> Iterator[None]:
        try:
            yield
        except ClientError as error:
            answer = error.response
            code = str(answer.get("Error", {}).get("Code", "unknown"))
            status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            name = f"s3://{self.bucket}/{key}".rstrip("/")
            if status >= 500 or code in ("SlowDown", "RequestTimeout"):
                raise UnavailableError(
                    f"S3 at {self.where} keeps failing for '{name}' ({code})",
                    "Run the command again later; it goes on where it ended.",
                ) from error
            raise ClaimsError(
                f"S3 at {self.where} refuses '{name}' ({code})",
                "Check the bucket, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
            ) from error
        except (BotoCoreError, OSError) as error:
            raise UnavailableError(
                f"S3 at {self.where} does not answer: {error}",
                "Run the command again later; it goes on where it ended.",
            ) from error

    def prepare(self) -> None:
        """Create the bucket if it does not exist."""
        with self._errors():
            names = [bucket["Name"] for bucket in self.client.list_buckets()["Buckets"]]
            if self.bucket not in names:
                where = {"LocationConstraint": region()}
                more = {} if region() == "us-east-1" else {"CreateBucketConfiguration": where}
                self.client.create_bucket(Bucket=self.bucket, **more)

    def head(self, key: str) -> StoredObject | None:
        """Return size and checksum of an object; None if there is none."""
        with self._errors(key):
            try:
                answer = self.client.head_object(Bucket=self.bucket, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] in _MISSING:
                    return None
                raise
            return StoredObject(
                bytes=answer["ContentLength"],
                sha256=answer["Metadata"].get("sha256", ""),
                changed_at=answer["LastModified"],
            )

    def get(self, key: str) -> bytes | None:
        """Return a small object; None if there is none."""
        with self._errors(key):
            try:
                answer = self.client.get_object(Bucket=self.bucket, Key=key)
            except ClientError as error:
                if error.response["Error"]["Code"] in _MISSING:
                    return None
                raise
            return bytes(answer["Body"].read())

    def get_json(self, key: str) -> Any:
        """Return what a small object says; None if there is none."""
        found = self.get(key)
        return None if found is None else json.loads(found)

    def put(self, key: str, content: bytes) -> None:
        """Write a small object."""
        checksum = b64encode(md5_of(content).digest()).decode()
        with self._errors(key):
            self.client.put_object(Bucket=self.bucket, Key=key, Body=content, ContentMD5=checksum)

    def delete(self, key: str) -> None:
        """Remove an object; nothing happens if there is none."""
        with self._errors(key):
            self.client.delete_object(Bucket=self.bucket, Key=key)

    def keys(self, prefix: str) -> Iterator[str]:
        """Return the keys that begin so, in order."""
        with self._errors(prefix):
            pages = self.client.get_paginator("list_objects_v2")
            for page in pages.paginate(Bucket=self.bucket, Prefix=prefix):
                for found in page.get("Contents", ()):
                    yield found["Key"]

    def sha256(self, key: str) -> str:
        """Return the SHA-256 of an object's content, which is read for it."""
        found = hashlib.sha256()
        with self._errors(key):
            body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"]
            for chunk in body.iter_chunks(CHUNK_BYTES):
                found.update(chunk)
        return found.hexdigest()

    def download(self, key: str, to: IO[bytes]) -> str:
        """Write an object into a file and return its SHA-256; what the file's disk refuses is raised as it is."""
        found = hashlib.sha256()
        with self._errors(key):
            chunks = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].iter_chunks(CHUNK_BYTES)
        while True:
            with self._errors(key):
                chunk = next(chunks, b"")
            if not chunk:
                return found.hexdigest()
            found.update(chunk)
            to.write(chunk)

    def upload(self, key: str, content: IO[bytes]) -> int:
        """Write what a stream brings until its end, part by part; return its length in bytes."""
        first = content.read(PART_BYTES)
        if len(first) < PART_BYTES:
            self.put(key, first)
            return len(first)
        upload = self.begin(key, "")
        try:
            parts: list[tuple[int, str]] = []
            done, part = 0, first
            while part:
                parts.append((len(parts) + 1, self.put_part(key, upload, len(parts) + 1, part)))
                done += len(part)
                # Parts grow, so that 10,000 of them are enough for any size of which nobody knows the end.
                part = content.read(PART_BYTES * (1 + len(parts) // 1000))
            self.complete(key, upload, parts)
        except BaseException:
            self.abort(key, upload)
            raise
        return done

    def begin(self, key: str, sha256: str) -> str:
        """Begin a multipart upload, and return its id."""
        metadata = {"sha256": sha256} if sha256 else {}
        with self._errors(key):
            answer = self.client.create_multipart_upload(Bucket=self.bucket, Key=key, Metadata=metadata)
            return str(answer["UploadId"])

    def put_part(self, key: str, upload: str, number: int, content: bytes) -> str:
        """Write a part, which S3 checks against its MD5; return its entity tag."""
        checksum = b64encode(md5_of(content).digest()).decode()
        with self._errors(key):
            answer = self.client.upload_part(
                Bucket=self.bucket, Key=key, UploadId=upload, PartNumber=number, Body=content, ContentMD5=checksum
            )
            return str(answer["ETag"])

    def uploads(self, key: str) -> list[str]:
        """Return the ids of unfinished uploads of a key, the newest first."""
        with self._errors(key):
            found = []
            pages = self.client.get_paginator("list_multipart_uploads")
            for page in pages.paginate(Bucket=self.bucket, Prefix=key):
                found += [one for one in page.get("Uploads", ()) if one["Key"] == key]
        found.sort(key=lambda one: str(one.get("Initiated", "")), reverse=True)
        return [str(one["UploadId"]) for one in found]

    def parts(self, key: str, upload: str) -> dict[int, tuple[int, str]]:
        """Return length and entity tag of an upload's parts by number."""
        with self._errors(key):
            found = {}
            pages = self.client.get_paginator("list_parts")
            for page in pages.paginate(Bucket=self.bucket, Key=key, UploadId=upload):
                for part in page.get("Parts", ()):
                    found[int(part["PartNumber"])] = (int(part["Size"]), str(part["ETag"]))
        return found

    def complete(self, key: str, upload: str, parts: list[tuple[int, str]]) -> None:
        """Make the object of its parts, numbers and entity tags; it appears now."""
        listed = [{"PartNumber": number, "ETag": tag} for number, tag in parts]
        with self._errors(key):
            self.client.complete_multipart_upload(
                Bucket=self.bucket, Key=key, UploadId=upload, MultipartUpload={"Parts": listed}
            )

    def abort(self, key: str, upload: str) -> None:
        """Give up an upload, so that its parts cost nothing."""
        try:
            self.client.abort_multipart_upload(Bucket=self.bucket, Key=key, UploadId=upload)
        except (ClientError, BotoCoreError, OSError):
            # It may be gone already, or the store is away; a rule of the bucket ends old uploads (README.md).
            return


def region() -> str:
    """Return the region of the bucket: AWS_REGION, AWS_DEFAULT_REGION or us-east-1."""
    return str(boto3.session.Session().region_name or "us-east-1")
