"""
What a Spark task does: judge one bucket of a lake.

Rule: a task reads its bucket with the reader of the local engine. Spark decides only where and when.
"""

import base64
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from plimsoll import __version__
from plimsoll.errors import PlimsollError, SourceError
from plimsoll.fleet.lake import Manifest
from plimsoll.fleet.run import Verdict, bucket_verdicts

# Where a lake on S3 is. Never keys: executors have a role of their own.
PASSED = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")
_REASON = re.compile(r"plimsoll-reason:([A-Za-z0-9+/=]+)")


@dataclass(frozen=True, kw_only=True)
class BucketTask:
    """The work of all tasks; a task is told the place of its bucket in `buckets`."""

    url: str
    """Of the lake, as executors can open it."""
    manifest: Manifest
    buckets: list[int]
    verdict: Verdict
    window_s: tuple[int, int] | None
    variables: dict[str, str]
    """Those of `PASSED` that are set where the run was started."""
    version: str = __version__
    """Of Plimsoll where the run was started."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """
        Yield the verdicts of the buckets whose places are in the column `id`.

        Raises:
            TaskError: the bucket cannot be read, or another version of Plimsoll is installed here.
        """
        for name, value in self.variables.items():
            os.environ.setdefault(name, value)
        try:
            if __version__ != self.version:
                raise SourceError(
                    f"the executors have Plimsoll {__version__}, but the run was started with {self.version}",
                    "Install the same version on both.",
                )
            for batch in batches:
                for place in batch.column("id").to_pylist():
                    yield from self._verdicts(self.buckets[place]).to_batches()
        except PlimsollError as error:
            raise TaskError(error.message, error.hint) from error

    def _verdicts(self, bucket: int) -> pa.Table:
        return bucket_verdicts(self.url, self.manifest, bucket, verdict=self.verdict, window_s=self.window_s)


class TaskError(Exception):
    """A reason that survives the way through Java: Spark keeps only the text of an exception."""

    def __init__(self, message: str, hint: str) -> None:
        """Keep cause and hint as letters that nothing on the way quotes or cuts."""
        packed = base64.b64encode(msgspec.json.encode((message, hint))).decode()
        super().__init__(f"{message} [plimsoll-reason:{packed}]")


def reason_in(text: str) -> SourceError | None:
    """Return the error of a task whose `TaskError` is in a text of Spark, or None."""
    found = _REASON.search(text)
    if found is None:
        return None
    return SourceError(*msgspec.json.decode(base64.b64decode(found[1]), type=tuple[str, str]))
