"""Duty cycles: what a part of each sample at a ceiling makes of rate and latency, and the way back."""

from itertools import product

import numpy as np
import pytest

from hard_cases import pulses
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.waiting.duty import duty_cycle
from plimsoll.model.diagnosis import Verdict

LIMIT, CLIENTS, CALM, CALM_S = 3000.0, 64.0, 350.0, 0.0008


@pytest.mark.parametrize("part", [0.02, 0.1, 0.34, 0.9])
def test_the_law_gives_back_what_made_the_mean(part):
    """Operations and requests in flight add up over the sample."""
    ops = part * LIMIT + (1 - part) * CALM
    latency_s = (part * CLIENTS + (1 - part) * CALM * CALM_S) / ops
    found = duty_cycle(ops, latency_s, LIMIT, quiet_ops_per_s=CALM, quiet_latency_s=CALM_S)

    assert found is not None
    np.testing.assert_allclose((part, CLIENTS / LIMIT), (found.part, found.latency_s))


@pytest.mark.parametrize(
    ("ops", "latency_s", "calm"),
    [
        (300.0, 0.01, 350.0),  # no more than without the job
        (3500.0, 0.01, 350.0),  # more than the ceiling serves
        (360.0, 0.01, 350.0),  # a hundredth of the sample or less
        (1000.0, 5.0, 350.0),  # thousands of requests at once
    ],
)
def test_impossible_duty_cycles_are_none(ops, latency_s, calm):
    assert duty_cycle(ops, latency_s, LIMIT, quiet_ops_per_s=calm, quiet_latency_s=CALM_S) is None


@pytest.mark.parametrize(
    ("length_s", "period_s", "step_s"),
    [(p, q, s) for (p, q), s in product(((30, 300), (102, 300), (60, 240), (180, 900)), (60, 300))],
)
@pytest.mark.parametrize(("limit", "clients"), [(3000.0, 64), (12_000.0, 200)])
def test_jobs_at_a_ceiling_are_said_and_no_limit_is_invented(length_s, period_s, step_s, limit, clients):
    """Whatever their length, their period and the samples: the ceiling, or waiting whose first cause is bursts at it."""
    diagnosis = diagnose(pulses(length_s, period_s, step_s, limit=limit, clients=clients), catalog())

    assert diagnosis.verdict in (Verdict.BINDS, Verdict.UNKNOWN)
    if diagnosis.binding is None:
        assert "within_sample" == diagnosis.waiting_causes[0].code
    else:
        assert diagnosis.binding.ceiling is not None
        assert limit == diagnosis.binding.ceiling.value
