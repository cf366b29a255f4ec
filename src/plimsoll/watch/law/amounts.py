"""Amounts of any unit of a ceiling, as people read them."""

from plimsoll.units import format_bytes, format_bytes_per_s, format_duration, format_ops_per_s, format_ratio, number


def format_amount(value: float, unit: str) -> str:
    """Format a value in the unit of its ceiling: `86.9 MB/s`, `3,000 IOPS`, `87 %`, `180`."""
    if unit == "bytes/s":
        return format_bytes_per_s(value)
    if unit == "ops/s":
        return format_ops_per_s(value)
    if unit == "ratio":
        return format_ratio(value)
    if unit == "bytes":
        return format_bytes(value)
    if unit == "s":
        return format_duration(value)
    return number(value)
