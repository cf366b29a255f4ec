"""
The catalog: published facts, read from the data files of this package on first use.

Rule 1: this is the only file below the edges that reads files, and it reads only its own folder.
Rule 2: a query reads only the tables it needs, and each table once.
Rule 3: an unknown number is None; an unknown class is an error that names the nearest classes.
"""

import gzip
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from plimsoll.catalog import schema, values
from plimsoll.catalog.names import class_name, size_order, wait_family
from plimsoll.catalog.schema import CatalogTable, Row
from plimsoll.errors import CatalogError
from plimsoll.model.ceiling import Origin
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
)
from plimsoll.model.pooler import PoolerDefault, PoolerFix
from plimsoll.model.price import Price
from plimsoll.model.session_load import WaitRule

DATA = Path(__file__).parent / "data"

_Asked = ParamSpec("_Asked")
_Found = TypeVar("_Found")


def _kept(query: Callable[Concatenate["Catalog", _Asked], _Found]) -> Callable[Concatenate["Catalog", _Asked], _Found]:
    """Return a query whose answers are made once for each catalog; they are frozen values."""

    @wraps(query)
    def answer(self: "Catalog", /, *args: _Asked.args, **kwargs: _Asked.kwargs) -> _Found:
        key = (query.__name__, args, tuple(kwargs.items()))
        if key not in self._answers:
            self._answers[key] = query(self, *args, **kwargs)
        found: _Found = self._answers[key]
        return found

    return answer


class Catalog:
    """The tables of one folder, read on first use and kept in memory."""

    def __init__(self, folder: Path = DATA) -> None:
        """Read from `folder`, which holds the tables of `schema.TABLES`."""
        self._folder = folder
        self._rows: dict[str, list[Row]] = {}
        self._index: dict[tuple[str, ...], dict[Any, Row]] = {}
        self._answers: dict[tuple[Any, ...], Any] = {}

    def rows(self, table: CatalogTable) -> list[Row]:
        """
        Return all rows of a table.

        Raises:
            CatalogError: the file is missing, or does not match the schema.
        """
        if table.file not in self._rows:
            self._rows[table.file] = schema.parse(table, self._text(table))
        return self._rows[table.file]

    @_kept
    def instance_limits(self, db_class: str) -> InstanceLimits:
        """
        Return the limits documented for a class today.

        Args:
            db_class: with or without the prefix `db.`; an EC2 type does as well.

        Raises:
            CatalogError: no such class; the hint names the nearest ones.
        """
        name = class_name(db_class)
        row = self._by(schema.INSTANCE_LIMITS, "db_class").get(name)
        if row is not None:
            return values.instance_limits(row, self._origin(row))
        row = self._by(schema.CLASSES_PRECONFIGURED, "db_class").get(name)
        if row is not None:
            host = self._by(schema.INSTANCE_LIMITS, "ec2_type")[row["ec2_type"]]
            return values.preconfigured_limits(row, values.instance_limits(host, self._origin(host)))
        row = self._by(schema.CLASSES, "db_class").get(name)
        if row is not None:
            return values.listed_only(row, self._origin(row))
        raise self._unknown(db_class, name)

    def knows(self, db_class: str) -> bool:
        """Return whether any table names a class; with or without the prefix `db.`, or an EC2 type."""
        name = class_name(db_class)
        tables = (schema.INSTANCE_LIMITS, schema.CLASSES_PRECONFIGURED, schema.CLASSES)
        return any(name in self._by(table, "db_class") for table in tables)

    def class_named(self, text: str) -> str:
        """
        Return the class for a typed name: `db.r5.2xlarge` for `DB.R5.2XLARGE`.

        Raises:
            CatalogError: no such class; the hint names the nearest ones.
        """
        if not self.knows(text):
            raise self._unknown(text, class_name(text))
        return class_name(text)

    @_kept
    def legacy_limits(self, db_class: str) -> tuple[LegacyLimits, ...]:
        """
        Return EBS limits documented for a class in the past, oldest first; empty where none are known.

        Equal neighbours are joined. Rows that equal today's limits, and misprints, are left out.

        Raises:
            CatalogError: no such class.
        """
        now = self.instance_limits(db_class)
        # The history of an EC2 type that is only inferred would be a guess on a guess.
        if now.note == values.UNVERIFIED_HOST:
            return ()
        legacy = [
            values.legacy_limits(now.db_class, row, self._origin(row))
            for row in self.rows(schema.INSTANCE_LIMITS_LEGACY)
            if row["ec2_type"] == now.ec2_type and row["status"] != "misprint"
        ]
        return values.consolidated(legacy, now)

    @_kept
    def cpu_credits(self, db_class: str) -> CpuCredits | None:
        """
        Return the CPU credits of a burstable class; None if it is not burstable or not documented.

        Raises:
            CatalogError: no such class.
        """
        limits = self.instance_limits(db_class)
        row = self._by(schema.CPU_CREDITS, "ec2_type").get(limits.ec2_type)
        return values.cpu_credits(limits.db_class, row, self._origin(row)) if row else None

    @_kept
    def storage_rules(self, engine_family: str, kind: str) -> tuple[StorageRule, ...]:
        """Return the rules of an engine family and a storage type, by size; may be empty."""
        return tuple(
            values.storage_rule(row, self._origin(row))
            for row in self.rows(schema.STORAGE_RULES)
            if row["engine"] == engine_family and row["kind"] == kind
        )

    def storage_rule(self, engine_family: str, kind: str, size_gib: float) -> StorageRule | None:
        """Return the rule for a size in GiB; None where RDS documents nothing for it."""
        for rule in self.storage_rules(engine_family, kind):
            # Ranges are documented in whole GiB; 399.5 GiB still belongs to "up to 399".
            if (rule.size_gib_min or 0) <= size_gib < rule.size_gib_max + 1:
                return rule
        return None

    @_kept
    def engine_families(self) -> tuple[str, ...]:
        """Return every engine family that has a storage rule."""
        return tuple(sorted({row["engine"] for row in self.rows(schema.STORAGE_RULES)}))

    @_kept
    def volume_rule(self, kind: str, rule: str) -> VolumeRule:
        """Return one documented number by its name in the data; an unknown name is our mistake."""
        row = self._by(schema.VOLUME_RULES, "kind", "rule")[kind, rule]
        return VolumeRule(kind=kind, rule=rule, value=row["value"], origin=self._origin(row))

    @_kept
    def connection_rule(self, engine_family: str, version: str | None) -> ConnectionRule | None:
        """
        Return the default of max_connections as a formula; None where it is not known.

        Aurora PostgreSQL is `aurora-postgresql` here; Aurora MySQL has a table in place of a formula.

        Where the default depends on the version, the version must be known.
        """
        rows = [r for r in self.rows(schema.CONNECTION_RULES) if r["engine"] == engine_family]
        if len(rows) > 1 and version is None:
            return None
        for row in rows:
            since = row["version_from"]
            if since is None or version_of(version or "") >= version_of(since):
                return values.connection_rule(row, self._origin(row))
        return None

    @_kept
    def aurora_class(self, engine: str, db_class: str) -> AuroraClass | None:
        """Return the limits of a class under `aurora-mysql` or `aurora-postgresql`; None if undocumented."""
        key = (engine, class_name(db_class))
        row = self._by(schema.AURORA_CLASSES, *schema.AURORA_CLASSES.key).get(key)
        return values.aurora_class(row, self._origin(row)) if row else None

    @_kept
    def aurora_capacities(self, engine: str) -> tuple[AuroraCapacity, ...]:
        """Return the documented capacities of Aurora Serverless under an engine, smallest first."""
        found = [
            values.aurora_capacity(row, self._origin(row))
            for row in self.rows(schema.AURORA_CAPACITY)
            if row["engine"] == engine
        ]
        return tuple(sorted(found, key=lambda capacity: capacity.capacity_acu))

    def wait_rules(self, engine: str) -> tuple[WaitRule, ...]:
        """Return what the wait events of an RDS engine mean; empty for an engine without such rows."""
        family = wait_family(engine)
        return tuple(
            values.wait_rule(row, self._origin(row)) for row in self.rows(schema.WAIT_EVENTS) if row["engine"] == family
        )

    def pooler_fixes(self, pooler: str, defect: str) -> tuple[PoolerFix, ...]:
        """Return the releases that fixed a defect, oldest branch first; an unknown defect is our mistake."""
        found = [
            values.pooler_fix(row, self._origin(row))
            for row in self.rows(schema.POOLER_FIXES)
            if (row["pooler"], row["defect"]) == (pooler, defect)
        ]
        assert found, f"{pooler} has no defect {defect}"
        return tuple(sorted(found, key=lambda fix: version_of(fix.branch)))

    def pooler_default(self, pooler: str, setting: str, version: str | None = None) -> PoolerDefault | None:
        """
        Return the default of a setting; None where it is unknown, or the version is older than the setting.

        Without a version, a default that differs between versions is not known.
        """
        key = (pooler, setting)
        rows = [row for row in self.rows(schema.POOLER_DEFAULTS) if (row["pooler"], row["setting"]) == key]
        if version is None and any(row["version_from"] for row in rows):
            return None
        for row in sorted(rows, key=lambda r: version_of(r["version_from"] or ""), reverse=True):
            if version_of(version or "") >= version_of(row["version_from"] or ""):
                return values.pooler_default(row, self._origin(row))
        return None

    @_kept
    def classes(self) -> tuple[str, ...]:
        """Return every known class, by family and size, including those without numbers."""
        tables = (schema.INSTANCE_LIMITS, schema.CLASSES_PRECONFIGURED, schema.CLASSES)
        names = {row["db_class"] for table in tables for row in self.rows(table)}
        return tuple(sorted(names, key=size_order))

    def regions_of(self, db_class: str) -> dict[str, int]:
        """Return the number of regions in which each engine offers a class; empty where no list names it."""
        row = self._by(schema.CLASSES, "db_class").get(class_name(db_class))
        pairs = (row["regions"] or "").split() if row else []
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
            row
            for row in self.rows(schema.OFFERS)
            if row["engine"] == engine
            and license_model in (None, row["license"])
            and (row["storage"] == "aurora-iopt1") == (storage_kind == "aurora-iopt1")
        ]
        # Without a licence, an engine with several has several offers: none of them is the price.
        if len(offers) != 1 or region not in schema.INSTANCE_PRICES:
            return None
        rows = self._offered(region, offers[0]["offer"])
        name = class_name(db_class)
        row = rows.get((name, deployment))
        if row is not None:
            return values.instance_price(row, self._origin(row))
        single = rows.get((name, Deployment.SINGLE_AZ))
        if single is None or deployment is not Deployment.MULTI_AZ:
            return None
        price = values.instance_price(single, self._origin(single))
        return values.derived_multi_az(price, offers[0])

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
        rows = self._some(schema.STORAGE_PRICES, ("region", region), "item", "deployment")
        row = rows.get((item, deployment)) or rows.get((item, "any"))
        return values.storage_price(row, self._origin(row)) if row else None

    def api_price(self, action: str) -> Price | None:
        """
        Return the price of an AWS API action, the same in every region; None where it is unknown or free.

        Args:
            action: as IAM names it, `cloudwatch:GetMetricData`.
        """
        row = self._by(schema.API_PRICES, "action").get(action)
        return values.storage_price({**row, "region": "any"}, self._origin(row)) if row else None

    def licenses(self, engine: str) -> tuple[str, ...]:
        """Return the licences with which an engine is priced: `none`, or `byol` and `included`; may be empty."""
        found = {row["license"] for row in self.rows(schema.OFFERS) if row["engine"] == engine}
        return tuple(sorted(found))

    def price_regions(self) -> tuple[str, ...]:
        """Return every region that has a price of an instance."""
        return schema.PRICE_REGIONS

    def _text(self, table: CatalogTable) -> str:
        path = self._folder / table.file
        try:
            raw = path.read_bytes()
            return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
        except (OSError, EOFError, ValueError) as error:
            raise CatalogError(
                f"catalog table {table.file} cannot be read: {error}", "Install the package again."
            ) from error

    def _offered(self, region: str, offer: str) -> dict[Any, Row]:
        """Return the prices of an offer in a region, by class and deployment."""
        table = schema.INSTANCE_PRICES[region]
        return self._some(table, ("offer", offer), "db_class", "deployment")

    def _some(self, table: CatalogTable, where: tuple[str, str], *columns: str) -> dict[Any, Row]:
        """Return the rows with one value in a column, by several others; no other row is read."""
        key = (table.file, *where, *columns)
        if key not in self._index:
            rows = schema.parse(table, self._text(table), where=where)
            self._index[key] = {tuple(row[c] for c in columns): row for row in rows}
        return self._index[key]

    def _by(self, table: CatalogTable, *columns: str) -> dict[Any, Row]:
        """Return rows by one column, or by a tuple of several."""
        key = (table.file, *columns)
        if key not in self._index:
            self._index[key] = {
                row[columns[0]] if len(columns) == 1 else tuple(row[c] for c in columns): row
                for row in self.rows(table)
            }
        return self._index[key]

    def _origin(self, row: Row) -> Origin:
        source = self._by(schema.SOURCES, "id").get(row["source"], {})
        # A legacy row of a live answer has only one date: the first day on which it was valid.
        read_on = row.get("read_on") or source.get("read_on") or row.get("valid_from")
        if not source or read_on is None:
            raise CatalogError(
                f"catalog source '{row['source']}' is not in {schema.SOURCES.file} with a date",
                "Install the package again, or correct the table that was refreshed.",
            )
        return Origin(source=source["title"], read_on=read_on)

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
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
