"""
Distinct limits: many setups have the same ceilings, and each distinct set is replayed once.

The stages of a class are computed once per class, those of a storage once per storage, and combined as
numbers. All setups have the same slots, one for each way of counting; a limit that one does not have is
infinite. Stripes are added up, because requests are spread over them evenly.

A limit that cannot bind before another of the same setup is dropped, so that more setups coincide: a
volume that is always faster than its instance, or an instance that is always faster than its volumes.
That changes no replay, because a limit that never binds never delays a request.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.limit import LegacyLimits
from plimsoll.model.series import FloatArray, IntArray
from plimsoll.plan.market.candidates import GRIDS_KEPT, Arrangements, SetupGrid, arranged

BASELINE, BURST, CAPACITY = 0, 1, 2
"""Places in the last axis of `LimitVectors.limits`."""
_NONE = (inf, inf, 0.0)


@dataclass(frozen=True, slots=True)
class LimitColumn:
    """The quantity that a column of limits bounds; equal in all setups."""

    name: str
    counts: Literal["bytes", "ops"]
    unit_bytes: float | None
    sequential_ratio: float = 0.0

    def stage(self, baseline: float, burst: float, capacity: float = 0.0) -> Stage:
        """Return a stage that counts in this way."""
        return Stage(
            name=self.name,
            baseline=baseline,
            burst=burst,
            capacity=capacity,
            counts=self.counts,
            unit_bytes=self.unit_bytes,
            sequential_ratio=self.sequential_ratio,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LimitVectors:
    """Distinct limits of many arrangements."""

    slots: tuple[LimitColumn, ...]
    limits: FloatArray
    """Baseline, burst and capacity, all stripes together, shape (vectors, slots, 3)."""
    of: IntArray
    """Place in `limits` for each arrangement, shape (arrangements,)."""
    _chains: dict[int, tuple[Stage, ...]] = field(default_factory=dict)
    """Chains that were made before, by place in `limits`."""
    _stages: dict[tuple[int, bytes], Stage] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of distinct vectors."""
        return int(self.limits.shape[0])

    def chains(self, which: Sequence[int] | IntArray) -> list[tuple[Stage, ...]]:
        """Return some of them as chains of the kernel; a stage that several share is made once."""
        return [self._chain(int(vector)) for vector in which]

    def _chain(self, vector: int) -> tuple[Stage, ...]:
        if vector not in self._chains:
            rows, stages = self.limits[vector], self._stages
            keys = [(place, rows[place].tobytes()) for place in range(len(self.slots))]
            for place, key in enumerate(keys):
                if key not in stages:
                    stages[key] = self.slots[place].stage(*rows[place].tolist())
            self._chains[vector] = tuple(stages[key] for key in keys)
        return self._chains[vector]


def vectors_of(
    found: Arrangements, catalog: Catalog, *, io_size_bytes_max: float = inf, legacy: LegacyLimits | None = None
) -> LimitVectors:
    """
    Return the distinct limits of arrangements.

    Args:
        found: the arrangements.
        catalog: the documented limits.
        io_size_bytes_max: no operation of the demand is larger; volumes that count operations by
            the unit then count them as the instance does, and more limits coincide.
        legacy: limits that the instance has instead of its class's present ones; it keeps them
            with other storage, and loses them with its class.

    Raises:
        CatalogError: a class that is not in the catalog.
    """
    _, slots, _ = _limit_table(found.grid, catalog, legacy)
    # Only whether an operation is larger than a unit matters, so instances with other sizes share the result.
    units = (slot.unit_bytes for slot in slots if slot.unit_bytes is not None)
    bound = min((unit for unit in units if unit >= io_size_bytes_max), default=inf)
    return _vectors(found.grid, catalog, legacy, bound)


@lru_cache(maxsize=GRIDS_KEPT)
def _vectors(grid: SetupGrid, catalog: Catalog, legacy: LegacyLimits | None, io_size_bytes_max: float) -> LimitVectors:
    table, slots, back = _limit_table(grid, catalog, legacy)
    limits, of = _distinct(without_idle(table, slots, io_size_bytes_max=io_size_bytes_max))
    return LimitVectors(slots=slots, limits=limits, of=of[back])


@lru_cache(maxsize=GRIDS_KEPT)
def _limit_table(
    grid: SetupGrid, catalog: Catalog, legacy: LegacyLimits | None
) -> tuple[FloatArray, tuple[LimitColumn, ...], IntArray]:
    """Return distinct limits, shape (m, slots, 3), what they bound, and the row of each setup, shape (n,)."""
    before = grid.shape
    of_class = [
        _chain_of(arranged(before, limits, Storage()), catalog, legacy if limits == grid.own else None)
        if limits
        else ()
        for limits in grid.classes
    ]
    of_storage = [
        _chain_of(replace(before, db_class=None, storage=storage), catalog, None) for storage in grid.storages
    ]
    slots = _slots([*of_class, *of_storage])
    first, first_of = _distinct(_table(of_class, slots))
    second, second_of = _distinct(_table(of_storage, slots))
    pairs = first_of[grid.class_index] * len(second) + second_of[grid.storage_index]
    used, back = np.unique(pairs, return_inverse=True)
    # A slot that one side lacks is infinite there, so the lower number is the one that exists.
    table = np.minimum(first[used // len(second)], second[used % len(second)])
    # A slot belongs to the class or to the storage; the other one's capacity there is zero.
    table[..., CAPACITY] = first[used // len(second)][..., CAPACITY] + second[used % len(second)][..., CAPACITY]
    return table, slots, back


@lru_cache(maxsize=16_384)
def _chain_of(instance: Instance, catalog: Catalog, legacy: LegacyLimits | None) -> tuple[Stage, ...]:
    """Return the chain of a class without storage, or of a storage without a class; many grids share them."""
    return chain_of(instance, catalog, use_legacy=legacy)


def without_idle(table: FloatArray, slots: tuple[LimitColumn, ...], *, io_size_bytes_max: float = inf) -> FloatArray:
    """
    Return the limits without those that cannot bind before another of the same row.

    Args:
        table: shape (n, slots, 3).
        slots: what its columns bound.
        io_size_bytes_max: as for `vectors_of`.

    Returns:
        A copy in which such limits are infinite.
    """
    clipped = table.copy()
    by_name = {slot.name: place for place, slot in enumerate(slots)}
    throughput = by_name.get(Family.INSTANCE_EBS_THROUGHPUT.value)
    ops = by_name.get(Family.INSTANCE_EBS_IOPS.value)
    for place, slot in enumerate(slots):
        if slot.name == Family.VOLUME_THROUGHPUT.value and throughput is not None:
            _drop(clipped, place, clipped[:, throughput, BURST])
            _drop(clipped, throughput, clipped[:, place, BURST])
        if slot.name == Family.VOLUME_IOPS.value and ops is not None:
            most = table[:, ops, BURST]
            if slot.unit_bytes is not None and io_size_bytes_max > slot.unit_bytes:
                # A request below the unit costs one, and one above it costs its share of bytes: what
                # the instance lets through costs no more than both together.
                bytes_most = inf if throughput is None else table[:, throughput, BURST]
                most = most + bytes_most / slot.unit_bytes
            _drop(clipped, place, most)
            # A request costs one or more at the volumes and one at the instance.
            _drop(clipped, ops, clipped[:, place, BURST])
    return clipped


def _drop(table: FloatArray, place: int, most: FloatArray) -> None:
    """Remove a limit whose baseline is not below the most that others allow."""
    # The rows in which `most` is infinite have nothing to compare with.
    idle = np.isfinite(most) & (table[:, place, BASELINE] >= most)
    table[idle, place] = _NONE


def _slots(chains: Sequence[Sequence[Stage]]) -> tuple[LimitColumn, ...]:
    found = (
        LimitColumn(stage.name, stage.counts, stage.unit_bytes, stage.sequential_ratio)
        for chain in chains
        for stage in chain
    )
    order = {family.value: place for place, family in enumerate(Family)}
    distinct = dict.fromkeys(found)
    return tuple(sorted(distinct, key=lambda slot: (order.get(slot.name, len(order)), str(slot))))


def _table(chains: Sequence[Sequence[Stage]], slots: tuple[LimitColumn, ...]) -> FloatArray:
    """Return the limits of chains, shape (chains, slots, 3)."""
    table = np.tile(np.array(_NONE), (len(chains), len(slots), 1))
    for row, chain in enumerate(chains):
        for stage in chain:
            slot = LimitColumn(stage.name, stage.counts, stage.unit_bytes, stage.sequential_ratio)
            numbers = np.array((stage.baseline, stage.burst, stage.capacity))
            table[row, slots.index(slot)] = numbers * stage.stripes
    return table


def _distinct(table: FloatArray) -> tuple[FloatArray, NDArray[np.int64]]:
    """Return the distinct rows, in an order that depends on them alone, and each row's place."""
    if table.shape[0] == 0 or table[0].size == 0:
        return table[:1], np.zeros(table.shape[0], dtype=np.int64)
    flat = np.ascontiguousarray(table.reshape(table.shape[0], -1)) + 0.0  # no negative zero
    _, first, of = np.unique(_hashed(flat), return_index=True, return_inverse=True)
    if not np.array_equal(flat[first][of], flat):  # two rows share a hash
        _, first, of = np.unique(flat, axis=0, return_index=True, return_inverse=True)
    return table[first], of.reshape(-1)


def _hashed(rows: FloatArray) -> NDArray[np.uint64]:
    """Return a hash of each row's bits: columns are mixed in one by one, as in FNV-1a."""
    # Offset basis of 64-bit FNV-1a; the factor below is 2⁶⁴ over the golden ratio, which spreads
    # neighbouring floats. Rows that share a hash all the same are found by comparison.
    hashed = np.full(rows.shape[0], 0xCBF29CE484222325, dtype=np.uint64)
    for column in rows.view(np.uint64).T:
        hashed = (hashed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        hashed ^= hashed >> np.uint64(29)
    return hashed
