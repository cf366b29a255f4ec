"""Classes that hold a rate only in bursts, against the load of the past."""

import numpy as np
import pytest

from plimsoll.catalog.load import catalog
from plimsoll.lint.infrastructure.check import check_databases
from plimsoll.model.infrastructure import DatabaseKind, DeclaredDatabase, DeclaredState
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot

DAY_S = 86_400


def history(values: dict[Metric, float], *, seconds: int = 2 * DAY_S, db_class: str = "db.m5.large") -> Snapshot:
    count = seconds // 300
    times = np.arange(count, dtype=np.int64) * 300
    series = {
        metric: Series(metric=metric, step_s=300, time_s=times, value=np.full(count, value))
        for metric, value in values.items()
    }
    instance = Instance(identifier="orders", db_class=db_class, engine="postgres")
    return Snapshot(instance=instance, series=series, source="a test", is_simulated=True)


def check(db_class: str, past: Snapshot) -> tuple[list[str], tuple[str, ...]]:
    after = DeclaredState(
        instance=Instance(
            db_class=db_class, engine="postgres", region="us-east-1", storage=Storage(kind="gp3", size_gib=500)
        ),
        monitoring_interval_s=10,
        has_insights=True,
    )
    database = DeclaredDatabase(kind=DatabaseKind.INSTANCE, address="db", file="f", after=after)
    found, notes = check_databases((database,), catalog(), {"db": past})
    return [f.code for f in found], notes


@pytest.mark.parametrize(("reads", "codes"), [(1500.0, []), (1799.0, []), (1801.0, ["SteadyLoadAboveBaseline"])])
def test_a_mean_above_the_baseline_cannot_be_held(reads: float, codes: list[str]):
    """db.m5.large holds 3,600 IOPS: reads and writes count together."""
    past = history({Metric.READ_OPS_PER_S: reads, Metric.WRITE_OPS_PER_S: 1800.0})

    assert codes == check("db.m5.large", past)[0]


def test_a_class_without_bursts_is_not_burst_only():
    """db.r5.12xlarge has no burst: its number is a limit, which a diagnosis judges."""
    past = history({Metric.READ_OPS_PER_S: 50_000.0, Metric.WRITE_OPS_PER_S: 1.0})

    assert [] == check("db.r5.12xlarge", past)[0]


def test_a_short_history_is_a_note():
    """Six hours say nothing of a steady load."""
    past = history({Metric.READ_OPS_PER_S: 9000.0, Metric.WRITE_OPS_PER_S: 1.0}, seconds=DAY_S // 4)
    codes, notes = check("db.m5.large", past)

    assert [] == codes
    assert any("24 h" in note for note in notes)


def test_missing_writes_leave_the_load_open():
    """Reads alone are no total."""
    assert [] == check("db.m5.large", history({Metric.READ_OPS_PER_S: 9000.0}))[0]


def test_cpu_is_counted_in_vcpus():
    """30 % of the two vCPUs of db.m5.large are 0.6; db.t3.large earns for 0.6, and db.t3.medium for 0.4."""
    past = history({Metric.CPU_RATIO: 0.29})

    assert [] == check("db.t3.large", past)[0]
    assert ["SteadyCPUAboveBaseline"] == check("db.t3.medium", past)[0]
