"""The share of an allowance that commits of others leave to a batch."""

import random
from statistics import mean

import pytest

from paced import T3, slow_truth
from plimsoll.errors import UsageError
from plimsoll.load.pace.law.commits import SHARE_LEAST, SLOW_MOST_RATIO, CommitShare, check_slower_ratio, shared
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms

BEFORE = [0.002] * 94 + [0.003] * 6


def test_the_limit_is_by_the_95th_percentile_before():
    share = CommitShare(1.2, BEFORE)

    assert share.before_s == 0.003
    assert not share.is_slow(0.0036)
    assert share.is_slow(0.0037)


def test_it_falls_at_once_and_never_to_nothing():
    """Where every commit is slow whatever the batch does, it still goes on; after that it comes back."""
    share = CommitShare(1.2, BEFORE)
    falling = [share.observe(0.1) for _ in range(30)]
    rising = [share.observe(0.002) for _ in range(2000)]

    assert falling[2] < 0.6
    assert falling[-1] == SHARE_LEAST
    assert rising == sorted(rising)
    assert rising[-1] == 1.0


@pytest.mark.parametrize("slow_at_all", [0.1, 0.3, 0.9])
def test_it_settles_where_few_commits_are_slow(slow_at_all):
    """A commit is slow as often as the batch is at work: the share settles where as many are slow as may be."""
    dice = random.Random(7)
    share = CommitShare(1.2, BEFORE)
    slow, shares = [], []
    for _ in range(20_000):
        is_slow = dice.random() < slow_at_all * share.share
        share.observe(0.1 if is_slow else 0.002)
        slow.append(is_slow)
        shares.append(share.share)

    # The floor keeps the last case above it.
    wanted = max(SLOW_MOST_RATIO, slow_at_all * SHARE_LEAST)
    assert mean(slow[1000:]) == pytest.approx(wanted, rel=0.15)
    assert mean(shares[1000:]) == pytest.approx(wanted / slow_at_all, rel=0.3)


@pytest.mark.parametrize(
    ("slow", "kept"), [(2, "2.0 % {}: the limit of 5.0 % was kept"), (6, "6.0 % {}: the limit of 5.0 % was not kept")]
)
def test_it_says_whether_the_limit_was_kept(slow, kept):
    share = CommitShare(1.2, BEFORE)
    unknown = share.seen.sentence()
    for number in range(100):
        share.observe(0.0037 if number < slow else 0.0036)

    longer = "of commits took longer than 3.6 ms, 1.2 times the 95th percentile before the load"
    assert share.seen.sentence() == kept.format(longer)
    assert unknown == (
        "no commit was measured: whether any took longer than 1.2 times the 95th percentile before the load is unknown"
    )


def test_an_allowance_says_that_it_is_shared():
    controller = PaceController(T3, PaceTerms())
    controller.observe_slow(slow_truth(end_s=0.0))
    whole = controller.allowance(1.0)

    assert shared(whole, 1.0) is whole
    part = shared(whole, 0.25)
    assert part.bytes_per_s == pytest.approx(whole.bytes_per_s / 4)
    assert part.notes[-1] == ("commits take longer than they may; the batch gets 25 % of its allowance")


@pytest.mark.parametrize("ratio", [1.0, -2.0, 101.0, float("nan")])
def test_a_ratio_that_cannot_be_kept_is_refused(ratio):
    with pytest.raises(UsageError, match="is not possible"):
        check_slower_ratio(ratio)
