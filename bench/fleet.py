"""
Time a run over a fleet: N simulated instances for some days at one minute, beside scans of the same Parquet.

Prints seconds, instances per second and peak memory of all processes: of DuckDB's and of polars' sum of the one
column that a run reads, of reading alone, of a run without plans and of one with plans. Points are committed
straight into a lake, as a daily ingest leaves them; bench/fleet_ingest.py times the ingest of metric streams.
Simulated data (bench/fleet_data.py). Run: python bench/fleet.py --instances 1000 --days 14
"""

import argparse
import math
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pyarrow as pa

from fleet_data import fill, kind_of
from plimsoll.app.lake.ingest import open_lake
from plimsoll.app.lake.run import run_fleet
from plimsoll.diagnosis.recognition.congestion import HOT_LOG
from plimsoll.fleet.lake import Lake
from plimsoll.fleet.run import run_local
from plimsoll.fleet.tables import VERDICTS
from plimsoll.model.metric import Metric

ALL = (None, None, None)
GIB = 2**30


class PeakMemory(threading.Thread):
    """Samples the memory of this process and its children; shared pages are divided between them."""

    def __init__(self) -> None:
        """Begin at once."""
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._is_over = threading.Event()
        self.start()

    def run(self) -> None:
        """Sample until stopped."""
        me = psutil.Process()
        while not self._is_over.wait(0.25):
            total = 0
            for process in (me, *me.children(recursive=True)):
                try:
                    total += process.memory_full_info().pss
                except psutil.Error:
                    continue
            self.peak_bytes = max(self.peak_bytes, total)

    def stop(self) -> float:
        """Return the peak in GiB."""
        self._is_over.set()
        self.join()
        return self.peak_bytes / GIB


def nothing(_points: pa.Table, _described: pa.Table) -> pa.Table:
    """Return no row: a run of this function only reads."""
    return VERDICTS.empty_table()


def duckdb_sum(files: str, threads: int) -> float | None:
    """Return the sum of the column of sums by DuckDB; None where it is not installed."""
    try:
        import duckdb
    except ModuleNotFoundError:
        return None
    connection = duckdb.connect(config={"threads": threads})
    found = connection.execute(f"SELECT sum(sum) FROM read_parquet('{files}')").fetchone()
    return float(found[0])


def polars_sum(files: str) -> float:
    """Return the sum of the column of sums by polars."""
    import polars as pl

    return float(pl.scan_parquet(files).select(pl.col("sum").sum()).collect().item())


def steady_count(files: str) -> int:
    """Return how many instances have a latency that never exceeds its least one by what counts as waiting."""
    import polars as pl

    names = [Metric.READ_LATENCY_S.value, Metric.WRITE_LATENCY_S.value]
    latency = pl.col("sum") / pl.col("count")
    found = (
        pl.scan_parquet(files)
        .filter(pl.col("metric").is_in(names))
        .group_by("instance", "metric")
        .agg((latency.max() / latency.min()).alias("ratio"))
        .group_by("instance")
        .agg(pl.col("ratio").max())
        .filter(pl.col("ratio") <= math.exp(HOT_LOG))
    )
    return found.collect().height


def timed(name: str, work: Callable[[], object], instances: int) -> tuple[float, object]:
    """Run something, print its row, and return its seconds and answer."""
    memory, begun_s = PeakMemory(), time.monotonic()
    found = work()
    seconds = time.monotonic() - begun_s
    peak_gib = memory.stop()
    if found is None:
        print(f"{name:34} not installed")
    else:
        print(f"{name:34} {seconds:8.1f} {instances / seconds:12.1f} {peak_gib:9.2f}", flush=True)
    return seconds, found


def measure(lake: Lake, instances: int, points: int, given: argparse.Namespace) -> None:
    """Print the table."""
    files = f"{lake.place.root}/points/*/*/*.parquet"
    manifest = lake.manifest()
    size = sum(size for name, size, _ in lake.place.files() if name.startswith("points/"))
    kinds = [kind_of(index) for index in range(instances)]
    print(
        f"{instances:,} simulated instances for {given.days} days at one minute, {points:,} points in "
        f"{size / GIB:.1f} GiB of Parquet, {given.processes} processes"
    )
    print(", ".join(f"{kinds.count(kind):,} {kind}" for kind in dict.fromkeys(sorted(kinds))))
    print(f"{'':34} {'seconds':>8} {'instances/s':>12} {'peak GiB':>9}")
    # What is read first fills the cache of the system for what follows.
    timed("first read of all files", lambda: polars_sum(files), instances)
    timed("DuckDB, sum of one column", lambda: duckdb_sum(files, given.processes), instances)
    timed("polars, sum of one column", lambda: polars_sum(files), instances)

    def read() -> object:
        return run_local(lake, manifest, nothing, processes=given.processes)

    def run(*, has_plan: bool) -> object:
        _, report = run_fleet(lake, ALL, processes=given.processes, has_plan=has_plan)
        assert len(report.rows) == instances
        return report

    reading_s, _ = timed("reading alone", read, instances)
    seconds, report = timed("run without plans", lambda: run(has_plan=False), instances)
    if not given.no_plan:
        timed("run with plans", lambda: run(has_plan=True), instances)
    verdicts = [row.verdict for row in report.rows]  # type: ignore[attr-defined]
    print(", ".join(f"{verdicts.count(one):,} {one}" for one in dict.fromkeys(sorted(verdicts))))
    print(f"{steady_count(files):,} have a latency whose maximum and minimum alone show that nothing waited")
    print(f"reading is {reading_s / seconds:.0%} of the run without plans")


def main() -> None:
    """Make a lake, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=100)
    parser.add_argument("--days", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--no-plan", action="store_true")
    parser.add_argument("--lake", type=Path, help="keep the lake here, and use it again")
    given = parser.parse_args()
    # polars takes its number of threads from here when it is first used.
    os.environ.setdefault("POLARS_MAX_THREADS", str(given.processes))
    with tempfile.TemporaryDirectory() as folder:
        lake = open_lake(str(given.lake or f"{folder}/lake"))
        points = 1440 * given.days * given.instances * 14
        if not lake.place.exists("lake.json"):
            begun_s = time.monotonic()
            fill(lake, given.instances, given.days)
            print(f"made the lake in {time.monotonic() - begun_s:.0f} s")
        measure(lake, given.instances, points, given)


if __name__ == "__main__":
    main()
