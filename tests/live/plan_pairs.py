"""
A load on one instance, what the plan foretells of it on another, and what it does there.

A pair is one load of real clients of a real server behind a gate, twice: at the limits of one instance
and at those of another. Each time some of the clients work at first, and then all: what is known of
the load at liberty has to come from somewhere. From the first run alone, with the sessions that the
server counts, the plan says what the second will be.
"""

import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as with_balance
from pathlib import Path

import numpy as np
import psycopg
from msgspec.structs import replace

from live.lab_cases import Rig
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.catalog.load import catalog
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Band, Effect, LoadResponse
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.recovery import recover
from plimsoll.plan.judge.effect import judge
from plimsoll_lab.gate.record import Truth, snapshot_of, truth_of

CLOCK = 60
"""An emulated minute is a second."""
_EVERY_S = 0.1
_LIGHT_CLIENTS = 3
_QUERY = (
    "select count(*), count(*) filter (where state = 'active') from pg_stat_activity "
    "where backend_type = 'client backend' and pid <> pg_backend_pid()"
)
_READS_OF_POINTS = 4
# "progress: 5.0 s, 1234.5 tps, lat 3.211 ms stddev 1.204, 0 failed, lag 1.2 ms" (pgbench)
_PROGRESS = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps.*?(?:lag ([\d.]+) ms.*)?$", re.MULTILINE)
Points = Sequence[tuple[float, float]]
TOLERATED = 0.10


def bought(db_class: str, kind: str, size_gib: float, iops: float | None = None) -> Instance:
    """An instance of PostgreSQL."""
    storage = Storage(kind=kind, size_gib=size_gib, provisioned_ops_per_s=iops)
    return Instance(identifier="lab", db_class=db_class, engine="postgres", storage=storage)


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A load, where it was measured, and where it is predicted."""

    name: str
    load: str
    """`scan`, `points`, or `pauses`: points with 10 ms between them."""
    clients: int = 13
    rate_ops: float | None = None
    """Open loop: reads asked for per second once the load is on; None for clients that wait."""
    before: Instance
    after: Instance
    credit_ratio: float = 0.0
    """Share of the first instance's credits at the start."""
    light_s: int = 26
    """How long some of the clients work."""
    heavy_s: int = 42
    """And how long all of them do, after that."""


PAIRS = (
    Pair(
        name="scans, one class to a larger one",
        load="scan",
        before=bought("db.m4.large", "gp3", 400),
        after=bought("db.m4.2xlarge", "gp3", 400),
    ),
    Pair(
        name="scans, class to storage",
        load="scan",
        before=bought("db.m4.xlarge", "gp3", 400),
        after=bought("db.m5.4xlarge", "gp3", 100),
    ),
    Pair(
        name="reads of 8 kB, io1 to gp3",
        load="points",
        before=bought("db.m4.xlarge", "io1", 100, 2000),
        after=bought("db.m4.xlarge", "gp3", 100),
    ),
    Pair(
        name="reads of 8 kB, gp2 without credits to gp3",
        load="points",
        before=bought("db.m4.large", "gp2", 300),
        after=bought("db.m4.xlarge", "gp3", 100),
    ),
    Pair(
        name="clients that pause, to where they bind",
        load="pauses",
        before=bought("db.m4.xlarge", "io1", 100, 1000),
        after=bought("db.r5.12xlarge", "io1", 400, 20_000),
    ),
    Pair(
        name="arrivals, credits run out, to enough",
        load="points",
        rate_ops=2400,
        credit_ratio=0.01,
        before=bought("db.t3.micro", "gp3", 400),
        after=bought("db.m5.4xlarge", "gp3", 400),
    ),
    Pair(
        name="arrivals, gp2 credits run out, to gp3",
        load="points",
        rate_ops=1600,
        credit_ratio=0.05,
        before=bought("db.m4.xlarge", "gp2", 100),
        after=bought("db.m4.xlarge", "gp3", 100),
    ),
    Pair(
        name="arrivals, gp2 credits run out, to too little",
        load="points",
        rate_ops=2400,
        before=bought("db.m4.xlarge", "gp2", 200),
        after=bought("db.m4.xlarge", "io1", 100, 1000),
    ),
)


@dataclass(frozen=True, kw_only=True)
class MeasuredPair:
    """What was predicted of a pair, and what happened."""

    pair: Pair
    loop: LoadResponse
    before_bytes_per_s: float
    effect: Effect
    served_bytes_per_s: float
    """While all clients worked."""
    minutes_at_ceiling: float
    is_void: bool
    """Whether this machine did not keep up with what it was to emulate."""

    @property
    def error(self) -> float:
        """Predicted over served, less one."""
        return self.effect.served_bytes_per_s.middle / self.served_bytes_per_s - 1

    @property
    def is_in_band(self) -> bool:
        """Whether the minutes at a ceiling lie in the band, give or take one at each end."""
        band: Band = self.effect.minutes_at_ceiling
        return band.low - 1 <= self.minutes_at_ceiling <= band.high + 1

    @property
    def is_right(self) -> bool:
        """Whether throughput and minutes came as predicted."""
        return abs(self.error) <= TOLERATED and self.is_in_band


def run_pair(rig: Rig, pair: Pair) -> MeasuredPair:
    """Run the load where it was measured, predict it, and run it where it was predicted."""
    first, truth = _measured(rig, pair, pair.before, credit_ratio=pair.credit_ratio)
    diagnosis = diagnose_snapshot(first)
    demand = recover(first, diagnosis)
    chain = tuple(_spent(stage) for stage in chain_of(pair.after, catalog()))
    effect = judge(demand, chain).effect
    second, then = _measured(rig, pair, pair.after, credit_ratio=0.0)
    return MeasuredPair(
        pair=pair,
        loop=demand.summary.loop,
        before_bytes_per_s=_served(first, demand.is_held_back, demand.time_s),
        effect=effect,
        served_bytes_per_s=_served(second, _heavy(pair, second), second.series[_READ].time_s),
        minutes_at_ceiling=sum(truth_s for truth_s in then.bound_s().values()) * CLOCK / 60,
        is_void=truth.is_void or then.is_void,
    )


_READ = Metric.READ_BYTES_PER_S


def _spent(stage: Stage) -> Stage:
    """A stage whose bucket begins empty, as it does in the second run."""
    return with_balance(stage, start_balance=0.0) if stage.capacity else stage


def _served(snapshot: Snapshot, at: np.ndarray, time_s: np.ndarray) -> float:
    series = snapshot.series[_READ]
    return float(series.value[np.isin(series.time_s, time_s[at])].mean())


def _heavy(pair: Pair, snapshot: Snapshot) -> np.ndarray:
    """Minutes in which all clients worked throughout."""
    time_s = snapshot.series[_READ].time_s
    return time_s >= time_s[0] + (pair.light_s + 1) * 60


def _measured(rig: Rig, pair: Pair, instance: Instance, *, credit_ratio: float) -> tuple[Snapshot, Truth]:
    setup, _ = rig.emulate(instance, credit_ratio=credit_ratio)
    sessions: list[tuple[float, int, int]] = []
    texts: list[_ClientLog] = []
    began_s = time.time()
    with _counting(rig, sessions):
        # What works at liberty does so throughout: users beside a job, or a quarter of all arrivals.
        quiet = "idle" if pair.rate_ops is None else pair.load
        rate = None if pair.rate_ops is None else pair.rate_ops / 4
        with _clients(rig, quiet, _LIGHT_CLIENTS, rate) as first:
            time.sleep(pair.light_s)
            rest = None if rate is None else 3 * rate
            with _clients(rig, pair.load, pair.clients, rest) as second:
                time.sleep(pair.heavy_s)
        texts += [first, second]
    rig.end_statements()
    ended_s = began_s + pair.light_s + pair.heavy_s
    lines = [x for x in rig.gate.lines() if x.t - x.dt >= began_s and x.t <= ended_s]
    snapshot = snapshot_of(lines, setup)
    start_s = lines[0].t - lines[0].dt
    signals = _sessions(snapshot, start_s, sessions) | _work(snapshot, start_s, texts)
    return replace(snapshot, series=snapshot.series | signals), truth_of(lines)


@dataclass(frozen=True, kw_only=True)
class _ClientLog:
    """What one set of clients said of itself each second."""

    began_s: float
    rate: float | None
    """Transactions that were to begin each second; None for clients that wait."""
    file: Path

    def seconds(self) -> Iterator[tuple[float, float, float, float]]:
        """Moment, transactions done per second, how many were due and not begun, and how many came."""
        for at, done, lag in _PROGRESS.findall(self.file.read_text()):
            waiting = 0.0 if self.rate is None else self.rate * float(lag or 0) / 1e3
            came = float(done) if self.rate is None else self.rate
            yield self.began_s + float(at) - 0.5, float(done), waiting, came


def _minutes(snapshot: Snapshot, start_s: float, metric: Metric, points: Points) -> Series:
    """Means of what was seen in each of the snapshot's minutes."""
    first = int(snapshot.series[_READ].time_s[0])
    every: dict[int, list[float]] = {}
    for moment, value in points:
        every.setdefault(int((moment - start_s) * CLOCK // 60), []).append(value)
    known = sorted(minute for minute in every if minute >= 0)
    return Series(
        metric=metric,
        step_s=60,
        time_s=np.array([first + 60 * minute for minute in known], dtype=np.int64),
        value=np.array([np.mean(every[minute]) for minute in known]),
    )


def _sessions(snapshot: Snapshot, start_s: float, seen: Sequence[tuple[float, int, int]]) -> dict[Metric, Series]:
    """Sessions as the server counted them."""
    of = {Metric.CONNECTION_COUNT: 1, Metric.ACTIVE_SESSION_COUNT: 2}
    return {
        metric: _minutes(snapshot, start_s, metric, [(one[0], one[place]) for one in seen])
        for metric, place in of.items()
    }


def _work(snapshot: Snapshot, start_s: float, lines: Sequence[_ClientLog]) -> dict[Metric, Series]:
    """Transactions done and come, and work that waited outside, as the clients counted them."""
    sums: dict[int, tuple[float, ...]] = {}
    for text in lines:
        for moment, *counted in text.seconds():
            minute = int((moment - start_s) * CLOCK // 60)
            before = sums.get(minute, (0.0, 0.0, 0.0))
            sums[minute] = tuple(a + b for a, b in zip(before, counted, strict=True))
    at = sorted(sums)
    of = {Metric.TRANSACTIONS_PER_S: 0, Metric.WAITING_WORK_COUNT: 1, Metric.ARRIVALS_PER_S: 2}
    return {
        metric: _minutes(
            snapshot, start_s, metric, [(start_s + (minute + 0.5) * 60 / CLOCK, sums[minute][place]) for minute in at]
        )
        for metric, place in of.items()
    }


@contextmanager
def _counting(rig: Rig, into: list[tuple[float, int, int]]) -> Iterator[None]:
    """Count sessions ten times a second."""
    is_over = threading.Event()

    def count() -> None:
        with psycopg.connect(rig.server.dsn, autocommit=True) as connection:
            while not is_over.wait(_EVERY_S):
                every, active = connection.execute(_QUERY).fetchone()
                into.append((time.time(), every, active))

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def _clients(rig: Rig, load: str, count: int, rate_ops: float | None) -> Iterator[_ClientLog]:
    rate = None if rate_ops is None else rate_ops / _READS_OF_POINTS
    command = [str(rig.server.program("pgbench")), "-n", "-c", str(count), "-j", "1", "-P", "1"]
    command += ["-T", "3600", "-f", str(rig.script(load))]
    if rate is not None:
        command += ["--rate", f"{rate:g}"]
    file = rig.folder / f"{load}-{count}.progress"
    with file.open("w") as out:
        process = subprocess.Popen(command, env=rig.server.environment, stdout=subprocess.DEVNULL, stderr=out)
    try:
        yield _ClientLog(began_s=time.time(), rate=rate, file=file)
    finally:
        process.kill()
        process.wait()
