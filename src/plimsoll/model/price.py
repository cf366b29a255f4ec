"""What things cost, with the day and the strength of the evidence. An unknown price is not zero."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Protocol

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


class PriceBook(Protocol):
    """
    On-demand prices of one region; None where one is not known.

    The catalog has one for each region (`Catalog.price_book`), an offer file is another.
    """

    @property
    def region(self) -> str:
        """As AWS names it: `us-east-1`."""
        ...

    @property
    def name(self) -> str:
        """Where the prices are from, for a sentence: `the catalog`, `prices.json`."""
        ...

    def instance_price(
        self,
        db_class: str,
        engine: str,
        *,
        license_model: str | None = None,
        multi_az: bool = False,
        storage_kind: str | None = None,
    ) -> Price | None:
        """
        Price of an hour.

        Args:
            db_class: with the prefix `db.`.
            engine: as RDS names it: `postgres`, `oracle-se2`, `aurora-mysql`.
            license_model: `none`, `included` or `byol`; None where the engine has only one.
            multi_az: ask for an instance with a standby.
            storage_kind: `aurora-iopt1` asks for the price of Aurora I/O-Optimized.
        """
        ...

    def storage_price(self, item: str, *, multi_az: bool = False) -> Price | None:
        """
        Price of an item of storage, of backups, or of CPU credits.

        Args:
            item: one of `STORAGE_ITEMS`.
            multi_az: ask for what an instance with a standby pays.
        """
        ...

    def why_unknown(
        self,
        what: str,
        *,
        engine: str | None = None,
        multi_az: bool = False,
        license_model: str | None = None,
    ) -> str:
        """
        A sentence: which price is not known, why, and what would supply it.

        Args:
            what: a class or an item of storage.
            engine: for a class; None for an item.
        """
        ...


STORAGE_ITEMS: Mapping[str, str] = {
    "gp2_storage": "GB-month",
    "gp3_storage": "GB-month",
    "gp3_ops": "IOPS-month",
    "gp3_throughput": "MB/s-month",
    "io1_storage": "GB-month",
    "io1_ops": "IOPS-month",
    "io2_storage": "GB-month",
    "io2_ops": "IOPS-month",
    "standard_storage": "GB-month",
    "standard_io": "million requests",
    "backup": "GB-month",
    "aurora_storage": "GB-month",
    "aurora_iopt1_storage": "GB-month",
    "aurora_io": "million requests",
    "cpu_surplus_credits": "vCPU-hour",
    "cpu_surplus_credits_arm": "vCPU-hour",
    "cpu_surplus_credits_sqlserver": "vCPU-hour",
}
"""What is priced beside instances, and by which unit."""


def subject(
    what: str, region: str, *, engine: str | None, multi_az: bool, license_model: str | None = None
) -> str:
    """
    What a price is of, for a sentence: `the price of db.r5.large for postgres, Multi-AZ, in eu-west-1`.

    Args:
        what: a class, or an item of `STORAGE_ITEMS`.
        engine: for a class; None for an item.
    """
    of = f"{what} for {engine}" if engine else what.replace("_", " ")
    licensed = f", license {license_model}" if license_model not in (None, "none") else ""
    return f"the price of {of}{licensed}{', Multi-AZ,' if multi_az else ''} in {region}"
