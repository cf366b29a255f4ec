"""A row of a fleet is that of the whole diagnosis and the whole plan, whatever is left out or kept from others."""

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import fleet_data
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.lake.verdict import options_of, plan_of, row_diagnosis
from plimsoll.diagnosis.overview import overview_row
from plimsoll.errors import PlimsollError
from plimsoll.fleet.verdict import _diagnosed, _planned
from plimsoll.model.instance import Storage
from plimsoll.model.metric import METRICS, Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.judge import roles, vectors
from plimsoll.plan.market import candidates, needs, priced, storages

LAWFUL = settings(max_examples=60, deadline=None, derandomize=True)
SLOW = settings(max_examples=12, deadline=None, derandomize=True)
NAMES = {facts.cloudwatch: metric for metric, facts in METRICS.items() if facts.cloudwatch}
KEPT: tuple[Callable[..., object], ...] = (
    *(candidates._grid, candidates.orderable_classes, storages.storages_of, needs._connections_of),
    *(vectors._limit_table, vectors._vectors, vectors._chain_of, priced._priced, priced._storage_costs),
    *(priced._hours_usd, roles._roles_of, roles._preferred, roles._queues_of),
)
"""What a plan keeps for others."""


def simulated(
    index: int, days: int, *, without: tuple[Metric, ...] = (), factor: float = 1.0, step_s: int = 60
) -> Snapshot:
    """Return an instance of the simulated fleet, with other rates, coarser samples or missing metrics."""
    every = step_s // 60
    time_s = fleet_data.START_S + 60 * np.arange(1440 * days)[::every]
    found = {}
    for name, unit in fleet_data.METRICS:
        value = fleet_data.series(index, 1440 * days)[name][::every]
        if unit == "Percent":
            value = value / 100
        if "Throughput" in name or "IOPS" in name:
            value = value * factor
        if NAMES[name] not in without:
            found[NAMES[name]] = Series(metric=NAMES[name], step_s=step_s, time_s=time_s, value=value)
    instance = fleet_data.instance_of(index)
    return Snapshot(instance=instance, series=found, source="lake", is_simulated=True)


@st.composite
def snapshots(draw: st.DrawFn, days: int = 1) -> Snapshot:
    """Simulated instances of all kinds: near misses by the factor, gaps by metrics that are missing."""
    optional = (
        *(Metric.READ_LATENCY_S, Metric.WRITE_LATENCY_S, Metric.QUEUE_DEPTH, Metric.CPU_RATIO),
        *(Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.FREE_STORAGE_BYTES),
        *(Metric.READ_OPS_PER_S, Metric.FREEABLE_MEMORY_BYTES, Metric.CONNECTION_COUNT),
    )
    missing = draw(st.sets(st.sampled_from(optional), max_size=2))
    found = simulated(
        draw(st.integers(0, 400)),
        days,
        without=tuple(missing),
        factor=draw(st.sampled_from([0.05, 0.8, 0.97, 1.0, 1.03, 1.3])),
        step_s=draw(st.sampled_from([60, 60, 300])),
    )
    size_gib = draw(st.sampled_from([100.0, 399.0, 1000.0]))
    kept = found.instance.storage
    storage = draw(st.sampled_from([kept, kept, Storage(kind="gp2", size_gib=size_gib)]))
    return replace(found, instance=replace(found.instance, storage=storage))


@LAWFUL
@given(snapshots())
def test_a_row_is_that_of_the_whole_diagnosis(snapshot: Snapshot):
    """What the diagnosis of a row leaves out is in no column."""
    whole, brief = diagnose_snapshot(snapshot), row_diagnosis(snapshot)

    assert _diagnosed(overview_row(whole), whole) == _diagnosed(overview_row(brief), brief)


@SLOW
@given(snapshots())
def test_a_row_is_that_of_the_whole_plan(snapshot: Snapshot):
    """What the options of a row leave out is in no column."""
    diagnosis = diagnose_snapshot(snapshot)
    try:
        whole = _planned(plan_of(diagnosis, snapshot))
    except PlimsollError:
        return

    assert whole == _planned(options_of(diagnosis, snapshot))


@SLOW
@given(st.lists(snapshots(), min_size=2, max_size=3))
def test_what_is_kept_from_other_instances_changes_no_option(fleet: list[Snapshot]):
    """Plans of a fleet are those of its instances one by one, with nothing kept between them."""

    def planned(snapshot: Snapshot) -> object:
        try:
            return options_of(diagnose_snapshot(snapshot), snapshot)
        except PlimsollError as error:
            return error.message

    together = [planned(snapshot) for snapshot in fleet]
    apart = []
    for snapshot in fleet:
        for function in KEPT:
            function.cache_clear()  # type: ignore[attr-defined]
        apart.append(planned(snapshot))

    assert apart == together
