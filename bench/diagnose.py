"""
Measure time and memory of a diagnosis, by the length of the window.

    python bench/diagnose.py [--require]

Prints one table: windows of 1 day to 1 year at one minute (simulated, tiled from the search-service
example with fresh noise), after loading and a warm-up; then the cold command on the examples. With
--require the exit status is 1 if a promise is broken.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import numpy as np

from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.model.snapshot_file.codec import decode_snapshot

ROOT = Path(__file__).resolve().parents[1]
DAYS = (1, 7, 14, 28, 91, 364)
PROMISE_MS = {14: 50.0, 364: 1000.0}
COLD_S = 1.0
YEAR_MB = 300.0


def tiled(snapshot: Snapshot, days: int) -> Snapshot:
    """Repeat the example for a number of days, with different noise in every repeat."""
    rng = np.random.default_rng(days)
    series = {}
    for metric, one in snapshot.series.items():
        per_s = one.time_s.size * one.step_s
        repeats = -(-days * 86400 // per_s)
        keep = days * 86400 // one.step_s
        times = np.concatenate([one.time_s + i * per_s for i in range(repeats)])[:keep]
        noise = np.exp(rng.normal(0, 0.0005, keep))
        value = np.tile(one.value, repeats)[:keep] * noise
        series[metric] = Series(metric=metric, step_s=one.step_s, time_s=times, value=value)
    return msgspec.structs.replace(snapshot, series=series)


def best_ms(snapshot: Snapshot, runs: int = 5) -> float:
    facts = catalog()
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        diagnose(snapshot, facts)
        spent.append(time.perf_counter() - start)
    return 1e3 * min(spent)


def cold_s(target: Path) -> float:
    command = [sys.executable, "-m", "plimsoll", "diagnose", str(target)]
    spent = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True)
        spent.append(time.perf_counter() - start)
    return min(spent)


def year_mb() -> float:
    """Return the peak memory of a process that diagnoses a year, in MB."""
    code = (
        "import sys; sys.path.insert(0, 'bench'); import diagnose as b, resource\n"
        "s = b.tiled(b.example(), 364)\n"
        "b.diagnose(s, b.catalog())\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    answer = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    return float(answer.stdout)


def example() -> Snapshot:
    return decode_snapshot((ROOT / "examples/search-service/snapshot.json").read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description="Time the diagnosis.")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    wanted = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, one used; best of 5")
    print(f"{'window':>8} {'samples':>9} {'ms':>8} {'µs/sample':>10}  promise")
    broken = []
    for days in DAYS:
        snapshot = tiled(example(), days)
        ms = best_ms(snapshot, 5 if days < 100 else 3)
        samples = days * 1440
        promise = PROMISE_MS.get(days)
        verdict = f"≤ {promise:.0f} ms: {'kept' if ms <= promise else 'BROKEN'}" if promise else ""
        if promise and ms > promise:
            broken.append(days)
        print(f"{days:>6} d {samples:>9,} {ms:>8.1f} {1e3 * ms / samples:>10.2f}  {verdict}")
    memory = year_mb()
    print(f"peak memory, a year: {memory:.0f} MB  ≤ {YEAR_MB:.0f} MB")
    cold = {p.name: cold_s(p) for p in sorted((ROOT / "examples").iterdir()) if p.is_dir()}
    for name, seconds in cold.items():
        print(f"cold command on {name}: {seconds:.2f} s  ≤ {COLD_S} s")
    if memory > YEAR_MB or max(cold.values()) > COLD_S:
        broken.append(0)
    return 1 if wanted.require and broken else 0


if __name__ == "__main__":
    sys.exit(main())
