"""
Instance limits that burst: the documented rates of their buckets, present and legacy, as ceilings.

EC2 documents a baseline B, a maximum M, and that the maximum is available for 30 minutes at least once
in 24 hours. It documents neither the capacity of the bucket nor its refill. Two readings are possible:
a bucket that drains at M − B and lasts 30 minutes, (M − B)·1800 s, and the convention of gp2, whose
capacity is the maximum for 1800 s, M·1800 s. They are used as lower and upper bound.
"""

from collections.abc import Callable, Mapping
from datetime import date
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.catalog.load import Catalog
from plimsoll.limits.class_limits import catalogued, is_near, limits_of, superseded
from plimsoll.limits.layout import is_aurora, launch_date
from plimsoll.limits.rule import Ceilings, Rule, ceiling_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
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


BUCKETS = (
    Bucket(
        family=Family.INSTANCE_EBS_THROUGHPUT,
        numbers=lambda limits: (limits.ebs_baseline_bytes_per_s, limits.ebs_burst_bytes_per_s),
        # Instance limits have up to five significant figures: 86.875, 593.75.
        format_value=lambda bytes_per_s: format_bytes_per_s(bytes_per_s, 5),
    ),
    Bucket(
        family=Family.INSTANCE_EBS_IOPS,
        numbers=lambda limits: (limits.ebs_baseline_ops_per_s, limits.ebs_burst_ops_per_s),
        format_value=format_ops_per_s,
    ),
)
"""EBS throughput and IOPS of an instance over all its volumes, reads and writes together."""


def _ceilings_of(bucket: Bucket, instance: Instance, catalog: Catalog) -> Ceilings:
    """
    Return today's baseline and burst, or the one fixed number; then legacy numbers.

    Raises:
        CatalogError: the class is not in the catalog.
    """
    limits = None if is_aurora(instance) else limits_of(instance, catalog)
    if limits is None:
        return ()
    burst_s = catalog.volume_rule("instance", "burst_s").value
    present = _of_edition(bucket, limits, burst_s, *_catalog_notes(bucket, limits, catalogued(instance, catalog)))
    # An observed level cannot distinguish a legacy limit from an equal one of today.
    known = {ceiling.value for ceiling in present}
    kept = [
        _legacy(ceiling, then, is_age_known=launch_date(instance) is not None)
        for then in legacy_limits_of(instance, catalog)
        for ceiling in _of_edition(bucket, then, burst_s)
        if ceiling.value not in known
    ]
    return present + _distinct(kept)


def _catalog_notes(bucket: Bucket, limits: InstanceLimits, row: InstanceLimits | None) -> list[str]:
    """Return remarks on baseline and burst with the catalog's numbers, if the provider reported others."""
    if limits.ebs_origin is None:
        return []
    known = bucket.numbers(row) if row is not None else (None, None)
    read_on = row.origin.read_on if row is not None else ""
    return [_catalog_note(bucket, *pair, read_on) for pair in zip(bucket.numbers(limits), known, strict=True)]


def _catalog_note(bucket: Bucket, reported: float | None, known: float | None, read_on: str) -> str:
    if reported is None or is_near(reported, known):
        return ""
    if known is None:
        return "the catalog has no number for it"
    text_of = bucket.format_value
    return f"the catalog (read {read_on}) has {text_of(known)}; EC2 reports {text_of(reported)}"


def _of_edition(
    bucket: Bucket, limits: InstanceLimits | LegacyLimits, burst_s: float, baseline_note: str = "", burst_note: str = ""
) -> Ceilings:
    """Return the baseline and the burst in one edition of the documentation, or the one fixed number."""
    baseline, burst = bucket.numbers(limits)
    if burst is None:
        return ()
    origin = (isinstance(limits, InstanceLimits) and limits.ebs_origin) or limits.origin
    fixed = ceiling_of(bucket.family, burst, origin, _joined(limits.note, burst_note))
    if baseline is None or baseline == burst:
        return (fixed,)
    low, high = capacity_bounds(baseline, burst, burst_s)
    bursting = replace(
        fixed,
        phase=Phase.BURST,
        balance_metric=bucket.family.facts.balance,
        capacity_low=low,
        capacity_high=high,
        note=_joined(limits.note, burst_note, _BOUNDS_NOTE),
    )
    note = _joined(limits.note, baseline_note, _BOUNDS_NOTE)
    return replace(bursting, phase=Phase.BASELINE, value=baseline, note=note), bursting


def _legacy(ceiling: Ceiling, limits: LegacyLimits, *, is_age_known: bool) -> Ceiling:
    return replace(
        ceiling,
        phase=Phase.LEGACY,
        former_phase=ceiling.phase,
        note=_joined(
            _LIFTED_NOTE if limits.is_lifted_by_restart else _NOT_LIFTED_NOTE,
            "" if is_age_known else _LAUNCH_UNKNOWN_NOTE,
            limits.note,
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
        capacity_low=_known(min, older.capacity_low, newer.capacity_low),
        capacity_high=_known(max, older.capacity_high, newer.capacity_high),
    )


def _known(pick: Callable[[list[float]], float], *bounds: float | None) -> float | None:
    known = [bound for bound in bounds if bound is not None]
    return pick(known) if known else None


def _documented_days(ceiling: Ceiling) -> float:
    origin = ceiling.origin
    if origin.valid_from is None or origin.valid_to is None:
        return float("inf")
    return (date.fromisoformat(origin.valid_to) - date.fromisoformat(origin.valid_from)).days


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


RULES: Mapping[Family, Rule] = {bucket.family: partial(_ceilings_of, bucket) for bucket in BUCKETS}
