"""Which documented limit a level is, or none."""

import numpy as np
import pytest

from builders import ceiling
from plimsoll.diagnosis.recognition.binding import (
    BalanceView,
    allowed_by_credits,
    balance_view,
    credit_factor,
    matches_of,
    near_documented,
)
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.metric import Metric

BYTES = Metric.BYTE_BALANCE_RATIO
EBS = Family.INSTANCE_EBS_THROUGHPUT
BASELINE = ceiling(EBS, Phase.BASELINE, 287.5e6, balance=BYTES)
BURST = ceiling(EBS, Phase.BURST, 593.75e6, balance=BYTES)
LEGACY_BASELINE = ceiling(EBS, Phase.LEGACY, 212.5e6, legacy=Phase.BASELINE, balance=BYTES)
LEGACY_BURST = ceiling(EBS, Phase.LEGACY, 437.5e6, legacy=Phase.BURST, balance=BYTES)
VOLUME = ceiling(Family.VOLUME_THROUGHPUT, Phase.FIXED, 524.288e6)
IOPS = ceiling(Family.INSTANCE_EBS_IOPS, Phase.BASELINE, 12_000)
CEILINGS = (BASELINE, BURST, LEGACY_BASELINE, LEGACY_BURST, VOLUME, IOPS)

EMPTY = BalanceView(low=0.0, high=0.01, change_per_s=0.0)
FULL = BalanceView(low=1.0, high=1.0, change_per_s=0.0)
FALLING = BalanceView(low=0.4, high=0.8, change_per_s=-1e-4)
RISING = BalanceView(low=0.4, high=0.8, change_per_s=1e-4)
NEARLY = BalanceView(low=0.02, high=0.03, change_per_s=0.0)


def of(level, *, ceilings=CEILINGS, view=None, dimension=Dimension.THROUGHPUT, se=0.0015):
    balances = {} if view is None else {BYTES: view}
    return matches_of(level, level_log_se=se, dimension=dimension, ceilings=ceilings, balances=balances)


def test_probabilities_sum_to_one_and_come_in_order():
    """The explanations of a level, the unknown limit among them, are exhaustive."""
    for level in (80e6, 212.9e6, 287e6, 431e6, 600e6):
        matches = of(level)

        np.testing.assert_allclose(sum(m.probability for m in matches), 1)
        assert sorted(matches, key=lambda m: -m.probability) == list(matches)
        assert 1 == sum(m.ceiling is None for m in matches)


@pytest.mark.parametrize(
    ("level", "row"),
    [(286.9e6, BASELINE), (592e6, BURST), (213e6, LEGACY_BASELINE), (443e6, LEGACY_BURST), (522e6, VOLUME)],
)
def test_a_level_at_a_documented_number_is_that_limit(level, row):
    """Within about a percent the number decides, also where it is a legacy one."""
    best = of(level)[0]

    assert row == best.ceiling
    assert best.probability > 0.5


@pytest.mark.parametrize(
    ("level", "ceilings"), [*((level, CEILINGS) for level in (86e6, 250e6, 320e6, 700e6)), (86.875e6, ())]
)
def test_a_level_at_no_documented_number_is_an_unknown_limit(level, ceilings):
    """Ten percent away from every number, or without a catalog, nothing but the unknown limit is left."""
    (only,) = of(level, ceilings=ceilings)

    assert only.ceiling is None
    assert 1.0 == only.probability
    assert np.isnan(only.z)


def test_only_numbers_of_the_same_dimension_count():
    """12,000 bytes/s are not 12,000 IOPS."""
    assert of(12_000, dimension=Dimension.THROUGHPUT)[0].ceiling is None
    assert IOPS == of(12_000, dimension=Dimension.IOPS)[0].ceiling


def test_a_wider_error_reaches_further():
    """A level that is known only to two percent may be a number two percent away."""
    sharp, vague = of(294e6, se=0.0015), of(294e6, se=0.02)

    assert sharp[0].ceiling is None
    assert BASELINE in [match.ceiling for match in vague]


def test_a_balance_confirms_or_refutes_a_baseline():
    """
    While credits are left a baseline does not bind; with none left it is more probable than by its
    number alone, and a burst is less.
    """
    matches = of(287e6, view=FULL)
    alone, confirmed = of(287e6)[0], of(287e6, view=EMPTY)[0]
    at_burst = of(592e6, view=EMPTY)

    assert [None] == [match.ceiling for match in matches]
    assert BASELINE == confirmed.ceiling
    assert confirmed.probability > alone.probability
    assert at_burst[0].probability < of(592e6)[0].probability


@pytest.mark.parametrize(
    ("rows", "view", "factor"),
    [
        # Of a baseline, empty confirms, never empty refutes, in between weakens.
        *(
            ((BASELINE, LEGACY_BASELINE), *one)
            for one in ((None, 1), (EMPTY, 6), (FULL, 0), (FALLING, 0), (NEARLY, 0.5))
        ),
        # Of a burst, falling confirms, empty all the time all but refutes, anything else says nothing.
        *(((BURST, LEGACY_BURST), *one) for one in ((None, 1), (EMPTY, 0.03), (FULL, 1), (FALLING, 2), (RISING, 1))),
        # A fixed limit has no balance.
        *(((VOLUME,), view, 1) for view in (EMPTY, FULL, FALLING)),
    ],
)
def test_what_credits_say_of_a_limit(rows, view, factor):
    """Of legacy ones alike; another bucket's balance is not its own."""
    for row in rows:
        assert factor == credit_factor(row, {} if view is None else {BYTES: view})
    assert 1 == credit_factor(BASELINE, {} if view is None else {Metric.IO_BALANCE_RATIO: view})


def test_a_present_number_is_preferred_to_a_legacy_one():
    """Where a number is both a present and a legacy limit, the present one explains it."""
    legacy = ceiling(EBS, Phase.LEGACY, 287.5e6, legacy=Phase.BASELINE, balance=BYTES)
    best, second, *_ = of(287e6, ceilings=(legacy, BASELINE))

    assert BASELINE == best.ceiling
    np.testing.assert_allclose(best.probability, 2 * second.probability)


def test_rates_near_documented_numbers_are_marked():
    """Within three percent of some number of the dimension; gaps are near nothing."""
    rate = np.array([287.5e6, 295e6, 280e6, 297e6, 278e6, 12_000, np.nan])

    assert [True, True, True, False, False, False, False] == near_documented(
        rate, Dimension.THROUGHPUT, CEILINGS
    ).tolist()


def test_a_view_leaves_out_the_start_of_each_run():
    """A five-minute reading describes the minutes before it, so the first tenth says nothing."""
    values = np.concatenate((np.full(4, 0.9), np.zeros(36)))
    view = balance_view(values, 60 * np.arange(40), np.array([(0, 40)]))

    assert view.is_empty
    assert (0.0, 0.0) == (view.low, view.high)


def test_a_view_is_robust_against_single_readings():
    """Low and high are the tenth and ninetieth percentile; of a short run only the first is left out."""
    values = np.full(101, 0.5)
    values[[10, 20, 30]] = 0.0
    values[[40, 50, 60]] = 1.0
    view = balance_view(values, 60 * np.arange(101), np.array([(0, 101)]))
    short = balance_view(np.array([0.9, 0.4, 0.4, 0.4, 0.4]), 60 * np.arange(5), np.array([(0, 5)]))

    assert (0.5, 0.5, False) == (view.low, view.high, view.is_empty)
    assert (0.4, 0.4) == (short.low, short.high)


def test_credits_allow_a_baseline_only_without_them():
    """Where the balance is well above zero a baseline cannot have been held, at zero no burst."""
    values = {BYTES: np.array([0.0, 0.02, 0.3, np.nan])}

    assert [True, True, False, True] == allowed_by_credits(BASELINE, values).tolist()
    assert [False, True, True, True] == allowed_by_credits(BURST, values).tolist()
    assert allowed_by_credits(VOLUME, values) is True
    assert allowed_by_credits(None, values) is True
    assert allowed_by_credits(BASELINE, {}) is True


def test_a_view_has_the_slope_of_the_balance():
    """A balance that falls by a tenth an hour changes by that per second."""
    time_s = 60 * np.arange(120)
    view = balance_view(0.9 - 0.1 * time_s / 3600, time_s, np.array([(0, 60), (60, 120)]))

    np.testing.assert_allclose(view.change_per_s, -0.1 / 3600)
    assert view.was_never_empty


def test_without_readings_there_is_no_view():
    """A balance that was not read during the runs says nothing, which is not zero."""
    assert balance_view(np.full(20, np.nan), 60 * np.arange(20), np.array([(0, 20)])) is None


@pytest.mark.parametrize(
    ("low", "high", "is_empty", "was_never_empty"),
    [
        (0.0, 0.0, True, False),
        (0.01, 0.01, True, False),
        (0.0, 0.6, True, False),
        (0.02, 0.02, False, False),
        (0.05, 0.05, False, True),
        (1.0, 1.0, False, True),
    ],
)
def test_empty_allows_for_rounding(low, high, is_empty, was_never_empty):
    """Balances are published in whole percents: one percent may be an empty bucket, five is not."""
    view = BalanceView(low=low, high=high, change_per_s=0.0)

    assert (is_empty, was_never_empty) == (view.is_empty, view.was_never_empty)


@pytest.mark.parametrize("most", [279.2e6, 284e6, 287.5e6, 296.1e6, 575e6, 577e6])
def test_numbers_above_all_rates_are_left_out_only_if_none_is_near(most):
    """However near the highest rate is to a number, the samples that are marked are those within three percent of one."""
    rates = np.linspace(0.5 * most, most, 400)
    rows = [c for c in CEILINGS if c.dimension == Dimension.THROUGHPUT]
    expected = np.any([np.abs(rates / row.value - 1) < 0.03 for row in rows], axis=0)

    assert expected.tolist() == near_documented(rates, Dimension.THROUGHPUT, CEILINGS).tolist()
