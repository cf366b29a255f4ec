"""The sentence that a plan begins with."""

import pytest
from msgspec.structs import replace

import plans
from plimsoll.model.plan import FASTER, Judgement, Option, WorkTime
from plimsoll.plan.headline import headline_of


def taking(minutes: float, **changed: object) -> Option:
    """An option, or what is there, that takes so many minutes for the work."""
    made = plans.option(role=FASTER, judgement=Judgement.UNSURE) if not changed else plans.present()
    return replace(
        made, effect=replace(made.effect, work=WorkTime(chained_minutes=minutes, independent_minutes=minutes))
    )


@pytest.mark.parametrize(
    ("took", "takes", "expected"),
    [
        (774.0, 414.0, "6.9 h instead of 12.9 h"),
        (554.0, 18.2, "18 min instead of 9.2 h"),
        (106.0, 45.0, "45 min instead of 106 min"),
    ],
)
def test_the_same_work_is_reported_in_hours_or_in_minutes(took, takes, expected):
    """Whichever reads better, without digits that mean nothing."""
    found = headline_of(taking(took, is_present=True), (taking(takes),), (), None)

    assert expected in found


def test_a_price_is_reported_whole_where_its_difference_is_not_known():
    """What is paid now has no price, what would be paid has."""
    option = replace(plans.option(), usd_per_day_more=None)
    free_of_price = replace(option, cost=plans.cost(None))

    known = headline_of(plans.present(), (option,), (), None)
    unknown = headline_of(plans.present(), (free_of_price,), (), None)

    assert known.endswith("lifts the ceiling for $12.17 a day in total")
    assert unknown.endswith("lifts the ceiling, at an unknown price")
