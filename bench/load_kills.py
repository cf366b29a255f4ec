"""
Kill loads at random moments with kill -9, run them again, and count rows that are lost or there twice.

    python bench/load_kills.py [--require] [--kills 100] [--megabytes 40] [--seed 1]

A real PostgreSQL 18, `plimsoll load` as a process of its own. Each load is killed at a random moment of its work, again
and again, until one run ends by itself; then every row must be there once. A killed run counts only if it had begun:
between its first chunk in the ledger and its end, or at any moment before.

Printed: loads, kills, kills after which part of the file was loaded, rows lost, rows twice, rows of the ledger that
tell another number than there is. With --require the exit status is 1 if any of the last three is not 0.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg

from plimsoll_lab.servers.postgres import Postgres

BY_LIMITS = ("--class", "db.m6g.16xlarge", "--storage", "gp3", "--size-gib", "1000")
MB = 1_000_000


@dataclass
class Tally:
    """What was counted over all loads."""

    loads: int = 0
    kills: int = 0
    kills_in_the_middle: int = 0
    lost: int = 0
    twice: int = 0
    ledger_wrong: int = 0


def write_rows(path: Path, size_bytes: int) -> int:
    """Write numbered rows, and return how many."""
    count = 0
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size_bytes:
            file.writelines(f"{n},name {n},{'some words ' * 8}\n" for n in range(count, count + 5000))
            count += 5000
    return count


def asked(server: Postgres, query: str) -> tuple:
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchone() if cursor.description else ()


def one_load(server: Postgres, file: Path, rows: int, dice: random.Random, tally: Tally, most: int) -> None:
    """Load a file into a new table, with kills until one run ends."""
    asked(server, "drop table if exists loaded, plimsoll_loaded")
    asked(server, "create table loaded (id int, name text, note text)")
    command = [sys.executable, "-m", "plimsoll", "load", str(file), "loaded", *BY_LIMITS]
    environment = {**os.environ, "PLIMSOLL_DSN": server.dsn}
    while True:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if tally.kills < most:
            # From before the first connection to after the last chunk.
            time.sleep(0.4 + 1.6 * dice.random())
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
        _, errors = process.communicate(timeout=300)
        if process.returncode == 0:
            break
        if process.returncode != -signal.SIGKILL:
            raise SystemExit(f"the load failed: {errors}")
        tally.kills += 1
        made = asked(server, "select to_regclass('plimsoll_loaded') is not null")[0]
        there = asked(server, "select count(*) from plimsoll_loaded")[0] if made else 0
        tally.kills_in_the_middle += there > 0
    count, distinct = asked(server, "select count(*), count(distinct id) from loaded")
    ledger = asked(server, "select coalesce(sum(row_count), 0) from plimsoll_loaded")[0]
    tally.loads += 1
    tally.lost += rows - distinct
    tally.twice += count - distinct
    tally.ledger_wrong += ledger != rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--megabytes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    dice, tally = random.Random(options.seed), Tally()
    with tempfile.TemporaryDirectory() as folder, Postgres({"max_connections": "60"}) as server:
        file = Path(folder) / "rows.csv"
        rows = write_rows(file, options.megabytes * MB)
        while tally.kills < options.kills:
            one_load(server, file, rows, dice, tally, options.kills)
            print(
                f"{tally.loads} loads of {rows:,} rows, {tally.kills} kills "
                f"({tally.kills_in_the_middle} with a part loaded): {tally.lost} rows lost, {tally.twice} twice, "
                f"{tally.ledger_wrong} ledgers wrong",
                flush=True,
            )
    is_broken = bool(tally.lost or tally.twice or tally.ledger_wrong)
    return 1 if options.require and is_broken else 0


if __name__ == "__main__":
    sys.exit(main())
