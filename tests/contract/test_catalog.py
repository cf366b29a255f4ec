"""The facts that are shipped: every table keeps its schema, every row its origin, and they agree."""

from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from plimsoll.catalog import schema
from plimsoll.catalog.load import DATA, catalog
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.limit import StorageRule

PRICES = [schema.instance_prices(region) for region in schema.PRICE_REGIONS]
TABLES = [t for t in vars(schema).values() if isinstance(t, schema.CatalogTable)] + PRICES
WITH_SOURCE = [t for t in TABLES if "source" in t.columns]
RATES = ("ebs_baseline_bytes_per_s", "ebs_burst_bytes_per_s", "ebs_baseline_ops_per_s", "ebs_burst_ops_per_s")


def named(table: schema.CatalogTable[Any]) -> str:
    return table.file


@pytest.mark.parametrize("table", TABLES, ids=named)
def test_every_table_keeps_its_schema(table: schema.CatalogTable[Any]):
    """Every field is what its column asks for, no row is there twice, and each has a source with a date."""
    assert catalog().rows(table)


def test_every_source_is_used():
    """No source is listed that no row names, but the one that a refresh writes."""
    used = {row["source"] for table in WITH_SOURCE for row in catalog().texts(table)}
    listed = {row.id for row in catalog().rows(schema.SOURCES)}

    assert used | {"ec2-instance-types-live"} == listed


def test_no_file_is_left_over():
    """The folder holds the tables, the list of their sources, and nothing else."""
    files = {str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file()}

    assert {table.file for table in TABLES} | {"SOURCES.md"} == files


def test_sources_are_explained_table_by_table():
    """SOURCES.md says of every table what it holds and how many rows it has."""
    text = (DATA / "SOURCES.md").read_text(encoding="utf-8")
    counts = {
        table.file: len(catalog().rows(table))
        for table in TABLES
        if table is not schema.SOURCES and table not in PRICES
    }
    counts["instance_prices/*.csv.gz"] = sum(len(catalog().rows(table)) for table in PRICES)
    missing = [file for file, count in counts.items() if f"| `{file}` | {count:,} |" not in text]

    assert missing == []


@pytest.mark.parametrize("region", schema.PRICE_REGIONS)
def test_a_file_of_prices_is_of_its_region(region: str):
    """Every row of a region's file is of that region, and an offer that has an engine."""
    rows = catalog().rows(schema.instance_prices(region))
    offers = {row.offer for row in catalog().rows(schema.OFFERS)}

    assert {region} == {row.region for row in rows}
    assert {row.offer for row in rows} <= offers


def test_every_price_of_a_cluster_is_of_a_listed_family():
    """The families with which a cluster is sold are exactly those with such a price."""
    priced = {
        row.db_class.split(".")[1]
        for table in PRICES
        for row in catalog().rows(table)
        if row.deployment == "multi-az-cluster"
    }

    assert priced == {row.family for row in catalog().rows(schema.CLUSTER_FAMILIES)}


def test_a_price_out_of_line_with_its_deployment_is_weak():
    """
    A standby is paid as a second instance, and a cluster as three at most and more than two; what is
    beyond that and the rounding to cents, as 54 prices that AWS prints for ca-west-1, is weak.
    """
    bounds = {"multi-az": (1.98, 2.02), "multi-az-cluster": (2.5, 3.01)}
    cents = Decimal("0.011")
    wrong = []
    for table in PRICES:
        rows = {(r.db_class, r.offer, r.deployment): r for r in catalog().rows(table)}
        for (name, offer, deployment), row in rows.items():
            single = rows.get((name, offer, "single-az"))
            if single is None or row.is_weak:
                continue
            low, high = bounds.get(deployment, (1.0, 1.0))
            least = Decimal(str(low)) * single.usd - cents
            most = Decimal(str(high)) * single.usd + cents
            if not least <= row.usd <= most:
                wrong.append((row.region, name, offer, deployment))

    assert wrong == []


def test_a_baseline_is_never_above_its_maximum():
    """Now and in legacy limits, a class holds forever no more than it has at most."""
    classes = catalog().rows(schema.INSTANCE_LIMITS)
    network = [(row, row.network_baseline_bytes_per_s, row.network_burst_bytes_per_s) for row in classes]
    both = [
        (row, low, high)
        for row in (*classes, *catalog().rows(schema.INSTANCE_LIMITS_LEGACY))
        for low, high in (
            (row.ebs_baseline_bytes_per_s, row.ebs_burst_bytes_per_s),
            (row.ebs_baseline_ops_per_s, row.ebs_burst_ops_per_s),
        )
    ]
    wrong = [row for row, low, high in [*network, *both] if low is not None and (high is None or low > high)]

    assert wrong == []


def test_all_four_ebs_numbers_are_known_or_none():
    """A class has its EBS numbers whole or not at all: half of them could be taken for all."""
    halves = [
        row.ec2_type
        for row in catalog().rows(schema.INSTANCE_LIMITS)
        if len({getattr(row, name) is None for name in RATES}) > 1
    ]

    assert halves == []


def test_history_has_no_gaps_and_no_overlaps():
    """The legacy numbers of a type follow each other day by day, and belong to a type we know."""
    types = {row.ec2_type for row in catalog().rows(schema.INSTANCE_LIMITS)}
    rows = catalog().rows(schema.INSTANCE_LIMITS_LEGACY)
    assert {row.ec2_type for row in rows} <= types
    broken = [
        (a.ec2_type, a.origin.valid_to, b.origin.valid_from)
        for a, b in pairwise(rows)
        if a.ec2_type == b.ec2_type and a.origin.valid_to != b.origin.valid_from
    ]

    assert broken == []


def test_the_last_legacy_row_is_todays_or_is_closed():
    """A row that is still open carries today's numbers."""
    now = {row.ec2_type: row for row in catalog().rows(schema.INSTANCE_LIMITS)}
    differing = [
        row.ec2_type
        for row in catalog().rows(schema.INSTANCE_LIMITS_LEGACY)
        if row.origin.valid_to is None and any(getattr(row, name) != getattr(now[row.ec2_type], name) for name in RATES)
    ]

    assert differing == []


def test_preconfigured_classes_run_on_types_we_know():
    """Every inferred EC2 type is in the table of limits, with the memory the class has."""
    types = {row.ec2_type: row for row in catalog().rows(schema.INSTANCE_LIMITS)}
    wrong = [
        row.db_class
        for row in catalog().rows(schema.CLASSES_PRECONFIGURED)
        if types[row.ec2_type].memory_bytes != row.memory_bytes
    ]

    assert wrong == []


def test_credits_earn_the_printed_baseline():
    """Credits per hour over 60 minutes and all vCPUs is the baseline; a day of them is the most saved."""
    types = {row.ec2_type: row for row in catalog().rows(schema.INSTANCE_LIMITS)}
    wrong = [
        row.ec2_type
        for row in catalog().rows(schema.CPU_CREDITS)
        if row.credits_max != pytest.approx(24 * row.credits_per_hour)
        or row.baseline_ratio
        != pytest.approx(row.credits_per_hour / 60 / (types[row.ec2_type].vcpu_count or 0), abs=5e-4)
    ]

    assert wrong == []


def served(row: StorageRule, size_gib: float) -> dict[str, tuple[float, float]]:
    """Baseline and burst of the stages of all volumes, by their names."""
    storage = Storage(kind=row.kind, size_gib=size_gib)
    stages = chain_of(Instance(engine=engine_of(row), storage=storage), catalog())
    return {stage.name: (stage.baseline * stage.stripes, stage.burst * stage.stripes) for stage in stages}


@pytest.mark.parametrize(
    "row",
    [row for row in catalog().rows(schema.STORAGE_RULES) if row.kind in ("gp2", "gp3")],
    ids=lambda r: f"{r.kind}-{r.engine}-{r.size_gib_min:g}",
)
def test_volumes_add_up_to_what_rds_documents(row: StorageRule):
    """The EBS rule of one volume, or what it includes, times the striping rule, gives the numbers of the RDS table."""
    low = served(row, row.size_gib_min)

    assert (row.ops_per_s_min, row.bytes_per_s_min) == (low["volume_iops"][0], low["volume_throughput"][0])
    if row.kind == "gp2":
        high = served(row, row.size_gib_max)
        assert row.ops_per_s_max == high["volume_iops"][0]
        assert row.bytes_per_s_max == pytest.approx(high["volume_throughput"][0])
    if row.ops_per_s_burst is not None:
        assert row.ops_per_s_burst == low["volume_iops"][1]


def engine_of(row: StorageRule) -> str:
    return {"oracle": "oracle-ee", "sqlserver": "sqlserver-se", "db2": "db2-se"}.get(row.engine, row.engine)


def test_weak_prices_stay_marked():
    """A price from a weak source says so."""
    kinds = {row.title: row.kind for row in catalog().rows(schema.SOURCES)}
    wrong = [
        row.item for row in catalog().rows(schema.STORAGE_PRICES) if (kinds[row.origin.source] == "weak") != row.is_weak
    ]

    assert wrong == []


def test_a_defect_of_a_pooler_has_one_row_a_branch():
    """A fix belongs to its branch, and the timer of node 0 was mended one release before the lock."""
    rows = catalog().rows(schema.POOLER_FIXES)
    strays = [row for row in rows if not row.fixed_in.startswith(f"{row.branch}.")]
    patch = {
        (row.defect, row.branch): int(row.fixed_in.rpartition(".")[2])
        for row in rows
        if row.defect.startswith("life_time_") and row.branch != "4.2"
    }
    earlier = {
        branch: patch["life_time_under_serialize_accept", branch] - patch["life_time_needs_node_0", branch]
        for _, branch in patch
    }

    assert strays == []
    assert earlier == dict.fromkeys(("3.5", "3.6", "3.7", "4.0", "4.1"), 1)
