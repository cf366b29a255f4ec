"""How long the same work takes, by what is paid."""

import numpy as np
import pytest

from plimsoll.model.plan import WorkTime
from plimsoll.plan.judge.by_price import FasterArrangement, most_for_the_money
from unit.plan.test_plan import in_role, of_example


def sooner(*hours: float) -> tuple[FasterArrangement, ...]:
    return tuple(
        FasterArrangement(index, WorkTime(chained_minutes=60 * one, independent_minutes=60 * one))
        for index, one in enumerate(hours)
    )


PRESENT = WorkTime(chained_minutes=720, independent_minutes=720)


def test_every_step_up_in_price_saves_a_fifth_or_more():
    """
    Claims ingestion: the next class comes first, each dearer one is at least a fifth sooner, and the
    table says of a class what its option says.
    """
    found = of_example("claims-pipeline")
    took = found.present.effect.work.chained_minutes
    minutes = [took, *(point.work.chained_minutes for point in found.work_by_price)]
    usd = [float(point.usd_per_day_more) for point in found.work_by_price]
    (option,) = in_role(found, "faster for the money")

    assert ("db.m6g.xlarge, gp2 1,200 GiB", 0.672) == (found.work_by_price[0].name, usd[0])
    assert sorted(usd) == usd
    assert len(usd) > 3
    assert all(np.array(minutes[1:]) <= 0.8 * np.array(minutes[:-1]))
    assert option.effect.work.chained_minutes == pytest.approx(found.work_by_price[0].work.chained_minutes)


def test_the_most_time_for_a_dollar_is_proposed():
    """Six hours for $0.67 are more for the money than eight for $1.58."""
    assert 0 == most_for_the_money(sooner(6, 4, 2), PRESENT, [0.67, 1.58, 7.24])
    assert 1 == most_for_the_money(sooner(6, 1, 0.5), PRESENT, [0.67, 0.80, 50.0])


def test_what_costs_no_more_goes_first():
    """The quickest of those that cost no more than what is there."""
    assert 1 == most_for_the_money(sooner(6, 4, 2), PRESENT, [-3.0, 0.0, 0.1])
    assert most_for_the_money((), PRESENT, []) is None
