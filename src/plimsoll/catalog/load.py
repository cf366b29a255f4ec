"""
The catalog: published facts, read from the data files of this package on first use.

Rule 1: this is the only file below the edges that reads files, and it reads only its own folder.
Rule 2: a query reads only the tables it needs, and each table once.
Rule 3: an unknown number is None; an unknown class is an error that names the nearest classes.
"""

import gzip
from collections.abc import Iterable
from decimal import Decimal
from difflib import get_close_matches
from functools import cache
from itertools import takewhile
from operator import attrgetter
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from plimsoll.catalog import schema
from plimsoll.catalog.names import class_name, size_order, wait_family
from plimsoll.catalog.schema import CatalogTable, InstancePrice, ItemPrice, Row
from plimsoll.errors import CatalogError
from plimsoll.model.instance import Deployment
from plimsoll.model.limit import (
    AuroraCapacity,
    AuroraClass,
    ConnectionRule,
    CpuCredits,
    InstanceLimits,
    LegacyLimits,
    StorageRule,
    VolumeRule,
    unnumbered,
)
from plimsoll.model.pooler import PoolerDefault, PoolerFix
from plimsoll.model.price import Price
from plimsoll.model.session_load import WaitRule

DATA = Path(__file__).parent / "data"

_UNVERIFIED_HOST = "the EC2 type behind this preconfigured class is inferred from equal memory, not documented"
_NO_NUMBERS = "RDS lists this class, but documents no numbers for it"

# In the order in which they are asked about a class: only the first has all numbers.
_CLASS_TABLES: tuple[CatalogTable[Any], ...] = (schema.INSTANCE_LIMITS, schema.CLASSES_PRECONFIGURED, schema.CLASSES)


class Catalog:
    """The tables of one folder, read on first use and kept in memory."""

    def __init__(self, folder: Path = DATA) -> None:
        """Read from `folder`, which holds the tables of `schema`."""
        self._folder = folder
        self._rows: dict[str, tuple[Any, ...]] = {}
        self._index: dict[tuple[str, ...], dict[Any, Any]] = {}

    def rows(self, table: CatalogTable[Row]) -> tuple[Row, ...]:
        """
        Return all rows of a table.

        Raises:
            CatalogError: the file is missing, or does not match the schema.
        """
        if table.file not in self._rows:
            self._rows[table.file] = self._parsed(table)
        return self._rows[table.file]

    def texts(self, table: CatalogTable[Row]) -> list[dict[str, str]]:
        """Return all rows of a table as they are written, by column; raise as `rows` does."""
        self.rows(table)
        return schema.texts_of(self._text(table))

    def instance_limits(self, db_class: str) -> InstanceLimits:
        """
        Return the limits documented for a class today.

        Args:
            db_class: with or without the prefix `db.`; an EC2 type does as well.

        Raises:
            CatalogError: no such class; the hint names the nearest ones.
        """
        name = class_name(db_class)
        limits = self._by(schema.INSTANCE_LIMITS, "db_class").get(name)
        if limits is not None:
            return limits
        preconfigured = self._by(schema.CLASSES_PRECONFIGURED, "db_class").get(name)
        if preconfigured is not None:
            # The number of vCPUs and the network of such a class are not inferred from the type it probably runs on.
            return replace(
                self._by(schema.INSTANCE_LIMITS, "ec2_type")[preconfigured.ec2_type],
                db_class=preconfigured.db_class,
                vcpu_count=None,
                memory_bytes=preconfigured.memory_bytes,
                network_baseline_bytes_per_s=None,
                network_burst_bytes_per_s=None,
                is_offered=True,
                documentation="absent",
                note=_UNVERIFIED_HOST,
            )
        listed = self._by(schema.CLASSES, "db_class").get(name)
        if listed is not None:
            return unnumbered(listed.db_class, listed.origin, _NO_NUMBERS)
        raise self._unknown(db_class, name)

    def knows(self, db_class: str) -> bool:
        """Return whether any table names a class; with or without the prefix `db.`, or an EC2 type."""
        name = class_name(db_class)
        return any(name in self._by(table, "db_class") for table in _CLASS_TABLES)

    def class_named(self, text: str) -> str:
        """
        Return the class for a typed name: `db.r5.2xlarge` for `DB.R5.2XLARGE`.

        Raises:
            CatalogError: no such class; the hint names the nearest ones.
        """
        if not self.knows(text):
            raise self._unknown(text, class_name(text))
        return class_name(text)

    def legacy_limits(self, db_class: str) -> tuple[LegacyLimits, ...]:
        """
        Return EBS limits documented for a class in the past, oldest first; empty where none are known.

        Equal neighbours are joined. Rows that equal today's limits, and misprints, are left out.

        Raises:
            CatalogError: no such class.
        """
        now = self.instance_limits(db_class)
        # The history of an EC2 type that is only inferred would be a guess on a guess.
        if now.note == _UNVERIFIED_HOST:
            return ()
        legacy = self._all(schema.INSTANCE_LIMITS_LEGACY, "ec2_type").get(now.ec2_type, [])
        return _consolidated((row for row in legacy if row.status != "misprint"), now)

    def cpu_credits(self, db_class: str) -> CpuCredits | None:
        """
        Return the CPU credits of a burstable class; None if it is not burstable or not documented.

        Raises:
            CatalogError: no such class.
        """
        return self._by(schema.CPU_CREDITS, "ec2_type").get(self.instance_limits(db_class).ec2_type)

    def storage_rules(self, engine_family: str, kind: str) -> tuple[StorageRule, ...]:
        """Return the rules of an engine family and a storage type, by size; may be empty."""
        return tuple(self._all(schema.STORAGE_RULES, "engine", "kind").get((engine_family, kind), ()))

    def storage_rule(self, engine_family: str, kind: str, size_gib: float) -> StorageRule | None:
        """Return the rule for a size in GiB; None where RDS documents nothing for it."""
        rules = self.storage_rules(engine_family, kind)
        # Ranges are documented in whole GiB; 399.5 GiB still belongs to "up to 399".
        return next((rule for rule in rules if (rule.size_gib_min or 0) <= size_gib < rule.size_gib_max + 1), None)

    def engine_families(self) -> tuple[str, ...]:
        """Return every engine family that has a storage rule."""
        return tuple(sorted(self._all(schema.STORAGE_RULES, "engine")))

    def volume_rule(self, kind: str, rule: str) -> VolumeRule:
        """Return one documented number by its name in the data; an unknown name is our mistake."""
        return self._by(schema.VOLUME_RULES, "kind", "rule")[kind, rule]

    def connection_rule(self, engine_family: str, version: str | None) -> ConnectionRule | None:
        """
        Return the default of max_connections as a formula; None where it is not known.

        Aurora PostgreSQL is `aurora-postgresql` here; Aurora MySQL has a table in place of a formula.

        Where the default depends on the version, the version must be known.
        """
        rules = self._all(schema.CONNECTION_RULES, "engine").get(engine_family, [])
        if len(rules) > 1 and version is None:
            return None
        return next((rule for rule in rules if version_of(version or "") >= version_of(rule.version_from)), None)

    def aurora_class(self, engine: str, db_class: str) -> AuroraClass | None:
        """Return the limits of a class under `aurora-mysql` or `aurora-postgresql`; None if undocumented."""
        return self._by(schema.AURORA_CLASSES, "engine", "db_class").get((engine, class_name(db_class)))

    def aurora_capacities(self, engine: str) -> tuple[AuroraCapacity, ...]:
        """Return the documented capacities of Aurora Serverless under an engine, smallest first."""
        found = self._all(schema.AURORA_CAPACITY, "engine").get(engine, [])
        return tuple(sorted(found, key=lambda capacity: capacity.capacity_acu))

    def wait_rules(self, engine: str) -> tuple[WaitRule, ...]:
        """Return what the wait events of an RDS engine mean; empty for an engine without such rows."""
        return tuple(self._all(schema.WAIT_EVENTS, "engine").get(wait_family(engine), ()))

    def pooler_fixes(self, pooler: str, defect: str) -> tuple[PoolerFix, ...]:
        """Return the releases that fixed a defect, oldest branch first; an unknown defect is our mistake."""
        found = self._all(schema.POOLER_FIXES, "pooler", "defect")[pooler, defect]
        return tuple(sorted(found, key=lambda fix: version_of(fix.branch)))

    def pooler_default(self, pooler: str, setting: str, version: str | None = None) -> PoolerDefault | None:
        """
        Return the default of a setting; None where it is unknown, or the version is older than the setting.

        Without a version, a default that differs between versions is not known.
        """
        rows = self._all(schema.POOLER_DEFAULTS, "pooler", "setting").get((pooler, setting), [])
        if version is None and any(row.version_from for row in rows):
            return None
        newest_first = sorted(rows, key=lambda row: version_of(row.version_from), reverse=True)
        return next((r for r in newest_first if version_of(version or "") >= version_of(r.version_from)), None)

    def classes(self) -> tuple[str, ...]:
        """Return every known class, by family and size, including those without numbers."""
        return tuple(sorted({name for table in _CLASS_TABLES for name in self._by(table, "db_class")}, key=size_order))

    def regions_of(self, db_class: str) -> dict[str, int]:
        """Return the number of regions in which each engine offers a class; empty where no list names it."""
        row = self._by(schema.CLASSES, "db_class").get(class_name(db_class))
        pairs = row.regions.split() if row else []
        return {engine: int(count) for engine, _, count in (p.partition(":") for p in pairs)}

    def has_clusters(self, db_class: str) -> bool:
        """Return whether a Multi-AZ DB cluster is sold with a class."""
        family = class_name(db_class).split(".")[1]
        return family in self._by(schema.CLUSTER_FAMILIES, "family")

    def instance_price(
        self,
        db_class: str,
        engine: str,
        *,
        region: str = "us-east-1",
        license_model: str | None = None,
        deployment: Deployment = Deployment.SINGLE_AZ,
        storage_kind: str | None = None,
    ) -> Price | None:
        """
        Return the on-demand price of an hour; None where it is not known.

        Args:
            db_class: with or without the prefix `db.`.
            engine: as RDS names it: `postgres`, `oracle-se2`, `aurora-mysql`.
            region: as AWS names it.
            license_model: `none`, `included` or `byol`; None where the engine has only one.
            deployment: the price of a cluster is of its three instances together.
            storage_kind: `aurora-iopt1` asks for the price of Aurora I/O-Optimized.
        """
        offers = [
            offer
            for offer in self._all(schema.OFFERS, "engine").get(engine, [])
            if license_model in (None, offer.license)
            and (offer.storage == "aurora-iopt1") == (storage_kind == "aurora-iopt1")
        ]
        # Without a licence, an engine with several has several offers: none of them is the price.
        if len(offers) != 1 or region not in schema.PRICE_REGIONS:
            return None
        offer, name = offers[0], class_name(db_class)
        rows = self._by(schema.instance_prices(region), "db_class", "deployment", where=("offer", offer.offer))
        row = rows.get((name, deployment))
        if row is not None:
            return _price(row, "hour", region)
        single = rows.get((name, Deployment.SINGLE_AZ))
        if single is None or deployment is not Deployment.MULTI_AZ or offer.multi_az_ratio is None:
            return None
        return replace(
            _price(single, "hour", region),
            usd=single.usd * Decimal(str(offer.multi_az_ratio)),
            is_weak=single.is_weak or offer.multi_az_basis != "verified",
            note="Multi-AZ price derived from the Single-AZ price",
        )

    def storage_price(
        self, item: str, *, region: str = "us-east-1", deployment: Deployment = Deployment.SINGLE_AZ
    ) -> Price | None:
        """
        Return the price of a storage item; None where it is not known.

        Args:
            item: `gp3_storage`, `gp3_ops`, `io1_ops` … as in storage_prices.csv.gz.
            region: as AWS names it.
            deployment: what is paid of each GiB or IOPS of one instance, for all copies of it.
        """
        rows = self._by(schema.STORAGE_PRICES, "item", "deployment", where=("region", region))
        row = rows.get((item, deployment)) or rows.get((item, "any"))
        return _price(row, row.unit, region, row.note) if row else None

    def api_price(self, action: str) -> Price | None:
        """
        Return the price of an AWS API action, the same in every region; None where it is unknown or free.

        Args:
            action: as IAM names it, `cloudwatch:GetMetricData`.
        """
        row = self._by(schema.API_PRICES, "item").get(action)
        return _price(row, row.unit, row.region, row.note) if row else None

    def licenses(self, engine: str) -> tuple[str, ...]:
        """Return the licences with which an engine is priced: `none`, or `byol` and `included`; may be empty."""
        return tuple(sorted({offer.license for offer in self._all(schema.OFFERS, "engine").get(engine, [])}))

    def price_regions(self) -> tuple[str, ...]:
        """Return every region that has a price of an instance."""
        return schema.PRICE_REGIONS

    def _text(self, table: CatalogTable[Row]) -> str:
        path = self._folder / table.file
        try:
            raw = path.read_bytes()
            return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        except (OSError, EOFError, ValueError) as error:
            raise CatalogError(
                f"catalog table {table.file} cannot be read: {error}", "Install the package again."
            ) from error

    def _parsed(self, table: CatalogTable[Row], where: tuple[str, str] | None = None) -> tuple[Row, ...]:
        text = self._text(table)
        has_origins = table.file != schema.SOURCES.file
        return schema.parse(table, text, self._by(schema.SOURCES, "id") if has_origins else {}, where=where)

    def _by(self, table: CatalogTable[Row], *columns: str, where: tuple[str, str] | None = None) -> dict[Any, Row]:
        """Return rows by one column, or by a tuple of several; with `where`, no other row is read."""
        key = (table.file, *columns, *(where or ()))
        if key not in self._index:
            rows, name = self._parsed(table, where) if where else self.rows(table), attrgetter(*columns)
            self._index[key] = {name(row): row for row in rows}
        return self._index[key]

    def _all(self, table: CatalogTable[Row], *columns: str) -> dict[Any, list[Row]]:
        """Return all rows that have the same in one column, or in several, by that."""
        key = ("all", table.file, *columns)
        if key not in self._index:
            found, name = dict[Any, list[Row]](), attrgetter(*columns)
            for row in self.rows(table):
                found.setdefault(name(row), []).append(row)
            self._index[key] = found
        return self._index[key]

    def _unknown(self, asked: str, name: str) -> CatalogError:
        nearest = _nearest(name, self.classes())
        hint = (
            f"The nearest ones are {', '.join(nearest)}."
            if nearest
            else "Write a class like db.r5.2xlarge; 'plimsoll catalog show' lists all of them."
        )
        return CatalogError(f"unknown instance class '{asked}'", hint)


@cache
def catalog() -> Catalog:
    """Return the catalog of this package."""
    return Catalog()


def _price(row: InstancePrice | ItemPrice, unit: str, region: str, note: str = "") -> Price:
    return Price(
        usd=row.usd, unit=unit, region=region, as_of=row.as_of, is_weak=row.is_weak, origin=row.origin, note=note
    )


def _consolidated(legacy: Iterable[LegacyLimits], now: InstanceLimits) -> tuple[LegacyLimits, ...]:
    """Return the legacy limits with equal neighbours joined, without those that equal today's limits."""
    stretches: list[LegacyLimits] = []
    for limits in legacy:
        if stretches and _ebs(stretches[-1]) == _ebs(limits):
            first = stretches[-1]
            origin = replace(first.origin, valid_to=limits.origin.valid_to)
            stretches[-1] = replace(first, origin=origin, note=first.note or limits.note)
        else:
            stretches.append(limits)
    return tuple(limits for limits in stretches if _ebs(limits) != _ebs(now))


_ebs = attrgetter("ebs_baseline_bytes_per_s", "ebs_burst_bytes_per_s", "ebs_baseline_ops_per_s", "ebs_burst_ops_per_s")


def _nearest(name: str, classes: tuple[str, ...]) -> list[str]:
    """Return three classes: the nearest sizes of the same family, otherwise similar names."""
    family, rank, _ = size_order(name)
    relatives = [known for known in classes if size_order(known)[0] == family]
    if relatives:
        # A size that exists is compared by size, a misspelt one by its letters.
        similar = get_close_matches(name, relatives, n=3, cutoff=0.8)
        if name.split(".")[2:3] and not any(name.split(".")[2] in k.split(".") for k in classes):
            return similar or relatives[:3]
        plain = [known for known in relatives if known.count(".") == 2] or relatives
        return sorted(plain, key=lambda known: abs(size_order(known)[1] - rank))[:3]
    return get_close_matches(name, classes, n=3, cutoff=0.6)


def version_of(text: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (10, 6, 7) for `10.6.7`."""
    return tuple(map(int, takewhile(str.isdigit, text.split("."))))
