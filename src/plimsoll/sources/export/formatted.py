"""
Parse numbers with a unit in the cell, as dashboards write them: `52.4 MB/s`, `3.83K io/s`, `0.95 ms`.

Source: Grafana documentation, "Standard options", units (read 2026-11): decimal units are K, M and G
of a thousand, binary ones Ki, Mi and Gi of 1,024; short numbers are K, Mil, Bil and Tri.
"""

import re

from plimsoll.model.metric import Metric
from plimsoll.sources.reading.quantities import factor_of

SHORT = "None"
"""The unit of `1.2 K`: it is that of the metric, as for a number without any letter."""

_CELL = re.compile(r"\s*([-+]?[0-9][0-9.,]*(?:[eE][-+]?[0-9]+)?)\s*([^\s0-9].*?)\s*\Z")
_SHORT = {"k": 1e3, "K": 1e3, "Mil": 1e6, "M": 1e6, "Bil": 1e9, "G": 1e9}
_COUNTED = re.compile(r"(K|k|Mil|M|Bil|G)?\s*(io/s|iops|ops/s|ops|rd/s|wr/s|req/s|reqps|c/s|cps)?\Z")

# One metric of each kind tells whether a unit is of that kind, and what it is worth in ours.
_KINDS = (
    (Metric.READ_BYTES_PER_S, "Bytes/Second"),
    (Metric.FREE_STORAGE_BYTES, "Bytes"),
    (Metric.READ_LATENCY_S, "Seconds"),
)


def number_of(cell: str, *, comma_is_decimal: bool) -> tuple[float, str] | None:
    """
    Return the number of a cell in the base of its unit, and that unit; None where it is none.

    Returns:
        Value and unit, with CloudWatch's names of units: 52,400,000 and `Bytes/Second` for `52.4 MB/s`.
    """
    match = _CELL.match(cell)
    if match is None:
        return None
    text, unit = match.groups()
    text = text.replace(",", "." if comma_is_decimal else "")
    try:
        number = float(text)
    except ValueError:
        return None
    if unit == "%":
        return number, "Percent"
    for metric, name in _KINDS:
        factor = factor_of(unit, metric)
        if factor is not None:
            return number * factor, name
    counted = _COUNTED.match(unit)
    if counted is None or not unit:
        return None
    return number * _SHORT.get(counted[1] or "", 1.0), "Count" if counted[2] else SHORT
