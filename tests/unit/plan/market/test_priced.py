"""Prices of many arrangements at once are the prices of each."""

from decimal import Decimal

import pytest

from books import without_storage
from plan_cases import calm, claims, needs, offered
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.price import PriceBook
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.plan.market.needs import ResourceNeeds
from plimsoll.plan.market.priced import ArrangementPrices, priced

CENT = Decimal("0.00001")


def prices_of(
    found: Arrangements, known: ResourceNeeds, book: PriceBook | None = None, **constraints: object
) -> ArrangementPrices:
    return priced(
        found,
        book or CatalogPrices(catalog(), "us-east-1"),
        needs=known,
        constraints=PlanConstraints(**constraints),  # type: ignore[arg-type]
        catalog=catalog(),
    )


def place(found: Arrangements, name: str) -> int:
    return next(k for k in range(len(found)) if found.name(k) == name)


def test_the_remedy_of_the_claims_pipeline_costs_67_cents_a_day_more():
    """
    (0.318 - 0.290) × 24 hours are $0.672. $12 a day keep what surely costs no more: db.m6g.xlarge on the
    volume as it is costs 12.17, db.t3.xlarge 11.50.
    """
    found = offered(claims())
    prices = prices_of(found, calm(claims()))
    more = prices.usd_per_month_more(place(found, "db.m6g.xlarge, gp2 1,200 GiB"))
    within = prices.within(Decimal(12))

    assert more is not None
    assert more * 24 / 730 == Decimal("0.672")
    assert within[place(found, "db.t3.xlarge, gp2 1,200 GiB")]
    assert not within[place(found, "db.m6g.xlarge, gp2 1,200 GiB")]
    assert prices.within(None).all()


@pytest.mark.parametrize(
    ("before", "discount"),
    [
        (claims(), 1),
        (claims(multi_az=True), 1),
        (claims(db_class="db.m5.large", storage=Storage(kind="gp3", size_gib=500)), 1),
        (claims(engine="sqlserver-se", db_class="db.m5.xlarge"), 1),
        # A tenth off: the storage costs what it costs.
        (claims(), Decimal("0.9")),
    ],
    ids=["plain", "standby", "gp3", "licensed", "discount"],
)
def test_every_price_is_that_of_its_instance(before: Instance, discount: Decimal):
    """Class and storage, priced apart, add up to what the whole costs, known or not."""
    known = calm(before)
    found = offered(before)
    prices = prices_of(found, known, discount=Decimal(discount))
    book = CatalogPrices(catalog(), "us-east-1")
    asked = {"cpu_credits_per_hour": 0.0, "discount": Decimal(discount)}
    own = cost_of(before, book, **asked)

    for index in range(0, len(found), max(len(found) // 200, 1)):
        after = found.instance(index)
        whole = cost_of(after, book, **asked)
        more = usd_per_day_more(before, own, after, whole)
        _agree(whole.usd_per_month, prices.usd_per_month(index))
        _agree(None if more is None else more * 730 / 24, prices.usd_per_month_more(index))


def _agree(one: Decimal | None, other: Decimal | None) -> None:
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert abs(one - other) < CENT


def test_another_class_has_a_price_where_storage_has_none():
    """Without storage prices the storage that stays cancels; what changes it is unknown."""
    found = offered(claims())
    prices = prices_of(found, calm(claims()), without_storage())
    same = place(found, "db.m6g.xlarge, gp2 1,200 GiB")
    other = place(found, "db.m6g.xlarge, gp3 1,200 GiB")

    assert prices.usd_per_month_more(same) is not None
    assert prices.usd_per_month(same) is None
    assert prices.usd_per_month_more(other) is None
    assert not prices.within(Decimal(1_000_000))[same]


def test_credits_that_are_borrowed_are_paid():
    """Two vCPUs busy all day on db.t3.large borrow 1.4: at 7.5 cents an hour that is $76.65 a month."""
    before = claims(db_class="db.m5.large")
    busy = needs(
        before,
        cpu_ratio=1.0,
        freeable_memory_bytes=1e9,
        connection_count=5.0,
        network_receive_bytes_per_s=1e5,
        network_transmit_bytes_per_s=1e5,
    )
    found = offered(before, busy)
    loaded, idle = prices_of(found, busy), prices_of(offered(before), calm(before))
    name = "db.t3.large, gp2 1,200 GiB"
    dear = loaded.usd_per_month(place(found, name))
    cheap = idle.usd_per_month(place(offered(before), name))

    assert dear is not None
    assert cheap is not None
    assert abs(dear - cheap - Decimal("76.65")) < CENT
