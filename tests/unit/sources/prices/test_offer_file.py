"""Offer files of the AWS Price List: what is taken from them, and what is refused."""

import gzip
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from msgspec.structs import replace

from fixtures.offers import hours, item, listed, market, offer_csv, offer_json
from plimsoll.errors import AccessDenied, DataError, SourceError
from plimsoll.model.instance import Deployment
from plimsoll.model.price import PriceTable
from plimsoll.sources.prices.offer_file import read_price_list
from plimsoll.sources.prices.products import Attributes

FORMS = {"json": offer_json, "csv": offer_csv}


def read(tmp_path: Path, content: bytes, *, region: str = "us-east-1", name: str = "offer") -> PriceTable:
    """The prices of a file with that content."""
    path = tmp_path / name
    path.write_bytes(content)
    return read_price_list(path, region)


def usd(table: PriceTable, db_class: str, engine: str = "postgres", **asked: object) -> object:
    price = table.instance_price(db_class, engine, **asked)
    return None if price is None else price.usd


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("wrap", [bytes, gzip.compress])
def test_both_forms_give_the_same_prices(form, wrap, tmp_path):
    """
    JSON and CSV, plain and gzipped, hold the prices of the published change and of storage, with the
    list's date of publication and its version; no such price is weak.
    """
    table = read(tmp_path, wrap(FORMS[form](market())))
    price = table.instance_price("db.t3.xlarge", "postgres")

    assert price is not None
    assert (Decimal("0.290"), "2026-07-28", "us-east-1", "hour", False) == (
        *(price.usd, price.as_of, price.region, price.unit, price.is_weak),
    )
    assert "AWS Price List of AmazonRDS, version 20260728170746" == price.origin.source
    assert Decimal("0.318") == usd(table, "db.m6g.xlarge")
    assert Decimal("0.636") == usd(table, "db.m6g.xlarge", deployment=Deployment.MULTI_AZ)
    assert Decimal("0.304") == usd(table, "db.m6g.xlarge", "mysql")
    assert usd(table, "db.t3.xlarge", deployment=Deployment.MULTI_AZ) is None
    items = {
        ("gp2_storage", False): "0.115",
        ("gp3_storage", True): "0.23",
        ("gp3_throughput", False): "0.08",
        ("io1_ops", False): "0.1",
        ("standard_io", False): "0.1",
        ("cpu_surplus_credits", True): "0.075",
    }
    for (name, multi_az), expected in items.items():
        deployment = Deployment.MULTI_AZ if multi_az else Deployment.SINGLE_AZ
        price = table.storage_price(name, deployment=deployment)
        assert price is not None, name
        assert Decimal(expected) == price.usd
    assert table.storage_price("io2_ops") is None


def test_an_answer_of_get_products_is_read_too(tmp_path):
    """What `aws pricing get-products` prints has the products as strings."""
    content = json.dumps({"FormatVersion": "aws_v1", "PriceList": listed(market())}).encode()

    table = read(tmp_path, content)

    assert Decimal("0.318") == usd(table, "db.m6g.xlarge")
    assert 4 == len(table.instances)


LOOKALIKES = {
    "Outposts": {"locationType": "AWS Outposts"},
    "Local Zone": {"locationType": "AWS Local Zone"},
    "another region": {"regionCode": "eu-west-1"},
    "RDS Custom": {"deploymentModel": "Custom"},
    "media of one's own": {"engineMediaType": "Customer-provided"},
    "an engine code of RDS Custom": {"engineCode": "230"},
    "an operation of RDS Custom": {"engineCode": "", "operation": "CreateDBInstance:0401"},
    "a readable standby": {"deploymentOption": "Multi-AZ (readable standbys)"},
    "a mirror": {"deploymentOption": "Multi-AZ (SQL Server Mirror)"},
    "a licence of one's own": {"licenseModel": "Bring your own license"},
    "a licence apart": {"unbundledLicensing": "Yes"},
    "Extended Support": {"extendedSupportPricingYear": "Year 1, Year 2"},
    "usage of Extended Support": {"usagetype": "ExtendedSupport:Yr1-Yr2:PostgreSQL11"},
    "usage of a cluster": {"usagetype": "Multi-AZClusterUsage:db.m6g.xl"},
    "usage of a standby": {"usagetype": "Multi-AZUsage:db.m6g.xl"},
    "I/O-Optimized": {"usagetype": "InstanceUsageIOOptimized:db.m6g.xl"},
    "another edition": {"databaseEdition": "Enterprise"},
    "no class": {"instanceType": "m6g.xlarge"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("trap", LOOKALIKES)
def test_of_several_skus_of_a_class_the_right_one_is_taken(trap, form, tmp_path):
    """A product that looks alike and is something else neither replaces the price nor disputes it."""
    alike = hours("db.m6g.xlarge", "9.9900000000", **LOOKALIKES[trap])
    for sold in ([alike, *market()], [*market(), alike]):
        assert Decimal("0.318") == usd(read(tmp_path, FORMS[form](sold)), "db.m6g.xlarge")


@pytest.mark.parametrize(
    "alike",
    [
        item("RDS:Multi-AZ-GP3-Storage", "9", "GB-Mo", option="Multi-AZ (readable standbys)"),
        item("RDS:Multi-AZCluster-GP3-Storage", "9", "GB-Mo", option="Multi-AZ"),
        item("RDS:GP3-Storage", "9", "GB-Mo", option="Multi-AZ"),
        item("RDS:GP3-Storage", "9", "GB-Mo", locationType="AWS Outposts"),
        item("RDS:GP3-Storage", "9", "Hrs"),
        item("RDS:GP3-Storage", "0.0000000000", "GB-Mo", engine="MySQL"),
    ],
)
def test_of_several_skus_of_storage_the_right_one_is_taken(alike, tmp_path):
    """Other deployments, places and units are other things; a rate of nothing is no price."""
    table = read(tmp_path, offer_json([alike, *market()]))

    price, standby = (
        table.storage_price("gp3_storage", deployment=deployment)
        for deployment in (Deployment.SINGLE_AZ, Deployment.MULTI_AZ)
    )
    assert (Decimal("0.115"), Decimal("0.23")) == (price.usd, standby.usd)


@pytest.mark.parametrize("form", FORMS)
def test_what_differs_only_in_price_is_disputed(form, tmp_path):
    """Neither is chosen: the price is unknown, and the sentence says why."""
    other = hours("db.m6g.xlarge", "0.3190000000", sku="OTHER")

    table = read(tmp_path, FORMS[form]([*market(), other]))

    assert usd(table, "db.m6g.xlarge") is None
    text = table.why_unknown("db.m6g.xlarge", engine="postgres")
    assert text == (
        "the price of db.m6g.xlarge for postgres in us-east-1 is not clear: 'offer' has 2 of it, $0.318 and $0.319"
    )
    assert Decimal("0.290") == usd(table, "db.t3.xlarge")


def test_tiers_are_disputed_and_equal_prices_are_one(tmp_path):
    """A price that depends on how much is bought is not one price; the same price twice is."""
    storage = item("RDS:IO2-PIOPS", "0.1", "IOPS-Mo")
    tiered = replace(storage, rates=[("0.1", "IOPS-Mo"), ("0.07", "IOPS-Mo"), ("0.05", "IOPS-Mo")])
    again = item("RDS:GP2-Storage", "0.115", "GB-Mo", engine="MySQL")

    table = read(tmp_path, offer_json([*market(), tiered, again]))

    assert table.storage_price("io2_ops") is None
    assert "has 3 of it, $0.05, $0.07 and $0.1" in table.why_unknown("io2_ops")
    assert Decimal("0.115") == table.storage_price("gp2_storage").usd


def test_credits_of_sql_server_are_an_item_of_their_own(tmp_path):
    """They cost more than those of other engines, and do not dispute their price."""
    dearer = item("CPUCredits:db.t3", "0.121", "vCPU-Hours", option="", engine="SQL Server")
    arm = item("CPUCredits:db.t4g", "0.07", "vCPU-Hours", option="", engine="PostgreSQL")

    table = read(tmp_path, offer_json([*market(), dearer, arm]))

    names = [f"cpu_surplus_credits{suffix}" for suffix in ("", "_sqlserver", "_arm")]
    prices = [table.storage_price(name) for name in names]
    assert ["0.075", "0.121", "0.07"] == [str(price.usd) for price in prices]


@pytest.mark.parametrize("form", FORMS)
def test_a_file_cut_anywhere_is_a_sentence_or_has_fewer_prices(form, tmp_path):
    """No place to break off gives another error, or a price that the whole file does not have."""
    content = FORMS[form](market())
    whole = read(tmp_path, content)
    for end in range(0, len(content), 97):
        try:
            table = read(tmp_path, content[:end])
        except DataError:
            continue
        assert form == "csv"
        assert table.instances.items() <= whole.instances.items()
        assert table.items.items() <= whole.items.items()


def test_a_licence_is_asked_for_where_there_are_several(tmp_path):
    """Oracle without a licence said has no price; a container database costs what its edition costs."""
    oracle = {"engine": "Oracle", "databaseEdition": "Standard Two"}
    sold = [
        hours("db.m5.large", "0.2", licenseModel="Bring your own license", engineCode="19", **oracle),
        hours("db.m5.large", "0.5", licenseModel="License included", engineCode="20", **oracle),
    ]

    table = read(tmp_path, offer_json(sold))

    assert usd(table, "db.m5.large", "oracle-se2") is None
    assert Decimal("0.5") == usd(table, "db.m5.large", "oracle-se2-cdb", license_model="included")
    assert Decimal("0.2") == usd(table, "db.m5.large", "oracle-se2", license_model="byol")
    text = table.why_unknown("db.m5.large", engine="oracle-se2")
    assert text.endswith("give --license bring-your-own-license or license-included")
    assert "is not in 'offer'" in table.why_unknown("db.m5.xlarge", engine="oracle-se2")


@pytest.mark.parametrize(("db_class", "expected"), [("db.m6i.large", "0.9"), ("db.m7i.large", None)])
def test_sql_server_whose_licence_is_apart_has_no_price(db_class, expected, tmp_path):
    """From the seventh generation on the list of RDS holds only a part of what SQL Server costs."""
    server = {"engine": "SQL Server", "databaseEdition": "Standard", "engineCode": "12"}
    sold = hours(db_class, "0.9", licenseModel="License included", **server)

    table = read(tmp_path, offer_json([*market(), sold]))

    assert (None if expected is None else Decimal(expected)) == usd(table, db_class, "sqlserver-se")


def test_io_optimized_is_a_price_of_its_own(tmp_path):
    """Aurora's instances cost more where requests are free."""
    aurora = {"engine": "Aurora PostgreSQL"}
    usage = "InstanceUsageIOOptimized:db.r6g.large"
    sold = [hours("db.r6g.large", "0.26", **aurora), hours("db.r6g.large", "0.338", usagetype=usage, **aurora)]

    table = read(tmp_path, offer_json(sold))

    assert Decimal("0.26") == usd(table, "db.r6g.large", "aurora-postgresql")
    assert Decimal("0.338") == usd(table, "db.r6g.large", "aurora-postgresql", storage_kind="aurora-iopt1")


def test_regions_have_a_prefix_that_tells_nothing_more(tmp_path):
    """A file of all regions gives each its own; the prefix tells nothing that the region does not."""
    dearer = [replace(one, rates=[("0.4", "Hrs")]) for one in market("eu-west-1")[:2]]
    content = offer_csv([*market(), *dearer, *market("us-east-2")[2:]])

    tables = [read(tmp_path, content, region=r) for r in ("us-east-1", "eu-west-1", "us-east-2")]

    prices = [usd(table, "db.t3.xlarge") for table in tables]
    assert [Decimal("0.290"), Decimal("0.4"), None] == prices
    assert tables[2].storage_price("gp2_storage") is not None


JSON, CSV = offer_json(market()), offer_csv(market())
ROWS = CSV.decode().splitlines(keepends=True)
BROKEN = {
    "is empty": b"",
    "is empty ": b" \n",
    "is cut off": JSON[: len(JSON) // 2],
    "is not an offer file": b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
    "is not an offer file ": b'{"instance": {}}',
    "is not an offer file  ": JSON.replace(b'"products"', b'"PRODUCTS"'),
    "is not an offer file   ": JSON.replace(b'"unit": "Hrs"', b'"unit": 5'),
    "is not a whole gzip file": gzip.compress(JSON)[:-30],
    "is the offer of 'AmazonEC2', and": JSON.replace(b"AmazonRDS", b"AmazonEC2"),
    "an offer file without a service": JSON.replace(b'"offerCode"', b'"code"'),
    "contains prices of eu-west-1, and none of us-east-1": offer_json(market("eu-west-1")),
    "contains no on-demand price of RDS in us-east-1": offer_json([]),
    # A list in yuan says nothing of dollars.
    "contains no on-demand price of RDS in us-east-1 ": JSON.replace(b'{"USD"', b'{"CNY"'),
    "contains no on-demand price of RDS in us-east-1  ": CSV.replace(b'"USD"', b'"CNY"'),
    "contains no on-demand price of RDS": offer_json(market(), terms={"OnDemand": {}}),
    # As CSV, which may break off between two fields of its last row.
    "is cut off or damaged at line": CSV[: CSV.rindex(b',"us-east-1"')],
    "is cut off or damaged: unexpected end of data": CSV[: CSV.rindex(b'-1"')],
    "ends before the columns of an offer": "".join(ROWS[:5]).encode(),
    "has no column 'PricePerUnit'": CSV.replace(b'"PricePerUnit"', b'"Price"'),
    "is the offer of 'AmazonEC2'": offer_csv(market(), offer="AmazonEC2"),
    "is not a whole gzip file ": gzip.compress(CSV, mtime=0)[:-30],
    "is not UTF-8 text": CSV.replace(b"Reserved", b"\xff\xfe"),
    "contains prices of eu-west-1, us-east-2": offer_csv([*market("us-east-2"), *market("eu-west-1")]),
}


@pytest.mark.parametrize("expected", BROKEN)
def test_a_bad_file_is_refused_in_one_sentence(expected, tmp_path):
    """The cause names the file, the hint says where a good one comes from."""
    with pytest.raises(DataError) as caught:
        read(tmp_path, BROKEN[expected])

    error = caught.value
    assert expected.strip() in error.message
    assert "'" in error.message
    assert not error.message.endswith(".")
    assert error.hint.endswith(".")
    assert "\n" not in error.message + error.hint


def test_a_file_that_may_not_be_read_is_said_so(tmp_path, monkeypatch):
    """The system's refusal is one sentence, whatever the form of the file; nor is a folder one, nor none."""
    path = tmp_path / "offer.csv"
    path.write_bytes(CSV)
    for other in (tmp_path / "none.json", tmp_path):
        with pytest.raises(SourceError):
            read_price_list(other, "us-east-1")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(AccessDenied):
        read_price_list(path, "us-east-1")


HIGH_WATER = """
import sys
from pathlib import Path
from plimsoll.sources.prices.offer_file import read_price_list
from plimsoll.model.instance import Deployment
table = read_price_list(Path(sys.argv[1]), "us-east-1")
status = Path("/proc/self/status").read_text()
print(len(table.instances), next(l.split()[1] for l in status.splitlines() if "VmHWM" in l))
"""


@pytest.mark.parametrize(("form", "most_bytes"), [("json", 150_000_000), ("csv", 60_000_000)])
def test_memory_follows_what_is_asked_for(form, most_bytes, tmp_path):
    """
    20,000 products in 27 MB, as one region has, take a few times the file as JSON, and next to
    nothing as CSV; of ten regions one is kept.
    """
    many = [hours(f"db.r5.{n}xlarge", f"{n + 1}.5", sku=f"S{n}") for n in range(2000)]
    away = [hours(f"db.r5.{n}xlarge", "9", region="eu-west-1", sku=f"A{n}") for n in range(18_000)]
    path = tmp_path / "offer"
    path.write_bytes(FORMS[form](many + away))

    done = subprocess.run([sys.executable, "-c", HIGH_WATER, path], capture_output=True, text=True, check=True)
    count, high_water_kib = map(int, done.stdout.split())

    assert 2000 == count
    assert high_water_kib * 1024 < most_bytes


def test_every_attribute_that_is_looked_at_is_one_of_the_list():
    """Names of the JSON form and columns of the CSV form stand for the same attributes."""
    from fixtures.offers import _COLUMNS
    from plimsoll.sources.prices.offer_csv import _ATTRIBUTES

    assert set(Attributes.__struct_fields__) == set(_ATTRIBUTES.values())
    by_field = dict(zip(Attributes.__struct_encode_fields__, Attributes.__struct_fields__, strict=True))
    assert {_COLUMNS[name]: field for name, field in by_field.items()} == _ATTRIBUTES
