"""
Measure how fast exports are read: MB/s and points/s of every format, from bytes on disk to a snapshot.

Run: python bench/parse.py [--year] [--require]
The exports are simulated by tests/fuzz/corpus.py. Each figure is the best of three, in one process;
the file is in the page cache. `--year` adds a year at one minute as CSV and Parquet, and compares three
layouts of CSV (plain, every cell in quotes, long) with polars, each in a separate process. `--require`
runs only that comparison, with exit status 1 if a bound is exceeded.
"""

import argparse
import gc
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fuzz import corpus
from plimsoll.sources.targets.one import read

FORTNIGHT = 14 * 24 * 60
YEAR = 365 * 24 * 60
ROUNDS = 3
MOST_MB = 300
# Python splits and converts here, while polars parses in Rust; polars would double the installation.
MOST_TIMES_POLARS = 4.0

# Prints processor seconds of the reading alone, without imports, and the peak memory of the process in MB.
# A child's ru_maxrss starts from its parent's memory, so the kernel's own mark (VmHWM) is read.
_CHILD = """
import re, sys, time
from pathlib import Path
import polars
from plimsoll.sources import export
from plimsoll.sources.targets.one import read
start = time.process_time()
if sys.argv[1] == "polars":
    polars.read_csv(sys.argv[2], try_parse_dates=True)
else:
    read(Path(sys.argv[2]))
seconds = time.process_time() - start
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())
print(seconds, int(peak[1]) * 1024 / 1e6)
"""


def measure(name: str, data: bytes, points: int, folder: Path, rounds: int = ROUNDS) -> None:
    path = folder / name
    path.write_bytes(data)
    size_mb = len(data) / 1e6
    del data
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        snapshot = read(path)
        best = min(best, time.perf_counter() - start)
    read_points = sum(s.time_s.size for s in snapshot.series.values())
    assert read_points == points, (name, read_points, points)
    path.unlink()
    print(
        f"{name:24} {size_mb:8.1f} MB {points / 1e6:6.2f} M points {best:8.3f} s "
        f"{size_mb / best:8.0f} MB/s {points / best / 1e6:8.2f} M points/s",
        flush=True,
    )


def fortnight(folder: Path) -> None:
    day = corpus.made(FORTNIGHT)
    points = FORTNIGHT * len(day.values)
    measure("metric-data.json", corpus.metric_data(day), points, folder)
    measure("statistics.json", corpus.metric_statistics(day, "ReadIOPS"), FORTNIGHT, folder)
    measure("stream.jsonl", corpus.stream_lines(day), points, folder)
    for name, make in (("otel-1.0.jsonl", corpus.otel_lines), ("otel-1.0.bin", corpus.otel_protobuf)):
        part = corpus.made(24 * 60)
        measure(f"{name} (1 day)", make(part), 24 * 60 * len(part.values), folder)
    measure("long.csv", corpus.csv_long(day), points, folder)
    measure("wide.csv", corpus.csv_wide(day), points, folder)
    measure("long.parquet", corpus.parquet(day, long=True), points, folder)
    measure("wide.parquet", corpus.parquet(day), points, folder)
    documents = 8640
    measure("enhanced.jsonl (1 day)", corpus.enhanced_lines(documents), documents * 13, folder)


def year(folder: Path) -> None:
    long = corpus.made(YEAR)
    points = YEAR * len(long.values)
    measure("year wide.parquet", corpus.parquet(long), points, folder, 1)
    measure("year long.parquet", corpus.parquet(long, long=True), points, folder, 1)
    measure("year wide.csv", corpus.csv_wide(long), points, folder, 1)
    measure("year long.csv", corpus.csv_long(long), points, folder, 1)


def in_child(reader: str, path: Path) -> tuple[float, float]:
    """Return the least processor seconds of three children, and the greatest peak memory in MB."""
    command = [sys.executable, "-c", _CHILD, reader, str(path)]
    runs = [subprocess.check_output(command, text=True).split() for _ in range(ROUNDS)]
    return min(float(seconds) for seconds, _ in runs), max(float(peak) for _, peak in runs)


def quoted(table: bytes) -> bytes:
    """Return a table with quotes around every cell; the cells must not contain the delimiter."""
    rows = (b'"' + row.replace(b",", b'","') + b'"' for row in table.splitlines())
    return b"\n".join(rows) + b"\n"


def shapes() -> Iterator[tuple[str, bytes]]:
    """Yield a year of CSV in common layouts: one column a metric, the same in quotes, one row a sample."""
    made = corpus.made(YEAR)
    yield "plain", corpus.csv_wide(made)
    yield "quoted", quoted(corpus.csv_wide(made))
    yield "long", corpus.csv_long(made)


def compare(path: Path) -> bool:
    """Compare each layout of a year of CSV with polars; return whether all are within the bounds."""
    keeps = True
    for name, data in shapes():
        path.write_bytes(data)
        size_mb = len(data) / 1e6
        del data
        ours_s, ours_mb = in_child("plimsoll", path)
        polars_s, polars_mb = in_child("polars", path)
        ratio = ours_s / polars_s
        keeps &= ours_mb <= MOST_MB and ratio <= MOST_TIMES_POLARS
        print(
            f"year of {name} CSV, {size_mb:.0f} MB: {ours_s:.2f} s of processor time, "
            f"{ours_mb:.0f} MB (at most {MOST_MB}); "
            f"polars with times: {polars_s:.2f} s, {polars_mb:.0f} MB; "
            f"{ratio:.2f} times polars (at most {MOST_TIMES_POLARS:g})",
            flush=True,
        )
    return keeps


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--year", action="store_true", help="add a year as CSV and Parquet")
    parser.add_argument("--require", action="store_true", help="only compare, and fail above bounds")
    arguments = parser.parse_args()
    if arguments.require:
        with tempfile.TemporaryDirectory() as name:
            return 0 if compare(Path(name) / "year.csv") else 1
    with tempfile.TemporaryDirectory() as name:
        fortnight(Path(name))
        if arguments.year:
            year(Path(name))
            compare(Path(name) / "year.csv")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"peak memory of this process, making the exports included: {peak_mb:,.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
