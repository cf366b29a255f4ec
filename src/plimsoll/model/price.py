"""Prices, each with its date and the strength of its evidence. An unknown price is not zero."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple, Protocol

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.instance import Deployment

HOURS_PER_MONTH = 730
"""The hours of a month in AWS prices: 365 × 24 / 12 (AWS Pricing Calculator, 2026-11)."""


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


def is_old(as_of: str | None, today: str) -> bool:
    """
    Return whether a price is older than a year; one without a date is.

    Args:
        as_of: ISO date on which it was in force, or a year and a month.
        today: ISO date.
    """
    if as_of is None:
        return True
    a_year_later = f"{int(as_of[:4]) + 1:04d}{as_of[4:]}"
    return a_year_later < today[: len(a_year_later)]


class PriceBook(Protocol):
    """
    On-demand prices of one region; None where one is not known.

    The catalog has one for each region (`CatalogPrices`), an offer file is another.
    """

    @property
    def region(self) -> str:
        """Return the region's name in AWS: `us-east-1`."""
        ...

    @property
    def name(self) -> str:
        """Return the source of the prices, for a sentence: `the catalog`, `prices.json`."""
        ...

    def instance_price(
        self,
        db_class: str,
        engine: str,
        *,
        license_model: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        storage_kind: str | None = None,
    ) -> Price | None:
        """
        Return the price of an hour.

        Args:
            db_class: with the prefix `db.`.
            engine: as RDS names it: `postgres`, `oracle-se2`, `aurora-mysql`.
            license_model: `none`, `included` or `byol`; None where the engine has only one.
            deployment: the price of a cluster is of its three instances together.
            storage_kind: `aurora-iopt1` asks for the price of Aurora I/O-Optimized.
        """
        ...

    def storage_price(self, item: str, *, deployment: Deployment = Deployment.SINGLE_AZ) -> Price | None:
        """
        Return the price of an item of storage, of backups, or of CPU credits.

        Args:
            item: one of `STORAGE_ITEMS`.
            deployment: what is paid of each GiB or IOPS of one instance, for all copies of it.
        """
        ...

    def why_unknown(
        self,
        what: str,
        *,
        engine: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        license_model: str | None = None,
    ) -> str:
        """
        Return a sentence: which price is not known, why, and what would supply it.

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
"""Priced items other than instances, with their unit."""


LICENSES: Mapping[str, str] = {
    "license-included": "included",
    "bring-your-own-license": "byol",
    "general-public-license": "none",
    "postgresql-license": "none",
}
"""
The licence by which a price is listed, by the licence as AWS writes it.

Source: Amazon RDS API Reference, CreateDBInstance, LicenseModel (2026-11). A licence from a seller on
the marketplace is not part of the price of the instance, so it is not among them.
"""


def licensed_as(license_model: str) -> str:
    """Return AWS's name of a licence model that prices depend on: `bring-your-own-license` for `byol`."""
    return next((name for name, short in LICENSES.items() if short == license_model), license_model)


_DEPLOYED = {
    Deployment.SINGLE_AZ: "",
    Deployment.MULTI_AZ: ", Multi-AZ,",
    Deployment.MULTI_AZ_CLUSTER: ", Multi-AZ DB cluster,",
}


def subject(
    what: str, region: str, *, engine: str | None, deployment: Deployment, license_model: str | None = None
) -> str:
    """
    Return a phrase for a price: `the price of db.r5.large for postgres, Multi-AZ, in eu-west-1`.

    Args:
        what: a class, or an item of `STORAGE_ITEMS`.
        engine: for a class; None for an item.
    """
    of = f"{what} for {engine}" if engine else what.replace("_", " ")
    licensed = f", {licensed_as(license_model)}" if license_model not in (None, "none") else ""
    return f"the price of {of}{licensed}{_DEPLOYED[deployment]} in {region}"


class InstanceKey(NamedTuple):
    """The key of an instance price in a region."""

    db_class: str
    engine: str
    license_model: str
    """`none`, `included` or `byol`."""
    deployment: Deployment
    is_io_optimized: bool
    """Aurora I/O-Optimized."""


class PriceTable(Struct, frozen=True, kw_only=True):
    """A `PriceBook` that was read from a file, not from the catalog; all its prices are in memory."""

    region: str
    name: str
    instances: Mapping[InstanceKey, Price]
    items: Mapping[tuple[str, Deployment], Price]
    """By item of `STORAGE_ITEMS` and deployment."""
    disputed: Mapping[InstanceKey | tuple[str, Deployment], str] = {}
    """Items with several prices that no rule distinguishes: the prices, for a sentence."""
    licenses: Mapping[str, tuple[str, ...]] = {}
    """The licences with which an engine is sold, by engine."""

    def instance_price(
        self,
        db_class: str,
        engine: str,
        *,
        license_model: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        storage_kind: str | None = None,
    ) -> Price | None:
        """Return the price of an hour; None where it is not known."""
        optimized = storage_kind == "aurora-iopt1"
        if license_model is None:
            licenses = self.licenses_of(engine)
            if len(licenses) != 1:
                return None
            license_model = licenses[0]
        engine = priced_engine(engine)
        key = InstanceKey(db_class, engine, license_model, deployment, optimized)
        return self.instances.get(key)

    def storage_price(self, item: str, *, deployment: Deployment = Deployment.SINGLE_AZ) -> Price | None:
        """Return the price of an item of `STORAGE_ITEMS`; None where it is not known."""
        return self.items.get(item_key(item, deployment))

    def licenses_of(self, engine: str) -> tuple[str, ...]:
        """Return the licences with which an engine is sold; empty where nothing of it is known."""
        return self.licenses.get(priced_engine(engine), ())

    def why_unknown(
        self,
        what: str,
        *,
        engine: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        license_model: str | None = None,
    ) -> str:
        """Return a sentence: which price is not known, why, and what would supply it."""
        licenses = self.licenses_of(engine) if engine else ()
        if engine and license_model is None:
            depends = depends_on_license(self, what, engine, licenses, deployment=deployment)
            if depends:
                return depends
        of = subject(what, self.region, engine=engine, deployment=deployment, license_model=license_model)
        dispute = self._dispute(what, engine, license_model or "".join(licenses), deployment=deployment)
        if dispute:
            return f"{of} is not clear: {self.name} has {dispute}"
        return f"{of} is not in {self.name}; a newer offer file may have it"

    def _dispute(self, what: str, engine: str | None, license_model: str, *, deployment: Deployment) -> str | None:
        if engine is None:
            return self.disputed.get(item_key(what, deployment))
        keys = (
            InstanceKey(what, priced_engine(engine), license_model, deployment, optimized)
            for optimized in (False, True)
        )
        return next((self.disputed[key] for key in keys if key in self.disputed), None)


def depends_on_license(
    book: PriceBook, db_class: str, engine: str, licenses: Iterable[str], *, deployment: Deployment
) -> str:
    """
    Return a sentence that names the licences a class's price depends on; empty with fewer than two.

    Args:
        licenses: with which the engine is sold, as prices are listed: `byol`, `included`.
    """
    sold = [
        licensed_as(model)
        for model in licenses
        if book.instance_price(db_class, engine, license_model=model, deployment=deployment)
    ]
    if not sold or len(tuple(licenses)) < 2:
        return ""
    of = subject(db_class, book.region, engine=engine, deployment=deployment)
    return f"{of} depends on the license: give --license {' or '.join(sold)}"


WITHOUT_DEPLOYMENT = frozenset(item for item in STORAGE_ITEMS if item.startswith(("aurora", "backup", "cpu")))
"""Items that cost the same in every deployment."""


def item_key(item: str, deployment: Deployment) -> tuple[str, Deployment]:
    """Return the key of an item's price in a region."""
    return item, Deployment.SINGLE_AZ if item in WITHOUT_DEPLOYMENT else deployment


def priced_engine(engine: str) -> str:
    """
    Return the engine under which a price is listed; a container database has the price of its edition.

    Source: RDS for Oracle user guide, engine names `oracle-ee-cdb`, `oracle-se2-cdb` (2026-11).
    """
    return engine.removesuffix("-cdb")
