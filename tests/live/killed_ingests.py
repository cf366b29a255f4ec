"""Ingests in processes of their own, killed at random moments, and what a lake then holds."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from plimsoll.fleet.lake import Lake
from plimsoll.fleet.parts import merged
from unit.app.lake.streams import json_file, otel_file, record
from unit.sources.points.fleet_files import ROWS, descriptions, export, yace

# A commit of this many points, so that an ingest of a few thousand has many moments to be killed at.
POINTS_A_COMMIT = 400
_WORK = f"""
import sys
from plimsoll.app.lake import files
from plimsoll.app.lake.ingest import ingest, open_lake
from plimsoll.sources.points import described_table, range_export, table, units, values
lake, table = open_lake(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
if table is not None:
    from plimsoll.fleet import iceberg
    iceberg.ROWS_A_TRANSACTION = 100
print("ready", flush=True)
done = ingest(
    sys.argv[1], lake, points_a_commit={POINTS_A_COMMIT}, bucket_count=4, iceberg=table
)
print(done.file_count, flush=True)
"""
"""An ingest with small commits; arguments are the source, the lake, and a table of Iceberg if there is one."""


def mixed_source(folder: Path, streams: int = 24) -> Path:
    """
    Files of every kind over three days, with points that come again and late ones.

    A file repeats half of the file before it with other values, so that a wrong order shows.
    """
    for number in range(streams):
        write = otel_file if number % 3 == 2 else json_file
        minutes = range(number * 180, number * 180 + 60)
        again = range(max(0, number * 180 - 150), number * 180 - 120)
        rows = [
            record(metric, minute, 100.0 + number, instance)
            for metric in ("ReadIOPS", "WriteIOPS")
            for minute in (*minutes, *again)
            for instance in ("orders", "billing")
        ]
        write(folder / f"2026/09/07/{number:03d}.gz", rows)
    times = [1_788_739_200 + 60 * minute for minute in range(700)]
    table = {"instance": ["search"] * 700, "time": times, "ReadIOPS": [float(t) for t in times]}
    pq.write_table(pa.table(table), folder / "table.parquet", row_group_size=100)
    values: list[float | None] = [float(i) for i in range(600)]
    export(folder / "export.jsonl", [(yace("read_iops_average", "orders"), values)])
    descriptions(folder, ROWS, "csv")
    return folder


def held(lake: Lake) -> dict[str, pl.DataFrame]:
    """Every point and description of a lake, and the files that they are from."""
    manifest = lake.manifest()
    parts = [merged([lake._frame(name) for name in names]) for names in manifest.files.values()]
    order = ["account", "region", "instance", "metric", "time_s"]
    return {
        "points": pl.concat(parts).sort(order),
        "described": lake.described(manifest),
        "sources": pl.DataFrame({"sources": sorted(manifest.sources.items())}, strict=False),
    }


def started(source: str, lake: str, *table: str) -> subprocess.Popen[str]:
    """An ingest that has imported everything and is about to begin."""
    command = [sys.executable, "-c", _WORK, source, lake, *table]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ})
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n", process.communicate()[1]
    return process


def killed_until_done(source: str, lake: str, *table: str, seed: int, most: int, longest_s: float) -> int:
    """
    Ingest, killed after a random time again and again, until one is done; return how many were killed.

    After `most` kills an ingest is left alone, so that a slow machine comes to an end as well.
    """
    rng = random.Random(seed)
    for kills in range(most):
        process = started(source, lake, *table)
        time.sleep(rng.uniform(0, longest_s))
        if process.poll() is not None:
            complaints = process.communicate()[1]
            assert process.returncode == 0, complaints
            return kills
        process.send_signal(signal.SIGKILL)
        process.communicate()
    process = started(source, lake, *table)
    _, complaints = process.communicate()
    assert process.returncode == 0, complaints
    return most
