"""
Measure the memory of a load: a file of some gigabytes through 'plimsoll load'.

    python bench/load_memory.py [--require] [--gigabytes 10]

A trigger of the table throws every row away, so that the server needs no disk for them. The file has rows of
8 kB, plain and then as gzip (a tenth of the size). Printed: seconds, and the largest resident memory of the
process. With --require the exit status is 1 if that is above 200 MB.
"""

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg

from plimsoll_lab.servers.postgres import Postgres

MEMORY_MOST = 200e6
BLOCK_ROWS = 1_000
LARGE = ("--class", "db.m6g.16xlarge", "--storage", "io2", "--size-gib", "4000", "--iops", "100000")

THROW_AWAY = """
create table thrown (id bigint, note text);
create function throw_away() returns trigger language plpgsql as 'begin return null; end';
create trigger away before insert on thrown for each row execute function throw_away();
"""


def write_plain(path: Path, size_bytes: float) -> int:
    """Write rows until the file has the size; return how many."""
    block = "".join(f"{n},{'x' * 8_180}\n" for n in range(BLOCK_ROWS)).encode()
    count = 0
    with path.open("wb") as file:
        while file.tell() < size_bytes:
            file.write(block)
            count += BLOCK_ROWS
    return count


def write_packed(path: Path, size_bytes: float) -> int:
    """The same, packed by blocks; the size is that of the rows."""
    block = "".join(f"{n},{'x' * 8_180}\n" for n in range(BLOCK_ROWS)).encode()
    packed = gzip.compress(block, 1)
    count = int(size_bytes / len(block)) + 1
    with path.open("wb") as file:
        for _ in range(count):
            file.write(packed)
    return count * BLOCK_ROWS


def loaded(server: Postgres, path: Path) -> tuple[float, float]:
    """Return seconds and the largest memory of the process, in bytes."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "plimsoll", "load", str(path), "thrown", *LARGE],
        env={**os.environ, "PLIMSOLL_DSN": server.dsn},
    )
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    return time.monotonic() - began, used.ru_maxrss * 1024.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--gigabytes", type=float, default=10.0)
    options = parser.parse_args()
    worst = 0.0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder, Postgres({"fsync": "off"}) as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(THROW_AWAY)
        for name, write, part in (("a.csv", write_plain, 1.0), ("b.csv.gz", write_packed, 0.1)):
            path = Path(folder) / name
            rows = write(path, part * options.gigabytes * 1e9)
            seconds, memory = loaded(server, path)
            path.unlink()
            worst = max(worst, memory)
            print(f"{name}: {rows:,} rows in {seconds:.0f} s, {memory / 1e6:.0f} MB of memory")
    return 1 if options.require and worst > MEMORY_MOST else 0


if __name__ == "__main__":
    sys.exit(main())
