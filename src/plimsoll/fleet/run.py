"""
The local engine: read the lake bucket by bucket in processes, and gather one row for each instance.

Rule 1: a process reads a bucket and calls the one function (`verdict.py`) for each instance in it. The
result is sorted by instance, so that it does not depend on the number of processes or their order.
Rule 2: if a process is killed, the buckets that are not done are read again by new ones.
"""

import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from functools import partial

import pyarrow as pa

from plimsoll.errors import SourceError
from plimsoll.fleet.lake import Lake, Manifest
from plimsoll.fleet.memory import keep_freed_memory
from plimsoll.fleet.place import LakePlace
from plimsoll.fleet.tables import INSTANCE_KEY, VERDICTS

Verdict = Callable[[pa.Table, pa.Table], pa.Table]
"""From points and descriptions of one instance to its row; every engine is given the same one."""

# A judgement: a machine that is short of memory kills a process now and then; a bucket that fails this often
# does not fit.
_STARTS = 3


def run_local(
    lake: Lake,
    manifest: Manifest,
    verdict: Verdict,
    *,
    processes: int,
    window_s: tuple[int, int] | None = None,
    on_bucket: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """
    Return the verdicts of all instances of a lake, by account, region and name.

    Args:
        lake: where the points are.
        manifest: what counts.
        verdict: the function of one instance.
        processes: > 0; with 1 everything happens in this process.
        window_s: epoch seconds, [start, end); None takes all points.
        on_bucket: called after each bucket, with the number of buckets done and of all.

    Raises:
        SourceError: a file cannot be read, or processes were killed again and again.
    """
    work = partial(bucket_verdicts, lake.place.url, manifest, verdict=verdict, window_s=window_s)
    buckets = lake.buckets(manifest)
    found: dict[int, pa.Table] = {}

    def done(bucket: int, table: pa.Table) -> None:
        found[bucket] = table
        if on_bucket is not None:
            on_bucket(len(found), len(buckets))

    if processes == 1 or len(buckets) < 2:
        for bucket in buckets:
            done(bucket, work(bucket))
        return in_order(found.values())
    for _ in range(_STARTS):
        left = [bucket for bucket in buckets if bucket not in found]
        if not left:
            break
        _in_processes(work, left, processes, done)
    if len(found) < len(buckets):
        raise SourceError(
            f"processes were killed {_STARTS} times while they read the lake",
            "It may be short of memory: give fewer --processes, or a shorter window.",
        )
    return in_order(found.values())


def bucket_verdicts(
    url: str, manifest: Manifest, bucket: int, *, verdict: Verdict, window_s: tuple[int, int] | None = None
) -> pa.Table:
    """
    Return the verdicts of the instances of one bucket; of a bucket without any, a table without rows.

    Raises:
        SourceError: a file cannot be read.
    """
    lake = Lake(LakePlace(url))
    return in_order(verdict(points, described) for points, described in lake.instances(manifest, bucket, window_s))


def in_order(tables: Iterable[pa.Table]) -> pa.Table:
    """Return all rows as one table with one chunk, by account, region and name."""
    whole = pa.concat_tables([VERDICTS.empty_table(), *tables])
    return whole.sort_by([(name, "ascending") for name in INSTANCE_KEY]).combine_chunks()


def _in_processes(
    work: Callable[[int], pa.Table], buckets: list[int], processes: int, done: Callable[[int, pa.Table], None]
) -> None:
    """Call `done` for each bucket that was read before a process was killed, if one was."""
    # polars has threads, and a fork would copy their locks.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    with ProcessPoolExecutor(min(processes, len(buckets)), mp_context=context, initializer=keep_freed_memory) as pool:
        futures: dict[Future[pa.Table], int] = {}
        try:
            for bucket in buckets:
                futures[pool.submit(work, bucket)] = bucket
            for future in as_completed(futures):
                done(futures[future], future.result())
        except BrokenProcessPool:
            for future, bucket in futures.items():
                if future.done() and not future.cancelled() and future.exception() is None:
                    done(bucket, future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            # A bucket may take minutes, and nobody wants its rows any more.
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
