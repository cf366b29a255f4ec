"""
Match products of the AWS Price List to prices: choose the right SKU of a class.

Rule 1: a product is taken only if every attribute says that it is what is asked for; what is
        left over, as RDS Custom, Outposts, Local Zones, media of one's own or Extended Support, is
        left out, and its price is then unknown.
Rule 2: products that differ in price and not in what tells them apart are disputed, never chosen from.

Sources: AWS Price List, AmazonRDS (attributes and usage types as quoted by Infracost's
`db_instance.go`, block/Version-Guard's fixtures of 2026-04 and a public report of 2026-07-28).
"""

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from msgspec import Struct

from plimsoll.model.ceiling import Origin
from plimsoll.model.instance import Deployment
from plimsoll.model.price import STORAGE_ITEMS, InstanceKey, Price, PriceTable

OFFER = "AmazonRDS"
"""The service whose offer contains the prices of RDS."""

_Key = InstanceKey | tuple[str, Deployment]

# Of products without the attribute, CSV files have an empty field and some JSON files `NA`.
_NOTHING = frozenset({"", "NA", "N/A"})


class Attributes(Struct, frozen=True, rename="camel"):
    """The attributes of a product that are used; a missing attribute is empty."""

    location_type: str = ""
    region_code: str = ""
    instance_type: str = ""
    database_engine: str = ""
    database_edition: str = ""
    license_model: str = ""
    deployment_option: str = ""
    deployment_model: str = ""
    """`Custom` for RDS Custom."""
    engine_media_type: str = ""
    """`Customer-provided` for SQL Server media of the customer."""
    engine_code: str = ""
    extended_support_pricing_year: str = ""
    unbundled_licensing: str = ""
    """SQL Server whose licence is charged separately, in another offer."""
    usagetype: str = ""
    operation: str = ""


class Rate(Struct, frozen=True):
    """One on-demand rate of a product, as it is written."""

    usd: str
    unit: str


class Product(Struct, frozen=True):
    """One product with its on-demand rates; several rates if there are tiers or several terms."""

    family: str
    attributes: Attributes
    rates: tuple[Rate, ...]


_ENGINES = {
    ("PostgreSQL", ""): "postgres",
    ("MySQL", ""): "mysql",
    ("MariaDB", ""): "mariadb",
    ("Aurora MySQL", ""): "aurora-mysql",
    ("Aurora PostgreSQL", ""): "aurora-postgresql",
    ("Oracle", "Enterprise"): "oracle-ee",
    ("Oracle", "Standard"): "oracle-se",
    ("Oracle", "Standard One"): "oracle-se1",
    ("Oracle", "Standard Two"): "oracle-se2",
    ("SQL Server", "Enterprise"): "sqlserver-ee",
    ("SQL Server", "Standard"): "sqlserver-se",
    ("SQL Server", "Web"): "sqlserver-web",
    ("SQL Server", "Express"): "sqlserver-ex",
}
_LICENSES = {"No license required": "none", "License included": "included", "Bring your own license": "byol"}
_DEPLOYMENTS = {"Single-AZ": Deployment.SINGLE_AZ, "Multi-AZ": Deployment.MULTI_AZ}

_CODES = {
    ("mysql", "none"): 2,
    ("oracle-se1", "byol"): 3,
    ("oracle-se", "byol"): 4,
    ("oracle-ee", "byol"): 5,
    ("oracle-se1", "included"): 6,
    ("sqlserver-ex", "included"): 10,
    ("sqlserver-web", "included"): 11,
    ("sqlserver-se", "included"): 12,
    ("postgres", "none"): 14,
    ("sqlserver-ee", "included"): 15,
    ("aurora-mysql", "none"): 16,
    ("mariadb", "none"): 18,
    ("oracle-se2", "byol"): 19,
    ("oracle-se2", "included"): 20,
    ("aurora-postgresql", "none"): 21,
}
"""
The engine code of what is sold; RDS Custom, Outposts and media of one's own have others.

Source: attribute `engineCode` in vantage-sh/ec2instances.info, eight commits up to 2022-07-17.
"""

# Usage types outside us-east-1 begin with the region: `EU-`, `APN1-`, `USE2-`.
_PREFIX = r"(?:[A-Z]+[0-9]*-)?"
_HOURS = re.compile(_PREFIX + r"(InstanceUsage|Multi-AZUsage|InstanceUsageIOOptimized):db\..+")
_OPERATION = re.compile(r"CreateDBInstance:0*([0-9]+)")
_GENERATION = re.compile(r"db\.[a-z]+([0-9]+)")

# SQL Server on m7i, r7i and later has its licence in the offer AmazonRDSOCPULicenseFees, so that
# what AmazonRDS says of these classes is only a part of their price.
_SQLSERVER_LICENSED_APART_FROM = 7

_ITEMS = {
    "RDS:GP2-Storage": "gp2_storage",
    "RDS:GP3-Storage": "gp3_storage",
    "RDS:GP3-PIOPS": "gp3_ops",
    "RDS:GP3-Throughput": "gp3_throughput",
    "RDS:PIOPS-Storage": "io1_storage",
    "RDS:PIOPS": "io1_ops",
    "RDS:PIOPS-Storage-IO2": "io2_storage",
    "RDS:IO2-PIOPS-Storage": "io2_storage",
    "RDS:IO2-PIOPS": "io2_ops",
    "RDS:StorageUsage": "standard_storage",
    "RDS:StorageIOUsage": "standard_io",
    "RDS:ChargedBackupUsage": "backup",
    "Aurora:StorageUsage": "aurora_storage",
    "Aurora:IO-OptimizedStorageUsage": "aurora_iopt1_storage",
    "Aurora:StorageIOUsage": "aurora_io",
    "CPUCredits:db.t3": "cpu_surplus_credits",
    "CPUCredits:db.t4g": "cpu_surplus_credits_arm",
}
_ITEM = re.compile(_PREFIX + r"((?:RDS|Aurora|CPUCredits):.+)")
_MULTI_AZ = "Multi-AZ-"

_MILLION = Decimal(1_000_000)
_UNITS = {
    ("hour", "hrs"): Decimal(1),
    ("hour", "hours"): Decimal(1),
    ("GB-month", "gb-mo"): Decimal(1),
    ("GB-month", "gb-month"): Decimal(1),
    ("IOPS-month", "iops-mo"): Decimal(1),
    ("MB/s-month", "mbps-mo"): Decimal(1),
    ("MB/s-month", "mibps-mo"): Decimal(1),
    # As EBS bills the throughput of its gp3 volumes.
    ("MB/s-month", "gibps-mo"): 1 / Decimal(1024),
    ("million requests", "ios"): _MILLION,
    ("million requests", "iops"): _MILLION,
    ("vCPU-hour", "vcpu-hours"): Decimal(1),
    ("vCPU-hour", "vcpu-hour"): Decimal(1),
}
"""Factor from the list's price to ours, by our unit and the list's unit."""


class Gathered:
    """Collects the prices of one region, product by product."""

    def __init__(self, region: str) -> None:
        """Start an empty collection of the prices of `region`."""
        self._region = region
        self._found: dict[_Key, set[Decimal]] = {}
        self.regions: set[str] = set()
        """All regions of the products so far."""

    def add(self, product: Product) -> None:
        """Add the product's price, if it is needed."""
        attributes = product.attributes
        if attributes.region_code:
            self.regions.add(attributes.region_code)
        key = self._key(product)
        if key is None:
            return
        unit = "hour" if isinstance(key, InstanceKey) else STORAGE_ITEMS[key[0]]
        found = {usd for rate in product.rates if (usd := _usd(rate, unit)) is not None}
        if found:
            self._found.setdefault(key, set()).update(found)

    def wants(self, family: str, attributes: Attributes) -> bool:
        """Return whether the rates of a product are needed."""
        return self._key(Product(family, attributes, ())) is not None

    def _key(self, product: Product) -> _Key | None:
        attributes = product.attributes
        if attributes.region_code != self._region or attributes.location_type != "AWS Region":
            return None
        if not _NOTHING.issuperset({attributes.extended_support_pricing_year}):
            return None
        if product.family == "Database Instance":
            return _instance_key(attributes)
        return _item_key(attributes)

    def table(self, *, name: str, source: str, as_of: str | None) -> PriceTable:
        """
        Return the collected prices.

        Args:
            name: name of the file, for messages.
            source: description of the file, for a footnote.
            as_of: ISO date of its publication; None if unknown.
        """
        origin = Origin(source=source, read_on=as_of or "")
        prices: dict[_Key, Price] = {}
        disputed: dict[_Key, str] = {}
        licenses: dict[str, set[str]] = {}
        for key, found in self._found.items():
            if isinstance(key, InstanceKey):
                licenses.setdefault(key.engine, set()).add(key.license_model)
            if len(found) > 1:
                disputed[key] = f"{len(found)} of it, {_listed(found)}"
                continue
            prices[key] = Price(
                usd=next(iter(found)),
                unit="hour" if isinstance(key, InstanceKey) else STORAGE_ITEMS[key[0]],
                region=self._region,
                as_of=as_of,
                is_weak=False,
                origin=origin,
            )
        return PriceTable(
            region=self._region,
            name=name,
            instances={k: p for k, p in prices.items() if isinstance(k, InstanceKey)},
            items={k: p for k, p in prices.items() if not isinstance(k, InstanceKey)},
            disputed=disputed,
            licenses={engine: tuple(sorted(found)) for engine, found in licenses.items()},
        )


def _instance_key(attributes: Attributes) -> InstanceKey | None:
    edition = "" if attributes.database_edition in _NOTHING else attributes.database_edition
    engine = _ENGINES.get((attributes.database_engine, edition))
    license_model = _LICENSES.get(attributes.license_model)
    deployment = _DEPLOYMENTS.get(attributes.deployment_option)
    usage = _HOURS.fullmatch(attributes.usagetype)
    if engine is None or license_model is None or deployment is None or usage is None:
        return None
    is_special = (
        attributes.deployment_model not in _NOTHING
        or attributes.engine_media_type not in _NOTHING | {"AWS-provided"}
        or attributes.unbundled_licensing not in _NOTHING | {"No"}
        or (deployment is Deployment.MULTI_AZ) != (usage[1] == "Multi-AZUsage")
    )
    if is_special or _code(attributes) not in (None, _CODES.get((engine, license_model))):
        return None
    generation = _GENERATION.match(attributes.instance_type)
    if generation is None:
        return None
    is_apart = int(generation[1]) >= _SQLSERVER_LICENSED_APART_FROM
    if engine.startswith("sqlserver") and is_apart:
        return None
    optimized = usage[1] == "InstanceUsageIOOptimized"
    return InstanceKey(attributes.instance_type, engine, license_model, deployment, optimized)


def _code(attributes: Attributes) -> int | None:
    if attributes.engine_code.isdigit():
        return int(attributes.engine_code)
    operation = _OPERATION.match(attributes.operation)
    return int(operation[1]) if operation else None


def _item_key(attributes: Attributes) -> tuple[str, Deployment] | None:
    usage = _ITEM.fullmatch(attributes.usagetype)
    if usage is None:
        return None
    name = usage[1]
    deployment = Deployment.MULTI_AZ if _MULTI_AZ in name else Deployment.SINGLE_AZ
    item = _ITEMS.get(name.replace(_MULTI_AZ, "", 1))
    if item is None:
        return None
    option = attributes.deployment_option
    if option not in _NOTHING and _DEPLOYMENTS.get(option) is not deployment:
        return None
    if item == "cpu_surplus_credits" and attributes.database_engine == "SQL Server":
        item = "cpu_surplus_credits_sqlserver"
    return item, deployment


def _usd(rate: Rate, unit: str) -> Decimal | None:
    """Return the value in our unit; None if the unit is unknown or the value is missing or not a number."""
    factor = _UNITS.get((unit, rate.unit.strip().lower()))
    try:
        usd = Decimal(rate.usd)
    except InvalidOperation:
        return None
    # A rate of zero is a free tier or a promotion, not a price for a plan.
    if factor is None or not usd.is_finite() or usd <= 0:
        return None
    return (usd * factor).normalize()


def _listed(found: Iterable[Decimal]) -> str:
    shown = [f"${usd:f}" for usd in sorted(found)]
    few = shown[:3]
    more = f" and {len(shown) - len(few)} more" if len(shown) > len(few) else ""
    return (", ".join(few) + more) if more else " and ".join([", ".join(few[:-1]), few[-1]])
