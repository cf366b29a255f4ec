"""Which ceiling would bind once the present one is raised."""

from plimsoll.catalog.load import Catalog
from plimsoll.diagnosis.binding import RATE_FAMILIES
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Interval
from plimsoll.model.instance import Instance


def next_ceiling_of(
    time_at: tuple[CeilingTime, ...],
    intervals: tuple[Interval, ...],
    ceilings: tuple[Ceiling, ...],
    instance: Instance,
    catalog: Catalog,
) -> Ceiling | None:
    """
    The lowest present ceiling above the level that binds, at the I/O size seen while it bound.

    None when nothing binds, or nothing above it is documented.
    """
    del instance, catalog
    if not time_at:
        return None
    bound = time_at[0]
    sizes = [
        i.io_size_bytes
        for i in intervals
        if i.dimension == bound.dimension and i.family == bound.family and i.io_size_bytes
    ]
    if not sizes:
        return None
    size = sorted(sizes)[len(sizes) // 2]

    def bytes_per_s(dimension: Dimension, value: float) -> float:
        return value if dimension == Dimension.THROUGHPUT else value * size

    level = bytes_per_s(bound.dimension, bound.level)
    above = [
        c
        for c in ceilings
        if c.family in RATE_FAMILIES
        and c.phase != Phase.LEGACY
        and bytes_per_s(c.dimension, c.value) > 1.02 * level
    ]
    if bound.family != Family.UNKNOWN and bound.phase != Phase.LEGACY:
        above = [c for c in above if c.family != bound.family]
    return min(above, key=lambda c: bytes_per_s(c.dimension, c.value), default=None)
