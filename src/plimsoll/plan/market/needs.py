"""
The needs of a window other than storage, and the classes that do not meet them.

A class must offer at least what the window used. A resource that was not measured must not become
smaller, with a note. Storage is not judged here, because it is replayed.

Rule 1: CPU is counted in busy vCPUs; vCPUs of different generations count as equal.
Rule 2: less memory is proposed only on request, because the cache hit rate is not known.
"""

import dataclasses
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits import connections
from plimsoll.limits.class_limits import limits_of
from plimsoll.limits.layout import is_aurora
from plimsoll.model.instance import Instance
from plimsoll.model.limit import InstanceLimits
from plimsoll.model.metric import Metric
from plimsoll.model.series import FloatArray, Series
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.market.patterns import SMALLER_CONNECTIONS, SMALLER_CPU, SMALLER_MEMORY, SMALLER_NETWORK
from plimsoll.plan.market.shape import shape_of
from plimsoll.units import GIB, format_bytes, format_bytes_per_s, format_ratio, number

# Judgement: above 80 % use, waiting for a CPU grows faster than the load (M/M/c queues of a few servers),
# so a class with fewer vCPUs must stay below.
CPU_RATIO_MAX = 0.80
# Judgement: the share of time that may be busier than the CPU a class is chosen for.
_CPU_QUANTILE = 0.99
# The default formula is applied to the whole memory here, but RDS applies it to the memory that its own
# processes leave: the RDS User Guide (chap-limits, 2026-04) gives about 630 connections for MySQL on
# 8 GiB, where the formula on the whole memory gives 682.
_CONNECTIONS_LEFT_RATIO = 630 / 682
# Judgement: with less than a tenth free, storage is about to be full, and a note says so.
_FREE_RATIO_MIN = 0.10
_DAY_S = 86_400
# One CPU credit is one vCPU at full load for one minute (EC2 User Guide, burstable instances).
_CREDITS_PER_VCPU_HOUR = 60


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ResourceNeeds:
    """The resources that the window used, growth included; None where not measured."""

    instance: Instance
    present: InstanceLimits | None
    """The limits of the instance's class; None where it has none."""
    busy_vcpus: float | None
    """99th percentile of CPU use, in vCPUs."""
    daily_vcpus: FloatArray
    """Mean vCPUs busy in each stretch of 24 hours, shape (days,); empty where not measured."""
    working_set_bytes: float | None
    """Memory less the lowest FreeableMemory."""
    connection_peak: float | None
    network_bytes_per_s: float | None
    """Highest of either direction, any step."""
    used_gib: float | None
    """Storage that was full at most."""
    growth: float
    notes: tuple[str, ...]
    """Sentences: the resources that were not measured, and the consequence."""

    def surplus_credits_per_hour(self, limits: InstanceLimits, catalog: Catalog) -> float | None:
        """
        Return the CPU credits that a class would spend beyond those it earns, in a mean hour.

        RDS charges the use of 24 hours above the baseline (EC2 User Guide, burstable performance
        instances); each day of the window is computed separately.

        Returns:
            Zero for a class that is not burstable; None where CPU was not measured.
        """
        earned = catalog.cpu_credits(limits.db_class) if limits.is_cpu_burstable else None
        if earned is None or limits.vcpu_count is None:
            return 0.0
        if not self.daily_vcpus.size:
            return None
        baseline_vcpus = earned.baseline_ratio * limits.vcpu_count
        surplus_vcpus = float(np.maximum(self.daily_vcpus - baseline_vcpus, 0.0).mean())
        return surplus_vcpus * _CREDITS_PER_VCPU_HOUR


def needs_of(snapshot: Snapshot, catalog: Catalog, *, growth: float = 1.0) -> ResourceNeeds:
    """
    Return the needs of a window.

    Args:
        snapshot: the window.
        catalog: the documented limits.
        growth: factor of CPU and network; it does not apply to memory, connections and space.

    Raises:
        CatalogError: the instance's class is not in the catalog, and reported no EBS limits.
    """
    instance = snapshot.instance
    present = limits_of(instance, catalog)
    vcpus = present.vcpu_count if present else instance.vcpu_count
    memory = present.memory_bytes if present else instance.memory_bytes
    cpu = snapshot.series.get(Metric.CPU_RATIO)
    free_memory = _lowest(snapshot, Metric.FREEABLE_MEMORY_BYTES)
    both = (Metric.NETWORK_RECEIVE_BYTES_PER_S, Metric.NETWORK_TRANSMIT_BYTES_PER_S)
    network = [peak for peak in (_highest(snapshot, metric) for metric in both) if peak is not None]
    busy = None if cpu is None or vcpus is None else _quantile(cpu)
    found = ResourceNeeds(
        instance=instance,
        present=present,
        busy_vcpus=None if busy is None or vcpus is None else busy * vcpus * growth,
        daily_vcpus=_daily(cpu) * vcpus * growth if cpu and vcpus else np.empty(0),
        working_set_bytes=None if memory is None or free_memory is None else memory - free_memory,
        connection_peak=_highest(snapshot, Metric.CONNECTION_COUNT),
        # One direction alone may be the idle one.
        network_bytes_per_s=max(network) * growth if len(network) == len(both) else None,
        used_gib=_used_gib(snapshot),
        growth=growth,
        notes=(),
    )
    return _with_notes(found)


def shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, may: frozenset[str]) -> str:
    """
    Return the first need that a class does not meet, as the rest of a sentence; empty without one.

    Args:
        limits: of the class.
        needs: of the window.
        catalog: the documented limits.
        may: words of `patterns.py` that lift a rule.
    """
    checks = (
        (SMALLER_CPU, _cpu_shortfall),
        (SMALLER_MEMORY, _memory_shortfall),
        (SMALLER_CONNECTIONS, _connection_shortfall),
        (SMALLER_NETWORK, _network_shortfall),
    )
    for word, check in checks:
        text = check(limits, needs, catalog, word in may)
        if text:
            return text
    return ""


def _cpu_shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, may: bool) -> str:
    if may:
        return ""
    count = limits.vcpu_count
    if count is None:
        return "its number of vCPUs is not documented"
    present = needs.present.vcpu_count if needs.present else needs.instance.vcpu_count
    if needs.busy_vcpus is None:
        if present is not None and count < present:
            return f"it has {count} vCPUs instead of {present}, and CPU was not measured"
    # A class with as many vCPUs as now, scaled with the load, is no loss, however busy they are.
    elif present is None or count < present * needs.growth:
        ratio = needs.busy_vcpus / count
        if ratio > CPU_RATIO_MAX:
            return (
                f"its {count} vCPUs would be {format_ratio(ratio)} busy"
                f" (99th percentile), more than {format_ratio(CPU_RATIO_MAX)}"
            )
    return _credit_shortfall(limits, needs, catalog, count)


def _credit_shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, vcpu_count: int) -> str:
    """Return the shortfall of a burstable class whose credits do not last for the busiest day."""
    if not limits.is_cpu_burstable:
        return ""
    earned = catalog.cpu_credits(limits.db_class)
    if earned is None:
        return "its CPU credits are not documented"
    if not needs.daily_vcpus.size:
        sustained = _sustained_vcpus(needs, catalog)
        if sustained is None or earned.baseline_ratio * vcpu_count < sustained:
            return "its CPU credits may not suffice, and CPU was not measured"
        return ""
    busiest = float(needs.daily_vcpus.max())
    if earned.is_unlimited or busiest <= earned.baseline_ratio * vcpu_count:
        return ""
    return (
        f"its CPU credits last for {number(earned.baseline_ratio * vcpu_count, 3)} vCPUs,"
        f" and the busiest day uses {number(busiest, 3)}"
    )


def _sustained_vcpus(needs: ResourceNeeds, catalog: Catalog) -> float | None:
    """Return the number of vCPUs that the present class sustains; None where it is not known."""
    if needs.present is None or needs.present.vcpu_count is None:
        return None
    earned = catalog.cpu_credits(needs.present.db_class) if needs.present.is_cpu_burstable else None
    ratio = 1.0 if earned is None else earned.baseline_ratio
    return ratio * needs.present.vcpu_count


def _memory_shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, may: bool) -> str:
    del catalog
    present = needs.present.memory_bytes if needs.present else needs.instance.memory_bytes
    if limits.memory_bytes is None:
        return "its memory is not documented"
    if present is None or limits.memory_bytes >= present:
        return ""
    has = f"it has {format_bytes(limits.memory_bytes)} of memory instead of {format_bytes(present)}"
    if not may:
        return f"{has}, and the cache hit rate is unknown; --allow smaller-memory permits it"
    if needs.working_set_bytes is not None and limits.memory_bytes < needs.working_set_bytes:
        return f"{has}, and {format_bytes(needs.working_set_bytes)} were in use"
    return ""


def _connection_shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, may: bool) -> str:
    if may:
        return ""
    has = _default_connections(needs.instance, limits, catalog)
    peak = needs.connection_peak
    had = None
    if needs.present is not None:
        had = _default_connections(needs.instance, needs.present, catalog)
    # The default follows memory; a class with as much or more of it allows as many.
    if has is None or (had is not None and has >= had):
        return ""
    if peak is None:
        return f"it allows fewer connections ({has:,.0f}), and they were not counted"
    left = has * _CONNECTIONS_LEFT_RATIO
    if peak > left:
        return f"it allows about {left:,.0f} connections by default, and {peak:,.0f} were open"
    return ""


def _default_connections(instance: Instance, limits: InstanceLimits, catalog: Catalog) -> float | None:
    """Return the default of connections for a class's whole memory, an upper bound; None if unknown."""
    return _connections_of(shape_of(instance), limits.db_class, limits.memory_bytes, catalog)


@lru_cache(maxsize=16_384)
def _connections_of(shape: Instance, db_class: str, memory_bytes: int | None, catalog: Catalog) -> float | None:
    asked = replace(shape, db_class=db_class, memory_bytes=memory_bytes, ebs_limits=None)
    if not catalog.knows(db_class):
        return None
    found = connections.ceilings(asked, catalog)
    return found[0].value if found else None


def _network_shortfall(limits: InstanceLimits, needs: ResourceNeeds, catalog: Catalog, may: bool) -> str:
    del catalog
    present, has = needs.present, limits.network_baseline_bytes_per_s
    if may or present is None:
        return ""
    had = present.network_baseline_bytes_per_s
    if had is None or (has is not None and has >= had):
        return ""
    if has is None:
        return "its network baseline is not documented"
    if needs.network_bytes_per_s is not None:
        if needs.network_bytes_per_s <= has:
            return ""
        return (
            f"its network baseline is {format_bytes_per_s(has)},"
            f" and {format_bytes_per_s(needs.network_bytes_per_s)} were used one way"
        )
    return (
        f"its network baseline is {format_bytes_per_s(has)} instead of"
        f" {format_bytes_per_s(had)}, and the network was not measured"
    )


def _with_notes(needs: ResourceNeeds) -> ResourceNeeds:
    notes = []
    if needs.busy_vcpus is None:
        notes.append("CPU was not measured: no class with fewer vCPUs is proposed.")
    if needs.working_set_bytes is None:
        notes.append("Free memory was not measured: the working set is unknown.")
    if needs.connection_peak is None:
        notes.append("Connections were not counted: no class that allows fewer is proposed.")
    if needs.network_bytes_per_s is None:
        notes.append("The network was not measured: no class with a slower one is proposed.")
    present = needs.present.vcpu_count if needs.present else needs.instance.vcpu_count
    if needs.busy_vcpus is not None and present and needs.growth > 1:
        ratio = needs.busy_vcpus / present
        if ratio > CPU_RATIO_MAX:
            notes.append(
                f"With {number(needs.growth)} times the demand, the present {present} vCPUs would be"
                f" {format_ratio(ratio)} busy."
            )
    size_gib = needs.instance.storage.total_gib
    if needs.used_gib is not None and size_gib and not is_aurora(needs.instance):
        free = 1 - needs.used_gib / size_gib
        if free < _FREE_RATIO_MIN:
            notes.append(f"Only {format_ratio(free)} of the storage was free: enlarge it soon.")
    return dataclasses.replace(needs, notes=tuple(notes))


def _used_gib(snapshot: Snapshot) -> float | None:
    free, size_gib = (_lowest(snapshot, Metric.FREE_STORAGE_BYTES), snapshot.instance.storage.total_gib)
    return None if free is None or size_gib is None else max(size_gib - free / GIB, 0.0)


def _values(snapshot: Snapshot, metric: Metric) -> FloatArray:
    series = snapshot.series.get(metric)
    return np.empty(0) if series is None else series.value[~np.isnan(series.value)]


def _lowest(snapshot: Snapshot, metric: Metric) -> float | None:
    values = _values(snapshot, metric)
    return float(values.min()) if values.size else None


def _highest(snapshot: Snapshot, metric: Metric) -> float | None:
    values = _values(snapshot, metric)
    return float(values.max()) if values.size else None


def _quantile(series: Series) -> float | None:
    known = series.value[~np.isnan(series.value)]
    return float(np.quantile(known, _CPU_QUANTILE)) if known.size else None


def _daily(series: Series) -> FloatArray:
    """Return the mean of each 24 hours from the first sample on, without NaN, shape (days,)."""
    known = ~np.isnan(series.value)
    if not known.any():
        return np.empty(0)
    # From the first sample on, so that a window of some days has no short day at either end.
    day = (series.time_s[known] - series.time_s[0]) // _DAY_S
    counts = np.bincount(day)
    sums = np.bincount(day, weights=series.value[known])
    days = np.flatnonzero(counts)
    means: FloatArray = sums[days] / counts[days]
    return means
