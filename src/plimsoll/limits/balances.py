"""The balance metrics of an instance: whether each can move with the current setup, and why."""

from collections.abc import Sequence

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage
from plimsoll.limits.bucket import BUCKETS, Bucket, legacy_limits_of
from plimsoll.limits.chain import most_of
from plimsoll.limits.class_limits import catalogued
from plimsoll.limits.layout import is_aurora, other_meaning
from plimsoll.model.ceiling import Family
from plimsoll.model.family import INSTANCE_FAMILIES
from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.sheet import BalanceNote
from plimsoll.units import format_ops_per_s, number


def balances_of(instance: Instance, chain: tuple[Stage, ...], catalog: Catalog) -> tuple[BalanceNote, ...]:
    """
    Return one note for each of the four balance metrics of RDS.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    return (
        *(_instance_note(bucket, instance, chain, catalog) for bucket in BUCKETS),
        _volume_note(instance, chain),
        _cpu_note(instance, catalog),
    )


def _instance_note(bucket: Bucket, instance: Instance, chain: tuple[Stage, ...], catalog: Catalog) -> BalanceNote:
    facts, text_of = bucket.family.facts, bucket.format_value
    metric, is_bytes = facts.balance, facts.counts == "bytes"
    assert metric is not None
    stage = _stage(chain, bucket.family)
    if is_aurora(instance):
        return _note(metric, can_move=None, reason=other_meaning(instance)[metric])
    if stage is None:
        return _note(metric, can_move=None, reason="no EBS limits are documented for this class")
    served = most_of([s for s in chain if Family(s.name) not in INSTANCE_FAMILIES], is_bytes=is_bytes)
    most = served[0] if served else None
    # A bucket loses credits only while more is served than its baseline returns, so its balance
    # can move only if the volumes deliver more than that baseline.
    if stage.baseline == stage.burst:
        reason = f"the class has a fixed limit of {text_of(stage.burst)} and no credits"
    elif most is None or most > stage.baseline:
        reason = f"falls above {text_of(stage.baseline)}; the burst is {text_of(stage.burst)}"
        return _note(metric, can_move=True, reason=reason)
    else:
        reason = (
            f"the volumes deliver at most {text_of(most)}, not more than the baseline of"
            f" {text_of(stage.baseline)}; only the root volume could add to that"
        )
    # The lowest legacy baseline that the instance may still have and that `most` exceeds.
    editions = map(bucket.numbers, legacy_limits_of(instance, catalog))
    legacy = min((b for b, burst in editions if b and burst and b < burst and (most is None or most > b)), default=None)
    if legacy is None:
        return _note(metric, can_move=False, reason=reason)
    # Which of the two baselines applies is not known before the balance is seen to move.
    reason += f"; under its legacy limits it falls above {text_of(legacy)}"
    return _note(metric, can_move=None, reason=reason)


def _volume_note(instance: Instance, chain: tuple[Stage, ...]) -> BalanceNote:
    metric, kind = Metric.VOLUME_BALANCE_RATIO, instance.storage.kind
    if kind is None and not is_aurora(instance):
        return _note(metric, can_move=None, reason="the storage type is not known")
    if is_aurora(instance):
        return _note(metric, can_move=False, reason=other_meaning(instance)[metric])
    if kind != "gp2":
        return _note(metric, can_move=False, reason=f"{kind} storage has no credits; only gp2 has")
    stage = _stage(chain, Family.VOLUME_IOPS)
    if stage is None:
        return _note(metric, can_move=None, reason="the layout of the volumes is not known")
    each = "" if stage.stripes == 1 else " each"
    baseline = format_ops_per_s(stage.baseline)
    # From 1,000 GiB a gp2 baseline is at least the burst of 3,000 IOPS (EBS User Guide, general-purpose).
    if stage.capacity == 0:
        reason = f"the baseline of {baseline}{each} is not below the burst, so the volumes have no credits"
        return _note(metric, can_move=False, reason=reason)
    served = most_of([s for s in chain if Family(s.name) in INSTANCE_FAMILIES], is_bytes=False)
    most = served[0] if served else None
    total = stage.baseline * stage.stripes
    if most is not None and most <= total:
        reason = (
            f"the class can use {format_ops_per_s(most)}, not more than the volumes'"
            f" baseline of {format_ops_per_s(total)}"
        )
        return _note(metric, can_move=False, reason=reason)
    return _note(
        metric,
        can_move=True,
        reason=f"falls above {baseline}{each}; the burst is {format_ops_per_s(stage.burst)}{each}",
    )


def _cpu_note(instance: Instance, catalog: Catalog) -> BalanceNote:
    metric = Metric.CPU_CREDITS
    row = catalogued(instance, catalog)
    if row is None:
        return _note(metric, can_move=None, reason="the class is not known")
    earned = catalog.cpu_credits(row.db_class)
    if earned is None:
        if row.is_cpu_burstable is False:
            return _note(metric, can_move=False, reason="the class earns no CPU credits")
        return _note(metric, can_move=None, reason="not documented for this class")
    reason = f"falls above {number(earned.baseline_ratio * 100)} % CPU"
    if earned.is_unlimited:
        reason += "; at zero, RDS bills the CPU and does not throttle it"
    return _note(metric, can_move=True, reason=reason)


def _stage(chain: Sequence[Stage], family: Family) -> Stage | None:
    return next((stage for stage in chain if stage.name == family.value), None)


def _note(metric: Metric, *, can_move: bool | None, reason: str) -> BalanceNote:
    return BalanceNote(metric=metric, can_move=can_move, reason=reason)
