"""The roles of setups in a plan, and the reasons why cheaper setups fail."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache

import numpy as np

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage, replay
from plimsoll.limits import chain_of
from plimsoll.model.ceiling import Family
from plimsoll.model.family import FAMILIES
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.plan import RejectedOption
from plimsoll.model.series import BoolArray, IntArray
from plimsoll.plan.judge.asked import StepDemand
from plimsoll.plan.judge.search import FAILS, queue_of, throttled_steps
from plimsoll.plan.judge.vectors import LimitVectors
from plimsoll.plan.market.candidates import GRIDS_KEPT, Arrangements, SetupGrid
from plimsoll.plan.market.priced import UNKNOWN, ArrangementPrices
from plimsoll.units import format_bytes_per_s, format_ops_per_s, format_ratio, number

CHEAPEST = "cheapest"
SAME_CLASS = "same class"
SAME_STORAGE = "same storage"
SAME_ARCHITECTURE = "same architecture"
SMALLER = "smaller"

_WHOSE = {"instance": "the instance's EBS", "volume": "the storage's", None: "a"}


def roles_of(
    found: Arrangements, prices: ArrangementPrices, *, usd_per_day_max: Decimal | None = None
) -> dict[str, BoolArray]:
    """
    Return the setups of each role; the present one, and those above the maximum cost, have no role.

    `smaller` costs less than now, with no more vCPUs and memory and less of one of them, and keeps the
    storage.
    """
    return dict(_roles_of(found.grid, prices, usd_per_day_max))


@lru_cache(maxsize=GRIDS_KEPT)
def _roles_of(grid: SetupGrid, prices: ArrangementPrices, usd_per_day_max: Decimal | None) -> Mapping[str, BoolArray]:
    changes = ~(grid.is_same_class & grid.is_same_storage) & prices.within(usd_per_day_max)
    own = grid.own
    architecture = np.array([one is None or own is None or one.cpu_arch == own.cpu_arch for one in grid.classes])
    is_less = np.array([_is_less(one, own) for one in grid.classes])
    # With other storage the lower price may come from the storage, not from the class.
    is_smaller = is_less[grid.class_index] & grid.is_same_storage & (prices.more < 0)
    return {
        CHEAPEST: changes,
        SAME_CLASS: changes & grid.is_same_class,
        SAME_STORAGE: changes & grid.is_same_storage,
        SAME_ARCHITECTURE: changes & architecture[grid.class_index],
        SMALLER: changes & is_smaller,
    }


def preferred(found: Arrangements) -> IntArray:
    """
    Return the rank among equal prices: unchanged storage first, then classes with more EBS throughput.

    Returns:
        A rank for each arrangement, least first, shape (n,).
    """
    return _preferred(found.grid)


@lru_cache(maxsize=GRIDS_KEPT)
def _preferred(grid: SetupGrid) -> IntArray:
    throughput = [0.0 if one is None else one.ebs_baseline_bytes_per_s or 0.0 for one in grid.classes]
    by_class = np.argsort(np.argsort(-np.array(throughput), kind="stable"), kind="stable")
    rank = by_class[grid.class_index]
    return np.where(grid.is_same_storage, rank, rank + len(grid.classes))


def queues_of(
    found: Arrangements, prices: ArrangementPrices, vectors: LimitVectors, *, usd_per_day_max: Decimal | None = None
) -> Mapping[str, IntArray]:
    """
    Return the cheapest setup of each vector in each role, in order of price, as `search_queues` takes them.

    Args:
        found: all arrangements.
        prices: their prices.
        vectors: their limits.
        usd_per_day_max: as for `roles_of`.
    """
    return _queues_of(found.grid, prices, vectors, usd_per_day_max)


@lru_cache(maxsize=GRIDS_KEPT)
def _queues_of(
    grid: SetupGrid, prices: ArrangementPrices, vectors: LimitVectors, usd_per_day_max: Decimal | None
) -> Mapping[str, IntArray]:
    tie = _preferred(grid)
    return {
        name: queue_of(prices.order, is_in, vectors.of, tie=tie)
        for name, is_in in _roles_of(grid, prices, usd_per_day_max).items()
    }


def unpriced_order(found: Arrangements, prices: ArrangementPrices) -> IntArray:
    """
    Return the search order where no price is known: by size, then by the cost of the storage.

    Returns:
        A rank for each arrangement of which neither the price nor the difference is known, UNKNOWN
        for the others, shape (n,).
    """
    size = [(0, 0) if one is None else (one.vcpu_count or 0, one.memory_bytes or 0) for one in found.classes]
    by_size = sorted(range(len(size)), key=lambda place: size[place])
    rank = np.empty(len(size), dtype=np.int64)
    rank[by_size] = np.arange(len(size))
    # Storage without a price comes last, and unchanged storage first.
    cost = np.where(found.is_same_storage & (prices.storage == UNKNOWN), -1, prices.storage)
    places = np.lexsort((found.storage_index, cost, rank[found.class_index]))
    order = np.empty(len(found), dtype=np.int64)
    order[places] = np.arange(len(found))
    return np.where(prices.order != UNKNOWN, UNKNOWN, order)


def cheaper_failing(
    index: int,
    found: Arrangements,
    prices: ArrangementPrices,
    vectors: LimitVectors,
    state: IntArray,
    *,
    count: int = 3,
) -> tuple[int, ...]:
    """
    Return the nearest setups that cost less than one and fail.

    Those that differ only in class or only in storage come first, each with another class, then others.

    Args:
        index: the arrangement that was chosen.
        found: all arrangements.
        prices: their prices.
        vectors: their limits.
        state: what the search knows of each vector.
        count: how many at most.
    """
    # A difference of prices is not comparable with a total price.
    is_like = prices.is_known == prices.is_known[index]
    # Only setups that a replay has shown to fail: the search leaves most expensive ones open.
    is_cheaper = is_like & (prices.order < prices.order[index]) & (state[vectors.of] == FAILS)
    places = np.flatnonzero(is_cheaper)
    is_near = (found.storage_index == found.storage_index[index]) | (found.class_index == found.class_index[index])
    order = places[np.lexsort((places, -prices.order[places], ~is_near[places]))]
    _, first = np.unique(found.class_index[order], return_index=True)
    return tuple(int(one) for one in order[np.sort(first)][:count])


def rejected(
    index: int,
    found: Arrangements,
    prices: ArrangementPrices,
    asked: StepDemand,
    catalog: Catalog,
    *,
    allowed_ratio: float,
) -> RejectedOption:
    """Return the reason why a setup fails, by the exact replay of its own chain."""
    instance = found.instance(index)
    chain = chain_of(instance, catalog)
    late = throttled_steps(asked, chain) & asked.is_measured
    steps, measured = int(late.sum()), int(asked.is_measured.sum())
    minutes = steps * asked.step_s / 60
    allowed_minutes = allowed_ratio * measured * asked.step_s / 60
    share = steps / max(measured, 1)
    ceiling = _binding(asked, chain, late)
    at = f" at {ceiling}" if ceiling else ""
    return RejectedOption(
        name=found.name(index),
        usd_per_month=prices.usd_per_month(index),
        reason=(f"{minutes:,.0f} minutes ({format_ratio(share)}){at} (you allow {number(allowed_minutes, 3)})"),
    )


def _binding(asked: StepDemand, chain: Sequence[Stage], late: BoolArray) -> str:
    """Return the ceiling that bound in most of the late steps, with its number; empty without any."""
    finite = asked.started(chain)
    if not finite or not late.any():
        return ""
    done = replay(asked.ops_per_s, asked.io_size_bytes, step_s=asked.step_s, chain=finite, carry=asked.is_carried)
    tight = late & (done.binding >= 0)
    if not tight.any():
        return ""
    stage = finite[int(np.argmax(np.bincount(done.binding[tight], minlength=len(finite))))]
    # A bucket that holds credits binds at its maximum, an empty one at its baseline: the more
    # frequent of the two is named.
    is_burst = bool(np.mean(done.at_burst[tight & (done.binding == finite.index(stage))]) > 0.5)
    has_credits = stage.capacity > 0 and stage.burst > stage.baseline
    rate = (stage.burst if is_burst else stage.baseline) * stage.stripes
    text_of = format_bytes_per_s if stage.counts == "bytes" else format_ops_per_s
    which = "limit" if not has_credits else "maximum" if is_burst else "baseline"
    return f"{_WHOSE[FAMILIES[Family(stage.name)].owner]} {which} of {text_of(rate)}"


def _is_less(one: InstanceLimits | None, own: InstanceLimits | None) -> bool:
    """Return whether a class has no more vCPUs and memory than another, and less of one of them."""
    if one is None or own is None:
        return False
    pairs = ((one.vcpu_count, own.vcpu_count), (one.memory_bytes, own.memory_bytes))
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return len(known) == len(pairs) and all(a <= b for a, b in known) and any(a < b for a, b in known)
