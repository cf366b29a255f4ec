"""
The tables of the catalog, and the reading of their texts as values.

Rule 1: a table is comma-separated text with a header; every row names its source.
Rule 2: an empty field is unknown: the default of its field, never zero.
Rule 3: this file reads no files; the loader hands it text.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from io import StringIO
from typing import Annotated, Any, Generic, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import fields

from plimsoll.errors import CatalogError
from plimsoll.model.ceiling import Origin
from plimsoll.model.column import Amount, Day, Usd, YesNo, day
from plimsoll.model.limit import (
    AuroraCapacity,
    AuroraClass,
    ConnectionRule,
    CpuCredits,
    InstanceLimits,
    LegacyLimits,
    ListedClass,
    PreconfiguredClass,
    StorageRule,
    VolumeRule,
)
from plimsoll.model.pooler import PoolerDefault, PoolerFix
from plimsoll.model.session_load import WaitRule

Row = TypeVar("Row", bound=Struct)


class CatalogTable(Struct, Generic[Row], frozen=True):
    """One data file."""

    file: str
    row: type[Row]
    """Each of its fields is a column."""
    key: tuple[str, ...]
    """Columns that together name a row once."""
    dates: tuple[str, ...] = ()
    """Columns that are dates of the origin of each row; only `valid_to` may be empty."""
    without: tuple[str, ...] = ()
    """Fields of the row that are no columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the header, in any order."""
        names = (each.encode_name for each in fields(self.row) if each.name not in self.without)
        return (*self.dates, *("source" if name == "origin" else name for name in names))


class Source(Struct, frozen=True, kw_only=True):
    """A document or data set that rows name."""

    id: str
    title: str
    read_on: Day | None = None
    kind: Literal["documentation", "api data", "price list", "weak"]
    where: str


class Offer(Struct, frozen=True, kw_only=True):
    """What a price of an instance buys besides it: an engine with a licence."""

    offer: str
    engine: str
    license: Literal["none", "included", "byol"]
    storage: str = ""
    """`aurora-iopt1`, or empty."""
    multi_az_ratio: Amount | None = None
    """A Multi-AZ price over the Single-AZ price; None where no rule is known."""
    multi_az_basis: Literal["verified", "unverified"] | None = None
    origin: Origin


class InstancePrice(Struct, frozen=True, kw_only=True):
    """The price of an hour of a class."""

    region: str
    db_class: str
    offer: str
    deployment: Literal["single-az", "multi-az", "multi-az-cluster"]
    """One instance, one with a standby, and a cluster of one writer and two readable standbys."""
    usd: Usd = field(name="usd_per_hour")
    as_of: Day
    is_weak: YesNo = field(name="weak")
    origin: Origin


class ItemPrice(Struct, frozen=True, kw_only=True):
    """The price of anything else."""

    item: str
    unit: str
    deployment: Literal["single-az", "multi-az", "multi-az-cluster", "any"]
    region: str
    usd: Usd
    as_of: Day | None = None
    is_weak: YesNo = field(name="weak")
    note: str = ""
    origin: Origin


class ClusterFamily(Struct, frozen=True, kw_only=True):
    """A family of classes that a Multi-AZ DB cluster may have."""

    family: str
    origin: Origin


PRICE_REGIONS = (
    *("af-south-1", "ap-east-1", "ap-east-2", "ap-northeast-1", "ap-northeast-2"),
    *("ap-northeast-3", "ap-south-1", "ap-south-2", "ap-southeast-1", "ap-southeast-2"),
    *("ap-southeast-3", "ap-southeast-4", "ap-southeast-5", "ap-southeast-6", "ap-southeast-7"),
    *("ca-central-1", "ca-west-1", "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1"),
    *("eu-south-2", "eu-west-1", "eu-west-2", "eu-west-3", "il-central-1", "me-central-1"),
    *("me-south-1", "mx-central-1", "sa-east-1", "us-east-1", "us-east-2", "us-gov-east-1"),
    *("us-gov-west-1", "us-west-1", "us-west-2"),
)
"""Regions with a table of instance prices, in order of name."""

SOURCES = CatalogTable("sources.csv", Source, ("id",))
INSTANCE_LIMITS = CatalogTable(
    "instance_limits.csv", InstanceLimits, ("db_class",), dates=("read_on",), without=("note", "ebs_origin")
)
INSTANCE_LIMITS_LEGACY = CatalogTable(
    "instance_limits_legacy.csv", LegacyLimits, ("ec2_type", "valid_from"), dates=("valid_from", "valid_to")
)
CLASSES = CatalogTable("classes.csv", ListedClass, ("db_class",))
CLASSES_PRECONFIGURED = CatalogTable("classes_preconfigured.csv", PreconfiguredClass, ("db_class",))
STORAGE_RULES = CatalogTable("storage_rules.csv", StorageRule, ("kind", "engine", "size_gib_max"))
VOLUME_RULES = CatalogTable("volume_rules.csv", VolumeRule, ("kind", "rule"))
CONNECTION_RULES = CatalogTable("connection_rules.csv", ConnectionRule, ("engine", "version_from"))
AURORA_CLASSES = CatalogTable("aurora_classes.csv", AuroraClass, ("engine", "db_class"))
AURORA_CAPACITY = CatalogTable("aurora_capacity.csv", AuroraCapacity, ("engine", "capacity_acu"))
POOLER_FIXES = CatalogTable("pooler_fixes.csv", PoolerFix, ("pooler", "defect", "branch"))
POOLER_DEFAULTS = CatalogTable("pooler_defaults.csv", PoolerDefault, ("pooler", "setting", "version_from"))
CPU_CREDITS = CatalogTable("cpu_credits.csv", CpuCredits, ("ec2_type",))
OFFERS = CatalogTable("offers.csv", Offer, ("offer",))
CLUSTER_FAMILIES = CatalogTable("cluster_families.csv", ClusterFamily, ("family",))
STORAGE_PRICES = CatalogTable("storage_prices.csv.gz", ItemPrice, ("item", "deployment", "region"))
API_PRICES = CatalogTable("api_prices.csv", ItemPrice, ("item",))
WAIT_EVENTS = CatalogTable("wait_events.csv", WaitRule, ("engine", "event"))


def instance_prices(region: str) -> CatalogTable[InstancePrice]:
    """Return the table of a region: a plan needs one of them, and all together have 46,000 rows."""
    return CatalogTable(f"instance_prices/{region}.csv.gz", InstancePrice, ("db_class", "offer", "deployment"))


def parse(
    table: CatalogTable[Row], text: str, sources: Mapping[str, Source], *, where: tuple[str, str] | None = None
) -> tuple[Row, ...]:
    """
    Return the rows of a table.

    Args:
        table: what the text must look like.
        text: comma-separated, with a header.
        sources: those that a row may name.
        where: a column and its text; other rows are skipped unread.

    Raises:
        CatalogError: a wrong header, a field that is not what its column asks for, a source that is not
            listed, or a row twice.
    """
    lines = csv.reader(text.splitlines())
    header = next(lines, [])
    if sorted(header) != sorted(table.columns):
        raise _wrong(table, 1, f"the header is not {','.join(table.columns)}")
    rows, seen = [], set[tuple[str, ...]]()
    at = header.index(where[0]) if where else 0
    for line, cells in enumerate(lines, start=2):
        if where and cells[at : at + 1] != [where[1]]:
            continue
        if len(cells) != len(header):
            raise _wrong(table, line, f"{len(cells)} fields instead of {len(header)}")
        texts = dict(zip(header, cells, strict=True))
        rows.append(_row(table, line, texts, sources))
        key = tuple(texts[name] for name in table.key)
        if key in seen:
            raise _wrong(table, line, f"the row for {' '.join(key)} is there twice")
        seen.add(key)
    return tuple(rows)


def _row(table: CatalogTable[Row], line: int, texts: dict[str, str], sources: Mapping[str, Source]) -> Row:
    readers = _readers(table.row)
    found: dict[str, Any] = {}
    for column, text in texts.items():
        if not text:
            continue
        try:
            found[column] = readers[column](text) if column in readers else text
        except (ValueError, OverflowError) as error:
            raise _wrong(table, line, f"{column} is '{text}': {error}") from error
    for date in table.dates:
        if date not in found and date != "valid_to":
            raise _wrong(table, line, f"{date} is empty")
    if "source" in found:
        found["origin"] = _origin(found, sources)
    try:
        return msgspec.convert(found, table.row)
    except msgspec.ValidationError as error:
        raise _wrong(table, line, _cause(str(error), texts)) from error


def _origin(found: Mapping[str, str], sources: Mapping[str, Source]) -> Origin:
    source = sources.get(found["source"])
    # A legacy row of a live answer has only one date: the first day on which it was valid.
    read_on = found.get("read_on") or (source.read_on if source else None) or found.get("valid_from")
    if source is None or read_on is None:
        raise CatalogError(
            f"catalog source '{found['source']}' is not in {SOURCES.file} with a date",
            "Install the package again, or correct the table that was refreshed.",
        )
    return Origin(
        source=source.title, read_on=read_on, valid_from=found.get("valid_from"), valid_to=found.get("valid_to")
    )


def _cause(message: str, texts: dict[str, str]) -> str:
    """Return what is wrong in a row, from msgspec's message about it."""
    missing = re.fullmatch(r"Object missing required field `(\w+)`", message)
    if missing:
        return f"{'source' if missing[1] == 'origin' else missing[1]} is empty"
    why, _, place = message.partition(" - at `$.")
    column = place.removesuffix("`")
    return f"{column} is '{texts.get(column, '')}': {why[0].lower()}{why[1:]}"


@cache
def _readers(row: type[Struct]) -> dict[str, Callable[[str], Any]]:
    """Return the columns whose text is converted before it is checked."""
    readers: dict[str, Callable[[str], Any]] = dict.fromkeys(("read_on", "valid_from", "valid_to"), day)
    for each in fields(row):
        for part in (each.type, *get_args(each.type)):
            if get_origin(part) is Annotated:
                readers.update((each.encode_name, meta.extra["read"]) for meta in part.__metadata__ if meta.extra)
    return readers


def texts_of(text: str) -> list[dict[str, str]]:
    """Return the rows of a table as they are written, by column."""
    return list(csv.DictReader(text.splitlines()))


def render(rows: Iterable[dict[str, str]]) -> str:
    """Return the text of a table, the inverse of `texts_of`."""
    rows, written = list(rows), StringIO()
    table = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return written.getvalue()


def _wrong(table: CatalogTable[Any], line: int, cause: str) -> CatalogError:
    return CatalogError(
        f"catalog table {table.file} is wrong in line {line}: {cause}",
        "Install the package again, or correct the table that was refreshed.",
    )
