"""The ceiling that would bind once the present one is raised."""

from plimsoll.diagnosis.frame import IO_UNIT_BYTES
from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import CeilingTime, Interval
from plimsoll.model.family import RATE_FAMILIES


def next_ceiling_of(
    time_at: tuple[CeilingTime, ...], intervals: tuple[Interval, ...], ceilings: tuple[Ceiling, ...]
) -> Ceiling | None:
    """
    Return the lowest present ceiling above the binding level, at the I/O size measured while it bound.

    A stop and start replaces a legacy limit, so its present successor may be the next one.
    None when nothing binds, when the I/O size is not known, or nothing above it is documented.
    """
    if not time_at:
        return None
    bound = time_at[0]
    sizes = sorted(
        i.io_size_bytes
        for i in intervals
        if i.dimension == bound.dimension and i.family == bound.family and i.io_size_bytes
    )
    if not sizes:
        return None
    # The median size: which limit comes next depends on the size at which the ceiling was met.
    size = sizes[len(sizes) // 2]
    level = bound.level if bound.dimension == Dimension.THROUGHPUT else bound.level * size
    above = [
        (rate, c)
        for c in ceilings
        if c.family in RATE_FAMILIES and c.phase != Phase.LEGACY
        # At least two percent above, so that the binding number is not its own successor.
        if (rate := bytes_per_s_through(c, size)) > 1.02 * level
    ]
    # Raising a family's limit raises its burst as well; the next limit is one of another family.
    if bound.family != Family.UNKNOWN and bound.phase != Phase.LEGACY:
        above = [(rate, c) for rate, c in above if c.family != bound.family]
    return min(above, key=lambda pair: pair[0])[1] if above else None


def bytes_per_s_through(ceiling: Ceiling, io_size_bytes: float) -> float:
    """Return the rate that one ceiling allows at an I/O size, bytes/s, by the kernel's rule for a stage."""
    is_bytes = ceiling.dimension == Dimension.THROUGHPUT
    stage = Stage(
        name=ceiling.family.value,
        baseline=ceiling.value,
        burst=ceiling.value,
        counts="bytes" if is_bytes else "ops",
        unit_bytes=None if is_bytes else IO_UNIT_BYTES,
    )
    return stage.ceiling_ops_per_s(io_size_bytes) * io_size_bytes
