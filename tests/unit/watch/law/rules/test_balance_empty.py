"""The rule about credits at zero."""

import numpy as np

import watched
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.law.rules.balance_empty import BalanceEmptySettings, conditions
from watched import MINUTE, START_S


def test_zero_counts_from_the_first_sample():
    """The metric has whole percents, so what is below half a percent is zero; the text names the baseline."""
    balance = np.full(watched.MINUTES, 0.004)
    balance[:120] = 0.2

    (one,) = conditions(watched.situation(balance=balance), BalanceEmptySettings())

    assert one.bound_since_s == START_S + 120 * MINUTE
    assert one.text == ("has no instance throughput credits left, so its baseline of 100 MB/s applies")


def test_one_percent_is_not_zero():
    """A balance that has come back a little is not empty; one that is not reported, or old, is unknown."""
    old = np.full(watched.MINUTES, np.nan)
    old[:150] = 0.0
    found = [conditions(watched.situation(balance=balance), BalanceEmptySettings())[0] for balance in (0.01, None, old)]

    assert found[0].text == "has 1.0 % of its instance throughput credits left"
    assert [one.level for one in found] == [WatchState.OK, WatchState.UNKNOWN, WatchState.UNKNOWN]
