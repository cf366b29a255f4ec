"""Questions to the catalog, and what it says when it does not know."""

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from plimsoll.catalog import schema
from plimsoll.catalog.load import DATA, Catalog, catalog
from plimsoll.errors import CatalogError
from plimsoll.model.instance import Deployment
from plimsoll.units import GIB, mb_per_s


@pytest.mark.parametrize(
    ("name", "machine", "note"),
    [
        ("db.r5.2xlarge", (8, 64 * GIB, "agrees"), ""),
        ("db.x2m.xlarge", (None, None, "absent"), "documents no numbers"),
        ("db.r5.2xlarge.tpc1.mem2x", (None, 128 * GIB, "absent"), "inferred"),
    ],
)
def test_a_class_says_what_is_known_of_it(name: str, machine: tuple[Any, ...], note: str):
    """The vCPUs of a preconfigured class are not inferred from the type behind it; a listed class has no numbers."""
    limits = catalog().instance_limits(name)

    assert machine == (limits.vcpu_count, limits.memory_bytes, limits.documentation)
    assert note in limits.note


def test_rds_names_lead_to_ec2_types():
    """db.x2g.large runs on x2gd.large."""
    assert catalog().instance_limits("db.x2g.large").ec2_type == "x2gd.large"


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        ("db.r5.3xlarge", "db.r5.2xlarge, db.r5.4xlarge"),
        ("db.m7x.large", "db.m7i.large"),
        ("quite.else", "plimsoll catalog show"),
        ("", "Write a class like db.r5.2xlarge"),
    ],
)
def test_an_unknown_class_names_the_nearest(asked: str, nearest: str):
    """The error says what was asked, the hint what there is."""
    with pytest.raises(CatalogError) as caught:
        catalog().instance_limits(asked)

    assert caught.value.message == f"unknown instance class '{asked}'"
    assert nearest in caught.value.hint


@pytest.mark.parametrize("name", ["db.x2g.large", "db.m4.10xlarge", "db.r5.2xlarge.tpc1.mem2x"])
def test_legacy_limits_leave_out_misprints_and_guesses(name: str):
    """x2gd was once printed eight times too high, m4.10xlarge once doubled; the type behind the third is inferred."""
    assert () == catalog().legacy_limits(name)


def test_roundings_of_old_pages_are_no_legacy_limits():
    """86.86 MB/s beside 695 Mbit/s is 86.875: db.t3.xlarge has one legacy pair, not two."""
    legacy = catalog().legacy_limits("db.t3.xlarge")

    assert [f.ebs_baseline_bytes_per_s for f in legacy] == [mb_per_s(64)]


@pytest.mark.parametrize(
    ("asked", "options", "expected"),
    [
        (("db.m6g.xlarge", "postgres"), {}, ("0.318", "2026-07-28")),
        (("db.m6g.xlarge", "postgres"), {"deployment": Deployment.MULTI_AZ}, ("0.636", "2026-07-28")),
        # It was the same in the list of 2022: the newest date of a price is kept.
        (("db.r5.2xlarge", "postgres"), {"region": "eu-west-1"}, ("1.12", "2025-10-15")),
        # Corrects the 27.879 of 2022.
        (("db.m5.8xlarge", "mariadb"), {"region": "ap-northeast-3"}, ("3.971", "2025-10-15")),
        # Oracle is in none of the lists after 2022, so its price keeps that date.
        (("db.r5.2xlarge", "oracle-se2"), {"license_model": "included"}, ("1.928", "2022-07-17")),
        # A writer and two readable standbys together.
        (("db.m6gd.xlarge", "postgres"), {"deployment": Deployment.MULTI_AZ_CLUSTER}, ("1.044", "2025-10-15")),
    ],
)
def test_prices_have_a_date_and_a_strength(asked: tuple[str, str], options: dict[str, Any], expected: tuple[str, str]):
    """Dollars an hour, and the day on which a list of AWS's own had them."""
    price = catalog().instance_price(*asked, **options)

    assert price is not None
    assert (*expected, False) == (str(price.usd), price.as_of, price.is_weak)


def test_a_derived_price_says_so():
    """A Multi-AZ price that is not printed is twice the other; unconfirmed for Oracle, so weak."""
    price = catalog().instance_price("db.r5.2xlarge", "oracle-ee", license_model="byol", deployment=Deployment.MULTI_AZ)

    assert price is not None
    assert price.is_weak
    assert price.note


def test_an_unknown_price_is_none():
    """SQL Server has no known Multi-AZ rule, db.m8a.large no known price, no region is called mars."""
    asked = [
        catalog().instance_price("db.m5.xlarge", "sqlserver-se", deployment=Deployment.MULTI_AZ),
        # No cluster may have this class: the price is not made up from three of it.
        catalog().instance_price("db.m6g.xlarge", "postgres", deployment=Deployment.MULTI_AZ_CLUSTER),
        catalog().instance_price("db.m8a.large", "postgres"),
        catalog().instance_price("db.r5.2xlarge", "postgres", region="mars"),
        catalog().instance_price("db.r5.2xlarge", "oracle-se2"),  # which licence?
        catalog().storage_price("gp2_storage", region="mars"),
    ]

    assert asked == [None] * 6


def test_storage_has_prices_for_a_standby():
    """gp3 is 0.115 dollars a GB-month, twice that with a standby; backups cost the same in both."""
    prices = [
        catalog().storage_price("gp3_storage"),
        catalog().storage_price("gp3_storage", deployment=Deployment.MULTI_AZ),
        catalog().storage_price("backup", deployment=Deployment.MULTI_AZ),
    ]

    assert [p.usd for p in prices if p] == [Decimal("0.115"), Decimal("0.23"), Decimal("0.095")]


def test_only_the_tables_a_question_needs_are_read(tmp_path: Path):
    """A folder without prices still answers for limits, and says which table is missing."""
    for table in (schema.SOURCES, schema.INSTANCE_LIMITS, schema.INSTANCE_LIMITS_LEGACY):
        shutil.copy(DATA / table.file, tmp_path)
    facts = Catalog(tmp_path)
    assert facts.legacy_limits("db.r5.2xlarge")

    with pytest.raises(CatalogError) as caught:
        facts.storage_price("gp3_storage")

    assert "storage_prices.csv" in caught.value.message


def test_a_broken_table_is_an_error_not_a_crash(tmp_path: Path):
    """What is not gzip, and what is not text, is said to be unreadable."""
    (tmp_path / schema.STORAGE_PRICES.file).write_bytes(b"not gzip")
    (tmp_path / schema.CLASSES.file).write_bytes(b"\xff\xfe")
    for table in (schema.STORAGE_PRICES, schema.CLASSES):
        with pytest.raises(CatalogError) as caught:
            Catalog(tmp_path).rows(table)

        assert table.file in caught.value.message


def test_a_source_that_is_not_listed_is_an_error(tmp_path: Path):
    """A row whose source nobody explains is not used."""
    for table in (schema.SOURCES, schema.CPU_CREDITS, schema.INSTANCE_LIMITS):
        shutil.copy(DATA / table.file, tmp_path)
    path = tmp_path / schema.CPU_CREDITS.file
    path.write_text(path.read_text().replace("ec2-burstable", "hearsay"))

    with pytest.raises(CatalogError) as caught:
        Catalog(tmp_path).cpu_credits("db.t3.large")

    assert "hearsay" in caught.value.message


def test_engines_and_regions_of_a_class():
    """The list of classes says which engines offer one, and in how many regions."""
    assert catalog().regions_of("db.r5.2xlarge")["postgres"] == 32
    assert catalog().regions_of("db.c6gd.large") == {}
