"""Where no size of class or storage is the answer, the plan says so, offers nothing, and its status is the diagnosis'."""

import numpy as np
import pytest

import builders
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import asks_for_size, plan_snapshot
from plimsoll.cli.plan.run import status_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement, PlanConstraints
from plimsoll.units import gib

COUNT = 24 * 12
INSTANCE = Instance(
    identifier="orders",
    db_class="db.m5.large",
    engine="postgres",
    region="us-east-1",
    connection_max=500,
    storage=Storage(kind="gp3", size_gib=100),
)
MATTERS = {
    "a full disk": ({Metric.FREE_STORAGE_BYTES: 0.0}, "storage space was at its maximum", "Enlarge the storage", 1),
    "no connection": ({Metric.CONNECTION_COUNT: 500.0}, "connections was at its maximum", "Limit the pools", 1),
    "all vCPUs": ({Metric.CPU_RATIO: 1.0}, "CPU was at its maximum", "Find the statements", 1),
    "no throughput": ({}, "whether a limit was reached is not known", "no size can be recommended", 2),
}


@pytest.mark.parametrize("growth", [1.0, 2.0])
@pytest.mark.parametrize("matter", MATTERS)
def test_nothing_is_offered_where_no_size_lifts(matter: str, growth: float):
    """Neither a price, nor that no change is needed: the first step is the diagnosis', whatever the growth."""
    values, reason, step, status = MATTERS[matter]
    busy = np.arange(COUNT) >= COUNT // 2
    calm = builders.storage(4e6 * builders.wander(np.random.default_rng(1), COUNT, 0.2))
    if matter == "no throughput":
        del calm[Metric.READ_BYTES_PER_S]
    free = {Metric.FREE_STORAGE_BYTES: gib(50), Metric.CONNECTION_COUNT: 20.0, Metric.CPU_RATIO: 0.2}
    machine = {m: np.where(busy, values.get(m, usual), usual) for m, usual in free.items()}
    snapshot = builders.snapshot(calm, machine, instance=INSTANCE, step_s=300)
    diagnosis = diagnose_snapshot(snapshot)

    plan = plan_snapshot(diagnosis, snapshot, PlanConstraints(growth=growth, allow=("db.m5.*", "gp3")))

    assert reason in plan.headline
    assert step in plan.headline
    assert "no change is needed" not in plan.headline
    assert ((), (), None, ()) == (plan.options, plan.unpriced, plan.ladder, plan.curve)
    assert plan.present.judgement is (Judgement.DOES_NOT if status == 1 else Judgement.UNSURE)
    assert status == status_of(diagnosis, plan)
    assert not asks_for_size(diagnosis)
