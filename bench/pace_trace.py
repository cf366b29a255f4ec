"""
Show second by second what other users wait for while a paced load runs.

    python bench/pace_trace.py [--megabytes 300] [--within 150]

The ground is that of bench/pace.py. Printed for each second: the most that a transaction of others took, the bytes that the
kernel has still to write out (Dirty) and is writing (Writeback) on this whole machine, what the device served, the rate of
the pace, and how many checkpoints the server has made. On a machine that does other work, Dirty is not the load's.
"""

import argparse
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg
from msgspec import Struct

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from pace import MB, Bench, others_alone
from plimsoll.load.pace.pace import Pace

_CHECKPOINTS = "select num_timed + num_requested from pg_catalog.pg_stat_checkpointer"


class Moment(Struct, frozen=True, kw_only=True):
    """What was seen at a moment."""

    time_s: float
    dirty_mb: float
    writeback_mb: float
    pace_mb_per_s: float
    checkpoints: int


def watch(bench: Bench, pace: Pace, over: threading.Event, seen: list[Moment]) -> None:
    """Look four times a second until it is over."""
    with psycopg.connect(bench.server.dsn, autocommit=True) as connection:
        while not over.wait(0.25):
            memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
            dirty, writeback = (int(memory[name].split()[0]) / 1000 for name in ("Dirty", "Writeback"))
            count = connection.execute(_CHECKPOINTS).fetchall()[0][0]
            seen.append(
                Moment(
                    time_s=time.time(),
                    dirty_mb=dirty,
                    writeback_mb=writeback,
                    pace_mb_per_s=pace.allowance().bytes_per_s / MB,
                    checkpoints=int(count),
                )
            )


def lines_of(bench: Bench, seen: list[Moment]) -> list[str]:
    """Return a line for each second in which others did something."""
    ended = sorted(bench.others.transactions)
    served = bench.gate.lines()
    lines = []
    for second in range(int(ended[0][0]), int(ended[-1][0]) + 1):
        waits = [wait_s for end_s, wait_s in ended if second <= end_s < second + 1]
        moments = [moment for moment in seen if second <= moment.time_s < second + 1]
        device = [line for line in served if second <= line.t < second + 1]
        if not (waits and moments and device):
            continue
        mb_per_s = sum(line.read_bytes + line.write_bytes for line in device) / sum(line.dt for line in device)
        last = moments[-1]
        lines.append(
            f"{second - int(ended[0][0]):6}  {1000 * max(waits):12.0f}  {last.dirty_mb:8.1f}  "
            f"{max(moment.writeback_mb for moment in moments):12.1f}  {mb_per_s / MB:11.1f}  "
            f"{last.pace_mb_per_s:9.1f}  {last.checkpoints}"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--scale", type=float, default=10.0)
    parser.add_argument("--within", type=float, help="seconds to finish")
    options = parser.parse_args()
    with ExitStack() as stack:
        bench = Bench(stack, megabytes=options.megabytes, scale=options.scale, others_per_s=20)
        median, alone = others_alone(bench)
        print(f"others alone: median {1000 * median:.1f} ms, p95 {1000 * alone:.1f} ms")
        pace, over = bench.paced(options.within), threading.Event()
        seen: list[Moment] = []
        watcher = threading.Thread(target=watch, args=(bench, pace, over, seen))
        watcher.start()
        try:
            bench.arm([pace])
        finally:
            over.set()
            watcher.join()
        print("second  longest (ms)  Dirty MB  Writeback MB  device MB/s  pace MB/s  checkpoints")
        print(*lines_of(bench, seen), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
