"""
Replace an object of S3 only if nobody else did, so that two writers never undo each other's work.

Source: Amazon S3 User Guide, "How to prevent object overwrites with conditional writes".
"""

import os
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from plimsoll.errors import SourceError
from plimsoll.fleet.failures import failed

# The first is what S3 says where the object was changed, the second where it is being changed at this
# moment, the third where it was deleted.
_CHANGED = ("PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey")
_UNSUPPORTED = "NotImplemented"
# A manifest has some kilobytes. Five tries of a minute each, botocore's default, would look like a hang.
_ANSWER_S = 10.0
_TRIES = 3


def read_version(path: str, url: str) -> tuple[bytes, str]:
    """
    Return the content of an object, and its version.

    Args:
        path: bucket and key.
        url: of the lake, for messages.

    Raises:
        SourceError: it cannot be read.
    """
    bucket, _, key = path.partition("/")
    try:
        answer = _client().get_object(Bucket=bucket, Key=key)
        return answer["Body"].read(), answer["ETag"]
    except (ClientError, BotoCoreError) as error:
        raise failed("read", url, error) from error


def replace(path: str, content: bytes, version: str | None, url: str) -> str:
    """
    Write an object if it has this version, or if there is none and the version is None; return its new version.

    A store without conditional writes is written without a condition.

    Args:
        path: bucket and key.
        content: of the object.
        version: as of `read_version`.
        url: of the lake, for messages.

    Raises:
        SourceError: it cannot be written, or another process wrote it in the meantime.
    """
    bucket, _, key = path.partition("/")
    condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
    client = _client()
    try:
        try:
            answer = client.put_object(Bucket=bucket, Key=key, Body=content, **condition)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") != _UNSUPPORTED:
                raise
            answer = client.put_object(Bucket=bucket, Key=key, Body=content)
        return str(answer["ETag"])
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") not in _CHANGED:
            raise failed("write", url, error) from error
        # An answer that was lost on the way is asked for again, and then meets our own object.
        now, its_version = read_version(path, url)
        if now == content:
            return its_version
        raise SourceError(f"another process wrote '{url}' in the meantime", "Run the ingest again.") from error
    except BotoCoreError as error:
        raise failed("write", url, error) from error


def _client() -> Any:
    """Return a client with the settings of AWS SDKs; a store of another address has its buckets in the path."""
    address = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    config = Config(
        connect_timeout=_ANSWER_S,
        read_timeout=_ANSWER_S,
        retries={"mode": "standard", "total_max_attempts": _TRIES},
        s3={"addressing_style": "path"} if address else None,
    )
    return boto3.session.Session().client("s3", config=config, endpoint_url=address)
