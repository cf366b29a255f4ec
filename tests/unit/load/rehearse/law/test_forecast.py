"""A load is replayed by the law: credits, then the baseline, and never faster than the load itself."""

from dataclasses import replace
from math import inf

import pytest

from paced import T3
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.rehearse.law.cost import Case
from plimsoll.load.rehearse.law.forecast import forecast
from plimsoll.model.pace import PaceBasis
from rehearsals import BUCKET, FIXED, GB, MB, SAMPLE, SERVER, around

QUICK = replace(SAMPLE, rates_bytes_per_s=(10 * GB,), table_bytes=0.0)
"""Nothing but 1.8 bytes of WAL for each byte of input."""


def run(circumstances, *, sample=QUICK, size=100 * GB, case=Case.LIKELY):
    return forecast(sample, SERVER, circumstances, input_bytes=size, case=case)


def test_a_fixed_rate_gives_work_over_rate():
    found = run(around(FIXED))

    assert found.seconds == pytest.approx(1800, rel=0.002)
    assert (None, "volume_throughput") == (found.credits_end_s, found.binding)
    assert found.end_per_s == pytest.approx(100 * MB, rel=0.001)


def test_credits_end_and_then_the_baseline_decides():
    """150 GB of credits drain at 150 MB/s: 1,000 s at 200 MB/s, and what is left then goes at 50."""
    found = run(around(BUCKET), size=200 * GB)

    assert found.credits_end_s == pytest.approx(1000, rel=0.01)
    assert found.seconds == pytest.approx(1000 + (360 - 200) * GB / (50 * MB), rel=0.002)
    assert found.end_per_s == pytest.approx(50 * MB, rel=0.001)


def test_the_reserve_stays_and_others_come_first():
    whole = run(around(BUCKET, reserve_ratio=0.2), size=200 * GB)
    beside = run(around(BUCKET, others_bytes_per_s=20 * MB), size=200 * GB)

    assert whole.credits_end_s == pytest.approx(800, rel=0.01)
    assert beside.end_per_s == pytest.approx(30 * MB, rel=0.001)
    assert beside.credits_end_s == pytest.approx(1000, rel=0.01)


def test_the_load_itself_can_decide():
    """And where others take all, it does not end."""
    found = run(around(FIXED), sample=replace(QUICK, rates_bytes_per_s=(5 * MB,)), size=GB)

    assert "load" == found.binding
    assert found.seconds == pytest.approx(200, rel=0.01)
    assert found.end_per_s == pytest.approx(5 * MB, rel=0.01)
    assert inf == run(around(FIXED, others_bytes_per_s=200 * MB)).seconds


@pytest.mark.parametrize("case", Case)
def test_credits_that_are_not_known_are_not_spent(case):
    """As the pace grants them: the baseline alone, whatever is not known of the rest."""
    found = run(around(BUCKET, balance=None), case=case)

    assert found.seconds == pytest.approx(180 * GB / (50 * MB), rel=0.002)
    assert found.credits_end_s is None


@pytest.mark.parametrize("case", Case)
@pytest.mark.parametrize("stage", T3, ids=lambda one: one.name)
def test_without_metrics_a_load_has_what_the_pace_grants(stage, case):
    """A share of each baseline, in bytes or operations, of all stripes: the same law, not the same formula."""
    terms = PaceTerms()
    allowed = PaceController([stage], terms).allowance(0.0)
    found = run(around(stage, balance=None, share_ratio=terms.baseline_share_ratio, headroom_ratio=0.1), case=case)

    assert PaceBasis.BASELINE_SHARE is allowed.basis
    assert stage.name == found.binding
    assert found.end_per_s == pytest.approx(allowed.ceilings[0].total_per_s, rel=0.001)


@pytest.mark.parametrize(("case", "by_s"), [(Case.LOW, -4), (Case.LIKELY, 0), (Case.HIGH, 4)])
def test_what_a_pace_learns_first_is_in_the_bounds(case, by_s):
    """A short load may end before the pace knows what a byte costs; but not before the load itself can."""
    alone, paced = (run(around(FIXED, is_paced=one), case=case, size=GB) for one in (False, True))
    short = run(around(FIXED, is_paced=True), size=0.1 * GB, case=case)

    assert paced.seconds == pytest.approx(alone.seconds + by_s)
    assert short.seconds >= 0.01


def test_without_metrics_what_others_take_and_the_reserve_change_nothing():
    """The share is what is left to the load for both."""
    alone = run(around(BUCKET, share_ratio=0.5))
    beside = run(around(BUCKET, share_ratio=0.5, others_bytes_per_s=20 * MB, reserve_ratio=0.2), size=100 * GB)

    assert alone.seconds == pytest.approx(180 * GB / (25 * MB), rel=0.002)
    assert alone == beside


def test_a_sample_that_storage_held_back_says_nothing_of_the_fastest():
    slow = replace(QUICK, rates_bytes_per_s=(5 * MB,), is_rate_limited=True)

    assert run(around(FIXED), sample=slow).seconds == pytest.approx(1800, rel=0.01)
    assert run(around(FIXED), sample=slow, case=Case.HIGH).seconds > 10_000
