"""Which step to try first, and what to try after it."""

from itertools import pairwise

import numpy as np
import pytest

from plimsoll.model.plan import PROBABLY
from plimsoll.plan.judge.ladder import Candidate, frontier, steps_of

TEN = np.full(10, 0.1)


def candidate(usd_per_day: float, tenths: int, *, trouble: int = 0) -> Candidate:
    """An option that is enough for the lowest tenths of ten equally likely demands."""
    return Candidate(usd_per_day=usd_per_day, chance=tenths / 10, passed=np.arange(10) < tenths, trouble=trouble)


def test_the_cheapest_that_probably_suffices_is_recommended_and_not_the_certain_one():
    """Nine of ten for $5 comes before ten of ten for $120, which is the step after it."""
    found = steps_of([candidate(1, 1), candidate(5, 9), candidate(120, 10)], TEN)

    assert (1, 2) == found.places
    assert 0 == found.recommended
    assert pytest.approx((0.9, 1.0)) == found.chances_after


def test_what_nothing_cheaper_is_as_likely_to_beat_is_on_the_frontier():
    """An option that costs more and is enough no more often is no step."""
    options = [candidate(3, 5), candidate(1, 5), candidate(2, 4), candidate(9, 10), candidate(10, 10)]

    assert [1, 3] == frontier(options)


def test_of_equal_prices_the_likelier_goes_first_and_of_nearly_equal_ones_the_quieter():
    """Four cents a day are no reason for a change of storage."""
    alike = [candidate(5.00, 9, trouble=2), candidate(5.04, 9, trouble=1)]
    likelier = [candidate(5, 5), candidate(5, 9)]

    assert [1] == frontier(alike)
    assert [1] == frontier(likelier)


def test_the_chance_of_a_later_step_is_that_after_the_first_was_not_enough():
    """Of ten cases the first step leaves one, and the second passes half of that."""
    weight = np.array([0.1] * 9 + [0.05, 0.05])
    options = [
        Candidate(usd_per_day=usd, chance=chance, passed=np.arange(11) < count)
        for usd, chance, count in ((5, 0.9, 9), (90, 0.95, 10))
    ]

    found = steps_of(options, weight)

    assert pytest.approx(0.5) == found.chances_after[1]
    assert pytest.approx(1 + 0.1) == found.count


def test_the_expected_price_weighs_each_step_by_how_often_it_is_kept():
    """Nine times of ten $5, once $120."""
    found = steps_of([candidate(5, 9), candidate(120, 10)], TEN)

    assert pytest.approx(0.9 * 5 + 0.1 * 120) == found.usd_per_day
    assert pytest.approx(1.1) == found.count


HUNDRED = np.full(100, 0.01)


def of_hundred(*options: tuple[float, int]) -> list[Candidate]:
    """Options of a price that are enough for so many of a hundred equally likely demands."""
    return [Candidate(usd_per_day=usd, chance=count / 100, passed=np.arange(100) < count) for usd, count in options]


@pytest.mark.parametrize(
    ("options", "more", "places", "recommended"),
    [
        # One of two for nothing more saves half of $45 a day; a tenth of the time it would not.
        ([candidate(0, 5), candidate(45, 9), candidate(90, 10)], {}, (0, 1, 2), 1),
        ([candidate(0, 1), candidate(45, 9), candidate(90, 10)], {}, (1, 2), 1),
        # Three days' price of $100 a day are more than what $2 a day saves in half the cases.
        ([candidate(8, 5), candidate(10, 9), candidate(11, 10)], {"usd_per_day_now": 100}, None, None),
        # A failed step costs $50 a day: $4 more for ten of ten are well spent, and $60 are not.
        ([candidate(5, 9), candidate(9, 10)], {"usd_per_day_now": 10}, None, 1),
        ([candidate(5, 9), candidate(9, 10)], {"usd_per_day_now": 900}, None, 1),
        ([candidate(5, 9), candidate(65, 10)], {"usd_per_day_now": 10}, None, 0),
        ([candidate(5, 9), candidate(65, 10)], {"usd_per_day_now": 900}, None, 0),
        # A chance is not worth more than the failure it may save.
        ([candidate(5, 5), candidate(200, 9)], {}, None, 0),
        ([candidate(5, 5), candidate(50, 9)], {}, None, 1),
        # Seven points more for $1,300 a day are not worth it where neither step is likely.
        (of_hundred((97, 62), (1397, 69)), {"weight": HUNDRED}, None, 0),
        # $0.66 a day more of $117 are no reason for a second restart.
        (of_hundred((105.33, 92), (105.99, 97)), {"weight": HUNDRED, "usd_per_day_now": 11.5}, (1,), 1),
        # A restart costs nothing; only where it is not likely to be enough another is recommended.
        ([candidate(5, 10), candidate(0, 9)], {"free": 1}, (1, 0), 1),
        ([candidate(5, 10), candidate(0, 2)], {"free": 1}, (1, 0), 0),
        # With the free step's limits and a little more it passes one demand of ten more.
        ([candidate(24, 7), candidate(0, 6)], {"free": 1}, None, 1),
        # Where nothing probably suffices the likeliest is named.
        ([candidate(1, 2), candidate(50, 6)], {}, None, 1),
    ],
)
def test_a_failure_is_weighed_against_the_price(options, more, places, recommended):
    """Which options are steps, and which of them is recommended, by its place among the options."""
    found = steps_of(options, **({"weight": TEN} | more))

    assert found is not None
    assert places is None or places == found.places
    assert recommended is None or recommended == found.places[found.recommended]
    assert recommended is not None or 0 not in found.places


def test_what_is_never_enough_is_no_step():
    """A chance of nothing is not tried."""
    assert steps_of([candidate(1, 0)], TEN) is None


def test_each_step_halves_the_doubt():
    """Many small steps would each cost a restart."""
    weight = np.full(100, 0.01)
    options = [
        Candidate(usd_per_day=10 * more, chance=(90 + more) / 100, passed=np.arange(100) < 90 + more)
        for more in range(10)
    ]
    found = steps_of(options, weight)

    assert found is not None
    chances = [options[place].chance for place in found.places]
    assert PROBABLY <= chances[0]
    assert all(b >= 1 - (1 - a) / 2 - 1e-9 for a, b in pairwise(chances))


def test_what_is_free_takes_no_bought_step_away():
    """
    A bought step is tried where the free one was not enough: there nine of ten remain nine of ten,
    although over all demands the free one is as likely.
    """
    free = Candidate(usd_per_day=0, chance=0.6, passed=np.arange(10) < 6)
    bought = Candidate(usd_per_day=24, chance=0.4, passed=np.arange(10) >= 6)
    found = steps_of([bought, free], TEN, free=1)

    assert ((1, 0), 1) == (found.places, found.recommended)
    assert pytest.approx((0.6, 1.0)) == found.chances_after
