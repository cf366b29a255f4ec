"""
Measure a paced load under a gate: the allowance used, the reserve, other users, and time from start to end.

    python bench/pace.py [--require] [--megabytes 300] [--only ARM]

A real PostgreSQL 18 runs behind a gate with a part of the limits of a db.t3.xlarge on 1,000 GiB of gp2
(--scale: 1/10 by default, so that two processors are enough), with a credit clock of 20. Somebody else's
clients update and read one row at a time, at a fixed rate, all the time. Then the same rows are loaded
with 1, 3 and 8 connections without a pace, by psql's \\copy and by pg_restore with three jobs (whose rows are in three
tables, with indexes that are built afterwards), with the pace as soon as it can and with a time to finish, by two
paced loads at once, and by a paced load that watches commits. Metrics reach the pace two emulated minutes late. Before each arm the table is emptied, a checkpoint is made, and the credits are set.

Printed for each arm: seconds; lowest credits of any bucket; share of the allowance that was used; median and
95th percentile of the others' latency as multiples of what they have alone; rows. An arm during which this machine stood
still is void; nan stands where an arm was too short to tell. With --require the exit status is 1 if a promise is broken.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path

import psycopg
from msgspec.structs import replace as replace_terms

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(1, str(Path(__file__).resolve().parents[1] / "tests"))

from live.gate_machine import T3, quick_folder
from pace_others import Others, Watch
from plimsoll.catalog.load import catalog
from plimsoll.kernel import Stage
from plimsoll.load.copy.commits import CommitWatch
from plimsoll.load.copy.inputs import LocalFile
from plimsoll.load.copy.run import LoadRun
from plimsoll.load.copy.table import CopyOptions
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import Balance, SlowTruth
from plimsoll.load.pace.pace import Pace
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance
from plimsoll_lab.gate.config import GateSetup, enforced_stages_of
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.load.dataset import LOADING
from plimsoll_lab.servers.postgres import Postgres

CLOCK = 20
MINUTE_S = 60 / CLOCK
LAG_S = 2 * MINUTE_S
SETTLING_S = 5 * MINUTE_S + LAG_S + 1
"""From the start of an arm's others to its load."""
RESERVE = 0.2
PARTS = 3
"""Tables and jobs of pg_restore."""
CREDITS = 0.6
MB = 1_000_000

SERVING = {
    # Of 16 GiB, RDS gives a quarter to the cache; a tenth of that. WAL does not cause checkpoints, as PostgreSQL's
    # documentation advises for loads. 300 MB at a tenth of the rate take a third of the time of 10 GB, so the time
    # between checkpoints is a third of the usual 5 minutes.
    "shared_buffers": "400MB",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "100s",
    "autovacuum": "off",
    "wal_init_zero": "off",
}
# The emulated minute is three seconds, so times are a twentieth of the usual ones.
TERMS = PaceTerms(
    reserve_ratio=RESERVE, horizon_s=1800 / CLOCK, lag_s=3 * MINUTE_S, stale_s=10 * MINUTE_S, step_ratio=0.3
)

USED_LEAST, SLOWER_MOST, WAIT_MOST, SHARE_LEAST = 0.95, 1.05, 1.2, 0.4
# A load begins slowly and ends with its last chunks; the credits may end a percent below the reserve, the
# resolution of the published balance.
RESERVE_SLACK = 0.01
STILL_S = 1.5


@dataclass
class Outcome:
    """What an arm did."""

    seconds: float
    credits_least: float
    wait_s_p50: float
    wait_s_p95: float
    rows: int
    used: list[float] = field(default_factory=list)
    """Of each paced load: bytes sent, divided by those that were allowed."""
    sent: list[float] = field(default_factory=list)
    ratio: float = 0.0
    is_void: bool = False


class FreePace(Pace):
    """A pace that lets everything through, with a fixed number of workers."""

    def __init__(self, workers: int, chain: tuple[Stage, ...]) -> None:
        super().__init__(PaceController(chain, TERMS))
        self._workers = workers

    def start(self) -> "FreePace":
        return self

    def wait(self, byte_count: int, *, stop: threading.Event | None = None) -> float:
        del byte_count, stop
        return 0.0

    def concurrency(self, most: int = 8) -> int:
        return min(most, self._workers)


class Bench:
    """A server behind a gate, others at work, and a file to load."""

    def __init__(
        self,
        stack: ExitStack,
        *,
        megabytes: int,
        scale: float,
        others_per_s: int,
        instance: Instance = T3,
        clock: float = CLOCK,
        serving: dict[str, str] = SERVING,
        has_tools: bool = False,
    ) -> None:
        setup = GateSetup(instance=instance, clock=clock, scale=scale, credits=CREDITS)
        place = stack.enter_context(quick_folder())
        place.chmod(0o711)
        self.others_per_s = others_per_s
        self.file = place / "rows.csv"
        write_rows(self.file, megabytes * MB)
        self.half = place / "half.csv"
        write_rows(self.half, megabytes * MB // 2)
        self.dump = place / "dump"
        data, mount = place / "data", place / "mount"
        data.mkdir()
        data.chmod(0o711)
        with Postgres(LOADING, data_directory=data / "database") as loading:
            loading.run("pgbench", "-i", "-q", "-s", "20")
            if has_tools:
                self._dump(loading)
            loading.run("psql", "-XAtqc", "checkpoint")
        self.gate = stack.enter_context(Gate(setup, data, mount))
        self.server = stack.enter_context(loading.relocated(mount / "database", serving))
        self.slower_ratio: float | None = None
        # What the law is given: credits of the gate are divided by its clock.
        self.chain = tuple(
            replace(stage, capacity=stage.capacity / clock, start_balance=None)
            for stage in enforced_stages_of(setup, catalog())
        )
        self.folder = place

    def read_slow(self) -> SlowTruth:
        """What CloudWatch would show: complete minutes, two of them late."""
        until_s = time.time() - LAG_S
        lines = [line for line in self.gate.lines() if line.dt > 0 and line.t <= until_s][-30:]
        rates = tuple(
            DeviceRate(
                start_s=line.t - line.dt,
                end_s=line.t,
                bytes_per_s=(line.read_bytes + line.write_bytes) / line.dt,
                ops_per_s=(line.read_ops + line.write_ops) / line.dt,
                read_bytes_per_s=line.read_bytes / line.dt,
            )
            for line in lines
        )
        balances = {
            name: Balance(time_s=lines[-1].t, ratio=round(ratio, 2))
            for name, ratio in (lines[-1].balance.items() if lines else ())
            if ratio is not None
        }
        return SlowTruth(rates=rates, balances=balances)

    def paced(self, within_s: float | None = None) -> Pace:
        """A pace by the gate's metrics and the server's counters, as soon as it can or with a time to finish."""
        end_s = None if within_s is None else time.time() + SETTLING_S + within_s
        return Pace(
            PaceController(self.chain, replace_terms(TERMS, deadline_s=end_s)),
            read_slow=self.read_slow,
            counters=ServerCounters(self.server.dsn),
            slow_every_s=MINUTE_S,
            tick_s=0.5,
        )

    def _dump(self, loading: Postgres) -> None:
        """Dump the same rows in three tables: pg_restore gives each table to one job."""
        parts = [f"part{n}" for n in range(PARTS)]
        with psycopg.connect(loading.dsn, autocommit=True) as connection:
            connection.execute("create table loaded (id bigint, name text, note text)")
        loading.run("psql", "-XAtqc", f"\\copy loaded from '{self.file}' csv")
        with psycopg.connect(loading.dsn, autocommit=True) as connection:
            for n, part in enumerate(parts):
                connection.execute(f"create table {part} as select * from loaded where id % {PARTS} = {n}")
                connection.execute(f"create index on {part} (id)")
            tables = [word for part in parts for word in ("-t", part)]
            loading.run("pg_dump", "-Fd", "-Z0", "-f", str(self.dump), *tables)
            connection.execute(f"drop table loaded, {', '.join(parts)}")

    def copied_by_psql(self) -> None:
        """Load by one command of psql."""
        self.server.run("psql", "-XAtqc", f"\\copy loaded from '{self.file}' csv")

    def restored(self) -> None:
        """Load by pg_restore, which builds the indexes afterwards."""
        name = psycopg.conninfo.conninfo_to_dict(self.server.dsn)["dbname"]
        self.server.run("pg_restore", "-j", str(PARTS), "-d", str(name), str(self.dump))

    def arm(self, paces: list[Pace], tool: Callable[[], None] | None = None) -> Outcome:
        """Load the file once by a pace or a tool, or half of it by each of two paces, beside the others."""
        self._set_credits(1.0)
        parts = ", ".join(f"part{n}" for n in range(PARTS))
        with psycopg.connect(self.server.dsn, autocommit=True) as connection:
            connection.execute("drop table if exists loaded, plimsoll_loaded, " + parts)
            connection.execute("create table loaded (id bigint, name text, note text)")
            connection.execute("create index on loaded (id)")
            connection.execute("checkpoint")
        others = self.others = Others(self.server, self.folder, self.others_per_s)
        # Metrics of others alone, as a pace finds them.
        time.sleep(SETTLING_S - LAG_S - 1)
        self._set_credits(CREDITS)
        time.sleep(LAG_S + 1)
        watch = Watch()
        began = time.time()
        file = self.file if len(paces) == 1 else self.half
        runs = [self._run(pace, file, index) for index, pace in enumerate(paces)]
        runs += [tool] if tool is not None else []
        threads = [threading.Thread(target=one) for one in runs]
        for thread in threads:
            thread.start()
        samples: list[list[tuple[float, float]]] = [[] for _ in paces]
        while any(thread.is_alive() for thread in threads):
            for index, pace in enumerate(paces):
                if not isinstance(pace, FreePace) and threads[index].is_alive():
                    samples[index].append((time.time(), pace.allowance().bytes_per_s))
            time.sleep(0.1)
        ended = time.time()
        waits = others.end(began, ended)
        lines = [line for line in self.gate.lines() if began <= line.t <= ended + 1]
        least = min((b for line in lines for b in line.balance.values() if b is not None), default=nan)
        self._set_credits(1.0)
        with psycopg.connect(self.server.dsn) as connection:
            # pg_restore fills three tables of its own, and leaves the other one empty.
            tables = ["loaded", *(parts.split(", ") if tool == self.restored else ())]
            rows = sum(connection.execute(f"select count(*) from {one}").fetchall()[0][0] for one in tables)
        found = Outcome(
            seconds=ended - began,
            credits_least=least,
            wait_s_p50=statistics.median(waits) if waits else nan,
            wait_s_p95=statistics.quantiles(waits, n=20)[18] if len(waits) > 20 else nan,
            rows=rows,
            is_void=watch.end() > STILL_S,
        )
        for index, pace in enumerate(paces):
            if not isinstance(pace, FreePace):
                found.sent.append(pace.sent_bytes)
                found.used.append(pace.sent_bytes / max(allowed(samples[index]), 1.0))
                found.ratio = pace.allowance().ratio.bytes_per_byte
        return found

    def watched_arm(self, slower_ratio: float) -> Outcome:
        """Load the file once by a pace that watches commits."""
        self.slower_ratio = slower_ratio
        try:
            return self.arm([self.paced()])
        finally:
            self.slower_ratio = None

    def _set_credits(self, ratio: float) -> None:
        for family in (Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS, Family.VOLUME_IOPS):
            self.gate.set_balance(family, ratio)

    def _run(self, pace: Pace, file: Path, index: int) -> Callable[[], None]:
        one = LocalFile(file)
        # The same content for each load: another identity.
        one.identity = f"{one.identity[:-2]}{index:02d}"
        run = LoadRun((one,), "loaded", dsn=self.server.dsn, options=CopyOptions(is_csv=True), pace=pace, workers_max=8)

        ratio = self.slower_ratio
        watch = nullcontext() if ratio is None else CommitWatch(self.server.dsn, pace, ratio)

        def load() -> None:
            with pace, watch:
                run.run()

        return load


def allowed(samples: list[tuple[float, float]]) -> float:
    """Return the bytes that were allowed over the samples."""
    return sum((after[0] - before[0]) * before[1] for before, after in itertools.pairwise(samples))


def write_rows(path: Path, size_bytes: int) -> None:
    """Write rows of about 130 bytes, with keys in random order."""
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < size_bytes:
            file.write(
                "".join(
                    f"{(n * 2654435761) % 2**32},name of row {n},{'a note that is some words long ' * 3}\n"
                    for n in range(number, number + 5000)
                )
            )
            number += 5000


def measured(run: Callable[[], Outcome]) -> Outcome:
    """Run an arm, again if this machine stood still."""
    for _ in range(4):
        found = run()
        if not found.is_void:
            break
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--scale", type=float, default=10.0)
    parser.add_argument("--others", type=int, default=20, help="transactions per second of others")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    broken: list[str] = []
    with ExitStack() as stack:
        tempfile.tempdir = None
        bench = Bench(
            stack, megabytes=options.megabytes, scale=options.scale, others_per_s=options.others, has_tools=True
        )
        median, alone = others_alone(bench)
        print(f"others alone: median {1000 * median:.1f} ms, p95 {1000 * alone:.1f} ms")
        arms: dict[str, Callable[[], Outcome]] = {
            **{f"{n} workers": (lambda n=n: bench.arm([FreePace(n, bench.chain)])) for n in (1, 3, 8)},
            "psql": lambda: bench.arm([], bench.copied_by_psql),
            "pg_restore": lambda: bench.arm([], bench.restored),
            "paced": lambda: bench.arm([bench.paced()]),
            **{f"in {s} s": (lambda s=s: bench.arm([bench.paced(within_s=s)])) for s in (150, 300)},
            "two paced": lambda: bench.arm([bench.paced(), bench.paced()]),
            "commits": lambda: bench.watched_arm(1.2),
        }
        found = {}
        print("arm          seconds  least credits  used       median      p95  ratio  rows")
        for name, run in arms.items():
            if options.only and options.only not in name:
                continue
            one = found[name] = measured(run)
            used = " ".join(f"{u:.0%}" for u in one.used) or "-"
            print(
                f"{name:11}  {one.seconds:7.1f}  {one.credits_least:13.1%}  {used:9}  "
                f"{one.wait_s_p50 / median:5.2f}×  {one.wait_s_p95 / alone:6.2f}×  {one.ratio:5.2f}  {one.rows:,}"
                f"{'  VOID' if one.is_void else ''}",
                flush=True,
            )
        broken = promises_broken(found, alone)
    for line in broken:
        print(f"broken: {line}")
    return 1 if options.require and broken else 0


def others_alone(bench: Bench) -> tuple[float, float]:
    """Return median and 95th percentile of the others' latency when nothing is loaded, in seconds."""
    for _ in range(4):
        watch = Watch()
        others = Others(bench.server, bench.folder, bench.others_per_s)
        began = time.time() + 3
        time.sleep(20)
        waits = others.end(began, time.time())
        if watch.end() <= STILL_S:
            break
    return statistics.median(waits), statistics.quantiles(waits, n=20)[18]


def promises_broken(found: dict[str, Outcome], alone: float) -> list[str]:
    """Return the promises that the arms broke, as sentences."""
    broken = []
    # Whoever spends the reserve, or lets others wait, is faster. Only those count that kept the same promises.
    fixed = [
        one.seconds
        for name, one in found.items()
        if name.endswith("workers")
        and one.credits_least >= RESERVE - RESERVE_SLACK
        and one.wait_s_p95 <= WAIT_MOST * alone
    ]
    for name in ("paced", "commits"):
        one = found.get(name)
        if one is None:
            continue
        if one.used[0] < USED_LEAST:
            broken.append(f"{name}: {one.used[0]:.0%} of the allowance was used")
        if not one.credits_least >= RESERVE - RESERVE_SLACK:
            broken.append(f"{name}: credits fell to {one.credits_least:.1%}, the reserve is {RESERVE:.0%}")
        if fixed and one.seconds > SLOWER_MOST * min(fixed):
            broken.append(f"{name}: {one.seconds:.1f} s; a fixed number that kept the promises took {min(fixed):.1f} s")
    watched = found.get("commits")
    if watched is not None and not watched.wait_s_p95 <= WAIT_MOST * alone:
        broken.append(f"commits: others waited {watched.wait_s_p95 / alone:.2f} times as long")
    both = found.get("two paced")
    if both is not None and min(both.sent) < SHARE_LEAST * sum(both.sent):
        broken.append("two loads did not share fairly")
    return broken


if __name__ == "__main__":
    sys.exit(main())
