"""What arrangements cost: sums that are exact, and sums that are not known."""

from decimal import Decimal

import pytest
from msgspec.structs import replace

from books import without_storage
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import Cost
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.units import mib_per_s

US_EAST_1 = CatalogPrices(catalog(), "us-east-1")
GP2 = Storage(kind="gp2", size_gib=200)


def bought(db_class: str = "db.t3.xlarge", storage: Storage = GP2, **fields: object) -> Instance:
    """A PostgreSQL instance in us-east-1 without a standby, unless given otherwise."""
    usual = {"engine": "postgres", "region": "us-east-1", "multi_az": False}
    return Instance(db_class=db_class, storage=storage, **(usual | fields))


def priced(instance: Instance, **asked: object) -> Cost:
    """Its cost by the catalog's prices of us-east-1."""
    return cost_of(instance, US_EAST_1, **asked)


def gp3(size_gib: float, ops: float | None = None, mib: float | None = None) -> Storage:
    return Storage(
        kind="gp3",
        size_gib=size_gib,
        provisioned_ops_per_s=ops,
        provisioned_bytes_per_s=None if mib is None else mib_per_s(mib),
    )


def io1(ops: float) -> Storage:
    return Storage(kind="io1", size_gib=100, provisioned_ops_per_s=ops)


def test_a_sum_is_of_hours_and_of_space():
    """730 hours at $0.318 and 200 GiB of gp2 at $0.115 are $255.14 a month."""
    cost = priced(bought("db.m6g.xlarge"))

    assert Decimal("255.14") == cost.usd_per_month
    assert Decimal("0.318") == cost.instance_usd_per_hour
    assert (Decimal(23), 0, 0, 0) == (
        cost.storage_usd_per_month,
        cost.iops_usd_per_month,
        cost.throughput_usd_per_month,
        cost.credits_usd_per_month,
    )
    assert ((), ()) == (cost.unknown, cost.notes)
    assert "2026-05-03" == cost.as_of


@pytest.mark.parametrize(
    ("engine", "size_gib", "ops", "mib", "ops_paid", "mib_paid"),
    [
        ("postgres", 400, 12_000, 500, 0, 0),
        ("postgres", 400, 12_001, 501, 1, 1),
        ("oracle-ee", 200, 13_000, 600, 1_000, 100),
        ("sqlserver-se", 1_000, 4_000, 250, 1_000, 125),
        ("postgres", 100, 3_000, 125, 0, 0),
        ("postgres", 400, 13_000, None, 1_000, 0),
        ("postgres", 400, None, 600, 0, 100),
    ],
)
def test_gp3_is_paid_above_what_is_included(engine, size_gib, ops, mib, ops_paid, mib_paid):
    """12,000 IOPS and 500 MiB/s are included from the striping threshold on, 3,000 and 125 otherwise."""
    cost = priced(bought("db.r5.2xlarge", gp3(size_gib, ops, mib), engine=engine))

    assert Decimal("0.02") * ops_paid == cost.iops_usd_per_month
    assert Decimal("0.08") * mib_paid == cost.throughput_usd_per_month
    assert not cost.is_weak


@pytest.mark.parametrize(
    ("instance", "hour", "space", "iops"),
    [
        # Space is all that is paid for gp3 without anything provisioned, for any engine.
        (bought("db.r5.2xlarge", gp3(100), engine="mysql"), None, "11.5", 0),
        # 1,200 IOPS of io1 at $0.10 are $120 a month, as Infracost's tests have it.
        (bought("db.r5.2xlarge", io1(1200)), None, "12.5", 120),
        # Multi-AZ prices are asked for as such, not made of others here.
        (bought("db.m6g.xlarge", multi_az=True), "0.636", "46", 0),
        # A cluster has its own price of an hour, and each GiB and IOPS for writer and both standbys.
        (bought("db.m6gd.xlarge", io1(1000), cluster="orders"), "1.044", "37.5", 300),
        # Each additional storage is paid as if it were alone, with its own included IOPS.
        (
            bought(
                "db.r5.2xlarge",
                replace(gp3(200, 12_000, 500), additional=(gp3(200, 13_000, 500),) * 2),
                engine="oracle-ee",
            ),
            None,
            "69",
            40,
        ),
    ],
    ids=["gp3", "io1", "standby", "cluster", "additional"],
)
def test_each_part_has_its_price(instance, hour, space, iops):
    """Hours, space and IOPS; no throughput is paid here, and nothing is left to say."""
    cost = priced(instance)

    assert hour is None or Decimal(hour) == cost.instance_usd_per_hour
    assert (Decimal(space), iops, 0) == (
        cost.storage_usd_per_month,
        cost.iops_usd_per_month,
        cost.throughput_usd_per_month,
    )
    assert () == cost.notes


def test_throughput_that_rds_sets_is_no_known_price():
    """
    gp3 of a cluster has the throughput that RDS gives to its IOPS: above the included ones the sum is
    unknown, for nobody documents how much of it is paid.
    """
    more, included = (priced(bought("db.m6gd.xlarge", gp3(400, ops), cluster="orders")) for ops in (20_000, 12_000))

    assert more.usd_per_month is None
    assert Decimal(480) == more.iops_usd_per_month
    assert included.usd_per_month is not None


def test_a_missing_part_makes_the_sum_unknown_and_is_named():
    """A class without a price makes the sum None, and what is known of the rest stays."""
    storage = Storage(kind="io1", size_gib=100, provisioned_ops_per_s=1200)

    cost = priced(bought("db.m8a.2xlarge", storage, multi_az=True))

    assert cost.usd_per_month is None
    assert cost.usd_per_day is None
    assert cost.instance_usd_per_hour is None
    assert (25, 240) == (cost.storage_usd_per_month, cost.iops_usd_per_month)
    (text,) = cost.unknown
    assert "the price of db.m8a.2xlarge for postgres, Multi-AZ, in us-east-1 is not in" in text
    assert "plimsoll prices refresh --region us-east-1" in text


def test_what_does_not_change_cancels_though_nobody_knows_its_price():
    """Where no storage has a price, a change of class alone still has a difference."""
    book = without_storage()
    before = bought("db.r6g.large")
    after = replace(before, db_class="db.r6g.xlarge")
    larger = replace(after, storage=Storage(kind="gp2", size_gib=300))
    costs = {one: cost_of(one, book) for one in (before, after, larger)}

    assert costs[before].usd_per_month is None
    more = usd_per_day_more(before, costs[before], after, costs[after])
    price = book.instance_price("db.r6g.large", "postgres")
    # A class of twice the size costs twice as much.
    assert 24 * price.usd == more
    assert usd_per_day_more(before, costs[before], larger, costs[larger]) is None


def test_a_change_of_storage_needs_no_price_of_the_class():
    """100 GiB more are 100 × $0.115 a month, whatever a class without a price costs."""
    before = bought("db.m8a.large")
    after = replace(before, storage=Storage(kind="gp2", size_gib=300))
    costs = priced(before), priced(after)

    assert costs[0].usd_per_month is None
    assert Decimal("11.5") * 24 / 730 == usd_per_day_more(before, costs[0], after, costs[1])


def test_credits_beyond_those_earned_are_paid_by_the_vcpu_hour():
    """48 credits an hour are 0.8 vCPU-hours, at $0.075 each: $43.80 a month."""
    cost = priced(bought("db.t3.xlarge"), cpu_credits_per_hour=48)

    assert Decimal("43.8") == cost.credits_usd_per_month
    assert Decimal("43.8") + Decimal("234.7") == cost.usd_per_month


def test_credits_that_nobody_counted_are_reported_and_not_zero():
    """None is not counted and a note says so; zero is a number and says nothing."""
    uncounted, none = (priced(bought(), cpu_credits_per_hour=c) for c in (None, 0))

    assert (None, 0) == (uncounted.credits_usd_per_month, none.credits_usd_per_month)
    assert Decimal("234.7") == uncounted.usd_per_month == none.usd_per_month
    (note,) = uncounted.notes
    assert "$0.075 a vCPU-hour; not included here" in note
    assert () == none.notes


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        ((48, "db.t3.xlarge"), (0, "db.m6g.xlarge"), Decimal("0.672") - Decimal("1.44")),
        ((0, "db.m6g.xlarge"), (48, "db.t3.xlarge"), Decimal("1.44") - Decimal("0.672")),
        ((None, "db.t3.xlarge"), (None, "db.m6g.xlarge"), Decimal("0.672")),
        ((48, "db.t3.xlarge"), (48, "db.t4g.xlarge"), None),
    ],
)
def test_credits_are_part_of_a_difference(before, after, more):
    """48 credits an hour are $1.44 a day; where their price is not known, neither is the difference."""
    instances = [bought(db_class) for _, db_class in (before, after)]
    costs = [
        priced(one, cpu_credits_per_hour=spent) for one, (spent, _) in zip(instances, (before, after), strict=True)
    ]

    found = usd_per_day_more(instances[0], costs[0], instances[1], costs[1])

    assert more == found
    assert (before[0] is not None) == costs[0].are_credits_counted


def test_a_discount_is_on_the_instance_alone():
    """A fifth off takes a fifth off the hours, and a note says that storage is not discounted."""
    cost = priced(bought("db.m6g.xlarge"), discount=Decimal("0.8"))

    assert Decimal("0.2544") == cost.instance_usd_per_hour
    assert Decimal("0.2544") * 730 + 23 == cost.usd_per_month
    assert ("the discount, a factor of 0.8, applies to the instance only",) == cost.notes


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"db_class": "db.m8a.large"}, "the price of db.m8a.large for postgres in us-east-1"),
        (
            {"db_class": "db.r5.large", "engine": "oracle-se2"},
            "depends on the license: give --license bring-your-own-license or license-included",
        ),
        # What is paid to a seller is in no price.
        ({"engine": "oracle-se2", "license_model": "marketplace-license"}, "'marketplace-license'"),
        ({"db_class": "db.r5.large", "engine": "db2-se"}, "db.r5.large for db2-se"),
        ({"db_class": None}, "the class is unknown"),
        ({"engine": None}, "the engine is unknown"),
        ({"region": "eu-west-1"}, "in eu-west-1, but the prices are of us-east-1"),
        ({"db_class": "db.serverless", "engine": "aurora-mysql"}, "depends on the capacity"),
        ({"storage": Storage(size_gib=10)}, "the type is unknown"),
        ({"storage": Storage(kind="gp2")}, "the size is unknown"),
        ({"storage": Storage(kind="io1", size_gib=100)}, "billed per provisioned IOPS, and their number is unknown"),
        ({"storage": Storage(kind="standard", size_gib=100)}, "billed per request ($0.10 a million)"),
        ({"engine": "aurora-mysql", "storage": Storage(kind="aurora")}, "bills used storage"),
        ({"engine": "nosuch", "storage": gp3(500, 13_000)}, "included in 500 GiB of gp3 for nosuch are unknown"),
        # What a credit of another kind costs is not taken from the one price that is known.
        ({"db_class": "db.t4g.large"}, "cpu surplus credits arm in us-east-1 is not in"),
        ({"db_class": "db.t3.large", "engine": "sqlserver-se"}, "credits sqlserver in us-east-1"),
        ({"db_class": "db.t2.large"}, "whether db.t2.large is billed for extra CPU credits"),
        ({"db_class": "db.t3.large", "multi_az": True}, "whether a standby's CPU credits"),
    ],
)
def test_what_cannot_be_priced_is_named(fields, expected):
    """Nothing that is missing is taken for zero."""
    cost = priced(bought(**fields), cpu_credits_per_hour=6)

    assert cost.usd_per_month is None
    assert any(expected in sentence for sentence in cost.unknown)


def test_oracle_is_priced_once_the_license_is_given():
    """The same class costs less where the licence is brought along; a container database costs alike."""
    instance = bought("db.m5.large", engine="oracle-se2-cdb")
    included, brought = (
        priced(replace(instance, license_model=text)) for text in ("license-included", "bring-your-own-license")
    )

    assert included.instance_usd_per_hour > brought.instance_usd_per_hour > 0


@pytest.mark.parametrize(
    ("engine", "license_model"), [("postgres", "postgresql-license"), ("mysql", "general-public-license")]
)
def test_a_license_that_costs_nothing_changes_no_price(engine, license_model):
    """What RDS says of engines without a paid licence is the price they have anyway."""
    instance = bought("db.m5.large", engine=engine)

    assert priced(instance) == priced(replace(instance, license_model=license_model))


def test_aurora_pays_no_standby_and_no_provisioned_storage():
    """Each instance of a cluster is billed by itself; I/O-Optimized has no requests to pay."""
    storage = Storage(kind="aurora-iopt1", size_gib=100)

    cost = priced(bought("db.r6g.large", storage, engine="aurora-postgresql", multi_az=True))

    assert Decimal("22.5") == cost.storage_usd_per_month
    assert 0 == cost.iops_usd_per_month
    assert cost.instance_usd_per_hour is not None
    assert cost.usd_per_month == cost.instance_usd_per_hour * 730 + Decimal("22.5")


def test_a_standby_nobody_knows_of_counts_as_none():
    """Metrics alone do not tell; the price is that of one instance, and a note says so."""
    cost = priced(bought("db.m6g.xlarge", multi_az=None))

    assert Decimal("0.318") == cost.instance_usd_per_hour
    (note,) = cost.notes
    assert "price is for Single-AZ" in note
