"""
What every table of the catalog must look like, and the check of a text against it.

Rule 1: a table is comma-separated text with a header; every row names its source.
Rule 2: an empty field is unknown (None), never zero.
Rule 3: this file reads no files; the loader hands it text.
"""

import csv
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from plimsoll.errors import CatalogError

Row = dict[str, Any]

# A year and a month are enough where the source has no day; ISO 8601 allows it.
_DATE = re.compile(r"\d{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?")


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """One column: its name, how a field is read, and whether it may be empty."""

    name: str
    read: Callable[[str], Any]
    optional: bool = False


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """One data file."""

    file: str
    key: tuple[str, ...]
    """Columns that together name a row once."""
    columns: tuple[CatalogColumn, ...]


def number(text: str) -> float:
    """Return a number above zero; every number of the catalog is one."""
    value = float(text)
    if not 0 < value < 1e15:
        raise ValueError("it is not above zero")
    return value


def whole(text: str) -> int:
    """Return a whole number above zero."""
    value = int(text)
    if value <= 0:
        raise ValueError("it is not above zero")
    return value


def date(text: str) -> str:
    """Return an ISO date, or a year and a month."""
    if not _DATE.fullmatch(text):
        raise ValueError("it is not an ISO date")
    return text


def yes_no(text: str) -> bool:
    """Return `yes` or `no`."""
    if text not in ("yes", "no"):
        raise ValueError("it is neither yes nor no")
    return text == "yes"


def usd(text: str) -> Decimal:
    """Return an amount of US dollars above zero."""
    try:
        value = Decimal(text)
    except InvalidOperation as error:
        raise ValueError("it is not an amount") from error
    if value <= 0:
        raise ValueError("it is not above zero")
    return value


def one_of(*choices: str) -> Callable[[str], str]:
    """Return a reader for one of a few words."""

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"it is none of {', '.join(choices)}")
        return text

    return read


def _text(names: str, *, optional: bool = False) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(name, str, optional) for name in names.split())


def _numbers(names: str) -> tuple[CatalogColumn, ...]:
    return tuple(CatalogColumn(name, number, optional=True) for name in names.split())


_EBS = _numbers("ebs_baseline_mb_per_s ebs_max_mb_per_s ebs_baseline_ops_per_s ebs_max_ops_per_s")
_NOTE = CatalogColumn("note", str, optional=True)
_SOURCE = CatalogColumn("source", str)
_STORAGE_NUMBERS = _numbers(
    "ops_per_s_min ops_per_s_max ops_per_s_burst mib_per_s_min mib_per_s_max"
    " provisioned_ops_per_s_min provisioned_ops_per_s_max"
    " provisioned_mib_per_s_min provisioned_mib_per_s_max"
    " ops_per_gib_min ops_per_gib_max mib_per_s_per_ops_max"
)

SOURCES = CatalogTable(
    "sources.csv",
    ("id",),
    (
        *_text("id title"),
        CatalogColumn("read_on", date, optional=True),
        CatalogColumn("kind", one_of("documentation", "api data", "price list", "weak")),
        *_text("where"),
    ),
)
INSTANCE_LIMITS = CatalogTable(
    "instance_limits.csv",
    ("db_class",),
    (
        *_text("ec2_type db_class"),
        CatalogColumn("offered", yes_no),
        CatalogColumn("vcpus", whole),
        CatalogColumn("memory_gib", number),
        *_EBS,
        *_numbers("network_baseline_gbit_per_s network_max_gbit_per_s"),
        CatalogColumn("hypervisor", one_of("nitro", "xen", "bare-metal")),
        *_text("cpu_arch"),
        CatalogColumn("cpu_burstable", yes_no),
        CatalogColumn("current_generation", yes_no),
        CatalogColumn("bandwidth_weightings", yes_no),
        CatalogColumn("documentation", one_of("agrees", "absent")),
        CatalogColumn("read_on", date),
        _SOURCE,
    ),
)
INSTANCE_LIMITS_LEGACY = CatalogTable(
    "instance_limits_legacy.csv",
    ("ec2_type", "valid_from"),
    (
        *_text("ec2_type"),
        CatalogColumn("valid_from", date),
        CatalogColumn("valid_to", date, optional=True),
        *_EBS,
        CatalogColumn("status", one_of("documented", "partial", "misprint")),
        CatalogColumn("restart_lifts", yes_no, optional=True),
        _NOTE,
        _SOURCE,
    ),
)
CLASSES = CatalogTable(
    "classes.csv",
    ("db_class",),
    (*_text("db_class"), CatalogColumn("documented", yes_no), *_text("regions us_east_1", optional=True), _SOURCE),
)
CLASSES_PRECONFIGURED = CatalogTable(
    "classes_preconfigured.csv",
    ("db_class",),
    (
        *_text("db_class ec2_type"),
        CatalogColumn("memory_gib", number),
        *_text("engines"),
        CatalogColumn("maximum", one_of("agrees", "absent")),
        _SOURCE,
    ),
)
STORAGE_RULES = CatalogTable(
    "storage_rules.csv",
    ("kind", "engine", "size_gib_max"),
    (
        CatalogColumn("kind", one_of("gp2", "gp3", "io1", "io2", "standard")),
        *_text("engine"),
        CatalogColumn("size_gib_min", number, optional=True),
        CatalogColumn("size_gib_max", number),
        CatalogColumn("volume_count", whole, optional=True),
        CatalogColumn("documented_since", date, optional=True),
        *_STORAGE_NUMBERS,
        _NOTE,
        _SOURCE,
    ),
)
VOLUME_RULES = CatalogTable(
    "volume_rules.csv", ("kind", "rule"), (*_text("kind rule"), CatalogColumn("value", number), _SOURCE)
)
CONNECTION_RULES = CatalogTable(
    "connection_rules.csv",
    ("engine", "version_from"),
    (
        *_text("engine"),
        *_text("version_from", optional=True),
        CatalogColumn("memory_bytes_per_connection", number, optional=True),
        CatalogColumn("connections_max", whole, optional=True),
        CatalogColumn("connections", whole, optional=True),
        _SOURCE,
    ),
)
AURORA_CLASSES = CatalogTable(
    "aurora_classes.csv",
    ("engine", "db_class"),
    (
        CatalogColumn("engine", one_of("aurora-mysql", "aurora-postgresql")),
        *_text("db_class"),
        CatalogColumn("local_storage_gib", number, optional=True),
        CatalogColumn("connections", whole, optional=True),
        _SOURCE,
    ),
)
AURORA_CAPACITY = CatalogTable(
    "aurora_capacity.csv",
    ("engine", "capacity_acu"),
    (
        CatalogColumn("engine", one_of("aurora-mysql", "aurora-postgresql")),
        CatalogColumn("capacity_acu", number),
        CatalogColumn("connections", whole),
        _SOURCE,
    ),
)
POOLER_FIXES = CatalogTable(
    "pooler_fixes.csv",
    ("pooler", "defect", "branch"),
    (
        CatalogColumn("pooler", one_of("pgpool", "pgbouncer")),
        *_text("defect"),
        *_text("since", optional=True),
        *_text("branch fixed_in"),
        CatalogColumn("fixed_on", date),
        _SOURCE,
    ),
)
POOLER_DEFAULTS = CatalogTable(
    "pooler_defaults.csv",
    ("pooler", "setting", "version_from"),
    (
        CatalogColumn("pooler", one_of("pgpool", "pgbouncer")),
        *_text("setting"),
        *_text("version_from", optional=True),
        *_text("value"),
        _SOURCE,
    ),
)
CPU_CREDITS = CatalogTable(
    "cpu_credits.csv",
    ("ec2_type",),
    (
        *_text("ec2_type"),
        CatalogColumn("credits_per_hour", number),
        CatalogColumn("credits_max", number),
        CatalogColumn("baseline_ratio_per_vcpu", number),
        CatalogColumn("unlimited", yes_no, optional=True),
        _SOURCE,
    ),
)
OFFERS = CatalogTable(
    "offers.csv",
    ("offer",),
    (
        *_text("offer engine"),
        CatalogColumn("license", one_of("none", "included", "byol")),
        *_text("storage", optional=True),
        CatalogColumn("multi_az_ratio", number, optional=True),
        CatalogColumn("multi_az_basis", one_of("verified", "unverified"), optional=True),
        _SOURCE,
    ),
)
DEPLOYMENTS = ("single-az", "multi-az", "multi-az-cluster")
"""One instance, one with a standby, and a cluster of one writer and two readable standbys."""
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
# A file for each region: a plan needs one of them, and all together have 46,000 rows.
INSTANCE_PRICES = {
    region: CatalogTable(
        f"instance_prices/{region}.csv.gz",
        ("db_class", "offer", "deployment"),
        (
            *_text("region db_class offer"),
            CatalogColumn("deployment", one_of(*DEPLOYMENTS)),
            CatalogColumn("usd_per_hour", usd),
            CatalogColumn("as_of", date),
            CatalogColumn("weak", yes_no),
            _SOURCE,
        ),
    )
    for region in PRICE_REGIONS
}
CLUSTER_FAMILIES = CatalogTable("cluster_families.csv", ("family",), (*_text("family"), _SOURCE))
STORAGE_PRICES = CatalogTable(
    "storage_prices.csv.gz",
    ("item", "deployment", "region"),
    (
        *_text("item unit"),
        CatalogColumn("deployment", one_of(*DEPLOYMENTS, "any")),
        *_text("region"),
        CatalogColumn("usd", usd),
        CatalogColumn("as_of", date, optional=True),
        CatalogColumn("weak", yes_no),
        _NOTE,
        _SOURCE,
    ),
)

API_PRICES = CatalogTable(
    "api_prices.csv",
    ("action",),
    (
        *_text("action unit"),
        CatalogColumn("usd", usd),
        CatalogColumn("as_of", date, optional=True),
        CatalogColumn("weak", yes_no),
        _NOTE,
        _SOURCE,
    ),
)
WAIT_EVENTS = CatalogTable(
    "wait_events.csv",
    ("engine", "event"),
    (
        CatalogColumn("engine", one_of("postgres", "mysql", "oracle", "sqlserver")),
        *_text("event"),
        CatalogColumn("storage", one_of("yes", "no", "unclear")),
        *_text("work"),
        _SOURCE,
    ),
)

TABLES = (
    SOURCES,
    INSTANCE_LIMITS,
    INSTANCE_LIMITS_LEGACY,
    CLASSES,
    CLASSES_PRECONFIGURED,
    STORAGE_RULES,
    VOLUME_RULES,
    CONNECTION_RULES,
    AURORA_CLASSES,
    AURORA_CAPACITY,
    POOLER_FIXES,
    POOLER_DEFAULTS,
    CPU_CREDITS,
    OFFERS,
    *INSTANCE_PRICES.values(),
    STORAGE_PRICES,
    CLUSTER_FAMILIES,
    API_PRICES,
    WAIT_EVENTS,
)


def parse(table: CatalogTable, text: str, *, where: tuple[str, str] | None = None) -> list[Row]:
    """
    Return the rows of a table, every field read by its column.

    Args:
        table: what the text must look like.
        text: comma-separated, with a header.
        where: a column and its text; other rows are skipped unread.

    Raises:
        CatalogError: a wrong header, a field that is not what its column asks for, or a row twice.
    """
    lines = csv.reader(text.splitlines())
    header = next(lines, [])
    names = [column.name for column in table.columns]
    if header != names:
        raise _wrong(table, 1, f"the header is not {','.join(names)}")
    numbered: Iterable[tuple[int, list[str]]] = enumerate(lines, start=2)
    if where is not None:
        at = names.index(where[0])
        numbered = ((n, row) for n, row in numbered if row[at : at + 1] == [where[1]])
    rows, seen = [], set[tuple[Any, ...]]()
    for line, fields in numbered:
        row = _row(table, line, fields)
        key = tuple(row[name] for name in table.key)
        if key in seen:
            raise _wrong(table, line, f"the row for {' '.join(map(str, key))} is there twice")
        seen.add(key)
        rows.append(row)
    return rows


def _row(table: CatalogTable, line: int, fields: list[str]) -> Row:
    if len(fields) != len(table.columns):
        raise _wrong(table, line, f"{len(fields)} fields instead of {len(table.columns)}")
    row: Row = {}
    for column, field in zip(table.columns, fields, strict=True):
        if field:
            try:
                row[column.name] = column.read(field)
            except ValueError as error:
                raise _wrong(table, line, f"{column.name} is '{field}': {error}") from error
        elif column.optional:
            row[column.name] = None
        else:
            raise _wrong(table, line, f"{column.name} is empty")
    return row


def render(table: CatalogTable, rows: Iterable[Row]) -> str:
    """Return the text of a table, the inverse of `parse`."""
    names = [column.name for column in table.columns]
    lines = [",".join(names), *(",".join(_field(row[name]) for name in names) for row in rows)]
    return "\n".join(lines) + "\n"


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(int(value)) if value == int(value) else repr(value)
    text = str(value)
    if any(sign in text for sign in ',"\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def _wrong(table: CatalogTable, line: int, cause: str) -> CatalogError:
    return CatalogError(
        f"catalog table {table.file} is wrong in line {line}: {cause}",
        "Install the package again, or correct the table that was refreshed.",
    )
