"""
Instance limits that burst: the documented rates of their buckets, present and legacy, as ceilings.

EC2 documents a baseline B, a maximum M, and that the maximum is available for 30 minutes at least once
in 24 hours. It documents neither the capacity of the bucket nor its refill. Two readings are possible:
a bucket that drains at M − B and lasts 30 minutes, (M − B)·1800 s, and the convention of gp2, whose
capacity is the maximum for 1800 s, M·1800 s. They are used as lower and upper bound.
"""

from collections.abc import Callable
from datetime import date

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued, is_near, limits_of, superseded
from plimsoll.limits.layout import is_aurora, launch_date
from plimsoll.limits.rule import Ceilings, ceiling_of
from plimsoll.model.ceiling import Ceiling, Family, Origin, Phase
from plimsoll.model.instance import Instance
from plimsoll.model.limit import InstanceLimits, LegacyLimits
from plimsoll.units import format_bytes_per_s, format_ops_per_s

_BOUNDS_NOTE = "the bucket's capacity is not published; its bounds follow from 30 minutes of burst"
_LIFTED_NOTE = "EC2 documents that a stop and start applies the present limits"
_NOT_LIFTED_NOTE = "EC2 does not document whether a stop and start applies the present limits"
_LAUNCH_UNKNOWN_NOTE = "the launch date is missing, so the instance may be too new for this limit"


class Bucket(Struct, frozen=True, kw_only=True):
    """One of the two EBS buckets of an instance."""

    family: Family
    numbers: Callable[[InstanceLimits | LegacyLimits], tuple[float | None, float | None]]
    """Returns baseline and burst from the documented limits of a class."""
    format_value: Callable[[float], str]
    """Formats a number of this bucket as the documentation prints it."""


class BucketRates(Struct, frozen=True, kw_only=True):
    """The numbers of one bucket in one edition of the documentation."""

    baseline: float | None
    burst: float | None
    origin: Origin
    note: str
    baseline_note: str = ""
    burst_note: str = ""
    """A remark on the burst alone, as `baseline_note` is one on the baseline."""
    is_lifted_by_restart: bool | None = None
    """For legacy numbers, as in LegacyLimits."""


def legacy_limits_of(instance: Instance, catalog: Catalog) -> tuple[LegacyLimits, ...]:
    """
    Return the legacy limits that the instance may still have: those documented at or after its launch.

    With an unknown launch these are all legacy limits of the class. The catalog's own numbers are
    among them where the provider has reported newer ones.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    row = None if is_aurora(instance) else catalogued(instance, catalog)
    if row is None:
        return ()
    launched = launch_date(instance)
    # An instance gets the limits of its launch day. Editions that ended before it never applied.
    last = superseded(instance, catalog)
    return tuple(
        legacy
        for legacy in (*catalog.legacy_limits(row.db_class), *((last,) if last else ()))
        if launched is None or legacy.origin.valid_to is None or legacy.origin.valid_to >= launched
    )


def capacity_bounds(baseline: float, burst: float, burst_s: float) -> tuple[float, float]:
    """Return the smallest and the largest capacity that fit `burst_s` seconds at the maximum."""
    return (burst - baseline) * burst_s, burst * burst_s


_THROUGHPUT = Bucket(
    family=Family.INSTANCE_EBS_THROUGHPUT,
    numbers=lambda limits: (limits.ebs_baseline_bytes_per_s, limits.ebs_burst_bytes_per_s),
    format_value=lambda bytes_per_s: format_bytes_per_s(bytes_per_s, 5),
)
_IOPS = Bucket(
    family=Family.INSTANCE_EBS_IOPS,
    numbers=lambda limits: (limits.ebs_baseline_ops_per_s, limits.ebs_burst_ops_per_s),
    format_value=format_ops_per_s,
)


def throughput(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the EBS throughput over all volumes, reads and writes together, bytes/s; as `_ceilings_of` does."""
    return _ceilings_of(_THROUGHPUT, instance, catalog)


def iops(instance: Instance, catalog: Catalog) -> Ceilings:
    """Return the EBS IOPS over all volumes, reads and writes together, ops/s; as `_ceilings_of` does."""
    return _ceilings_of(_IOPS, instance, catalog)


def _ceilings_of(bucket: Bucket, instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return today's baseline and burst, or the one fixed number; then legacy numbers.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    limits = None if is_aurora(instance) else limits_of(instance, catalog)
    if limits is None:
        return ()
    return bucket_ceilings(
        bucket,
        _present(bucket, limits, catalogued(instance, catalog)),
        tuple(_rates(bucket, then) for then in legacy_limits_of(instance, catalog)),
        burst_s=catalog.volume_rule("instance", "burst_s").value,
        is_age_known=launch_date(instance) is not None,
    )


def _present(bucket: Bucket, limits: InstanceLimits, row: InstanceLimits | None) -> BucketRates:
    """Return today's numbers; where the provider reported them, notes give the catalog's numbers."""
    rates = _rates(bucket, limits)
    if limits.ebs_origin is None:
        return rates
    known = bucket.numbers(row) if row is not None else (None, None)
    read_on = row.origin.read_on if row is not None else ""
    return replace(
        rates,
        origin=limits.ebs_origin,
        baseline_note=_catalog_note(bucket, rates.baseline, known[0], read_on),
        burst_note=_catalog_note(bucket, rates.burst, known[1], read_on),
    )


def _catalog_note(bucket: Bucket, reported: float | None, known: float | None, read_on: str) -> str:
    if reported is None or is_near(reported, known):
        return ""
    if known is None:
        return "the catalog has no number for it"
    text_of = bucket.format_value
    return f"the catalog (read {read_on}) has {text_of(known)}; EC2 reports {text_of(reported)}"


def _rates(bucket: Bucket, limits: InstanceLimits | LegacyLimits) -> BucketRates:
    baseline, burst = bucket.numbers(limits)
    lifted = limits.is_lifted_by_restart if isinstance(limits, LegacyLimits) else None
    return BucketRates(
        baseline=baseline, burst=burst, origin=limits.origin, note=limits.note, is_lifted_by_restart=lifted
    )


def bucket_ceilings(
    bucket: Bucket, now: BucketRates, legacy: tuple[BucketRates, ...], *, burst_s: float, is_age_known: bool
) -> Ceilings:
    """
    Return today's ceilings of a bucket, then the legacy ones with other numbers.

    Args:
        bucket: one of the two buckets.
        now: today's numbers; None in it where nothing is documented.
        legacy: the numbers the instance may still have, oldest first.
        burst_s: seconds for which the maximum is promised, once a day.
        is_age_known: whether the instance's launch is known, so that `legacy` was chosen by it.
    """
    present = _ceilings(bucket, now, burst_s)
    # An observed level cannot distinguish a legacy limit from an equal one of today.
    known = {ceiling.value for ceiling in present}
    kept = [
        _legacy(ceiling, rates, is_age_known=is_age_known)
        for rates in legacy
        for ceiling in _ceilings(bucket, rates, burst_s)
        if ceiling.value not in known
    ]
    return present + _distinct(kept)


def _ceilings(bucket: Bucket, rates: BucketRates, burst_s: float) -> Ceilings:
    baseline, burst = rates.baseline, rates.burst
    if burst is None:
        return ()
    fixed = ceiling_of(bucket.family, burst, rates.origin, _joined(rates.note, rates.burst_note))
    if baseline is None or baseline == burst:
        return (fixed,)
    low, high = capacity_bounds(baseline, burst, burst_s)
    bursting = replace(
        fixed,
        phase=Phase.BURST,
        balance_metric=bucket.family.facts.balance,
        capacity_low=low,
        capacity_high=high,
        note=_joined(rates.note, rates.burst_note, _BOUNDS_NOTE),
    )
    note = _joined(rates.note, rates.baseline_note, _BOUNDS_NOTE)
    return replace(bursting, phase=Phase.BASELINE, value=baseline, note=note), bursting


def _legacy(ceiling: Ceiling, rates: BucketRates, *, is_age_known: bool) -> Ceiling:
    return replace(
        ceiling,
        phase=Phase.LEGACY,
        former_phase=ceiling.phase,
        note=_joined(
            _LIFTED_NOTE if rates.is_lifted_by_restart else _NOT_LIFTED_NOTE,
            "" if is_age_known else _LAUNCH_UNKNOWN_NOTE,
            rates.note,
        ),
    )


def _distinct(legacy: list[Ceiling]) -> Ceilings:
    """
    Return one ceiling for each legacy number, in the role it was documented in for the longest time.

    The same number can be a baseline in one edition and a maximum in another. An observed level does
    not distinguish them, and the edition that lasted a few days is the less likely one.
    """
    best: dict[float, Ceiling] = {}
    for ceiling in legacy:
        other = best.get(ceiling.value)
        if other is None:
            best[ceiling.value] = ceiling
        elif other.former_phase == ceiling.former_phase:
            best[ceiling.value] = _over_both(other, ceiling)
        elif _documented_days(ceiling) > _documented_days(other):
            best[ceiling.value] = ceiling
    return tuple(sorted(best.values(), key=lambda ceiling: ceiling.value))


def _over_both(older: Ceiling, newer: Ceiling) -> Ceiling:
    """Return the newer of two equal numbers, with the period and the capacity bounds of both."""
    return replace(
        newer,
        origin=replace(newer.origin, valid_from=older.origin.valid_from),
        capacity_low=_least(older.capacity_low, newer.capacity_low),
        capacity_high=_most(older.capacity_high, newer.capacity_high),
    )


def _least(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else min(a, b)


def _most(a: float | None, b: float | None) -> float | None:
    return b if a is None else a if b is None else max(a, b)


def _documented_days(ceiling: Ceiling) -> float:
    origin = ceiling.origin
    if origin.valid_from is None or origin.valid_to is None:
        return float("inf")
    return (date.fromisoformat(origin.valid_to) - date.fromisoformat(origin.valid_from)).days


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
