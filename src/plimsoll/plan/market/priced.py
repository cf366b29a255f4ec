"""
The additional cost of every setup, for ordering many of them.

Each class and each storage is priced once (`cost.py`), and the prices are added. Unchanged parts cancel,
known or not. So another class has a price difference even if the price of the storage is unknown.
"""

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import PlanConstraints
from plimsoll.model.price import HOURS_PER_MONTH, PriceBook
from plimsoll.model.series import BoolArray, IntArray
from plimsoll.plan.market.candidates import GRIDS_KEPT, Arrangements, SetupGrid, arranged
from plimsoll.plan.market.cost import credits_part, instance_part, storage_parts
from plimsoll.plan.market.needs import ResourceNeeds

# Prices have at most ten digits behind the point an hour; a millionth of a dollar a month orders them.
_PARTS_PER_USD = 1_000_000
UNKNOWN = np.iinfo(np.int64).max
"""In `ArrangementPrices.more`: the difference is not known. It sorts last."""
# No setup costs a trillion dollars a month; sums with this maximum stay below UNKNOWN.
_MOST = 10**18


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrangementPrices:
    """Prices of arrangements, in the order of their indices."""

    more: IntArray
    """Millionths of a dollar a month more than now; UNKNOWN where a changed part has no price."""
    total: IntArray
    """The same of the whole sum; UNKNOWN where any part has no price."""
    storage: IntArray
    """The same of the storage alone; UNKNOWN where a part of it has no price."""

    @cached_property
    def order(self) -> IntArray:
        """
        Return the search order, shape (n,): by the difference, then by the total if that is unknown.

        UNKNOWN where neither is known.
        """
        # A total is not comparable with a difference, so setups with only a total come last.
        later = int(self.more[self.is_known].max(initial=0)) + 1
        by_total = np.where(self.total != UNKNOWN, later + np.minimum(self.total, _MOST), UNKNOWN)
        order: IntArray = np.where(self.is_known, self.more, by_total)
        return order

    @property
    def is_known(self) -> BoolArray:
        """Return whether the difference is known, shape (n,)."""
        known: BoolArray = self.more != UNKNOWN
        return known

    def usd_per_month_more(self, index: int) -> Decimal | None:
        """Return the additional cost of a setup per month; None where it is not known."""
        return _usd(self.more[index])

    def usd_per_month(self, index: int) -> Decimal | None:
        """Return the cost of a setup per month; None where it is not known."""
        return _usd(self.total[index])

    def within(self, usd_per_day_max: Decimal | None) -> BoolArray:
        """Return which setups certainly cost no more than the maximum per day, shape (n,)."""
        if usd_per_day_max is None:
            return np.ones(self.more.shape, dtype=np.bool_)
        most = int(usd_per_day_max * HOURS_PER_MONTH / 24 * _PARTS_PER_USD)
        # UNKNOWN is the largest integer, so what has no price is not within any limit of cost.
        return self.total <= most


class _Prices:
    """A price book as the key of a cache: it equals itself alone, whatever it is made of."""

    def __init__(self, book: PriceBook) -> None:
        self.book = book

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Prices) and self.book is other.book

    def __hash__(self) -> int:
        return id(self.book)


def priced(
    found: Arrangements, book: PriceBook, *, needs: ResourceNeeds, constraints: PlanConstraints, catalog: Catalog
) -> ArrangementPrices:
    """
    Return the prices of arrangements.

    Args:
        found: the arrangements; `before` is what they are compared with.
        book: prices of the instance's region.
        needs: gives the CPU credits that a T class would spend beyond those it earns.
        constraints: for the discount on the instance.
        catalog: what gp3 includes.
    """
    surplus = tuple(
        None if one is None else needs.surplus_credits_per_hour(one, catalog) for one in (found.own, *found.classes)
    )
    return _priced(found.grid, _Prices(book), surplus, constraints.discount, catalog)


@lru_cache(maxsize=GRIDS_KEPT)
def _priced(
    grid: SetupGrid, prices: _Prices, surplus: tuple[float | None, ...], discount: Decimal, catalog: Catalog
) -> ArrangementPrices:
    """Return the prices, given the surplus of CPU credits of the current class and of all others."""
    before, own, book = grid.shape, grid.own, prices.book
    of_class = np.array(
        [
            _class_cost(arranged(before, limits, before.storage), prices, more, discount, catalog)
            for limits, more in zip(grid.classes, surplus[1:], strict=True)
        ],
        dtype=np.int64,
    )
    of_storage = _storage_costs(before, grid.storages, prices, catalog)
    here = _class_cost(before, prices, surplus[0], discount, catalog)
    there = _storage_cost(before, book, catalog)
    same_class = np.array([c is None or c == own for c in grid.classes], dtype=np.bool_)
    same_storage = np.array([s == before.storage for s in grid.storages], dtype=np.bool_)
    more = _sum(
        _difference(of_class, here, same_class)[grid.class_index],
        _difference(of_storage, there, same_storage)[grid.storage_index],
    )
    total = _sum(of_class[grid.class_index], of_storage[grid.storage_index])
    return ArrangementPrices(more=more, total=total, storage=of_storage[grid.storage_index])


@lru_cache(maxsize=GRIDS_KEPT)
def _storage_costs(shape: Instance, storages: tuple[Storage, ...], prices: _Prices, catalog: Catalog) -> IntArray:
    costs = [_storage_cost(replace(shape, storage=one), prices.book, catalog) for one in storages]
    return np.array(costs, dtype=np.int64)


def _class_cost(
    instance: Instance, prices: _Prices, cpu_credits_per_hour: float | None, discount: Decimal, catalog: Catalog
) -> int:
    usd = _hours_usd(instance, prices)
    surplus = credits_part(instance, prices.book, cpu_credits_per_hour, catalog=catalog)
    if usd is None or surplus.unknown:
        return UNKNOWN
    return _parts(usd * discount + (surplus.usd_per_month or Decimal(0)))


@lru_cache(maxsize=4096)
def _hours_usd(instance: Instance, prices: _Prices) -> Decimal | None:
    return instance_part(instance, prices.book).usd_per_month


def _storage_cost(instance: Instance, book: PriceBook, catalog: Catalog) -> int:
    parts = storage_parts(instance, book, catalog=catalog)
    costs = [part.usd_per_month for part in (parts.space, parts.ops, parts.throughput)]
    known = [cost for cost in costs if cost is not None]
    return _parts(sum(known, Decimal(0))) if len(known) == len(costs) else UNKNOWN


def _difference(costs: IntArray, before: int, is_same: BoolArray) -> IntArray:
    is_known = (costs != UNKNOWN) & (before != UNKNOWN)
    more = np.where(is_known, costs - (before if before != UNKNOWN else 0), UNKNOWN)
    return np.where(is_same, 0, more)


def _sum(one: IntArray, other: IntArray) -> IntArray:
    is_known = (one != UNKNOWN) & (other != UNKNOWN)
    added = np.where(is_known, one, 0) + np.where(is_known, other, 0)
    return np.where(is_known, added, UNKNOWN)


def _parts(usd: Decimal) -> int:
    return int((usd * _PARTS_PER_USD).to_integral_value())


def _usd(parts: np.int64) -> Decimal | None:
    return None if parts == UNKNOWN else Decimal(int(parts)) / _PARTS_PER_USD
