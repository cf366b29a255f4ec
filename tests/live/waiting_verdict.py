"""Run a lake on Spark with a verdict that waits: `python -m live.waiting_verdict LAKE MASTER FOLDER`."""

import os
import sys
import time
from functools import partial
from pathlib import Path

import pyarrow as pa

from plimsoll.app.lake.ingest import open_lake
from plimsoll.app.lake.verdict import verdict_function
from plimsoll.fleet.run import Verdict
from plimsoll.fleet.spark.run import run_spark

GO = "go"
"""A file of this name in the folder lets all verdicts go on."""
TABLE = "table"
"""The table is written here, as bytes of Arrow."""


def bytes_of(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def waiting(points: pa.Table, described: pa.Table, *, verdict: Verdict, folder: Path) -> pa.Table:
    """The verdict, after a file with the id of this process was written and the file `GO` is there."""
    (folder / str(os.getpid())).touch()
    while not (folder / GO).exists():
        time.sleep(0.05)
    return verdict(points, described)


def main() -> None:
    place, master, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    lake = open_lake(place)
    from live.waiting_verdict import waiting as importable

    verdict = partial(importable, verdict=verdict_function(window_s=None, has_plan=True), folder=folder)
    table = run_spark(lake, lake.manifest(), verdict, master=master)
    (folder / TABLE).write_bytes(bytes_of(table))


if __name__ == "__main__":
    main()
