"""
Rebuild the three example snapshots from published figures, with the law.

    python examples/reconstruct.py [FOLDER]

The search-service and claims-pipeline incidents are real, but their measurements were never published,
only figures in two posts. So demand is invented to fit the story. The law of `plimsoll.kernel` computes
the served rates and the credits; latency, queue and the rest take the published values with seeded noise.
Every snapshot says that it is simulated. Equal seeds give equal files.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from plimsoll.catalog.load import catalog
from plimsoll.kernel import Replay, Stage
from plimsoll.kernel import replay as replay_chain
from plimsoll.limits import chain_of
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Annotation, Snapshot
from plimsoll.model.snapshot_file.codec import encode_snapshot
from plimsoll.units import gib, kib, mb_per_s

FINE_S = 10
STEP_S = 60
HOUR_S = 3600
BALANCES = {
    Family.INSTANCE_EBS_THROUGHPUT.value: Metric.BYTE_BALANCE_RATIO,
    Family.INSTANCE_EBS_IOPS.value: Metric.IO_BALANCE_RATIO,
    Family.VOLUME_IOPS.value: Metric.VOLUME_BALANCE_RATIO,
}


def epoch(moment: str) -> int:
    return int(datetime.fromisoformat(moment).replace(tzinfo=UTC).timestamp())


class Tape:
    """Collect the series of one example, at ten seconds inside and a minute outside."""

    def __init__(self, start: str, hours: float, seed: int) -> None:
        self.start_s = epoch(start)
        self.time_s = np.arange(0, int(hours * HOUR_S), FINE_S)
        self.hour = (self.time_s / HOUR_S + datetime.fromisoformat(start).hour) % 24
        self.rng = np.random.default_rng(seed)
        self.series: dict[Metric, Series] = {}

    def wander(self, spread: float, memory_s: float = 300) -> FloatArray:
        """Return log-normal noise around 1 with correlated neighbours."""
        keep = np.exp(-FINE_S / memory_s)
        shocks = self.rng.normal(0, np.sqrt(1 - keep**2), self.time_s.size)
        walk = np.empty_like(shocks)
        level = 0.0
        for index, shock in enumerate(shocks):
            level = keep * level + shock
            walk[index] = level
        return np.exp(spread * walk)

    def put(self, metric: Metric, fine: FloatArray, *, digits: int = 4, every_s: int = STEP_S) -> None:
        """Average to the published period, and round like the metric."""
        per = every_s // FINE_S
        mean = fine[: fine.size // per * per].reshape(-1, per).mean(axis=1)
        value = rounded(mean, digits)
        times = self.start_s + np.arange(value.size, dtype=np.int64) * every_s
        self.series[metric] = Series(metric=metric, step_s=every_s, time_s=times, value=value)

    def put_storage(self, served: Replay, read_share: FloatArray, latency: Callable[[str], FloatArray]) -> None:
        """Add rates and latencies of reads and writes."""
        ops, size = served.served_ops / FINE_S, served.served_bytes / FINE_S
        jitter = 1 + self.rng.normal(0, 0.002, ops.size)
        self.put(Metric.READ_BYTES_PER_S, size * read_share * jitter, digits=6)
        self.put(Metric.WRITE_BYTES_PER_S, size * (1 - read_share) * jitter, digits=6)
        self.put(Metric.READ_OPS_PER_S, ops * read_share * jitter, digits=6)
        self.put(Metric.WRITE_OPS_PER_S, ops * (1 - read_share) * jitter, digits=6)
        self.put(Metric.READ_LATENCY_S, latency("read"))
        self.put(Metric.WRITE_LATENCY_S, latency("write"))

    def put_balances(self, served: Replay, chain: Sequence[Stage]) -> None:
        """Add balances as CloudWatch publishes them: every five minutes, in whole percents."""
        for stage, balance in zip(chain, served.balance, strict=True):
            metric = BALANCES.get(stage.name)
            if metric is not None and stage.capacity > 0:
                percent = np.floor(100 * balance / stage.capacity) / 100
                self.put(metric, percent, digits=2, every_s=300)

    def snapshot(self, instance: Instance, note: str, *events: tuple[str, str]) -> Snapshot:
        """Return the series as one reading that says that it is simulated."""
        return Snapshot(
            instance=instance,
            series=self.series,
            source="examples/reconstruct.py",
            is_simulated=True,
            note=note,
            annotations=tuple(Annotation(time_s=epoch(when), text=text) for when, text in events),
        )


def rounded(value: FloatArray, digits: int) -> FloatArray:
    """
    Round to this many decimal digits.

    Powers of ten are looked up, because computed ones differ between processors in the last bit, and
    rounding would keep that difference instead of removing it.
    """
    exponent = np.floor(np.log10(np.abs(value) + 1e-30)).astype(int)
    wanted = np.where(value == 0, 0, digits - 1 - exponent)
    up = np.array([float(f"1e{power}") for power in range(40)])
    larger, smaller = up[np.clip(wanted, 0, 39)], up[np.clip(-wanted, 0, 39)]
    return np.round(value * larger / smaller) * smaller / larger


def mixed(throttled: FloatArray, calm: FloatArray, pressed: FloatArray) -> FloatArray:
    """Return latency or queue of a step that was throttled for a part."""
    return (1 - throttled) * calm + throttled * pressed


SEARCH = Instance(
    identifier="search-service",
    db_class="db.r5.2xlarge",
    engine="postgres",
    engine_version="11.9",
    region="us-east-1",
    storage=Storage(kind="io1", size_gib=3_000, provisioned_ops_per_s=30_000),
    launched_s=epoch("2019-06-04T09:30:00"),
)
CLAIMS = Instance(
    identifier="claims-pipeline",
    db_class="db.t3.xlarge",
    engine="postgres",
    engine_version="14.6",
    region="us-east-1",
    storage=Storage(kind="gp2", size_gib=1_200),
    launched_s=epoch("2022-05-17T12:00:00"),
)
QUIET = Instance(
    identifier="quiet",
    db_class="db.m6g.large",
    engine="postgres",
    engine_version="16.4",
    region="us-east-1",
    storage=Storage(kind="gp3", size_gib=500),
    launched_s=epoch("2024-02-20T08:00:00"),
)


def enforced(stage: Stage, ratio: float) -> Stage:
    """Return a stage as enforced: within half a percent of the published number."""
    return replace(stage, baseline=stage.baseline * ratio, burst=stage.burst * ratio)


def search_service() -> Snapshot:
    """Story 1: db.r5.2xlarge from before December 2019, at its legacy baseline by day."""
    tape = Tape("2021-03-08T18:00:00", 48, seed=1)
    hour = tape.hour
    # Quiet evenings, reindexing for an hour from one o'clock on credits, events all day.
    night, day = (hour >= 1) & (hour < 2), (hour >= 2) & (hour < 17.5)
    demand = mb_per_s(1) * np.where(night, 540.0, np.where(day, 300.0, 95.0)) * tape.wander(0.16)
    # By day 213 MB/s at about 15,000 IOPS, 14.2 KB an operation; reindexing reads larger blocks.
    size = np.where(night, 25_500, 14_200) * tape.wander(0.04)
    chain = [
        enforced(
            Stage(
                name="instance throughput",
                baseline=mb_per_s(212.5),
                burst=mb_per_s(437.5),
                capacity=mb_per_s(437.5) * 1800,
                counts="bytes",
            ),
            1.002,
        ),
        # About 15,000 IOPS were served for hours: the documented baseline of 12,000 was not enforced.
        Stage(name="instance IOPS", baseline=18_750, burst=18_750, counts="ops"),
    ]
    served = replay_chain(demand / size, size, step_s=FINE_S, chain=chain, carry=False)
    throttled = served.throttled_ratio

    def latency(kind: str) -> FloatArray:
        calm, pressed = (0.001, 0.005) if kind == "read" else (0.015, 0.1)
        return mixed(throttled, calm * tape.wander(0.1), pressed * tape.wander(0.25))

    tape.put_storage(served, np.clip(0.55 * tape.wander(0.08), 0.2, 0.8), latency)
    tape.put(Metric.QUEUE_DEPTH, mixed(throttled, 4 * tape.wander(0.3), 72 * tape.wander(0.2)))
    tape.put(Metric.CPU_RATIO, np.clip(0.42 * tape.wander(0.12), 0, 0.62))
    tape.put(Metric.FREEABLE_MEMORY_BYTES, gib(33) * tape.wander(0.02), digits=6)
    tape.put(Metric.FREE_STORAGE_BYTES, gib(1_480) * (1 - 2e-8 * tape.time_s), digits=8)
    tape.put(Metric.CONNECTION_COUNT, np.round(2_900 * tape.wander(0.06)))
    tape.put(Metric.NETWORK_RECEIVE_BYTES_PER_S, mb_per_s(95) * tape.wander(0.15))
    tape.put(Metric.NETWORK_TRANSMIT_BYTES_PER_S, mb_per_s(150) * tape.wander(0.15))
    vacuum = "autovacuum of the largest TOAST relation"
    return tape.snapshot(
        SEARCH,
        "Reconstructed by the simulator from the figures of 'Discovering RDS throughput limits' "
        "(Salsify, 2021); demand, size, date and launch date are invented to fit them.",
        ("2021-03-09T01:00:00", vacuum),
        ("2021-03-10T01:00:00", vacuum),
    )


def claims_pipeline() -> Snapshot:
    """Story 2: db.t3.xlarge, three loading jobs in parallel, credits gone after half an hour."""
    tape = Tape("2023-02-13T20:00:00", 36, seed=2)
    since = tape.time_s / HOUR_S - 5.5
    loading = (since >= 0) & (since < 13)
    # Loads and refreshes of views; between organisations the jobs pause for some minutes.
    pause = loading & ((since % 2.6) > 2.52)
    base = np.where(pause, 12.0, np.where(loading, 300.0, 14.0))
    demand = mb_per_s(1) * base * tape.wander(0.12)
    size = np.where(loading, kib(96), kib(24)) * tape.wander(0.06)
    # Instance throughput and IOPS, then four gp2 volumes of 300 GiB.
    throughput, *others = chain_of(CLAIMS, catalog())
    chain = [enforced(throughput, 0.996), *others]
    served = replay_chain(demand / size, size, step_s=FINE_S, chain=chain, carry=False)
    throttled = served.throttled_ratio
    read_share = np.clip(np.where(loading, 0.3, 0.6) * tape.wander(0.1), 0.05, 0.9)

    def latency(kind: str) -> FloatArray:
        calm, pressed = (0.0012, 0.03) if kind == "read" else (0.007, 0.1)
        return mixed(throttled, calm * tape.wander(0.12), pressed * tape.wander(0.25))

    tape.put_storage(served, read_share, latency)
    tape.put(Metric.QUEUE_DEPTH, mixed(throttled, 0.4 * tape.wander(0.4), 60 * tape.wander(0.25)))
    tape.put_balances(served, chain)
    tape.put(Metric.CPU_RATIO, np.clip(np.where(loading, 0.34, 0.08) * tape.wander(0.15), 0, 0.6))
    tape.put(Metric.CPU_CREDITS, np.full(tape.time_s.size, 2_304.0), every_s=300)
    tape.put(Metric.FREEABLE_MEMORY_BYTES, gib(7.2) * tape.wander(0.03), digits=6)
    tape.put(Metric.FREE_STORAGE_BYTES, gib(520) * (1 - 1e-7 * tape.time_s), digits=8)
    tape.put(Metric.CONNECTION_COUNT, np.round(np.where(loading, 46, 22) * tape.wander(0.08)))
    received = mb_per_s(1) * np.where(loading, 24, 1) * tape.wander(0.2)
    tape.put(Metric.NETWORK_RECEIVE_BYTES_PER_S, received)
    tape.put(Metric.NETWORK_TRANSMIT_BYTES_PER_S, mb_per_s(3) * tape.wander(0.2))
    return tape.snapshot(
        CLAIMS,
        "Reconstructed by the simulator from the figures of 'How we doubled RDS throughput for "
        "under $1 a day' (Pearl Health, 2023); demand, sizes and dates are invented to fit them.",
        ("2023-02-14T01:30:00", "three loading jobs start in parallel"),
    )


def quiet() -> Snapshot:
    """Return an instance with room in every resource."""
    tape = Tape("2026-09-07T00:00:00", 48, seed=3)
    day = 0.35 + 0.65 * np.clip(np.sin((tape.hour - 7) / 24 * 2 * np.pi), 0, 1)
    demand = 900 * day * tape.wander(0.25)
    size = kib(18) * tape.wander(0.08)
    chain = chain_of(QUIET, catalog())
    served = replay_chain(demand, size, step_s=FINE_S, chain=chain)

    def latency(kind: str) -> FloatArray:
        return (0.0007 if kind == "read" else 0.0012) * tape.wander(0.12)

    tape.put_storage(served, np.clip(0.4 * tape.wander(0.1), 0.1, 0.9), latency)
    tape.put(Metric.QUEUE_DEPTH, served.served_ops / FINE_S * 0.001 * tape.wander(0.1))
    tape.put_balances(served, chain)
    tape.put(Metric.CPU_RATIO, np.clip(0.05 + 0.18 * day * tape.wander(0.15), 0, 1))
    tape.put(Metric.FREEABLE_MEMORY_BYTES, gib(3.1) * tape.wander(0.02), digits=6)
    tape.put(Metric.FREE_STORAGE_BYTES, gib(310) * (1 - 3e-9 * tape.time_s), digits=8)
    tape.put(Metric.CONNECTION_COUNT, np.round(85 * tape.wander(0.08)))
    tape.put(Metric.NETWORK_RECEIVE_BYTES_PER_S, mb_per_s(2.2) * day * tape.wander(0.2))
    tape.put(Metric.NETWORK_TRANSMIT_BYTES_PER_S, mb_per_s(5) * day * tape.wander(0.2))
    return tape.snapshot(QUIET, "Made by the simulator: an instance that is up against nothing.")


EXAMPLES = {"search-service": search_service, "claims-pipeline": claims_pipeline, "quiet": quiet}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, build in EXAMPLES.items():
        target = folder / name / "snapshot.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(encode_snapshot(build()) + b"\n")
        print(f"{target}: {target.stat().st_size / 1e3:,.0f} kB")


if __name__ == "__main__":
    main()
