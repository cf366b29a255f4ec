"""
Measure the error of the recommended number of sessions, on simulated curves with known truth.

Each case draws a curve, measures it three times with 5 % noise at levels up to a share of the true N95,
and fits. Printed: error of N95, throughput at the answer divided by the true maximum, and how often the
answer was marked as extrapolated.

    python bench/pool_size.py [--cases 120] [--pgbench]

With `--pgbench` a real server is measured as well, at 1 to 64 clients, two seconds each; that needs an
idle machine.
"""

import argparse
import math
import sys

import numpy as np

from plimsoll.model.pool_size import LoadPoint
from plimsoll.pools.concurrency import fit_curve, throughput

NOISE = 0.05
SHARES = (0.25, 0.8, 1.2, 2.0)


def law(busy: float, contention: float, coherence: float) -> float:
    return busy / (1 + contention * (busy - 1) + coherence * busy * (busy - 1))


def queueing(busy: float, processors: float, slow: float) -> float:
    """
    Return the rate of a closed system of `processors`, whose work slows by `slow` with each session more.
    """
    smooth = (busy**-4.0 + processors**-4.0) ** -0.25
    return smooth / (1 + slow * max(busy - processors, 0))


def levels(most: float) -> list[int]:
    """Return usual numbers of sessions to try, up to `most`."""
    found = {max(round(most * share), 1) for share in (0.1, 0.2, 0.35, 0.5, 0.75, 1.0)}
    return sorted(found | {1})


def cases(kind: str, count: int, rng: np.random.Generator):
    for _ in range(count):
        if kind == "law":
            a, b = 10 ** rng.uniform(-2.3, -0.7), 10 ** rng.uniform(-5, -2.7)
            yield lambda n, a=a, b=b: law(n, a, b)
        else:
            a, b = rng.uniform(2, 64), 10 ** rng.uniform(-3.5, -2)
            yield lambda n, a=a, b=b: queueing(n, a, b)


def simulate(count: int) -> bool:
    good = True
    for kind in ("law", "queueing"):
        print(f"\ntruth: {kind}")
        print("seen up to   N95 error med/p90   X(answer)/X max med/p10   extrapolated   no fit")
        for share in SHARES:
            rng = np.random.default_rng(7)
            errors, got, called, none = [], [], 0, 0
            for truth in cases(kind, count, rng):
                rates = np.array([truth(n) for n in range(1, 3000)])
                n95 = int(np.argmax(rates >= 0.95 * rates.max())) + 1
                points = [
                    LoadPoint(busy=n, per_s=1000 * truth(n) * math.exp(rng.normal(0, NOISE)))
                    for n in levels(share * n95)
                    for _ in range(3)
                ]
                curve = fit_curve(points)
                if curve is None:
                    none += 1
                    continue
                errors.append(abs(curve.n95 / n95 - 1))
                got.append(truth(curve.n95) / rates.max())
                called += curve.is_extrapolated
            print(
                f"{share:>4} × N95   {np.median(errors):>6.0%} / {np.quantile(errors, 0.9):>4.0%}"
                f"          {np.median(got):>5.2f} / {np.quantile(got, 0.1):.2f}"
                f"             {called / count:>6.0%}        {none / count:>6.0%}"
            )
            # The promise: if seen whole, at least 90 % of the maximum in nine of ten cases.
            if share >= 2 and np.quantile(got, 0.1) < 0.9:
                good = False
    return good


def measure() -> None:
    from plimsoll_lab.servers.postgres import Postgres

    points = []
    with Postgres({"fsync": "off", "max_connections": "100"}) as server:
        server.run("pgbench", "-i", "-q", "-s", "5")
        for clients in (1, 2, 4, 8, 16, 32, 64):
            output = server.run("pgbench", "-n", "-S", "-c", str(clients), "-j", "2", "-T", "2")
            line = next(x for x in output.splitlines() if x.startswith("tps = "))
            points.append(LoadPoint(busy=clients, per_s=float(line.split()[2])))
            print(f"{clients:>4} clients {points[-1].per_s:>10,.0f} transactions/s")
    curve = fit_curve(points)
    assert curve is not None
    best = max(point.per_s for point in points)
    print(
        f"N95 = {curve.n95}, there {throughput(curve, curve.n95) / best:.0%} of the best seen"
        + (" (extrapolated)" if curve.is_extrapolated else "")
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--pgbench", action="store_true")
    given = parser.parse_args()
    is_good = simulate(given.cases)
    if given.pgbench:
        measure()
    sys.exit(0 if is_good else 1)
