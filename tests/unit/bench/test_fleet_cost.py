"""The price of a run follows from the measured rate by arithmetic."""

from decimal import Decimal

import pytest

from fleet_cost import START_S, Workers, cost_of

FREE = Decimal(0)


def test_the_price_is_that_of_all_workers_and_the_driver():
    """3,600 core-seconds on three workers of 4 cores take 300 s after the start; four machines are billed."""
    found = cost_of(3600, 1.0, Workers(3), usd_per_vcpu_hour=Decimal(1), usd_per_gb_hour=FREE)

    assert START_S + 300 == found.seconds
    assert Decimal(4 * 4 * 360) / 3600 == found.usd


def test_memory_is_billed_too():
    found = cost_of(0, 1.0, Workers(1), usd_per_vcpu_hour=FREE, usd_per_gb_hour=Decimal(1))

    assert Decimal(2 * 16 * 60) / 3600 == found.usd


def test_more_workers_are_sooner_done_and_pay_more_for_their_start():
    few, many = (cost_of(10_000, 1.0, Workers(count)) for count in (4, 16))

    assert many.seconds < few.seconds
    assert few.usd < many.usd
    assert few.usd == pytest.approx(many.usd, rel=Decimal("0.2"))
