"""Evaluation of the parts of a run."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from plimsoll_lab.sweep.rates import error_of_mean, steady_from


def test_what_credits_of_idle_time_bring_is_left_out():
    """A run that begins at twice its rate counts from where it has settled."""
    assert 3 == steady_from([200, 180, 130, *[100.0] * 13])
    assert 0 == steady_from([100.0] * 16)
    assert 0 == steady_from([200, 100, 100, 100])


def test_a_stall_is_no_settled_rate():
    """On a busy machine the only requests of a short run may lie in its first part: they are what was measured."""
    assert 0 == steady_from([64.0] + [0.0] * 15)
    assert 1 == steady_from([200.0, 64.0] + [0.0] * 14)
    assert 0 == steady_from([0.0] * 16)


@given(seed=st.integers(0, 10_000))
def test_half_of_a_run_is_kept_at_least(seed):
    """Whatever it looks like."""
    rates = np.random.default_rng(seed).uniform(1, 100, 16)

    assert 0 <= steady_from(list(rates)) <= 8


def test_noise_alone_costs_little():
    """In steady runs with noise hardly anything is left out."""
    dice = np.random.default_rng(7)
    left_out = [steady_from(list(dice.normal(100, 3, 16))) for _ in range(200)]

    assert np.mean(left_out) < 3


def test_the_error_of_a_steady_flow_is_not_that_of_its_parts():
    """Twelve and thirteen requests by turns are steady; a drift is not; few parts say nothing."""
    by_turns = error_of_mean([12, 13] * 5)
    drifting = error_of_mean([12] * 5 + [13] * 5)

    assert by_turns < 0.006
    assert drifting > 2 * by_turns
    assert error_of_mean([12, 13, 12]) is None
    assert error_of_mean([0, 0, 0, 0]) is None


def test_the_error_of_the_mean_is_honest():
    """Of runs with independent noise the standard error is right on average."""
    dice = np.random.default_rng(11)
    texts = [error_of_mean(list(dice.normal(100, 5, 16))) for _ in range(400)]

    np.testing.assert_allclose(np.mean(texts), 0.05 / 4, rtol=0.15)
