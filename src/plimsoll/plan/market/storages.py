"""
The storages that can be bought: type, size, IOPS and throughput, within the engine's rules.

Sizes are the present one, the next ones at which a documented limit changes, and some in between for
gp2, whose rate depends on its size. IOPS and throughput are taken from ladders with steps of some 10 %:
a finer one would find prices a few dollars lower, with many more limits to replay.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil, floor

from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.errors import UsageError
from plimsoll.limits.layout import is_aurora
from plimsoll.limits.purchase import check_purchase
from plimsoll.model.instance import Deployment, Instance, Storage, engine_family
from plimsoll.model.limit import StorageRule
from plimsoll.plan.market.patterns import ProposalPatterns
from plimsoll.units import MIB, mib_per_s, number

# Judgement: ladders and factors, see above.
_OPS_LADDER = (
    *(1000, 1250, 1500, 1750, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 6000, 7000, 8000, 9000),
    *range(10_000, 20_000, 1000),
    *range(20_000, 40_000, 2000),
    *range(40_000, 64_000, 4000),
    *(64_000, 72_000, 80_000, 96_000, 112_000, 128_000, 160_000, 192_000, 224_000, 256_000),
)
_MIB_PER_S_LADDER = (
    *range(125, 500, 25),
    *range(500, 1000, 100),
    *(1000, 1125, 1250, 1500, 1750, 2000, 2250, 2500, 3000, 3500, 4000),
)
# gp2 has 3 IOPS for each GiB (EBS user guide, general purpose volumes): it is made faster by size.
_GP2_GROWTH = (1.1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
# More is documented for some classes only (RDS User Guide, chap-storage): SQL Server reaches 64,000
# IOPS on io1 with Nitro m5, m6i, r5, r6i and z1d, and 32,000 with all.
_SQLSERVER_IO1_OPS_MAX = 32_000


@lru_cache(maxsize=256)
def storages_of(
    before: Instance, catalog: Catalog, patterns: ProposalPatterns, *, is_kept: bool
) -> tuple[tuple[Storage, ...], tuple[str, ...]]:
    """
    Return the present storage, unless it is denied, then others by type, size, IOPS and throughput.

    Args:
        before: the instance with its storage.
        catalog: storage rules.
        patterns: which types may be proposed.
        is_kept: whether only the present storage is allowed.

    Returns:
        The storages, and sentences on why there are no others.
    """
    present = before.storage
    kept = () if patterns.denies_kind(present.kind) else (present,)
    if is_kept or is_aurora(before):
        return kept, ()
    family = engine_family(before.engine)
    if present.kind is None or present.size_gib is None or family is None:
        return kept, ("Storage type and size are unknown, so storage stays as it is.",)
    if present.additional:
        return kept, ("Storage with several volumes stays as it is.",)
    others = [
        storage
        for kind in _kinds(before)
        if patterns.permits_kind(kind) or (kind == present.kind and kept)
        for storage in _of_kind(kind, before, family, catalog)
        if not _is_same(storage, present) and _can_be_bought(replace(before, storage=storage), catalog)
    ]
    return (*kept, *others), ()


def _kinds(before: Instance) -> tuple[str, ...]:
    """
    Return the types of storage that RDS lets an instance change to.

    Source:
        ModifyDBCluster: StorageType of a Multi-AZ DB cluster is io1, io2 or gp3.
    """
    solid = ("gp3", "io1", "io2")
    return solid if before.deployment is Deployment.MULTI_AZ_CLUSTER else ("gp2", *solid)


def describe_storage(storage: Storage) -> str:
    """Return `gp3 400 GiB, 16,000 IOPS, 750 MiB/s`; empty where nothing is known."""
    parts = [storage.kind or ""]
    if storage.size_gib is not None:
        parts[0] = f"{parts[0]} {number(storage.size_gib)} GiB".strip()
    if storage.provisioned_ops_per_s is not None:
        parts.append(f"{storage.provisioned_ops_per_s:,.0f} IOPS")
    if storage.provisioned_bytes_per_s is not None:
        parts.append(f"{number(storage.provisioned_bytes_per_s / MIB)} MiB/s")
    parts += [f"and {describe_storage(more)}" for more in storage.additional]
    return ", ".join(part for part in parts if part)


def layout_count(before: Instance, kind: str, size_gib: float, catalog: Catalog) -> int | None:
    """
    Return the counted number of volumes if other storage keeps the layout, as volumes change in place.

    Returns:
        None where the documented layout applies: volumes were not counted, or the layout changes.
    """
    present, family = before.storage, engine_family(before.engine)
    if present.volume_count is None or not family or not present.kind or not present.size_gib:
        return None
    was = catalog.storage_rule(family, present.kind, present.size_gib)
    will = catalog.storage_rule(family, kind, size_gib)
    if was is None or will is None or was.volume_count != will.volume_count:
        return None
    return present.volume_count


def _of_kind(kind: str, before: Instance, family: str, catalog: Catalog) -> Iterator[Storage]:
    rules = catalog.storage_rules(family, kind)
    for size_gib in sorted(_sizes(kind, before.storage.size_gib or 0.0, rules, catalog)):
        rule = catalog.storage_rule(family, kind, size_gib)
        if rule is None:
            continue
        count = layout_count(before, kind, size_gib, catalog)
        plain = Storage(kind=kind, size_gib=size_gib, volume_count=count)
        if kind in ("gp2", "gp3"):
            yield plain
        if kind != "gp2":
            # RDS sets the throughput of a cluster by its IOPS and takes no number for it (RDS User
            # Guide, chap-storage, 2026-04); the included one is its least.
            is_cluster = before.deployment is Deployment.MULTI_AZ_CLUSTER
            yield from _provisioned(plain, rule, has_rates=not is_cluster)


def _sizes(kind: str, present_gib: float, rules: tuple[StorageRule, ...], catalog: Catalog) -> set[float]:
    """Return the present size if the type supports it, and larger ones at which a rule changes."""
    if not rules:
        return set()
    least = max(present_gib, rules[0].size_gib_min or 0.0)
    # RDS refuses to grow by less, or rounds up (RDS User Guide, and the API's documentation).
    grown = present_gib * catalog.volume_rule("modify", "size_ratio_min").value
    edges = [rule.size_gib_min for rule in rules if rule.size_gib_min]
    if kind == "gp2":
        # Above 170 GiB a gp2 volume reaches 250 MiB/s in place of 128 (EBS user guide), each volume
        # of a stripe for itself.
        small = catalog.volume_rule("gp2", "small_size_gib_max").value + 1
        edges += [(rule.volume_count or 1) * small for rule in rules]
        edges += [present_gib * factor for factor in _GP2_GROWTH]
    # RDS never makes storage smaller in place.
    found = {_whole_gib(max(edge, grown)) for edge in edges if edge > present_gib}
    found.add(float(least) if least == present_gib else _whole_gib(max(least, grown)))
    return {size for size in found if size <= rules[-1].size_gib_max}


def _whole_gib(size_gib: float) -> float:
    """Return a size rounded up; 1.1 × 380 is 418, although the float next to it is above."""
    return float(ceil(round(size_gib, 6)))


def _provisioned(plain: Storage, rule: StorageRule, *, has_rates: bool) -> Iterator[Storage]:
    """Yield the storage with IOPS, and for gp3 throughput where it has rates, from the ladders."""
    least, most = rule.provisioned_ops_per_s_min, rule.provisioned_ops_per_s_max
    if least is None or most is None or plain.size_gib is None:
        return
    if rule.engine == "sqlserver" and rule.kind == "io1":
        most = min(most, _SQLSERVER_IO1_OPS_MAX)
    low = max(least, ceil((rule.ops_per_gib_min or 0.0) * plain.size_gib))
    high = min(most, floor((rule.ops_per_gib_max or most) * plain.size_gib))
    for ops_per_s in _rungs(_OPS_LADDER, low, high):
        one = replace(plain, provisioned_ops_per_s=ops_per_s)
        if rule.kind != "gp3" or not has_rates:
            yield one
            continue
        yield from (replace(one, provisioned_bytes_per_s=rate) for rate in _rates(rule, ops_per_s))


def _rates(rule: StorageRule, ops_per_s: float) -> Iterable[float]:
    """Return the throughputs that gp3 allows with a number of IOPS, bytes/s."""
    least, most = rule.provisioned_bytes_per_s_min, rule.provisioned_bytes_per_s_max
    if least is None or most is None:
        return ()
    # gp3 takes at most 0.25 MiB/s for each IOPS (RDS User Guide, DB instance storage).
    most = min(most, (rule.bytes_per_op_max or most) * ops_per_s)
    rungs = _rungs(_MIB_PER_S_LADDER, least / MIB, most / MIB)
    return (mib_per_s(rung) for rung in rungs)


def _rungs(ladder: tuple[int, ...], low: float, high: float) -> list[float]:
    """Return the rungs from low to high, and both ends; none where low is above high."""
    if low > high:
        return []
    return sorted({float(low), float(high), *(float(r) for r in ladder if low <= r <= high)})


def _is_same(one: Storage, other: Storage) -> bool:
    names = ("kind", "size_gib", "provisioned_ops_per_s", "provisioned_bytes_per_s")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _can_be_bought(instance: Instance, catalog: Catalog) -> bool:
    try:
        check_purchase(instance, catalog)
    except UsageError:
        return False
    return True
