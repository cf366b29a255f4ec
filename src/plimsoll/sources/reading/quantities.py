"""
Convert units of exports: return the factor from a written number to our unit.

CloudWatch counts in thousands (Kilobytes/Second is 1,000 bytes/s); only a written `KiB` is 1,024.
"""

import re
from functools import lru_cache

from plimsoll.model.metric import METRICS, Metric
from plimsoll.units import GIB, KIB, MIB, mb_per_s, mbit_per_s, ratio_of_percent

# Binary, as CloudWatch and Grafana write it.
_TIB = 1024 * GIB
_MB = mb_per_s(1)
_MBIT = mbit_per_s(1)

_BYTES: dict[str, float] = {
    "bytes": 1.0,
    "byte": 1.0,
    "B": 1.0,
    "By": 1.0,
    "kilobytes": _MB / 1000,
    "KB": _MB / 1000,
    "kB": _MB / 1000,
    "kBy": _MB / 1000,
    "megabytes": _MB,
    "MB": _MB,
    "MBy": _MB,
    "gigabytes": _MB * 1000,
    "GB": _MB * 1000,
    "GBy": _MB * 1000,
    "terabytes": _MB * 1e6,
    "TB": _MB * 1e6,
    "TBy": _MB * 1e6,
    "KiB": KIB,
    "kibibytes": KIB,
    "MiB": MIB,
    "mebibytes": MIB,
    "GiB": GIB,
    "gibibytes": GIB,
    "TiB": _TIB,
    "bits": _MBIT / 1e6,
    "bit": _MBIT / 1e6,
    "kilobits": _MBIT / 1e3,
    "kbit": _MBIT / 1e3,
    "Kb": _MBIT / 1e3,
    "megabits": _MBIT,
    "Mbit": _MBIT,
    "MBit": _MBIT,
    "Mb": _MBIT,
    "gigabits": _MBIT * 1e3,
    "Gbit": _MBIT * 1e3,
    "GBit": _MBIT * 1e3,
    "Gb": _MBIT * 1e3,
}
"""Bytes per unit. Short forms keep their case: `MB` are bytes, `Mb` are bits."""

_SECONDS: dict[str, float] = {
    "seconds": 1.0,
    "second": 1.0,
    "sec": 1.0,
    "s": 1.0,
    "milliseconds": 1e-3,
    "millisecond": 1e-3,
    "ms": 1e-3,
    "microseconds": 1e-6,
    "microsecond": 1e-6,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
}

_COUNTS = frozenset(
    {"count", "{count}", "counts", "io", "ios", "ops", "operations", "requests", "connections"}
    | {"credits", "credits (vcpu-minutes)", "sessions", "transactions"}
)
_OPS_RATES = frozenset({"iops", "tps"})
_PERCENT = frozenset({"percent", "%", "pct", "percentage"})
_NONE = frozenset({"", "none", "1", "nonetranslated", "-", "null"})

_RATE = re.compile(r"\s*(?:/\s*(?:s|sec|second)|per second|ps)\Z", re.IGNORECASE)


@lru_cache(maxsize=1024)
def factor_of(unit: str | None, metric: Metric, *, is_ours: bool = False) -> float | None:
    """
    Return what a number written in `unit` is multiplied by to be in our unit of `metric`.

    Args:
        unit: as written; None or `None` where the export does not say.
        is_ours: the number stands under one of our own names and is in our unit already.

    Returns:
        The factor; None where the unit cannot belong to this metric.
    """
    written = (unit or "").strip()
    if written.lower() in _NONE:
        return 1.0 if is_ours else METRICS[metric].scale
    ours = METRICS[metric].unit
    if written.lower() in _PERCENT:
        return ratio_of_percent(1) if ours == "ratio" else None
    if written.lower() in _OPS_RATES:
        return 1.0 if ours == "ops/s" else None
    base = _RATE.sub("", written)
    is_rate = base != written
    if (size := _look_up(_BYTES, base)) is not None:
        return size if ours == ("bytes/s" if is_rate else "bytes") else None
    if (length := _look_up(_SECONDS, base)) is not None:
        return length if ours == "s" and not is_rate else None
    if base.lower() in _COUNTS:
        return 1.0 if ours in _COUNTED else None
    return 1.0 if base.lower() == "ratio" and ours == "ratio" else None


# `Count` is accepted for rates of operations as well: exports often drop the `/Second`, and
# CloudWatch has no metric of ours that counts operations per period.
_COUNTED = frozenset({"ops/s", "requests", "count", "credits"})


def is_unit(text: str) -> bool:
    """Return whether the text is a unit of any metric of ours."""
    return text.strip().lower() not in _NONE and any(factor_of(text, metric) is not None for metric in Metric)


def _look_up(table: dict[str, float], base: str) -> float | None:
    return table.get(base, table.get(base.lower()))
