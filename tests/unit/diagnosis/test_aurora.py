"""Aurora is judged by what bounds it; what its metrics do not mean is not read into them."""

import numpy as np
import pytest

import builders
from builders import HOUR
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric

AURORA = Instance(
    identifier="ledger", db_class="db.r5.large", engine="aurora-postgresql", storage=Storage(kind="aurora")
)
STORAGE = {
    Family.INSTANCE_EBS_THROUGHPUT,
    Family.INSTANCE_EBS_IOPS,
    Family.VOLUME_THROUGHPUT,
    Family.VOLUME_IOPS,
    Family.STORAGE_SPACE,
}


def of(*more, level=60e6, held=True) -> Diagnosis:
    rng = np.random.default_rng(8)
    demand = 15e6 * builders.wander(rng, 8 * HOUR, 0.3)
    if held:
        demand[2 * HOUR : 5 * HOUR] = 3 * level
    size = 8192 * builders.wander(rng, demand.size, 0.0002)
    values = builders.held_at(demand, level, rng=rng, size_bytes=size)
    return diagnose(builders.snapshot(values, *more, instance=AURORA), catalog())


def test_a_level_on_aurora_is_of_throughput_and_of_no_documented_limit():
    """Its operations are log records: with a steady size they stand still too, and mean nothing."""
    found = of()

    assert found.intervals
    assert {Dimension.THROUGHPUT} == {i.dimension for i in found.intervals}
    assert {Family.UNKNOWN} == {i.family for i in found.intervals}
    assert {None} == {i.io_size_bytes for i in found.intervals}
    assert "cluster volume" in found.findings[0].text
    assert not any("top and start" in move for f in found.findings for move in f.moves)


def test_no_storage_limit_is_invented():
    assert not STORAGE & {c.family for c in of().ceilings}
    assert not STORAGE & {r.family for r in of().resources}
    assert "storage type and size" not in {m.name for m in of().missing}


def test_a_balance_of_the_local_disk_says_nothing_of_the_data():
    """CloudWatch lists EBSByteBalance% for Aurora; no bucket is learned from it and no proof made of it."""
    balance = np.full(8 * HOUR, 1.0)
    balance[2 * HOUR : 5 * HOUR] = np.linspace(1.0, 0.0, 3 * HOUR)
    found = of({Metric.BYTE_BALANCE_RATIO: balance})

    assert () == found.buckets
    assert () == found.forecasts
    assert "balance" not in {e.kind for i in found.intervals for e in i.evidence}


@pytest.mark.parametrize(("used", "verdict"), [(0.5, Verdict.SLACK), (0.97, Verdict.NEAR)])
def test_cpu_and_connections_are_still_judged(used, verdict):
    """What bounds any instance bounds this one."""
    cpu = np.full(8 * HOUR, used)
    limit = next(c for c in of().ceilings if c.family == Family.CONNECTIONS)
    found = of({Metric.CPU_RATIO: cpu, Metric.CONNECTION_COUNT: np.full(8 * HOUR, used * limit.value)}, held=False)
    verdicts = {r.family: r.verdict for r in found.resources}

    assert verdict == verdicts[Family.CPU]
    assert verdict == verdicts[Family.CONNECTIONS]
