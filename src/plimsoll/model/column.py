"""
The types of the fields of published facts: what a column of the catalog may contain.

A value has SI units. If its column has another unit or spelling, the type names the function that reads the text.
"""

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any

from msgspec import Meta

from plimsoll.units import gbit_per_s, gib, mb_per_s, mib_per_s

# A year and a month are enough where the source has no day; ISO 8601 allows it.
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")


def day(text: str) -> str:
    """Return an ISO date, or a year and a month."""
    if not _DATE.fullmatch(text):
        raise ValueError("it is not an ISO date")
    return text


def _yes_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError("it is neither yes nor no")
    return text == "yes"


def _usd(text: str) -> Decimal:
    try:
        value = Decimal(text)
        is_paid = value > 0
    except InvalidOperation as error:  # no number, or NaN, which compares with none
        raise ValueError("it is not an amount") from error
    if not is_paid:
        raise ValueError("it is not above zero")
    return value


def _in_si(convert: Callable[[float], float]) -> dict[str, Any]:
    return {"read": lambda text: convert(float(text))}


# Every number of the catalog is above zero, and none is near this bound in any unit.
_MOST = 1e15

Amount = Annotated[float, Meta(gt=0, lt=_MOST, extra={"read": float})]
Count = Annotated[int, Meta(gt=0, extra={"read": int})]
MbPerS = Annotated[float, Meta(gt=0, lt=_MOST, extra=_in_si(mb_per_s))]
MibPerS = Annotated[float, Meta(gt=0, lt=_MOST, extra=_in_si(mib_per_s))]
GbitPerS = Annotated[float, Meta(gt=0, lt=_MOST, extra=_in_si(gbit_per_s))]
Gib = Annotated[float, Meta(gt=0, lt=_MOST, extra=_in_si(gib))]
MemoryGib = Annotated[int, Meta(gt=0, extra=_in_si(lambda size: round(gib(size))))]
Day = Annotated[str, Meta(extra={"read": day})]
YesNo = Annotated[bool, Meta(extra={"read": _yes_no})]
Usd = Annotated[Decimal, Meta(extra={"read": _usd})]
