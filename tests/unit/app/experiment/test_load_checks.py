"""The checks of a load: right answers pass, wrong and missing ones do not."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import START_S
from experiments import FIGURES
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.plan import plan_snapshot
from plimsoll.model.metric import Metric
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.snapshot import Snapshot
from plimsoll_lab.experiments.claims_pipeline.story import BEFORE
from plimsoll_lab.judges import load_checks

BASELINE = 86.875e6


def load(first: int, last: int) -> Snapshot:
    """An hour, of which the minutes between both are at the baseline of db.t3.xlarge."""
    rng = np.random.default_rng(3)
    demand = np.full(60, 20e6) * builders.wander(rng, 60, 0.15)
    demand[first:last] = 3 * BASELINE
    served = builders.held_at(demand, BASELINE, rng=rng, size_bytes=45_000, waiting=16)
    served[Metric.BYTE_BALANCE_RATIO] = np.where(demand > BASELINE, 0.0, 0.2)
    return builders.snapshot(served, instance=BEFORE, start_s=START_S)


SLOW, QUIET = load(10, 50), load(0, 0)


def test_the_volume_is_cleared_with_a_reason():
    """Without a limit there is nothing to clear it of."""
    slow, quiet = (load_checks.not_volume_check(diagnose_snapshot(one)) for one in (SLOW, QUIET))

    assert (True, False) == (slow.is_right, quiet.is_right)
    assert slow.found.startswith("volume ")


@pytest.mark.parametrize(("snapshot", "is_right"), [(SLOW, True), (QUIET, False)])
def test_credits_are_gone_when_the_metric_says_so(snapshot: Snapshot, is_right: bool):
    """And not if it is missing."""
    series = dict(snapshot.series)
    del series[Metric.BYTE_BALANCE_RATIO]

    assert is_right is load_checks.empty_credits_check(snapshot).is_right
    assert not load_checks.empty_credits_check(replace(snapshot, series=series)).is_right


def test_a_class_is_named_with_its_price():
    """In the plan of all classes, or in that of the class alone; otherwise it is wrong."""
    diagnosis = diagnose_snapshot(SLOW)
    narrow = PlanConstraints(allow=("db.m6g.xlarge",), keep_storage=True)
    plan = plan_snapshot(diagnosis, SLOW, narrow)
    named = load_checks.class_check(None, plan, db_class="db.m6g.xlarge")
    other = load_checks.class_check(plan, None, db_class="db.r5.xlarge")

    assert named.is_right
    assert "+0.67 USD a day" in named.found
    assert not other.is_right
    assert not load_checks.class_check(None, None, db_class="db.m6g.xlarge").is_right


@pytest.mark.parametrize(("least", "is_right"), [(0.2, True), (0.19, True), (0.15, False), (0.0, False), (None, False)])
def test_the_reserve_is_kept(least: float | None, is_right: bool):
    figures = replace(FIGURES, byte_balance_min=least)

    assert is_right is load_checks.reserve_check(figures, reserve=0.2).is_right


def test_queries_are_compared_with_those_during_the_load():
    """Quicker is right; slower, or without the other phase, is not."""
    slow, quick = (replace(FIGURES, response_s_p95=one) for one in (2.0, 0.1))
    found = [
        load_checks.foreground_check(None, unpaced, paced).is_right
        for unpaced, paced in ((slow, quick), (quick, slow), (None, quick))
    ]

    assert [True, False, False] == found
