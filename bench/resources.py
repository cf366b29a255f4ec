"""
Use every resource of a machine to the full, or not, and print how often the diagnosis says so.

    python bench/resources.py [--count 500] [--seed 1] [--require]

Half of the windows have a resource (CPU, memory, connections, network, storage space, Aurora capacity) at 99 % or more
for five minutes to a day: they must bind. In the other half the same resources reach 60 to 94 %: none may bind.
Everything is simulated.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.limits import ceilings_of
from plimsoll.model.ceiling import Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric

CLASSES = ("db.t3.medium", "db.m5.large", "db.r5.2xlarge", "db.r6g.4xlarge", "db.m6i.8xlarge")
SIZE_GIB = 200.0
CONNECTION_MAX = 400
FAMILIES = (
    Family.CPU, Family.MEMORY, Family.CONNECTIONS, Family.NETWORK, Family.STORAGE_SPACE, Family.CAPACITY,
)  # fmt: skip


def window(family: Family, seed: int, *, is_full: bool) -> tuple[Diagnosis, float]:
    """Return the diagnosis of a window in which a resource is used to the full or not, and for how many minutes."""
    rng = np.random.default_rng([seed, FAMILIES.index(family), is_full])
    step_s = int(rng.choice([60, 300]))
    count = int(rng.integers(12, 72)) * 3600 // step_s
    # A reading may lie anywhere in the hour, and a time at the maximum may begin anywhere.
    length = max(int(np.exp(rng.uniform(np.log(300), np.log(86_400 / 2))) / step_s), 300 // step_s)
    length = min(length, count - 2)
    first = int(rng.integers(1, count - length))
    share = rng.uniform(0.1, 0.6) * builders.wander(rng, count, 0.1)
    peak = 1 - rng.uniform(0, 0.008, length) if is_full else rng.uniform(0.6, 0.94) * np.ones(length)
    share[first : first + length] = peak
    share = np.minimum(share, 1.0)
    is_serverless = family is Family.CAPACITY
    instance = Instance(
        identifier="orders",
        db_class="db.serverless" if is_serverless else str(rng.choice(CLASSES)),
        engine="aurora-postgresql" if is_serverless else "postgres",
        connection_max=CONNECTION_MAX,
        capacity_acu_max=8.0 if is_serverless else None,
        storage=Storage() if is_serverless else Storage(kind="gp3", size_gib=SIZE_GIB),
    )
    rates = builders.storage(2e6 * builders.wander(rng, count, 0.2), latency_s=0.0008)
    metric, values = measured(family, share, instance)
    return diagnose(builders.snapshot(rates, {metric: values}, instance=instance, step_s=step_s), catalog()), (
        length * step_s / 60
    )


def measured(family: Family, share: np.ndarray, instance: Instance) -> tuple[Metric, np.ndarray]:
    """Return what CloudWatch shows of a share of a resource."""
    if family is Family.CPU:
        return Metric.CPU_RATIO, share
    if family is Family.CAPACITY:
        return Metric.CAPACITY_RATIO, share
    if family is Family.CONNECTIONS:
        return Metric.CONNECTION_COUNT, np.round(CONNECTION_MAX * share)
    most = max(c.value for c in ceilings_of(instance, catalog()) if c.family is family)
    free = {Family.STORAGE_SPACE: Metric.FREE_STORAGE_BYTES, Family.MEMORY: Metric.FREEABLE_MEMORY_BYTES}
    return (free[family], most * (1 - share)) if family in free else (Metric.NETWORK_TRANSMIT_BYTES_PER_S, most * share)


def main(arguments: list[str] | None = None) -> int:
    """Diagnose the windows, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0].strip())
    parser.add_argument("--count", type=int, default=500, help="windows of each half (default 500)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--require", action="store_true", help="exit with 1 unless all are right")
    given = parser.parse_args(arguments)
    missed: Counter[Family] = Counter()
    accused: Counter[Family] = Counter()
    for number in range(given.count):
        family = FAMILIES[number % len(FAMILIES)]
        full, minutes = window(family, given.seed + number, is_full=True)
        row = next((r for r in full.resources if r.family is family), None)
        if full.verdict is not Verdict.BINDS or row is None or row.verdict is not Verdict.BINDS:
            missed[family] += 1
            print(f"missed: {family.value}, seed {given.seed + number}, {minutes:.0f} min: {full.verdict.value}")
        calm, _ = window(family, given.seed + number, is_full=False)
        if calm.verdict is Verdict.BINDS:
            accused[family] += 1
            print(f"accused: {family.value}, seed {given.seed + number}")
    print(f"{given.count} windows with a resource at its maximum: {missed.total()} missed")
    print(f"{given.count} windows without: {accused.total()} accused")
    return 1 if given.require and (missed or accused) else 0


if __name__ == "__main__":
    sys.exit(main())
