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


READS, WRITES, CPU = Metric.READ_OPS_PER_S, Metric.WRITE_OPS_PER_S, Metric.CPU_RATIO


@pytest.mark.parametrize(
    ("db_class", "past", "codes"),
    [
        # db.m5.large holds 3,600 IOPS: reads and writes count together.
        ("db.m5.large", {READS: 1500.0, WRITES: 1800.0}, []),
        ("db.m5.large", {READS: 1799.0, WRITES: 1800.0}, []),
        ("db.m5.large", {READS: 1801.0, WRITES: 1800.0}, ["SteadyLoadAboveBaseline"]),
        # Reads alone are no total.
        ("db.m5.large", {READS: 9000.0}, []),
        # db.r5.12xlarge has no burst: its number is a limit, which a diagnosis judges.
        ("db.r5.12xlarge", {READS: 50_000.0, WRITES: 1.0}, []),
        # 29 % of the two vCPUs of db.m5.large are 0.58; db.t3.large earns for 0.6, and db.t3.medium for 0.4.
        ("db.t3.large", {CPU: 0.29}, []),
        ("db.t3.medium", {CPU: 0.29}, ["SteadyCPUAboveBaseline"]),
    ],
)
def test_a_mean_above_the_baseline_cannot_be_held(db_class: str, past: dict[Metric, float], codes: list[str]):
    assert codes == check(db_class, history(past))[0]


def test_a_short_history_is_a_note():
    """Six hours say nothing of a steady load."""
    codes, notes = check("db.m5.large", history({READS: 9000.0, WRITES: 1.0}, seconds=DAY_S // 4))

    assert [] == codes
    assert any("24 h" in note for note in notes)
