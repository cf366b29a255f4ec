"""The truth of the plan's benchmark: the same load on other limits."""

from itertools import pairwise

import numpy as np
import pytest

from incidents import build
from plan_arms import own, rival
from plan_arms.case import SCALES
from plimsoll.model.metric import Metric

SEED = 1013  # a family whose machine has a fixed limit


def test_the_same_limits_give_the_same_minutes():
    """Run again on limits times one, the engine serves every step as it did in the incident."""
    family = own.WITH_CEILING[SEED % len(own.WITH_CEILING)]
    incident = build.generate(SEED, family=family)
    for attempt in range(build.TRIES):
        rng = own._stream(SEED, family, attempt)
        load = own._load(rng, family, attempt)
        load.machine = own.scaled(load.machine, 1.0)
        served = build.serve(rng, load, 1.0)
        per = incident.truth.period_s // own.STEP_S
        if served.rate.size // per == incident.truth.fraction.size:
            fraction = ((served.stage >= 0) & (served.soft == 0)).reshape(-1, per).mean(axis=1)
            if np.array_equal(fraction, incident.truth.fraction):
                return
    raise AssertionError("no attempt repeats the incident")


@pytest.mark.parametrize("arm", [own, rival])
def test_higher_limits_throttle_no_longer(arm):
    """On both generators the share at a ceiling falls, or stays, with every step up."""
    case = arm.case_of(SEED)
    ratios = [case.ratio_at[scale] for scale in SCALES]

    assert all(0 <= r <= 1 for r in ratios)
    assert all(a >= b - 1e-3 for a, b in pairwise(ratios))


def test_multiplied_limits_multiply_every_number_of_a_stage():
    """Base, burst and capacity are those of factor one, times the factor."""
    case = own.case_of(SEED)
    for one, three in zip(case.chain_at(1.0), case.chain_at(3.0), strict=True):
        assert three.baseline == pytest.approx(3 * one.baseline)
        assert three.burst == pytest.approx(3 * one.burst)
        assert three.capacity == pytest.approx(3 * one.capacity)


@pytest.mark.parametrize("arm", [own, rival])
def test_signals_are_added_and_storage_stays_as_it_is(arm):
    """The database's counters are added; the storage series are equal."""
    plain, signalled = arm.case_of(SEED), arm.case_of(SEED, is_signalled=True)

    assert Metric.WAITING_WORK_COUNT in signalled.snapshot.series
    assert Metric.WAITING_WORK_COUNT not in plain.snapshot.series
    for metric in (Metric.READ_BYTES_PER_S, Metric.WRITE_OPS_PER_S):
        assert plain.snapshot.series[metric] == signalled.snapshot.series[metric]
    assert plain.ratio_at == signalled.ratio_at
