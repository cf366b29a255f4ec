"""What is measured in a phase: sessions at the server, counts of the services, load of the machine."""

import os
from collections.abc import Sequence

from plimsoll.pools.concurrency import mean_duration_s
from plimsoll_lab.experiments.pooled_cluster.database import States
from plimsoll_lab.experiments.pooled_cluster.processors import WORK, work_of
from plimsoll_lab.experiments.pooled_cluster.system import ServiceCounts
from plimsoll_lab.model.pooled import PooledFigures, PooledSample

TOO_MANY = "too_many_clients"
"""The services' word for a connection that was refused because the pooler or the server was full."""


def sample_of(time_s: float, states: States, now: ServiceCounts, before: ServiceCounts, seconds: float) -> PooledSample:
    """
    Return one sample.

    Args:
        time_s: since the experiment began.
        states: sessions at the server.
        now: counts of the services.
        before: earlier ones, `seconds` ago.
        seconds: > 0.
    """
    active, idle, in_transaction, aborted = states
    return PooledSample(
        time_s=time_s,
        active=active,
        idle=idle,
        in_transaction=in_transaction,
        aborted=aborted,
        arrivals_per_s=(now.arrivals - before.arrivals) / seconds,
        done_per_s=(now.done - before.done) / seconds,
        queries_per_s=(now.queries - before.queries) / seconds,
        load_average=os.getloadavg()[0],
    )


def figures_of(
    samples: Sequence[PooledSample],
    first: ServiceCounts,
    last: ServiceCounts,
    pooled_mean: float,
    seconds: float,
    processors: dict[str, float],
) -> PooledFigures:
    """
    Return the figures of a phase.

    Args:
        samples: at least one.
        first: counts of the services at its beginning.
        last: those at its end.
        pooled_mean: mean number of connections in the pools.
        seconds: length of the phase, > 0.
        processors: share of all processors that each program took.
    """
    latency = last.latency.since(first.latency)
    opened = last.connections_opened - first.connections_opened
    return PooledFigures(
        seconds=seconds,
        connections_max=max(one.connections for one in samples),
        connections_end=samples[-1].connections,
        active_max=max(one.active for one in samples),
        idle_max=max(one.idle for one in samples),
        in_transaction_max=max(one.in_transaction for one in samples),
        aborted_max=max(one.aborted for one in samples),
        arrivals_per_s=(last.arrivals - first.arrivals) / seconds,
        done_per_s=(last.done - first.done) / seconds,
        queries_per_s=(last.queries - first.queries) / seconds,
        useful_per_s=(last.queries_useful - first.queries_useful) / seconds,
        latency_s_p50=latency.quantile_s(0.5),
        latency_s_p95=latency.quantile_s(0.95),
        opened=opened,
        closed=last.connections_closed - first.connections_closed,
        refused=grown(last.connections_failed, first.connections_failed).get(TOO_MANY, 0),
        held_s=held_s(pooled_mean, opened, seconds),
        given_up=grown(last.failed, first.failed),
        retries=last.retries - first.retries,
        load_average_max=max(one.load_average for one in samples),
        processors=processors,
    )


def held_s(pooled_mean: float, opened: int, seconds: float) -> float | None:
    """Return the mean time that a connection stays open; None if none was opened, or longer than was watched."""
    if opened <= 0:
        return None
    found = mean_duration_s(pooled_mean, opened / seconds)
    # Little's law needs a steady state, which a time shorter than a connection's does not show.
    return found if found <= seconds else None


def carried_per_s(figures: PooledFigures) -> float | None:
    """
    Return how many business transactions per second this machine carries, by what one costs; None if none was done.

    By the utilisation law, throughput grows in proportion to the processors that work for it, until all do. What other
    programs, the observer and the cluster itself take is not there for it.
    """
    work = work_of(figures.processors)
    if work <= 0 or figures.done_per_s <= 0:
        return None
    left = 1 - sum(share for kind, share in figures.processors.items() if kind not in WORK)
    return figures.done_per_s * max(left, 0.0) / work


def grown(last: dict[str, int], first: dict[str, int]) -> dict[str, int]:
    """Return by how much each count has grown; only those that have."""
    found = {name: count - first.get(name, 0) for name, count in last.items()}
    return {name: count for name, count in found.items() if count > 0}
