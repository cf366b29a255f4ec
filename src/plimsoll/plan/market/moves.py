"""The changes between two setups, and the changes at no cost."""

from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from math import ceil, inf

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.catalog.names import class_name
from plimsoll.errors import UsageError
from plimsoll.kernel import Stage
from plimsoll.limits import chain_of, legacy_limits_of, limits_of
from plimsoll.limits.class_limits import is_near
from plimsoll.limits.layout import is_aurora
from plimsoll.limits.purchase import check_purchase
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.instance import Deployment, Instance, Storage, engine_family
from plimsoll.model.limit import LegacyLimits
from plimsoll.model.plan import Move, MoveKind
from plimsoll.units import MIB, format_bytes_per_s, mib_per_s, number

UsdMore = Callable[[Instance, Instance], Decimal | None]
"""Returns the additional cost of the second instance; None where it is not known."""


class FreeMove(Struct, frozen=True, kw_only=True):
    """A change that does not cost more, and may cost less."""

    moves: tuple[Move, ...]
    instance: Instance
    """The instance after the change."""
    legacy: LegacyLimits | None
    """The limits that a restart would replace; None for other changes."""
    text: str
    """A sentence: its benefit, with numbers."""

    @property
    def is_restart(self) -> bool:
        """Return whether it is a stop and start."""
        return self.legacy is not None


def moves_of(before: Instance, after: Instance) -> tuple[Move, ...]:
    """Return the changes, class first; empty where there are none."""
    return tuple(_moves(before, after))


def _moves(before: Instance, after: Instance) -> Iterator[Move]:
    was, now = before.storage, after.storage
    if before.db_class and after.db_class and class_name(before.db_class) != class_name(after.db_class):
        classes = class_name(before.db_class), class_name(after.db_class)
        yield _move(MoveKind.CLASS, "class", *classes)
    if was.kind != now.kind:
        yield _move(MoveKind.STORAGE_TYPE, "storage type", was.kind or "unknown", now.kind or "unknown")
    if was.size_gib != now.size_gib:
        yield _move(MoveKind.STORAGE_SIZE, "storage size", _gib(was), _gib(now))
    if was.provisioned_ops_per_s != now.provisioned_ops_per_s:
        yield _move(MoveKind.IOPS, "IOPS", _ops(was), _ops(now))
    if was.provisioned_bytes_per_s != now.provisioned_bytes_per_s:
        yield _move(MoveKind.THROUGHPUT, "throughput", _rate(was), _rate(now))


def legacy_of(instance: Instance, catalog: Catalog, held: Iterable[Ceiling]) -> LegacyLimits | None:
    """
    Return the legacy limits that an instance still has, by the legacy ceilings that bound.

    Args:
        instance: the instance.
        catalog: legacy limits.
        held: ceilings that bound; those of other phases are ignored.

    Returns:
        The newest legacy limits that have all those numbers; None where none do.
    """
    seen = [ceiling for ceiling in held if ceiling.phase is Phase.LEGACY]
    if not seen:
        return None
    # Limits were raised over the years, so the newest limits that fit give the least gain of a
    # restart: a conservative choice.
    for legacy in reversed(legacy_limits_of(instance, catalog)):
        if all(_has(legacy, ceiling) for ceiling in seen):
            return legacy
    return None


def free_moves(
    instance: Instance, catalog: Catalog, *, legacy: LegacyLimits | None = None, usd_more: UsdMore | None = None
) -> tuple[FreeMove, ...]:
    """
    Return the changes that cost nothing: a restart, gp3 for gp2, and IOPS that the class cannot use.

    Args:
        instance: the current instance.
        catalog: limits and rules.
        legacy: the limits that the instance has instead of its class's present ones.
        usd_more: prices a change; without it no change of storage type counts as free.

    Returns:
        Restart first. gp3 is among them only if it costs no more and sustains at least the rate of
        gp2's burst, as far as the class can use either.
    """
    if instance.db_class is None or is_aurora(instance):
        return ()
    found = (
        _restart(instance, catalog, legacy),
        _to_gp3(instance, catalog, usd_more),
        _unused_provision(instance, catalog, usd_more),
    )
    return tuple(move for move in found if move is not None)


def _restart(instance: Instance, catalog: Catalog, legacy: LegacyLimits | None) -> FreeMove | None:
    now = limits_of(instance, catalog)
    if legacy is None or now is None:
        return None
    was, will = _shown(legacy), _shown(now)
    move = Move(kind=MoveKind.RESTART, before=was, after=will, text=f"stop and start: EBS throughput {was} to {will}")
    how_sure = (
        "EC2 documents that a stop and start applies the present limits"
        if legacy.is_lifted_by_restart
        else "EC2 does not document whether a stop and start applies the present limits"
    )
    text = f"The instance has {was}; its class has {will} now. {how_sure}."
    return FreeMove(moves=(move,), instance=instance, legacy=legacy, text=text)


def _to_gp3(instance: Instance, catalog: Catalog, usd_more: UsdMore | None) -> FreeMove | None:
    storage = instance.storage
    if storage.kind != "gp2" or storage.additional or usd_more is None:
        return None
    after = replace(instance, storage=replace(storage, kind="gp3"), pending=())
    if not _can_be_bought(after, catalog):
        return None
    more = usd_more(instance, after)
    # An unknown price is not free.
    if more is None or more > 0 or not _serves_no_less(instance, after, catalog):
        return None
    return FreeMove(
        moves=moves_of(instance, after),
        instance=after,
        legacy=None,
        text="gp3 costs no more than gp2 here, needs no credits, and delivers no less.",
    )


def _unused_provision(instance: Instance, catalog: Catalog, usd_more: UsdMore | None) -> FreeMove | None:
    """Return the change to fewer IOPS and less throughput, as far as the class cannot use them."""
    storage = instance.storage
    limits = limits_of(instance, catalog)
    if storage.additional or limits is None or limits.ebs_burst_ops_per_s is None:
        return None
    if storage.kind == "gp3" and instance.deployment is Deployment.MULTI_AZ_CLUSTER:
        return None  # RDS sets the throughput of a cluster by its IOPS.
    after = replace(instance, storage=_reduced(instance, limits.ebs_burst_ops_per_s, catalog))
    if after.storage == storage or not _can_be_bought(after, catalog):
        return None
    if not _serves_no_less(instance, after, catalog):
        return None
    more = usd_more(instance, after) if usd_more else None
    if more is not None and more > 0:
        return None
    return FreeMove(
        moves=moves_of(instance, after),
        instance=replace(after, pending=()),
        legacy=None,
        text=(f"You pay for {_ops(storage)} IOPS; {limits.db_class} can use {limits.ebs_burst_ops_per_s:,.0f} IOPS."),
    )


def _reduced(instance: Instance, ops_most: float, catalog: Catalog) -> Storage:
    """Return the storage with no more IOPS and throughput than the class can use."""
    storage, family = instance.storage, engine_family(instance.engine)
    limits = limits_of(instance, catalog)
    if storage.provisioned_ops_per_s is None or storage.size_gib is None or family is None:
        return storage
    rule = catalog.storage_rule(family, storage.kind or "", storage.size_gib)
    if rule is None or rule.provisioned_ops_per_s_min is None or limits is None:
        return storage
    # RDS refuses fewer IOPS than the type's minimum, and than its ratio to size (0.5 per GiB on io1
    # and io2; RDS User Guide, DB instance storage).
    least = max(rule.provisioned_ops_per_s_min, (rule.ops_per_gib_min or 0) * storage.size_gib)
    # The class's maximum and not its baseline, because a burst uses that much. RDS accepts whole
    # IOPS only.
    ops = min(storage.provisioned_ops_per_s, max(float(ceil(ops_most)), float(ceil(least))))
    rate, most = storage.provisioned_bytes_per_s, limits.ebs_burst_bytes_per_s
    if rate is not None and most is not None:
        floor = max(most, rule.provisioned_bytes_per_s_min or 0.0)
        rate = min(rate, mib_per_s(ceil(floor / MIB)))
    return replace(storage, provisioned_ops_per_s=ops, provisioned_bytes_per_s=rate)


def _serves_no_less(before: Instance, after: Instance, catalog: Catalog) -> bool:
    """Return whether the volumes sustain the same rates as before, up to the maximum of the class."""
    was, will = _by_name(before, catalog), _by_name(after, catalog)
    throughput = was.get(Family.INSTANCE_EBS_THROUGHPUT.value)
    ops = was.get(Family.INSTANCE_EBS_IOPS.value)
    most_bytes = throughput.burst if throughput else inf
    pairs = ((Family.VOLUME_THROUGHPUT, most_bytes), (Family.VOLUME_IOPS, ops.burst if ops else inf))
    for family, most in pairs:
        old, new = was.get(family.value), will.get(family.value)
        if old is None or new is None:
            return False
        unit = old.unit_bytes
        # A request above the unit costs several operations at the volumes, and one at the instance.
        needed = most if unit is None else max(most, most_bytes / unit)
        # While credits last gp2 serves its burst; at the sizes that have one, gp3 serves as much.
        if new.baseline * new.stripes < min(old.burst * old.stripes, needed):
            return False
    return True


def _by_name(instance: Instance, catalog: Catalog) -> dict[str, Stage]:
    return {stage.name: stage for stage in chain_of(instance, catalog)}


def _can_be_bought(instance: Instance, catalog: Catalog) -> bool:
    try:
        check_purchase(instance, catalog)
    except UsageError:
        return False
    return True


def _has(legacy: LegacyLimits, ceiling: Ceiling) -> bool:
    if ceiling.dimension is Dimension.THROUGHPUT:
        numbers = (legacy.ebs_baseline_bytes_per_s, legacy.ebs_burst_bytes_per_s)
    else:
        numbers = (legacy.ebs_baseline_ops_per_s, legacy.ebs_burst_ops_per_s)
    return any(is_near(ceiling.value, known) for known in numbers)


def _shown(limits: object) -> str:
    """Return `212.5 MB/s (437.5 MB/s in bursts)`"""
    baseline = getattr(limits, "ebs_baseline_bytes_per_s", None)
    burst = getattr(limits, "ebs_burst_bytes_per_s", None)
    if burst is None:
        return "unknown"
    if baseline is None or baseline == burst:
        return format_bytes_per_s(burst)
    return f"{format_bytes_per_s(baseline)} ({format_bytes_per_s(burst)} in bursts)"


def _move(kind: MoveKind, what: str, before: str, after: str) -> Move:
    return Move(kind=kind, before=before, after=after, text=f"{what} {before} to {after}")


def _gib(storage: Storage) -> str:
    return "unknown" if storage.size_gib is None else f"{number(storage.size_gib)} GiB"


def _ops(storage: Storage) -> str:
    if storage.provisioned_ops_per_s is not None:
        return f"{storage.provisioned_ops_per_s:,.0f}"
    return {"gp2": "by size", "gp3": "included"}.get(storage.kind or "", "unknown")


def _rate(storage: Storage) -> str:
    if storage.provisioned_bytes_per_s is not None:
        return f"{number(storage.provisioned_bytes_per_s / MIB)} MiB/s"
    words = {"gp2": "by size", "gp3": "included", "io1": "by IOPS", "io2": "by IOPS"}
    return words.get(storage.kind or "", "unknown")
