"""
Predict loads from one percent of their rows, then run them: how far off is the prediction?

    python bench/rehearse.py [--require] [--instance t3|gp3] [--runs 5] [--first 0] [--megabytes 200] [--scale 10]

A real PostgreSQL 18 runs behind a gate with a part of the limits of a db.t3.xlarge on 1,000 GiB of gp2, whose credits
end in the middle of a load, or of a db.m6g.xlarge on 100 GiB of gp3, whose volume decides (--scale: 1/10 by default, so
that two processors are enough), with a credit clock of 60. Somebody else's clients update and read one row at a time.
Each run has a table of another shape. A sample of 1 % (2 MiB at least) is copied into a scratch table, the time is
predicted, the credits are set, and the whole file set is loaded by `plimsoll load`'s own code, with 8 connections. There
is no pace and no reserve: with a credit clock of 60, checkpoints would come too seldom for a pace to learn from.

Printed for each run: predicted seconds with bounds, measured seconds, their ratio; predicted and measured bytes at the
device and checkpoints; measured WAL and pages in it, in MB. Below: sizes of the table and its indexes, and WAL without
images, predicted and measured. A run during which this machine stood still is void. With --require the exit status is 1 if fewer than
four of five ratios are within 15 %, or if anything of a sample is left on the server.
"""

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from live.gate_machine import T3
from pace import MB, STILL_S, Bench
from pace_others import Others, Watch
from plimsoll.app.rehearse import RehearsalRequest, rehearsal_of
from plimsoll.load.copy.inputs import LocalFile
from plimsoll.load.copy.run import LoadRun
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.pace.law.allowance import has_bucket
from plimsoll.load.rehearse.law.forecast import Circumstances
from plimsoll.load.rehearse.measure import Unpaced, measure
from plimsoll.load.rehearse.sample import take_sample
from plimsoll.load.rehearse.scratch import scratch_table
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.rehearsal import Rehearsal
from plimsoll.model.snapshot import Snapshot

GP3 = Instance(db_class="db.m6g.xlarge", engine="postgres", storage=Storage(kind="gp3", size_gib=100))
INSTANCES = {"t3": T3, "gp3": GP3}
CSV = CopyOptions(is_csv=True)
CLOCK = 60
MINUTE_S = 60 / CLOCK
WITHIN = 0.15
SHARE_LEAST = 0.8
# So few that they end in the middle of a load.
CREDITS = 0.2
FILES = 4
# A load of 200 MB is a fiftieth of one of 10 GB, so cache and max_wal_size are a fiftieth of the 4 GiB of these classes,
# and a tenth of the rate makes it take a fifth of the time. WAL has segments of 16 MB here and of 64 MB on RDS: a
# checkpoint begins after 40 MB of WAL with these 128 MB, as after a fiftieth of 2 GB there.
SERVING = {
    "shared_buffers": "80MB",
    "max_wal_size": "128MB",
    "checkpoint_timeout": "60s",
    "autovacuum": "off",
    "wal_init_zero": "off",
}


@dataclass
class Shape:
    """A table, and how its rows are written."""

    name: str
    indexes: tuple[str, ...]
    is_ordered: bool = False
    note_words: int = 3
    size_ratio: float = 1.0
    """Rows that cost less at the device need more of them for a load of a minute."""


SHAPES = (
    Shape("random key", ("create index on loaded (id)",)),
    Shape("ordered key", ("create unique index on loaded (id)",), is_ordered=True, size_ratio=1.2),
    Shape("no index, wide rows", (), note_words=30, size_ratio=1.8),
    Shape("two indexes", ("create index on loaded (id)", "create index on loaded (name)")),
    Shape("ordered key, short rows", ("alter table loaded add primary key (id)",), is_ordered=True, note_words=0),
)


def write_files(folder: Path, shape: Shape, size_bytes: int, seed: int) -> list[Path]:
    """Write the rows of a shape into some files."""
    paths, number = [], 0
    for part in range(FILES):
        path = folder / f"part{part}.csv"
        note = "a note that is some words long " * shape.note_words
        with path.open("w", encoding="utf-8") as file:
            while file.tell() < size_bytes / FILES:
                file.writelines(
                    f"{n if shape.is_ordered else (n * 2654435761 + seed) % 2**32},name of row {n},{note}\n"
                    for n in range(number, number + 2000)
                )
                number += 2000
        paths.append(path)
    return paths


def device_bytes(bench: Bench, began_s: float, ended_s: float) -> float:
    """Return the bytes that passed the gate in an interval."""
    return sum(
        line.read_bytes + line.write_bytes for line in bench.gate.lines() if began_s <= line.t - line.dt / 2 <= ended_s
    )


def predict(bench: Bench, files: list[Path], others: tuple[float, float]) -> Rehearsal:
    """Return the rehearsal of the files."""
    inputs = [LocalFile(path) for path in files]
    around = Circumstances(
        chain=bench.chain,
        balances={stage.name: CREDITS for stage in bench.chain if has_bucket(stage)},
        reserve_ratio=0.0,
        headroom_ratio=0.0,
        others_bytes_per_s=others[0],
        others_ops_per_s=others[1],
    )
    request = RehearsalRequest(files=(), table="loaded", dsn=bench.server.dsn, copy=CSV, reserve_ratio=0.0)
    with tempfile.TemporaryFile() as file, scratch_table(bench.server.dsn, "loaded") as scratch:
        taken = take_sample(inputs, CSV, ratio=0.01, file=file)
        measured = measure(scratch, taken, dsn=bench.server.dsn, options=CSV, workers=8)
    # Other classes are a matter of tests; here is none.
    snapshot = Snapshot(instance=Instance(), series={}, source="the gate")
    return rehearsal_of(request, snapshot, around, measured, taken, "loaded")


def others_taken(bench: Bench) -> tuple[float, float]:
    """Return what others take, in bytes/s and operations/s, over the last emulated minutes."""
    lines = [line for line in bench.gate.lines() if line.dt > 0][-6:]
    length = sum(line.dt for line in lines)
    taken = sum(line.read_bytes + line.write_bytes for line in lines)
    ops = sum(line.read_ops + line.write_ops for line in lines)
    return taken / length, ops / length


def set_credits(bench: Bench, ratio: float) -> None:
    """Set the credits of every bucket."""
    for family in (Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS):
        if any(stage.name == family.value and has_bucket(stage) for stage in bench.chain):
            bench.gate.set_balance(family, ratio)


@dataclass
class Loaded:
    """A load that was predicted, then run."""

    found: Rehearsal
    seconds: float
    device_bytes: float
    checkpoints: int
    wal_bytes: float
    image_bytes: float
    """Of WAL, at most: an image leaves the free part of its page out."""
    table_bytes: float
    index_bytes: float
    is_void: bool


def counted(bench: Bench) -> tuple[int, float, float]:
    """Return checkpoints, bytes of WAL and bytes of pages in it since the server started."""
    with psycopg.connect(bench.server.dsn, autocommit=True) as connection:
        connection.execute("select pg_stat_force_next_flush()")
        ((checkpoints, wal, images),) = connection.execute(
            "select c.num_done, w.wal_bytes::float8, w.wal_fpi::float8 * 8192 from pg_stat_checkpointer c, pg_stat_wal w"
        ).fetchall()
    return int(checkpoints), float(wal), float(images)


def one_run(bench: Bench, shape: Shape, files: list[Path]) -> Loaded:
    """Predict, load, and return both."""
    # What the run before left is written quickly.
    set_credits(bench, 1.0)
    with psycopg.connect(bench.server.dsn, autocommit=True) as connection:
        connection.execute("drop table if exists loaded, plimsoll_loaded")
        connection.execute("create table loaded (id bigint, name text, note text)")
        for index in shape.indexes:
            connection.execute(index)
        connection.execute("checkpoint")
    others = Others(bench.server, bench.folder, bench.others_per_s)
    time.sleep(8 * MINUTE_S)
    found = predict(bench, files, others_taken(bench))
    with psycopg.connect(bench.server.dsn, autocommit=True) as connection:
        connection.execute("checkpoint")
    watch = Watch()
    run = LoadRun(
        [LocalFile(path) for path in files], "loaded", dsn=bench.server.dsn, options=CSV, pace=Unpaced(8), workers_max=8
    )
    before = counted(bench)
    # Not sooner: credits come back while nothing is loaded.
    set_credits(bench, CREDITS)
    began = time.time()
    run.run()
    ended = time.time()
    after = counted(bench)
    is_void = watch.end() > STILL_S
    others.end(began, ended)
    with psycopg.connect(bench.server.dsn) as connection:
        ((table, indexes),) = connection.execute(
            "select pg_table_size('loaded')::float8, pg_indexes_size('loaded')::float8"
        ).fetchall()
        left = connection.execute(
            "select count(*) from pg_namespace where nspname like 'plimsoll_rehearsal%'"
        ).fetchall()
    assert left == [(0,)], "a scratch schema was left"
    return Loaded(
        found=found,
        seconds=ended - began,
        device_bytes=device_bytes(bench, began, ended),
        checkpoints=after[0] - before[0],
        wal_bytes=after[1] - before[1],
        image_bytes=after[2] - before[2],
        table_bytes=table,
        index_bytes=indexes,
        is_void=is_void,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--instance", choices=INSTANCES, default="t3")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="shape to begin with")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--scale", type=float, default=10.0)
    parser.add_argument("--others", type=int, default=20, help="transactions per second of others")
    options = parser.parse_args()
    ratios: list[float] = []
    with ExitStack() as stack:
        bench = Bench(
            stack,
            clock=CLOCK,
            megabytes=1,
            scale=options.scale,
            others_per_s=options.others,
            instance=INSTANCES[options.instance],
            serving=SERVING,
        )
        print(f"{options.instance}, 1/{options.scale:g} of the limits, credit clock {CLOCK}")
        print(
            "shape                    predicted s  (bounds)         measured s  ratio  device MB: predicted, measured  "
            "checkpoints: both  WAL, images"
        )
        for number in range(options.first, options.first + options.runs):
            shape = SHAPES[number % len(SHAPES)]
            files = write_files(bench.folder, shape, int(options.megabytes * MB * shape.size_ratio), number)
            one = one_run(bench, shape, files)
            span, work = one.found.present.seconds, one.found.work
            assert span.likely is not None
            ratio = span.likely / one.seconds
            if not one.is_void:
                ratios.append(ratio)
            likely, cost = work.device_bytes.likely or 0.0, one.found.cost
            size = sum(file.stat().st_size for file in files)
            print(
                f"{shape.name:24} {span.likely:11.1f}  ({span.low:5.1f} – {span.high:5.1f})  {one.seconds:10.1f}  "
                f"{ratio:5.2f}  {likely / MB:9.0f}, {one.device_bytes / MB:.0f}  {work.checkpoint_count:13.1f}, "
                f"{one.checkpoints}  {one.wal_bytes / MB:13.0f}, {one.image_bytes / MB:.0f}"
                f"{'  VOID' if one.is_void else ''}\n"
                f"{'':24} table {size * cost.table_per_byte / MB:.0f}, {one.table_bytes / MB:.0f}   "
                f"indexes {size * cost.index_per_byte / MB:.0f}, {one.index_bytes / MB:.0f}   "
                f"WAL without images {size * cost.wal_per_byte / MB:.0f}",
                flush=True,
            )
    near = sum(abs(ratio - 1) <= WITHIN for ratio in ratios)
    print(f"{near} of {len(ratios)} within {WITHIN:.0%}")
    return 1 if options.require and near < SHARE_LEAST * len(ratios) else 0


if __name__ == "__main__":
    sys.exit(main())
