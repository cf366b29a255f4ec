"""What has no price: which of it is shown, and how cheap it would have to be."""

from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

import plans
from books import Lacking
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.plan import Option, Plan, PlanConstraints
from plimsoll.model.price import PriceBook
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.plan.market.cost import break_even_usd_per_hour, cost_of
from plimsoll.plan.plan import plan

CLAIMS = Path(__file__).parents[4] / "examples" / "claims-pipeline" / "snapshot.json"
M6IN = Lacking(lambda what: what.startswith("db.m6in."))
# What is there, what is cheap, two families of which one has lost its prices, and two that never had any.
MARKET = ("db.t3.*", "db.t4g.*", "db.m6g.*", "db.r6in.*", "db.m6in.*", "db.m8a.*", "db.r8a.*")
CHEAPEST_OF_M6IN = "db.m6in.xlarge"


@cache
def claims(book: PriceBook | None = None, **constraints: Decimal) -> Plan:
    snapshot = decode_snapshot(CLAIMS.read_bytes())
    return plan(
        diagnose(snapshot, catalog()),
        snapshot,
        catalog(),
        book or CatalogPrices(catalog(), "us-east-1"),
        PlanConstraints(allow=MARKET, **constraints),
    )


def named(found: Plan, db_class: str) -> Option:
    return next(o for o in found.unpriced if o.instance.db_class == db_class)


def test_what_would_be_proposed_is_shown_though_its_price_is_not_known():
    """
    The plan proposes classes of m6in; without a price of m6in, the one that a step of the ladder takes stands
    among those without one, not only the 8xlarge that the highest demand takes.
    """
    proposed = {o.instance.db_class for o in claims().options}
    unpriced = {o.instance.db_class for o in claims(M6IN).unpriced}

    assert any(name is not None and name.startswith("db.m6in.") for name in proposed)
    assert {CHEAPEST_OF_M6IN, "db.m6in.8xlarge"} <= unpriced


@pytest.mark.parametrize("discount", [Decimal(1), Decimal("0.8")])
def test_a_break_even_is_the_price_at_which_both_cost_the_same(discount: Decimal):
    """
    Given the break-even as its price on demand, the option costs exactly what the other does, also
    where something less is paid.
    """
    found = claims(M6IN, discount=discount)
    option = named(found, CHEAPEST_OF_M6IN)
    assert option.break_even is not None
    rival = next(o for o in found.options if o.title == option.break_even.than)

    storage = cost_of(option.instance, M6IN).storage_usd_per_month
    rest = [
        part
        for part in (storage, option.cost.iops_usd_per_month, option.cost.throughput_usd_per_month)
        if part is not None
    ]
    total = option.break_even.usd_per_hour * discount * 730 + sum(rest)

    assert rival.cost.usd_per_month is not None
    assert abs(rival.cost.usd_per_month - total) < Decimal("0.000001")


def test_the_other_is_the_cheapest_that_suffices_as_probably():
    """Nothing that costs less has the chance of the option without a price."""
    found = claims(M6IN)
    for option in found.unpriced:
        assert option.break_even is not None
        rival = next(o for o in found.options if o.title == option.break_even.than)
        assert rival.probability >= option.probability
        assert all(
            other.probability < option.probability
            for other in found.options
            if (other.usd_per_day_more or 0) < (rival.usd_per_day_more or 0) and "spread" not in other.title
        )


def test_m8a_and_r8a_are_searched_like_the_others():
    """
    The classes without a price in any list are next to the others, for the likely and for the highest
    demand.
    """
    found = claims()
    families = {(o.instance.db_class or "").split(".")[1] for o in found.unpriced}

    assert {"m8a", "r8a"} == families
    assert len({o.probability for o in found.unpriced}) > 1


def test_without_any_price_there_is_no_break_even():
    """Nothing to compare with: the options stand there, and no number is made up."""
    found = claims(Lacking(lambda what: what.startswith("db.")))

    assert found.unpriced
    assert all(option.break_even is None for option in found.unpriced)


KNOWN = {"throughput_usd_per_month": Decimal(0), "credits_usd_per_month": Decimal(0)}
UNKNOWN_STORAGE = KNOWN | {"storage_usd_per_month": None, "usd_per_month": None}
OTHER_STORAGE = replace(plans.INSTANCE, storage=replace(plans.INSTANCE.storage, size_gib=999.0))


@pytest.mark.parametrize(
    ("now", "unpriced", "rival", "expected"),
    [
        # All known: what the rival's month leaves for hours.
        ({}, {}, {}, Decimal("0.318")),
        # No price of an hour is below zero.
        ({}, {"storage_usd_per_month": Decimal(10**6)}, {}, None),
        # A price of storage that stays cancels: the present hour, and what the rival costs more in one.
        (UNKNOWN_STORAGE, UNKNOWN_STORAGE, UNKNOWN_STORAGE, Decimal("0.290") + Decimal("0.672") / 24),
        # It does not where the storage changes, or where the present hour has no price either.
        (UNKNOWN_STORAGE, UNKNOWN_STORAGE | {"instance": OTHER_STORAGE}, UNKNOWN_STORAGE, None),
        (UNKNOWN_STORAGE | {"instance_usd_per_hour": None}, UNKNOWN_STORAGE, UNKNOWN_STORAGE, None),
        (UNKNOWN_STORAGE, UNKNOWN_STORAGE, UNKNOWN_STORAGE | {"usd_per_day_more": None}, None),
    ],
)
def test_a_break_even_is_made_of_what_is_known(now: dict, unpriced: dict, rival: dict, expected: Decimal | None):
    def made(one: Option, hourly: str | None, changed: dict) -> Option:
        of_option = {name: value for name, value in changed.items() if name in ("instance", "usd_per_day_more")}
        of_cost = {name: value for name, value in changed.items() if name not in of_option}
        return replace(one, cost=replace(plans.cost(hourly), **(KNOWN | of_cost)), **of_option)

    options = (
        made(plans.option(), "0.290", now),
        made(plans.unpriced(), None, unpriced),
        made(plans.option(), "0.318", rival),
    )

    assert expected == break_even_usd_per_hour(*options)


def test_a_bound_on_the_price_leaves_none_without_one():
    """Whether it costs less than is allowed, nobody knows."""
    assert () == claims(usd_per_day_max=Decimal(25)).unpriced
