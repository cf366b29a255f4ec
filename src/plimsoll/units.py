"""
Convert units at the edges, and format numbers for people.

Rule 1: all other code uses seconds, bytes, operations, bytes per second and ratios 0–1 only.
Rule 2: MB, MiB, Mbit and KiB exist in this file only, as functions.
Rule 3: instance limits are sold in decimal MB/s, volume limits in MiB/s (EBS user guide); a text
        for people names the unit it uses, so the two are never confused.
"""

from datetime import UTC, datetime
from math import isfinite

KIB = 1024
MIB = 1024**2
GIB = 1024**3


def mb_per_s(megabytes: float) -> float:
    """Convert decimal megabytes per second, the unit of published instance limits, to bytes per second."""
    return megabytes * 1e6


def mbit_per_s(megabits: float) -> float:
    """Convert megabits per second, the unit of instance bandwidth; 2,300 Mbit/s is 287.5 MB/s."""
    return megabits * 1e6 / 8


def gbit_per_s(gigabits: float) -> float:
    """Convert gigabits per second, the unit of network bandwidth, to bytes per second."""
    return gigabits * 1e9 / 8


def mib_per_s(mebibytes: float) -> float:
    """Convert mebibytes per second, the unit of volume throughput, to bytes per second."""
    return mebibytes * MIB


def gib(gibibytes: float) -> float:
    """Convert gibibytes, the unit of memory and storage, to bytes."""
    return gibibytes * GIB


def kib(kibibytes: float) -> float:
    """Convert kibibytes, the unit of I/O sizes, to bytes."""
    return kibibytes * KIB


def ratio_of_percent(percent: float) -> float:
    """Convert a percentage, the unit of reported balances and CPU, to a ratio 0–1."""
    return percent / 100


def number(value: float, digits: int = 4) -> str:
    """
    Format a number for people: thousands separated, `digits` significant figures, no exponent.

    Whole numbers keep all their digits (18,750), fractions lose trailing zeros (86.875, 212.5).
    """
    if not isfinite(value):
        return "unknown"
    if abs(value) >= 10 ** (digits - 1) or value == round(value):
        return f"{value:,.0f}"
    whole = len(str(int(abs(value)))) if abs(value) >= 1 else 0
    text = f"{value:,.{max(digits - whole, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_bytes_per_s(value: float, digits: int = 4) -> str:
    """Format a rate in decimal MB/s with up to `digits` significant figures: `212.5 MB/s`."""
    return f"{number(value / 1e6, digits)} MB/s" if isfinite(value) else "unknown"


def format_ops_per_s(value: float) -> str:
    """Format a rate in whole operations per second: `18,750 IOPS`."""
    return f"{value:,.0f} IOPS" if isfinite(value) else "unknown"


def format_bytes(value: float) -> str:
    """Format bytes in the largest binary unit that keeps the number at or above one: `16 KiB`."""
    if not isfinite(value):
        return "unknown"
    for size, unit in ((1024**4, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if abs(value) >= size:
            return f"{number(value / size, 3)} {unit}"
    return f"{number(value, 3)} B"


def format_latency(seconds: float) -> str:
    """Format a latency in milliseconds: `6.2 ms`; below a tenth of a millisecond in microseconds."""
    if not isfinite(seconds):
        return "unknown"
    if abs(seconds) < 1e-4:
        return f"{number(seconds * 1e6, 3)} µs"
    return f"{number(seconds * 1e3, 3)} ms"


def format_ratio(ratio: float) -> str:
    """Format a ratio as a percentage: `0.873` is `87 %`; below ten percent with one decimal."""
    if not isfinite(ratio):
        return "unknown"
    percent = ratio * 100
    return f"{percent:.1f} %" if 0 < abs(percent) < 9.95 else f"{percent:.0f} %"


def format_duration(seconds: float) -> str:
    """Format a duration in its two largest units: `3 d 4 h`, `2 h 5 min`, `45 s`."""
    if not isfinite(seconds):
        return "unknown"
    left = round(seconds)
    if left < 60:
        return f"{left} s"
    minutes = round(left / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def format_time(epoch_s: float) -> str:
    """Format a time in UTC, ISO 8601 to the second: `2021-03-08T10:14:00Z`."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_clock(epoch_s: float) -> str:
    """Format a time in UTC for a sentence: `2021-03-08 10:14`."""
    return datetime.fromtimestamp(epoch_s, UTC).strftime("%Y-%m-%d %H:%M")


# Chances between these are given in tenths; those nearer to 0 or 1 in hundredths.
_TENTHS = (0.095, 0.945)


def in_cases(chance: float) -> str:
    """
    Format a chance as `7 of 10`, near 0 or 1 as `6 of 100` or `98 of 100`; never as none or all.

    Args:
        chance: 0–1.
    """
    low, high = _TENTHS
    if low <= chance < high:
        return f"{max(round(10 * chance), 1)} of 10"
    count = min(max(round(100 * chance), 1), 99)
    return f"{'fewer than ' if chance < 0.005 else ''}{count} of 100"
