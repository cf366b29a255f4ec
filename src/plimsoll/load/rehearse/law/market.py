"""
The classes on which a load could run: those that a plan would propose, with the present storage.

Rule: which classes fit, and what they cost, is the plan's to say (`plan/market`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of
from plimsoll.load.rehearse.law.forecast import Circumstances
from plimsoll.load.rehearse.law.times import LoadToForecast, by_price, forecast_of, time_of, with_price
from plimsoll.model.ceiling import Family
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.price import PriceBook
from plimsoll.model.rehearsal import RehearsedTime
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.market.candidates import arrangements
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.plan.market.needs import needs_of

_OF_INSTANCE = (Family.INSTANCE_EBS_THROUGHPUT.value, Family.INSTANCE_EBS_IOPS.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOffer:
    """One class with the present storage."""

    db_class: str
    chain: tuple[Stage, ...]
    usd_per_day_more: Decimal | None
    """None where a price is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassMarket:
    """The classes other than the present one."""

    offers: tuple[ClassOffer, ...]
    as_of: str | None
    """Date of the oldest price; None without prices."""


def market_of(snapshot: Snapshot, catalog: Catalog, book: PriceBook | None) -> ClassMarket:
    """
    Return the classes that meet the needs of a window, with the present storage.

    Args:
        snapshot: the window; without series no class with fewer vCPUs or less memory is compared.
        catalog: classes and limits.
        book: prices of the region; None for none.

    Raises:
        UsageError: an unknown engine.
        CatalogError: the class is not in the catalog.
    """
    needs = needs_of(snapshot, catalog)
    found = arrangements(snapshot.instance, catalog, needs, PlanConstraints(keep_storage=True))
    was = None if book is None else cost_of(found.before, book, catalog=catalog)
    offers, dates = [], []
    for index in range(len(found)):
        after = found.instance(index)
        if after.db_class is None or after.db_class == found.before.db_class:
            continue
        more = None
        if book is not None and was is not None:
            will = cost_of(after, book, catalog=catalog)
            more = usd_per_day_more(found.before, was, after, will)
            dates += [cost.as_of for cost in (was, will) if cost.as_of is not None]
        offers.append(ClassOffer(db_class=after.db_class, chain=chain_of(after, catalog), usd_per_day_more=more))
    return ClassMarket(offers=tuple(offers), as_of=min(dates, default=None))


def other_classes(load: LoadToForecast, around: Circumstances, market: ClassMarket) -> tuple[RehearsedTime, ...]:
    """Return the load on every offer, the cheapest first; those without a price last."""
    # Many classes have the same limits.
    by_chain: dict[tuple[Stage, ...], RehearsedTime] = {}
    times = []
    for offer in market.offers:
        if offer.chain not in by_chain:
            there = replace(around, chain=offer.chain, balances=_begun(around.balances))
            by_chain[offer.chain] = time_of(forecast_of(load, there), None, is_present=False)
        time = msgspec.structs.replace(by_chain[offer.chain], db_class=offer.db_class)
        times.append(with_price(time, offer.usd_per_day_more))
    return tuple(sorted(times, key=by_price))


def _begun(balances: Mapping[str, float]) -> Mapping[str, float]:
    """Return the credits after a change of class: those of the instance are full, the volumes stay."""
    return {**balances, **dict.fromkeys(_OF_INSTANCE, 1.0)}
