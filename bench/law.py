"""
Compare the speed of the law with other ways to compute the same: `python bench/law.py`.

Every figure is from this run on this machine: CPU time of one thread, the best of a few runs. All ways
get the same input and their results are compared. The slow ones get part of the input, so rates are
compared. `--quick` is a smoke test of a few seconds; with `--require` the exit status is 1 if a promise
is broken.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peers.replays import numba_laws, numpy_law, python_law
from plimsoll.kernel import Stage, Trials, replay, replay_candidates

Floats = NDArray[np.float64]

MINUTE_S = 60.0
DAY_STEPS = 1440
UNIT_BYTES = 256 * 1024


@dataclass(frozen=True)
class Size:
    """Set how much is computed."""

    days: int
    candidates: int
    numpy_steps: int
    python_steps: int
    runs: int


PROMISES = {"step-candidates/s": 1e9, "times numba": 8.0}
"""Promises per core."""

FULL = Size(days=365, candidates=320, numpy_steps=4000, python_steps=4000, runs=5)
QUICK = Size(days=90, candidates=64, numpy_steps=500, python_steps=500, runs=3)


@dataclass(frozen=True)
class Row:
    """Describe one way to compute, with its rate."""

    way: str
    per_s: float
    note: str


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a smoke test of a few seconds")
    parser.add_argument("--require", action="store_true", help="exit with 1 if a promise is broken")
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL
    print(f"machine: {processor()}, {os.cpu_count()} cores")
    print(f"CPU time of one thread, best of {size.runs}; everything is from this run")
    found = bench_replay(size)
    broken = [
        f"{value:.3g} {what}, promised {promise:.3g}"
        for value, (what, promise) in zip(found, PROMISES.items(), strict=True)
        if value < promise
    ]
    print("\n" + ("\n".join(f"broken: {line}" for line in broken) or "every promise was kept"))
    return 1 if broken and options.require else 0


def processor() -> str:
    """Return the name of the first processor in /proc/cpuinfo."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def timed(compute: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Return the CPU seconds of the fastest of a few runs, and the result."""
    best = float("inf")
    for _ in range(runs):
        start = process_time()
        result = compute()
        best = min(best, process_time() - start)
    return best, result


def busy_days(days: int) -> tuple[Floats, Floats]:
    """
    Generate demand by the minute: working days, quiet nights, a nightly load job, noise; seeded.

    Returns operations per second and bytes per operation.
    """
    rng = np.random.default_rng(20190601)
    minute = np.arange(days * DAY_STEPS)
    hour = (minute % DAY_STEPS) / 60
    weekday = minute // DAY_STEPS % 7 < 5
    day = np.exp(-(((hour - 14) / 4) ** 2)) * np.where(weekday, 1.0, 0.4)
    job = (hour >= 1) & (hour < 1.75)
    ops = (700 + 5600 * day + 5000 * job) * rng.gamma(30, 1 / 30, minute.size)
    size_bytes = np.where(job, 56_000.0, 15_000.0) * rng.gamma(200, 1 / 200, minute.size)
    return ops, np.minimum(size_bytes, UNIT_BYTES)


def chain(scale: float) -> list[Stage]:
    """Return an r5.xlarge-like instance on a striped gp2-like volume, times `scale`."""
    return [
        Stage(
            name="instance throughput",
            counts="bytes",
            baseline=143.75e6 * scale,
            burst=593.75e6 * scale,
            capacity=450e6 * 1800 * scale,
        ),
        Stage(
            name="instance operations",
            counts="ops",
            baseline=6000 * scale,
            burst=18750 * scale,
            capacity=12750 * 1800 * scale,
        ),
        Stage(name="volume throughput", counts="bytes", baseline=1.05e9, burst=1.05e9),
        Stage(
            name="volume operations",
            counts="ops",
            baseline=1500 * scale,
            burst=max(3000.0, 1500 * scale),
            capacity=5.4e6,
            unit_bytes=UNIT_BYTES,
            stripes=4,
        ),
    ]


def per_step(chains: Sequence[Sequence[Stage]]) -> Floats:
    """Return the limits for bench/peers/replays.py: per step, all stripes, shape (candidates, 4, 4)."""
    return np.array(
        [
            [
                [
                    stage.baseline * MINUTE_S * stage.stripes,
                    stage.burst * MINUTE_S * stage.stripes,
                    stage.capacity * stage.stripes,
                    stage.balance_at_start * stage.stripes,
                ]
                for stage in stages
            ]
            for stages in chains
        ]
    )


def bench_replay(size: Size) -> tuple[float, float]:
    """Print the replays; return the worst step-candidates per second, and how many times numba's."""
    ops, size_bytes = busy_days(size.days)
    found = []
    for least, most, what in (
        (0.5, 3.0, "from half the right size to three times it"),
        (0.05, 0.1, "far too small, so that no step is calm"),
    ):
        chains = [chain(float(scale)) for scale in np.linspace(least, most, size.candidates)]
        compute = partial(candidates, ops, size_bytes, chains)
        seconds, trials = timed(compute, size.runs)
        ours = ops.size * len(chains) / seconds
        rows = [Row("plimsoll.kernel.replay_candidates", ours, "f64, also least balances")]
        rows += peers_of_replay(size, ops, size_bytes, chains, trials)
        one = partial(replay, ops, size_bytes, step_s=MINUTE_S, chain=chains[len(chains) // 2])
        seconds, _ = timed(one, size.runs)
        rows.append(Row("plimsoll.kernel.replay", ops.size / seconds, "exact, one chain"))
        print(f"\n{len(chains)} chains of 4 ceilings over {ops.size:,} minutes,\n{what}")
        show(rows, "step-candidates/s", ours)
        numba = next(row.per_s for row in rows if row.way == "numba")
        found.append((ours, ours / numba))
    return min(per_s for per_s, _ in found), min(ratio for _, ratio in found)


def candidates(ops: Floats, size_bytes: Floats, chains: Sequence[Sequence[Stage]]) -> Trials:
    return replay_candidates(ops, size_bytes, step_s=MINUTE_S, chains=chains)


def peers_of_replay(
    size: Size, ops: Floats, size_bytes: Floats, chains: Sequence[Sequence[Stage]], trials: Trials
) -> list[Row]:
    """Run the same law elsewhere; each result is compared with ours."""
    limits = per_step(chains)
    ops_asked, bytes_asked = ops * MINUTE_S, ops * size_bytes * MINUTE_S
    few = max(len(chains) // 8, 1)
    parts = [("numpy", numpy_law, size.numpy_steps, len(chains)), ("Python", python_law, size.python_steps, 4)]
    for name, law in numba_laws().items():
        law(bytes_asked[:9], ops_asked[:9], limits)  # compile before the clock starts
        parts.append((name, law, ops.size, few if name == "numba" else len(chains)))
    rows = []
    for name, law, steps, count in parts:
        some = np.linspace(0, len(chains) - 1, count).astype(int)
        asked = bytes_asked[:steps], ops_asked[:steps], limits[some]
        seconds, found = timed(lambda law=law, asked=asked: law(*asked), 2)
        if steps < ops.size:
            trials_here = candidates(ops[:steps], size_bytes[:steps], [chains[i] for i in some])
            expected = np.stack([trials_here.throttled_steps, trials_here.backlog_ops])
        else:
            expected = np.stack([trials.throttled_steps[some], trials.backlog_ops[some]])
        agree(name, expected.T, found)
        rows.append(Row(name, steps * count / seconds, f"{steps:,} steps × {count}, same results"))
    return sorted(rows, key=lambda row: -row.per_s)


def agree(name: str, expected: Floats, found: Floats) -> None:
    """Stop if a way computes something else: its speed would mean nothing."""
    # Throttled steps may differ by rounding if demand equals a ceiling exactly.
    steps_off = np.abs(expected[:, 0] - found[:, 0]).max()
    if steps_off > 1 or not np.allclose(expected[:, 1], found[:, 1], rtol=1e-6, atol=1e-3):
        sys.exit(f"{name} computes something else: up to {steps_off} throttled steps apart")


def show(rows: Sequence[Row], unit: str, ours: float) -> None:
    width = max(len(row.way) for row in rows)
    print(f"  {'':{width}}  {unit:>17}  {'ours is':>9}")
    for row in rows:
        print(f"  {row.way:{width}}  {row.per_s:17,.0f}  {ours / row.per_s:8.1f}×  {row.note}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
