"""How bands, prices and judgements are reported; what nobody saw is never reported as nothing."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plans import band, claims, demand, quiet
from plimsoll.reports.plan import words as said_as


@pytest.mark.parametrize(
    ("minutes", "is_observed", "expected"),
    [
        (band(0), True, "0 min"),
        (band(0), False, "under 1 min"),
        (band(0.2, 0.6, 0.9), False, "under 1 min"),
        (band(0, 3, 9), False, "< 1 – 3 – 9 min"),
        (band(0, 3, 9), True, "0 – 3 – 9 min"),
        (band(5), False, "5 min"),
        (band(712, 722, 804), False, "11.9 – 12.0 – 13.4 h"),
        (band(0, 2, 180), False, "< 0.1 – < 0.1 – 3.0 h"),
        (band(6000, 9000, 20_160), False, "100 – 150 – 336 h"),
    ],
)
def test_minutes_are_reported_in_the_unit_of_the_highest(minutes, is_observed, expected):
    """Below two hours in minutes, from there in hours; no minutes only where demand was seen."""
    assert expected == said_as.minutes(minutes, is_observed=is_observed)


@given(st.lists(st.floats(0, 1e5), min_size=3, max_size=3).map(sorted))
def test_no_minutes_are_never_reported_for_demand_that_was_not_seen(values):
    """Whatever the band, no part of it reads as zero."""
    text = said_as.minutes(band(*values), is_observed=False)

    assert not {"0", "0.0"} & set(text.split())


@pytest.mark.parametrize(
    ("shares", "is_observed", "expected"),
    [
        (band(1.0), True, "100 %"),
        (band(1.0), False, "at least 99.9 %"),
        (band(0.97, 0.992, 1.0), False, "97 – 99.2 – > 99.9 %"),
        (band(0.31, 0.42, 0.5), True, "31 – 42 – 50 %"),
    ],
)
def test_all_is_never_reported_for_demand_that_was_not_seen(shares, is_observed, expected):
    """A hundred percent is reported only where demand was seen and all of it is served."""
    assert expected == said_as.share_served(shares, is_observed=is_observed)


def test_demand_was_seen_where_nothing_throttled_it():
    """A ceiling, a window without samples, or growth make it a guess."""
    assert said_as.is_observed(quiet())
    assert not said_as.is_observed(quiet(growth=1.5))
    assert not said_as.is_observed(quiet(demand=demand(measured_s=0.0, held_back_s=0.0)))
    assert not said_as.is_observed(claims())


@pytest.mark.parametrize(
    ("amount", "text", "more"),
    [
        ("0.672", "$0.67", "+$0.67 a day"),
        ("0.675", "$0.68", "+$0.68 a day"),
        ("-1234.5", "−$1,234.50", "−$1,234.50 a day"),
        ("0.004", "$0.00", "same price"),
        (None, "price not known", "price not known"),
    ],
)
def test_money_is_reported_to_the_cent(amount, text, more):
    """With thousands apart and a sign for differences; a price that is not known is reported."""
    usd = None if amount is None else Decimal(amount)

    assert text == said_as.usd(usd)
    assert more == said_as.usd_per_day_more(usd)


def test_a_price_that_is_not_known_has_no_day():
    """`price not known` is never followed by a day or a month."""
    assert "price not known" == said_as.usd_per_day(None) == said_as.usd_per_month(None)
    assert "$370.14 a month" == said_as.usd_per_month(Decimal("370.14"))


def test_an_hour_has_the_digits_that_are_published():
    """Cents at least, a tenth of a cent and beyond where a price has them."""
    hours = [said_as.usd_per_hour(Decimal(usd)) for usd in ("1.000", "0.318", "2.5")]

    assert ["$1.00 an hour", "$0.318 an hour", "$2.50 an hour"] == hours


def test_bands_carry_their_unit_once():
    """Three numbers and one unit; one number where all three read the same."""
    assert "86.5 MB/s" == said_as.bytes_per_s(band(86.53e6, 86.531e6, 86.54e6))
    assert "0.5 – 1 – 2 TiB" == said_as.sizes(band(2**39, 2**40, 2**41))
    assert "80 – 90 – 95 µs" == said_as.latency(band(80e-6, 90e-6, 95e-6)).replace(" µs –", " –")
    assert "1 – 3 – 6 h" == said_as.duration(band(3600, 10_800, 21_600))
    assert "5 min – 3 h – 24 h" == said_as.duration(band(300, 10_800, 86_400))
    assert "unknown" == said_as.latency(None) == said_as.next_ceiling(None)


def test_no_probability_is_certain():
    """Neither all plausible demands nor none of them are reported as certain."""
    assert ["< 1 %", "71 %", "> 99 %"] == [said_as.probability(p) for p in (0.0, 0.71, 1.0)]
