"""What things cost, with the day and the strength of the evidence. An unknown price is not zero."""

from decimal import Decimal

from msgspec import Struct

from plimsoll.model.ceiling import Origin


class Price(Struct, frozen=True, kw_only=True):
    """One published price."""

    usd: Decimal
    unit: str
    """`hour`, `GB-month`, `IOPS-month`, `MB/s-month`, `million requests` …"""
    region: str
    as_of: str | None
    """ISO date on which it was in force; None where the source is undated."""
    is_weak: bool
    """True for a price from a fixture or a blog, or by a rule that nothing confirms."""
    origin: Origin
    note: str = ""
