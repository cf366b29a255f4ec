"""The checks of an experiment: right answers pass, wrong and missing ones do not."""

import numpy as np
import pytest
from msgspec.structs import replace

import builders
from builders import START_S
from plimsoll.app.compare import compare_snapshots
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Snapshot
from plimsoll_lab.judges import checks
from plimsoll_lab.model.lab import GroundTruth

LEGACY = 212.5e6
R5 = Instance(
    identifier="search-service",
    db_class="db.r5.2xlarge",
    engine="postgres",
    storage=Storage(kind="io1", size_gib=3000.0, provisioned_ops_per_s=30_000.0),
    launched_s=1_559_347_200,
)
TRUTH = GroundTruth(clock=60.0, recorded_s=40.0, held=(), wrong=(), is_void=False, kept_up="It kept up.")


def phase(*minutes: tuple[int, int], start_s: int = START_S, instance: Instance = R5) -> Snapshot:
    """Forty minutes, of which those between each pair are at the legacy baseline."""
    rng = np.random.default_rng(3)
    demand = np.full(40, 60e6) * builders.wander(rng, 40, 0.15)
    for first, last in minutes:
        demand[first:last] = 3 * LEGACY
    served = builders.held_at(demand, LEGACY, rng=rng, size_bytes=25_000, waiting=16)
    # A baseline binds only without credits.
    served[Metric.BYTE_BALANCE_RATIO] = np.where(demand > LEGACY, 0.0, 0.2)
    return builders.snapshot(served, instance=instance, start_s=start_s)


def diagnosed(*minutes: tuple[int, int]) -> Diagnosis:
    return diagnose_snapshot(phase(*minutes))


@pytest.mark.parametrize(
    ("minutes", "binds", "is_right"),
    [
        (((10, 30),), "legacy baseline", True),
        (((10, 30),), "baseline", False),
        ((), "legacy baseline", False),
        ((), "none", True),
        ((), "not the baseline", True),
        ((), "as recorded", True),
    ],
    ids=["named", "another phase of it", "not named", "none to name", "credits last", "recorded"],
)
def test_the_limit_is_the_one_that_bound(minutes, binds: str, is_right: bool):
    """The number and its phase are named, or nothing where nothing bound."""
    check = checks.binding_check(diagnosed(*minutes), TRUTH, binds=binds, limit=LEGACY)

    assert is_right is check.is_right, check.found


def test_relief_is_between_two_times_at_the_limit():
    """Two times at the limit with none between are a relief; one time is none."""
    window_s = (START_S, START_S + 40 * 60)
    twice = checks.relief_check(diagnosed((0, 14), (26, 40)), window_s, (14, 26))
    once = checks.relief_check(diagnosed((0, 40)), window_s, (14, 26))

    assert (True, False) == (twice.is_right, once.is_right)


def test_a_step_is_judged_by_what_it_lifted():
    """Less time at the same limit is not enough; no time at a limit is, at whatever hour."""
    before = phase((8, 38))
    shorter = phase((8, 24), start_s=START_S + 7200)
    free = phase(start_s=START_S + 7200, instance=replace(R5, db_class="db.r5.4xlarge"))
    to_shorter, to_free = (compare_snapshots(before, after) for after in (shorter, free))
    found = [
        checks.comparison_check(compared, was_enough=was_enough).is_right
        for compared in (to_shorter, to_free)
        for was_enough in (False, True)
    ]

    assert [True, False, False, True] == found


def test_what_is_missing_is_wrong():
    """Without an inspection, a plan, a comparison or plans nothing is right."""
    found = [
        checks.cause_check(None, rewrites=True),
        checks.cause_check(None, rewrites=False),
        checks.plan_check(None, names=()),
        checks.comparison_check(None, was_enough=True),
        checks.plans_check(None, None),
    ]

    assert not any(check.is_right for check in found)
