"""Which step to try first, and what to try after it."""

from itertools import pairwise

import numpy as np
import pytest

from plimsoll.model.plan import PROBABLY
from plimsoll.plan.judge.ladder import Candidate, frontier, steps_of

TEN = np.full(10, 0.1)


def candidate(usd_per_day: float, tenths: int, *, trouble: int = 0) -> Candidate:
    """An option that is enough for the lowest tenths of ten equally likely demands."""
    return Candidate(
        usd_per_day=usd_per_day,
        chance=tenths / 10,
        passed=np.arange(10) < tenths,
        trouble=trouble,
    )


def test_the_cheapest_that_probably_suffices_is_recommended_and_not_the_certain_one():
    """Nine of ten for $5 comes before ten of ten for $120, which is the step after it."""
    found = steps_of([candidate(1, 1), candidate(5, 9), candidate(120, 10)], TEN)

    assert found is not None
    assert (1, 2) == found.places
    assert 0 == found.recommended
    assert pytest.approx((0.9, 1.0)) == found.chances_after


def test_what_nothing_cheaper_is_as_likely_to_beat_is_on_the_frontier():
    """An option that costs more and is enough no more often is no step."""
    options = [
        candidate(3, 5),
        candidate(1, 5),
        candidate(2, 4),
        candidate(9, 10),
        candidate(10, 10),
    ]

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

    assert found is not None
    assert pytest.approx(0.5) == found.chances_after[1]
    assert pytest.approx(1 + 0.1) == found.count


def test_the_expected_price_weighs_each_step_by_how_often_it_is_kept():
    """Nine times of ten $5, once $120."""
    found = steps_of([candidate(5, 9), candidate(120, 10)], TEN)

    assert found is not None
    assert pytest.approx(0.9 * 5 + 0.1 * 120) == found.usd_per_day
    assert pytest.approx(1.1) == found.count


def test_a_cheaper_try_stands_before_the_recommended_step_where_it_saves_money():
    """
    One of two for nothing more saves half of $45 a day, for whom a failure costs no hours; a tenth of the
    time it would not.
    """
    found = steps_of([candidate(0, 5), candidate(45, 9), candidate(90, 10)], TEN)
    rarely = steps_of([candidate(0, 1), candidate(45, 9), candidate(90, 10)], TEN)

    assert found is not None
    assert rarely is not None
    assert (0, 1, 2) == found.places
    assert 1 == found.recommended
    assert (1, 2) == rarely.places


def test_a_try_that_saves_less_than_a_failure_costs_is_not_worth_its_restart():
    """Three days' price of $100 a day, over a month, are more than what $2 a day saves in half the cases."""
    options = [candidate(8, 5), candidate(10, 9), candidate(11, 10)]
    found = steps_of(options, TEN, usd_per_day_now=100)

    assert found is not None
    assert 0 not in found.places


def test_a_dearer_step_is_taken_where_it_spares_a_failure():
    """
    A failed step costs $50 a day: $4 more for ten of ten instead of nine are well spent, and $60 are
    not, on a large instance as on a small one.
    """
    dearer = [candidate(5, 9), candidate(9, 10)]
    too_dear = [candidate(5, 9), candidate(65, 10)]
    found = [
        steps_of(options, TEN, usd_per_day_now=usd)
        for options in (dearer, too_dear)
        for usd in (10, 900)
    ]

    assert [1, 1, 0, 0] == [steps.places[steps.recommended] for steps in found if steps]


def test_a_chance_is_not_worth_more_than_the_failure_it_may_save():
    """Nine of ten instead of five for $195 a day more: a failed step costs $50. For $45 more it is the step."""
    dear, fair = (steps_of([candidate(5, 5), candidate(usd, 9)], TEN) for usd in (200, 50))

    assert dear is not None
    assert fair is not None
    assert 0 == dear.places[dear.recommended]
    assert 1 == fair.places[fair.recommended]


def test_where_nothing_probably_suffices_a_failure_is_weighed_against_the_price():
    """Seven points more for $1,300 a day are not worth it where neither step is likely to be enough."""
    weight = np.full(100, 0.01)
    options = [
        Candidate(usd_per_day=usd, chance=count / 100, passed=np.arange(100) < count)
        for usd, count in ((97, 62), (1397, 69))
    ]
    found = steps_of(options, weight)

    assert found is not None
    assert 0 == found.places[found.recommended]


def test_a_hundredth_of_the_price_is_no_reason_for_a_second_restart():
    """$0.66 a day more of $117 for 97 instead of 92 of a hundred: the dearer one is the step."""
    weight = np.full(100, 0.01)
    options = [
        Candidate(usd_per_day=usd, chance=count / 100, passed=np.arange(100) < count)
        for usd, count in ((105.33, 92), (105.99, 97))
    ]
    found = steps_of(options, weight, usd_per_day_now=11.5)

    assert found is not None
    assert (1,) == found.places


def test_what_is_free_is_tried_first_and_is_enough_where_it_probably_is():
    """A restart costs nothing; only where it is not likely to be enough another step is recommended."""
    likely = steps_of([candidate(5, 10), candidate(0, 9)], TEN, free=1)
    unlikely = steps_of([candidate(5, 10), candidate(0, 2)], TEN, free=1)

    assert likely is not None
    assert unlikely is not None
    assert ((1, 0), 0) == (likely.places, likely.recommended)
    assert ((1, 0), 1) == (unlikely.places, unlikely.recommended)


def test_where_nothing_probably_suffices_the_likeliest_is_named():
    """Its chance says that it is no more than that."""
    found = steps_of([candidate(1, 2), candidate(50, 6)], TEN)

    assert found is not None
    assert 1 == found.places[found.recommended]
    assert steps_of([candidate(1, 0)], TEN) is None


def test_each_step_halves_the_doubt():
    """Many small steps would each cost a restart."""
    weight = np.full(100, 0.01)
    options = [
        Candidate(
            usd_per_day=10 * more, chance=(90 + more) / 100, passed=np.arange(100) < 90 + more
        )
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

    assert found is not None
    assert ((1, 0), 1) == (found.places, found.recommended)
    assert pytest.approx((0.6, 1.0)) == found.chances_after


def test_what_hardly_helps_where_a_free_step_failed_is_not_recommended():
    """With the free step's limits and a little more, it costs money and passes one demand of ten more."""
    found = steps_of([candidate(24, 7), candidate(0, 6)], TEN, free=1)

    assert found is not None
    assert 1 == found.places[found.recommended]
