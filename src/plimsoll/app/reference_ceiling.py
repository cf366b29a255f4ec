"""
The ceiling of a diagnosis that an inspection compares causes with, in bytes per second.

Causes inside a database are counted in bytes. So a ceiling on operations is converted to bytes, at
the mean size of the operations while it bound.
"""

from msgspec import Struct

from plimsoll.model.ceiling import Dimension, Family
from plimsoll.model.diagnosis import CeilingTime, Diagnosis, Resource, Verdict
from plimsoll.model.family import FAMILIES, RATE_FAMILIES
from plimsoll.reports.render.words import ceiling_name, limit_name, quantity, subject
from plimsoll.units import format_bytes, format_bytes_per_s

_THROUGHPUT, _IOPS = (
    tuple(f for f in RATE_FAMILIES if FAMILIES[f].dimension is dimension)
    for dimension in (Dimension.THROUGHPUT, Dimension.IOPS)
)


class ReferenceCeiling(Struct, frozen=True, kw_only=True):
    """The ceiling that the causes' shares refer to."""

    bytes_per_s: float | None
    """None if the diagnosis knows no ceiling of the storage."""
    name: str
    notes: tuple[str, ...] = ()
    """Sentences: how the ceiling was converted, and whether it bound."""


def reference_ceiling(diagnosis: Diagnosis) -> ReferenceCeiling:
    """Return the ceiling that bound for the longest time; if none bound, the lowest one, with a note."""
    about = subject(diagnosis.instance)
    if diagnosis.binding is not None:
        found = _of_binding(diagnosis, diagnosis.binding)
        if found is not None:
            return found
    lowest = min(_of_resources(diagnosis), key=lambda a: a.bytes_per_s or 0.0, default=None)
    if lowest is None:
        return ReferenceCeiling(bytes_per_s=None, name="", notes=(f"no ceiling of the storage of {about} is known",))
    did_not = "we do not know whether it bound" if diagnosis.verdict is Verdict.UNKNOWN else "none bound in its window"
    note = f"shares are of the lowest storage ceiling of {about}, {lowest.name}; {did_not}"
    return ReferenceCeiling(bytes_per_s=lowest.bytes_per_s, name=lowest.name, notes=(note, *lowest.notes))


def _of_binding(diagnosis: Diagnosis, binding: CeilingTime) -> ReferenceCeiling | None:
    legacy = binding.ceiling.former_phase if binding.ceiling else None
    name = limit_name(binding.family, binding.phase, legacy)
    level = binding.ceiling.value if binding.ceiling else binding.level
    if binding.dimension is Dimension.THROUGHPUT:
        return ReferenceCeiling(bytes_per_s=level, name=name)
    size = _io_size(diagnosis, binding)
    if binding.dimension is not Dimension.IOPS or size is None:
        return None
    return _of_ops(level, size, name, "while it bound")


def _io_size(diagnosis: Diagnosis, binding: CeilingTime) -> float | None:
    """Return the mean request size in the longest interval at the ceiling, in bytes."""
    at = [
        i
        for i in diagnosis.intervals
        if i.dimension is binding.dimension and i.family is binding.family and i.io_size_bytes
    ]
    longest = max(at, key=lambda i: i.end_s - i.start_s, default=None)
    return longest.io_size_bytes if longest else None


def _of_resources(diagnosis: Diagnosis) -> list[ReferenceCeiling]:
    """Return every storage ceiling in bytes per second, converted at the window's I/O size where needed."""
    by_family = {resource.family: resource for resource in diagnosis.resources}
    found = [
        ReferenceCeiling(bytes_per_s=resource.ceiling.value, name=ceiling_name(resource.ceiling))
        for family in _THROUGHPUT
        if (resource := by_family.get(family)) is not None and resource.ceiling is not None
    ]
    size = _mean_size(by_family)
    for family in _IOPS:
        resource = by_family.get(family)
        if resource is not None and resource.ceiling is not None and size is not None:
            name = ceiling_name(resource.ceiling)
            found.append(_of_ops(resource.ceiling.value, size, name, "on average in the window"))
    return found


def _mean_size(by_family: dict[Family, Resource]) -> float | None:
    """Return the mean bytes of an operation in the window."""
    means = [
        next((r.mean for f in families if (r := by_family.get(f)) and r.mean), None)
        for families in (_THROUGHPUT, _IOPS)
    ]
    bytes_per_s, ops_per_s = means
    return bytes_per_s / ops_per_s if bytes_per_s and ops_per_s else None


def _of_ops(ops_per_s: float, size_bytes: float, name: str, when: str) -> ReferenceCeiling:
    rate = ops_per_s * size_bytes
    note = (
        f"the ceiling, {name}, is {quantity(ops_per_s, 'ops/s')}; operations averaged "
        f"{format_bytes(size_bytes)} {when}, so it equals {format_bytes_per_s(rate, 3)}"
    )
    return ReferenceCeiling(bytes_per_s=rate, name=name, notes=(note,))
