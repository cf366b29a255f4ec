"""
Run the verdicts of a lake on Spark.

Rule 1: a bucket is one partition. All points of an instance are in one bucket, so nothing is shuffled.
Rule 2: the table does not depend on where a bucket was judged, nor how often: Spark counts a partition once.
"""

import os
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any

import msgspec
import pyarrow as pa

from plimsoll.fleet.lake import Lake, Manifest
from plimsoll.fleet.run import Verdict, in_order
from plimsoll.fleet.spark.session import in_thread, spark_session
from plimsoll.fleet.spark.task import PASSED, BucketTask
from plimsoll.fleet.tables import VERDICTS, verdicts_table

_SPARK_TYPES = {
    "string": "string",
    "double": "double",
    "bool": "boolean",
    "int64": "bigint",
    "decimal128(18, 4)": "decimal(18,4)",
}
COLUMNS = ", ".join(f"`{field.name}` {_SPARK_TYPES[str(field.type)]}" for field in VERDICTS)
"""The columns of `tables.VERDICTS` in the terms of Spark."""
_PROGRESS_S = 0.5


def run_spark(
    lake: Lake,
    manifest: Manifest,
    verdict: Verdict,
    *,
    master: str | None,
    window_s: tuple[int, int] | None = None,
    on_bucket: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """
    Return the verdicts of all instances of a lake, by account, region and name: the table of `run_local`.

    Args:
        lake: where the points are; executors must be able to open the same path or URL.
        manifest: what counts.
        verdict: the function of one instance; executors must be able to import it.
        master: a master URL or `sc://host:port`; None takes what spark-submit or the environment configures,
            else all processors of this machine.
        window_s: epoch seconds, [start, end); None takes all points.
        on_bucket: called now and then with the number of buckets done and of all.

    Raises:
        ExtraMissing: pyspark is not installed.
        UsageError: the master is not valid, or Spark cannot start.
        SourceError: a file cannot be read, Spark does not answer, or tasks were killed again and again.
    """
    buckets = lake.buckets(manifest)
    if not buckets:
        return in_order([])
    task = BucketTask(
        url=lake.place.root if lake.place.is_local else lake.place.url,
        # The names of all files that were ever ingested are no task's concern.
        manifest=msgspec.structs.replace(manifest, sources={}),
        buckets=buckets,
        verdict=verdict,
        window_s=window_s,
        variables={name: os.environ[name] for name in PASSED if name in os.environ},
    )
    with spark_session(master) as session:
        places = session.range(0, len(buckets), 1, len(buckets))
        rows = places.mapInArrow(task, COLUMNS)
        collected = in_thread(rows.collect)
        while not wait([collected], timeout=_PROGRESS_S).done:
            if on_bucket is not None:
                on_bucket(min(_done(session), len(buckets)), len(buckets))
        found = [row.asDict() for row in collected.result()]
    return in_order([verdicts_table(found)])


def _done(session: Any) -> int:
    """Return the number of tasks that are done; 0 where Spark Connect does not tell."""
    context = getattr(session, "sparkContext", None)
    if context is None:
        return 0
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    return sum(stage.numCompletedTasks for stage in stages if stage is not None)
