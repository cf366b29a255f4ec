"""Bounds, what fits, and the cheapest class."""

import dataclasses
import math
from decimal import Decimal

import pytest
from msgspec.structs import replace

from plimsoll.load.rehearse.law.times import LoadToForecast, by_price, cheapest_of, forecast_of, time_of, with_price
from rehearsals import FIXED, GB, RANDOM, SAMPLE, SERVER, around

SCATTERED = dataclasses.replace(SAMPLE, indexes=(RANDOM,))


def time(within_s=None, circumstances=None, size=100 * GB):
    load = LoadToForecast(sample=SCATTERED, server=SERVER, input_bytes=size, finish_within_s=within_s)
    return time_of(forecast_of(load, circumstances or around(FIXED)), "db.a", is_present=True)


@pytest.mark.parametrize(("factor", "fits"), [(1.01, True), (None, None), (0.99, False)])
def test_bounds_decide_whether_it_fits(factor, fits):
    """In time for certain, between the bounds, and late for certain."""
    span = time().seconds
    within = {1.01: span.high * 1.01, 0.99: span.low * 0.99}.get(factor, (span.low + span.high) / 2)

    assert span.low < span.likely < span.high
    assert time(within).fits is fits


def test_a_sample_of_a_few_rows_is_no_basis():
    """Whatever it measured; so whether the load is in time is not known either."""
    few = dataclasses.replace(SAMPLE, input_bytes=17.0, row_count=1)
    load = LoadToForecast(sample=few, server=SERVER, input_bytes=17.0, finish_within_s=3600.0)
    found = time_of(forecast_of(load, around(FIXED)), "db.a", is_present=True)

    assert (0.0, None, math.inf) == (found.seconds.low, found.seconds.likely, found.seconds.high)
    assert found.fits is None


def test_the_cheapest_that_fits_is_chosen():
    present = replace(time(), fits=False)
    other = replace(present, is_present=False, fits=True)
    dear, cheap, late, unknown = (
        with_price(replace(other, db_class=name, fits=fits), usd)
        for name, fits, usd in (
            ("db.dear", True, Decimal(9)),
            ("db.cheap", True, Decimal(3)),
            ("db.late", False, Decimal(1)),
            ("db.unknown", True, None),
        )
    )

    assert cheap == cheapest_of(present, [dear, cheap, late, unknown])
    assert cheapest_of(present, [late, unknown]) is None
    assert cheapest_of(replace(present, fits=True), [cheap]).is_present
    assert cheap.usd_for_load == pytest.approx(Decimal(3) * Decimal(str(round(cheap.seconds.likely, 3))) / 86_400)


def test_equal_prices_and_times_are_in_an_order_that_can_be_acted_on():
    """The present class first, then the smaller size, then the newer generation."""
    now = replace(time(), db_class="db.m5.4xlarge")
    names = ("db.c5.2xlarge", "db.r6g.xlarge", "db.r8g.xlarge", "db.m8g.2xlarge")
    others = [replace(now, db_class=name, is_present=False) for name in names]
    # A part in a hundred thousand is no difference.
    span = now.seconds
    others[2] = replace(others[2], seconds=replace(span, high=span.high * (1 + 1e-5)))

    assert ["db.m5.4xlarge", "db.r8g.xlarge", "db.r6g.xlarge", "db.m8g.2xlarge", "db.c5.2xlarge"] == [
        one.db_class for one in sorted([*others, now], key=by_price)
    ]
