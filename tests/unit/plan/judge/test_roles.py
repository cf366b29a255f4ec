"""Why an arrangement is shown, and what is wrong with cheaper ones."""

from decimal import Decimal

import numpy as np

from plan_cases import asked, calm, claims, offered
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Storage
from plimsoll.model.plan import PlanConstraints
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.roles import (
    CHEAPEST,
    SAME_ARCHITECTURE,
    SAME_CLASS,
    SAME_STORAGE,
    SMALLER,
    cheaper_failing,
    preferred,
    rejected,
    roles_of,
    unpriced_order,
)
from plimsoll.plan.judge.search import FAILS, SearchResult, search
from plimsoll.plan.judge.vectors import LimitVectors, vectors_of
from plimsoll.plan.market.candidates import Arrangements
from plimsoll.plan.market.priced import UNKNOWN, ArrangementPrices, priced

BUSY = 0.39
"""CPU of db.t3.xlarge, below what it earns; two vCPUs would be 78 % busy with it."""
BUSIER = 0.4005
"""Two vCPUs would be more than 80 % busy with it."""


def claims_offered(cpu_ratio: float = BUSIER) -> Arrangements:
    return offered(claims(), calm(claims(), cpu_ratio=cpu_ratio))


def prices_of(found: Arrangements) -> ArrangementPrices:
    book = CatalogPrices(catalog(), found.before.region or "us-east-1")
    known = calm(found.before)
    return priced(found, book, needs=known, constraints=PlanConstraints(), catalog=catalog())


def steady(days: int = 2) -> StepDemand:
    """120 MB/s in operations of 64 KiB, around the clock."""
    return asked(np.full(days * 1440, 120e6 / (64 * 1024)), 64 * 1024)


def searched(
    found: Arrangements, demand: StepDemand, **more: object
) -> tuple[ArrangementPrices, LimitVectors, SearchResult]:
    """Prices and limits of what is offered, and what a search for a demand finds among it."""
    prices, vectors = prices_of(found), vectors_of(found, catalog())
    return prices, vectors, search(vectors, prices.more, roles_of(found, prices), demand, allowed_ratio=0.01, **more)


def test_a_class_that_holds_120_mb_per_s_costs_67_cents_more():
    """The claims pipeline in one line: no storage is touched, and Graviton is the cheapest way."""
    found = claims_offered()
    _, _, best = searched(found, steady(), tie=preferred(found))

    chosen = {name: found.name(all_[0]) for name, all_ in best.roles.items() if all_}
    assert chosen[CHEAPEST] == "db.m6g.xlarge, gp2 1,200 GiB"
    assert chosen[SAME_STORAGE] == chosen[CHEAPEST]
    # db.m5.xlarge costs the same and holds 143.75 MB/s, db.m6i.xlarge 156.25.
    assert chosen[SAME_ARCHITECTURE] == "db.m6i.xlarge, gp2 1,200 GiB"
    # No storage lifts what the class holds back, and no smaller class holds it.
    assert SAME_CLASS not in chosen
    assert SMALLER not in chosen


def test_two_vcpus_less_busy_have_a_cheaper_way():
    """db.r5b.large has the memory, and 156.25 MB/s for $0.296 an hour: half a cent more than now."""
    found = claims_offered(BUSY)
    prices, _, best = searched(found, steady())

    cheapest = best.roles[CHEAPEST][0]
    assert found.name(cheapest) == "db.r5b.large, gp2 1,200 GiB"
    assert prices.usd_per_month_more(cheapest) == Decimal("4.38")


def test_an_idle_instance_gets_a_smaller_one():
    """db.m5.2xlarge with next to nothing to do, and memory that may shrink."""
    before = claims(db_class="db.m5.2xlarge")
    found = offered(before, allow=("smaller-memory", "smaller-connections", "smaller-network"))
    prices, _, best = searched(found, asked(np.full(1440, 10.0)))

    smaller = found.instance(best.roles[SMALLER][0])
    assert smaller.storage == before.storage
    assert prices.more[best.roles[SMALLER][0]] < 0
    # Some classes with fewer vCPUs and no more memory cost more: they are no way to spend less.
    assert (prices.more[roles_of(found, prices)[SMALLER]] < 0).all()


def test_what_changes_nothing_or_is_too_dear_is_in_no_role():
    """What is there is shown for itself; at $12 a day db.m6g.xlarge is out."""
    found = offered(claims())
    prices = prices_of(found)
    most = Decimal(12)
    roles = roles_of(found, prices, usd_per_day_max=most)

    assert found.present is not None
    assert not any(is_in[found.present] for is_in in roles_of(found, prices_of(found)).values())
    assert roles[CHEAPEST].any()
    assert (prices.total[roles[CHEAPEST]] <= 12 * 730 / 24 * 1_000_000).all()


def test_the_reason_names_the_ceiling_and_the_minutes():
    """db.t4g.xlarge bursts for 30 minutes and holds 86.875 MB/s: of 2,880 minutes nearly all wait."""
    found = claims_offered()
    prices, vectors, best = searched(found, steady())
    cheaper = cheaper_failing(best.roles[CHEAPEST][0], found, prices, vectors, best.state)

    reasons = [rejected(one, found, prices, steady(), catalog(), allowed_ratio=0.01) for one in cheaper]
    texts = {one.name: one.reason for one in reasons}
    # 260.625 MB/s × 1,800 s of credits are spent at 33.125 MB/s above the baseline in 236 minutes.
    assert texts["db.t4g.xlarge, gp2 1,200 GiB"] == (
        "2,644 minutes (92 %) at the instance's EBS baseline of 86.88 MB/s (you allow 28.8)"
    )


def test_cheaper_ones_are_the_nearest_that_fail_each_of_another_class():
    """First those that differ in class or storage alone."""
    found = claims_offered()
    prices, vectors, best = searched(found, steady())
    chosen = best.roles[CHEAPEST][0]

    cheaper = cheaper_failing(chosen, found, prices, vectors, best.state, count=4)

    assert all(prices.more[one] < prices.more[chosen] for one in cheaper)
    assert all(best.state[vectors.of[one]] == FAILS for one in cheaper)
    assert len({int(found.class_index[one]) for one in cheaper}) == len(cheaper)
    is_near = found.is_same_storage[list(cheaper)]
    assert is_near.tolist() == sorted(is_near.tolist(), reverse=True)
    near = prices.more[list(cheaper)][is_near]
    assert near.tolist() == sorted(near.tolist(), reverse=True)
    every = found.is_same_storage & (prices.more < prices.more[chosen])
    assert near[0] == prices.more[every & (best.state[vectors.of] == FAILS)].max()


def test_without_prices_the_smallest_come_first():
    """Size orders what no price does; what has a price is not looked at again."""
    before = claims(region="eu-central-1", storage=Storage(kind="gp2", size_gib=1200))
    found = offered(before)
    prices = prices_of(found)
    order = unpriced_order(found, prices)

    assert (order[prices.is_known] == UNKNOWN).all()
    assert (order[~prices.is_known] != UNKNOWN).all()
    first = found.classes[found.class_index[int(np.argmin(order))]]
    assert first.vcpu_count == min(c.vcpu_count or 0 for c in found.classes if c is not None)
