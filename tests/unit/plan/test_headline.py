"""The sentence that a plan begins with."""

from msgspec.structs import replace

import plans
from plimsoll.plan.headline import headline_of


def test_a_price_is_reported_whole_where_its_difference_is_not_known():
    """What is paid now has no price, what would be paid has."""
    option = replace(plans.option(), usd_per_day_more=None)
    free_of_price = replace(option, cost=plans.cost(None))

    known = headline_of(plans.present(), (option,), (), None)
    unknown = headline_of(plans.present(), (free_of_price,), (), None)

    assert known.endswith("lifts the ceiling for $12.17 a day in total")
    assert unknown.endswith("lifts the ceiling, at an unknown price")
