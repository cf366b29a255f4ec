"""
How fast exports are read: MB/s and points/s of every format, from bytes on disk to a snapshot.

Run: python bench/parse.py [--year]
The exports are simulated by tests/fuzz/corpus.py. Each figure is the best of three, in one process;
the file is in the page cache. `--year` adds a year at one minute as CSV and Parquet.
"""

import argparse
import gc
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fuzz import corpus
from plimsoll.sources.target import read

FORTNIGHT = 14 * 24 * 60
YEAR = 365 * 24 * 60
ROUNDS = 3


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
    for name, make in (
        ("otel-1.0.jsonl", corpus.otel_lines),
        ("otel-1.0.bin", corpus.otel_protobuf),
    ):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--year", action="store_true", help="add a year as CSV and Parquet")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        fortnight(Path(name))
        if arguments.year:
            year(Path(name))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(f"peak memory of this process, making the exports included: {peak_mb:,.0f} MB")


if __name__ == "__main__":
    main()
