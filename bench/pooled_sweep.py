"""
Measure throughput over pool size, and compare the size that `pool-size` computes with the best of the sweep.

Each configuration has its own number of services and instances, and its own think times: within a transaction, where it keeps
its connection, and between two. The number of services is also the mix of statements: 1 has orders only, 2 also packing,
4 also mostly reading and stocktaking. More business transactions arrive than are done. The pools are set to several
sizes, and the useful queries per second are counted. A curve is fitted to these points as `pool-size --point` does it, and
the size for it is computed. Then the best of the sweep and the computed size are measured again, in turns, because the
highest of several numbers is partly luck. The computed size is good if it gives at least 90 % of the other. All orders are
simulated.

    python bench/pooled_sweep.py [--system DIR] [--seconds 5] [--configurations 10] [--json FILE]
"""

import argparse
import json
import secrets
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from plimsoll.model.pool_size import LoadPoint
from plimsoll.pools.concurrency import fit_curve
from plimsoll_lab.experiments.pooled_cluster.database import DATABASE, ROLE, create_database
from plimsoll_lab.experiments.pooled_cluster.ground import BuiltPgpool
from plimsoll_lab.experiments.pooled_cluster.play import sized_fleet
from plimsoll_lab.experiments.pooled_cluster.system import Fleet, PooledSystem, RunningServices
from plimsoll_lab.judges.pooled.cluster import default_system, sizing_of
from plimsoll_lab.servers.postgres import Postgres

# Services, instances of each, mean milliseconds for which a transaction stays open after its last statement, and mean
# milliseconds between two transactions.
CONFIGURATIONS = (
    (1, 1, 0, 0),
    (4, 2, 20, 0),
    (2, 2, 0, 10),
    (1, 4, 10, 0),
    (4, 1, 0, 0),
    (1, 1, 10, 20),
    (4, 2, 0, 5),
    (2, 4, 20, 0),
    (1, 2, 0, 0),
    (2, 2, 10, 10),
)
SESSIONS = (1, 2, 4, 8, 16, 32, 64)
CHILDREN = 150
RATE = 400.0
GOOD = 0.9
# A pool opens or closes its connections after a change.
SETTLE_S = 2.0
WARM_S = 4.0


def measured(services: RunningServices, pool: int, seconds: float) -> float:
    """Return the useful queries per second with pools of a size."""
    services.order(pool=pool, min_idle=pool)
    time.sleep(SETTLE_S)
    first, began = services.counts, time.monotonic()
    time.sleep(seconds)
    services.check()
    last = services.counts
    return (last.queries_useful - first.queries_useful) / (time.monotonic() - began)


def swept(system: PooledSystem, port: int, password: str, shape: tuple[int, int, int, int], seconds: float):
    """Return the sweep of one configuration, and what was computed from it."""
    count, instances, hold_ms, think_ms = shape
    pools = sorted({max(round(n / count / instances), 1) for n in SESSIONS})
    fleet = Fleet(
        services=count,
        instances=instances,
        pool=pools[-1],
        settings={"min_idle": 1, "hold_ms": hold_ms, "think_ms": think_ms, "queue": 3, "retry": "none"},
    )
    services = system.start(fleet, port, password)
    try:
        services.order(rate=RATE)
        time.sleep(WARM_S)
        rates = {pool: measured(services, pool, seconds) for pool in pools}
        points = [LoadPoint(busy=fleet.pool_count * p, per_s=r) for p, r in rates.items() if r > 0]
        sizing = sizing_of(fleet, fit_curve(points), connection_max=CHILDREN)
        computed = sized_fleet(fleet, sizing).pool
        best = max(rates, key=lambda pool: rates[pool])
        again = compared(services, computed, best, seconds)
    finally:
        services.end()
    return {
        "services": count,
        "instances": instances,
        "hold_ms": hold_ms,
        "think_ms": think_ms,
        "rates_per_s": rates,
        "basis": str(sizing.basis),
        "target": sizing.target,
        "computed": computed,
        "computed_per_s": again[0],
        "best": best,
        "best_per_s": again[1],
        "ratio": again[0] / again[1],
    }


def compared(services: RunningServices, computed: int, best: int, seconds: float) -> tuple[float, float]:
    """Return the useful queries per second of two sizes, measured in turns: a b b a."""
    if computed == best:
        rate = measured(services, best, seconds)
        return rate, rate
    found: dict[int, list[float]] = {computed: [], best: []}
    for pool in (computed, best, best, computed):
        found[pool].append(measured(services, pool, seconds))
    return sum(found[computed]) / 2, sum(found[best]) / 2


def run(given: argparse.Namespace) -> list[dict]:
    """Return all configurations."""
    found, password = [], secrets.token_urlsafe(18)
    print(HEADER, flush=True)
    with ExitStack() as stack:
        system = stack.enter_context(PooledSystem(given.system))
        if system.needs_set_up:
            system.set_up()
        server = stack.enter_context(Postgres({"max_connections": str(CHILDREN + 20)}))
        create_database(server.dsn, password)
        system.fill(server.port, password, customers=20_000, products=5_000, orders=50_000)
        settings = {"num_init_children": str(CHILDREN), "max_pool": "1"}
        pooler = BuiltPgpool([server.port], user=ROLE, password=password, database=DATABASE, settings=settings)
        stack.enter_context(pooler)
        for shape in CONFIGURATIONS[: given.configurations]:
            one = swept(system, pooler.port, password, shape, given.seconds)
            found.append(one)
            print(line_of(one), flush=True)
    return found


HEADER = (
    f"{'services':>8} {'instances':>9} {'open':>7} {'think':>7}  {'best':>5} {'computed':>8} {'sessions':>8}  "
    f"{'best/s':>7} {'computed/s':>10} {'ratio':>6}  useful queries/s by pool"
)


def line_of(one: dict) -> str:
    """Return a configuration as a line of the table."""
    rates = " ".join(f"{pool}:{rate:,.0f}" for pool, rate in one["rates_per_s"].items())
    return (
        f"{one['services']:>8} {one['instances']:>9} {one['hold_ms']:>4} ms {one['think_ms']:>4} ms  "
        f"{one['best']:>5} {one['computed']:>8} {one['target']:>8}  "
        f"{one['best_per_s']:>7,.0f} {one['computed_per_s']:>10,.0f} {one['ratio']:>6.0%}  {rates}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--system", type=Path, default=default_system())
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--configurations", type=int, default=len(CONFIGURATIONS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    results = run(given)
    good = sum(one["ratio"] >= GOOD for one in results)
    print(f"at least {GOOD:.0%} of the best in {good} of {len(results)} configurations")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1))
    sys.exit(0 if good >= 0.8 * len(results) else 1)
