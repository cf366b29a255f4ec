"""The text of rates and documented numbers."""

from plimsoll.model.ceiling import Ceiling, Dimension, Phase
from plimsoll.model.family import FAMILIES
from plimsoll.units import MIB, format_bytes_per_s, format_ops_per_s, number


def format_rate(value: float, dimension: Dimension) -> str:
    """Return a level with its unit: `212.5 MB/s` or `12,000 IOPS`."""
    if dimension == Dimension.THROUGHPUT:
        return format_bytes_per_s(value)
    return format_ops_per_s(value)


def format_ceiling(ceiling: Ceiling) -> str:
    """Return a documented number in the unit it is sold in: volume throughput also in MiB/s."""
    is_bytes = ceiling.dimension == Dimension.THROUGHPUT
    # Five figures: limits are published as 86.875 or 593.75 MB/s.
    text = format_bytes_per_s(ceiling.value, 5) if is_bytes else format_ops_per_s(ceiling.value)
    if ceiling.family.value == "volume_throughput":
        text = f"{number(ceiling.value / MIB)} MiB/s ({text})"
    return text


def describe(ceiling: Ceiling) -> str:
    """Return `instance EBS throughput baseline of 287.5 MB/s`, with `legacy` where it applies."""
    phase = "" if ceiling.bucket_phase == Phase.FIXED else f" {ceiling.bucket_phase.value}"
    legacy = "legacy " if ceiling.phase == Phase.LEGACY else ""
    return f"{legacy}{FAMILIES[ceiling.family].name}{phase} of {format_ceiling(ceiling)}"
