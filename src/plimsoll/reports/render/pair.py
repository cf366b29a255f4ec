"""
Two numbers of one kind and what lies between them, in one unit, so that they can be subtracted by eye.

Rule 1: both sides have the same unit and keep their trailing zeros; the difference is as exact as
        the rougher of the two, and where they are alike in that it is the difference of what is
        printed.
Rule 2: where both sides read alike, the difference is *same*.
"""

from dataclasses import dataclass
from math import isfinite

from plimsoll.model.comparison import change_ratio_of
from plimsoll.units import GIB, KIB, MIB, format_ratio

SAME = "same"
UNKNOWN = "unknown"

# Significant figures: rates are compared with published limits of four and five, the rest is not
# known that well.
_DIGITS_RATE, _DIGITS = 4, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """The printed texts of two numbers and their difference."""

    before: str
    after: str
    difference: str
    """`+55.6 MB/s`, `−18 points` of a percentage, `same`; empty where a side is unknown."""
    percent: str
    """`+46 %` of before; empty for percentages, and where it is not known or less than is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    scale: float
    suffix: str
    digits: int | None
    """Significant figures; None prints whole numbers."""


def pair(before: float | None, after: float | None, unit: str) -> Pair:
    """
    Return the texts of two numbers of the model.

    Args:
        before: in `unit`; None where it is not known. Likewise `after`.
        unit: `bytes/s`, `ops/s`, `bytes`, `s`, `ratio`, `requests`, `count` or another word.
    """
    known = [v for v in (before, after) if v is not None and isfinite(v)]
    if unit == "ratio":
        texts = [_ratio(v) for v in (before, after)]
    else:
        form = _form(unit, known)
        texts = [_text_of(v, form, known) for v in (before, after)]
    if before is None or after is None or len(known) < 2:
        return Pair(before=texts[0], after=texts[1], difference="", percent="")
    if texts[0] == texts[1]:
        return Pair(before=texts[0], after=texts[1], difference=SAME, percent="")
    if unit == "ratio":
        points = format_ratio(abs(after - before)).removesuffix(" %")
        difference, percent = f"{_sign(after - before)}{points} points", ""
    else:
        difference = _difference(before, after, _form(unit, known), known)
        percent = percent_of(before, after)
    return Pair(before=texts[0], after=texts[1], difference=difference, percent=percent)


def percent_of(before: float | None, after: float | None) -> str:
    """Return `+46 %`, `−0.7 %`; empty if unknown or rounded to zero."""
    change = change_ratio_of(before, after)
    if change is None or abs(change) < 0.0005:
        return ""
    if abs(change) >= 0.0995:
        return f"{_sign(change)}{abs(change) * 100:,.0f} %"
    return f"{_sign(change)}{abs(change) * 100:.1f} %"


def _form(unit: str, known: list[float]) -> _Form:
    largest = max((abs(v) for v in known), default=0.0)
    if unit == "bytes/s":
        return _Form(scale=1e6, suffix=" MB/s", digits=_DIGITS_RATE)
    if unit == "ops/s":
        return _Form(scale=1, suffix=" IOPS", digits=None)
    if unit == "s":
        scale, suffix = (1e-6, " µs") if largest < 1e-4 else (1e-3, " ms")
        return _Form(scale=scale, suffix=suffix, digits=_DIGITS)
    if unit == "bytes":
        sizes = ((GIB * KIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB"))
        scale, name = next(((s, n) for s, n in sizes if largest >= s), (1, "B"))
        return _Form(scale=scale, suffix=f" {name}", digits=_DIGITS)
    is_whole = unit == "count" and all(float(v).is_integer() for v in known)
    suffix = "" if unit in ("count", "requests") else f" {unit}"
    return _Form(scale=1, suffix=suffix, digits=None if is_whole else _DIGITS)


def _decimals(value: float, form: _Form) -> int:
    if form.digits is None:
        return 0
    # A number that rounds up to another digit, such as 99.96, has that digit.
    size = float(f"{abs(value / form.scale):.{form.digits}g}")
    whole = len(str(int(size))) if size >= 1 else 0
    return max(form.digits - whole, 0)


def _text_of(value: float | None, form: _Form, known: list[float]) -> str:
    if value is None or not isfinite(value):
        return UNKNOWN
    # Beside nothing, or as nothing, no more decimals than the other side has.
    decimals = _decimals(value, form) if value else _rougher(form, known)
    return f"{value / form.scale:,.{decimals}f}{form.suffix}"


def _rougher(form: _Form, known: list[float]) -> int:
    return min((_decimals(v, form) for v in known if v), default=0)


def _difference(before: float, after: float, form: _Form, known: list[float]) -> str:
    decimals = _rougher(form, known)
    change = (after - before) / form.scale
    if {_decimals(v, form) for v in known if v} == {decimals}:
        change = round(after / form.scale, decimals) - round(before / form.scale, decimals)
    return f"{_sign(change)}{abs(change):,.{decimals}f}{form.suffix}"


def _ratio(value: float | None) -> str:
    return UNKNOWN if value is None else format_ratio(value)


def _sign(change: float) -> str:
    return "+" if change > 0 else "−"
