"""Arrangements, demands and price books that the tests of the plan's search talk about."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from builders import snapshot
from plimsoll.catalog.load import catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import PlanConstraints
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.market.candidates import Arrangements, arrangements
from plimsoll.plan.market.needs import ResourceNeeds, needs_of

GIB = 1024.0**3
DAY_MINUTES = 1440


def claims(**fields: Any) -> Instance:
    """The claims pipeline: db.t3.xlarge on 1,200 GiB of gp2."""
    known = {
        "identifier": "claims",
        "db_class": "db.t3.xlarge",
        "engine": "postgres",
        "engine_version": "14.6",
        "region": "us-east-1",
        "multi_az": False,
        "storage": Storage(kind="gp2", size_gib=1200.0),
    }
    return Instance(**(known | fields))


def needs(instance: Instance, *, growth: float = 1.0, **measured: ArrayLike) -> ResourceNeeds:
    """The needs of a day in which some metrics were measured; a number is the same every minute."""
    series = {
        Metric(name): np.broadcast_to(np.asarray(value, dtype=np.float64), (DAY_MINUTES,))
        for name, value in measured.items()
    }
    return needs_of(snapshot(series, instance=instance), catalog(), growth=growth)


def calm(instance: Instance, *, cpu_ratio: float = 0.02) -> ResourceNeeds:
    """The needs of a machine with next to nothing to do, but for what is said of its CPU."""
    return needs(
        instance,
        cpu_ratio=cpu_ratio,
        freeable_memory_bytes=2 * GIB,
        connection_count=5.0,
        network_receive_bytes_per_s=1e5,
        network_transmit_bytes_per_s=1e5,
    )


def offered(instance: Instance, found: ResourceNeeds | None = None, **constraints: Any) -> Arrangements:
    return arrangements(instance, catalog(), found or calm(instance), PlanConstraints(**constraints))


def classes(found: Arrangements) -> set[str]:
    return {limits.db_class for limits in found.classes if limits is not None}


def asked(ops_per_s: ArrayLike, io_size_bytes: float = 16 * 1024, *, carried: bool = True) -> StepDemand:
    """A demand by the minute, all of it measured."""
    ops = np.asarray(ops_per_s, dtype=np.float64)
    return StepDemand(
        ops_per_s=ops,
        io_size_bytes=np.full(ops.shape, io_size_bytes),
        step_s=60.0,
        is_carried=carried,
        is_measured=np.ones(ops.shape, dtype=np.bool_),
    )
