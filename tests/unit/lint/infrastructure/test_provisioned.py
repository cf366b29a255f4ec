"""Provisioned IOPS and throughput against what the class lets through."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.lint.infrastructure.check import check_databases
from plimsoll.model.infrastructure import (
    Attribute,
    ChangeEffect,
    DatabaseKind,
    DeclaredDatabase,
    DeclaredFinding,
    DeclaredState,
)
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import mib_per_s

MONITORED = {"monitoring_interval_s": 10, "has_insights": True}


def state(
    db_class: str = "db.r5.2xlarge",
    *,
    kind: str = "io1",
    size_gib: float = 3000,
    ops: float | None = None,
    throughput_mibps: float | None = None,
    unknown: dict[Attribute, str] | None = None,
    multi_az: bool | None = False,
    region: str | None = "us-east-1",
    engine: str = "postgres",
) -> DeclaredState:
    storage = Storage(
        kind=kind,
        size_gib=size_gib,
        provisioned_ops_per_s=ops,
        provisioned_bytes_per_s=mib_per_s(throughput_mibps) if throughput_mibps else None,
    )
    instance = Instance(db_class=db_class, engine=engine, multi_az=multi_az, region=region, storage=storage)
    return DeclaredState(instance=instance, unknown=unknown or {}, **MONITORED)


def findings(
    after: DeclaredState, before: DeclaredState | None = None, **others: object
) -> tuple[DeclaredFinding, ...]:
    database = DeclaredDatabase(
        kind=DatabaseKind.INSTANCE,
        address="aws_db_instance.search",
        file="plan.json",
        before=before,
        has_before=True,
        after=after,
        **others,
    )
    return check_databases((database,), catalog())[0]


@pytest.mark.parametrize(
    ("before", "effect"),
    [
        (None, ChangeEffect.INTRODUCES),
        (state(ops=25_000), ChangeEffect.WORSENS),
        (state(ops=30_000), ChangeEffect.KEEPS),
        (state(ops=40_000), ChangeEffect.KEEPS),
        # The IOPS stay and the class shrinks.
        (state("db.r5.8xlarge", ops=30_000), ChangeEffect.INTRODUCES),
    ],
)
def test_a_finding_says_what_the_change_does_to_it(before: DeclaredState | None, effect: ChangeEffect):
    """New, worse than before, or as before; a smaller excess is no worsening."""
    assert [effect] == [f.effect for f in findings(state(ops=30_000), before=before)]


def test_little_that_is_lost_is_no_finding():
    """20,000 of 18,750 IOPS is within a tenth, and only bursts reach it; what gp3 of 500 GiB includes costs no more."""
    small = state("db.m6g.large", kind="gp3", size_gib=500, ops=12_000, throughput_mibps=500)

    assert ["IOPSOnlyInBursts"] == [f.code for f in findings(state(ops=20_000))]
    assert () == findings(small)


def test_only_what_is_above_the_included_throughput_is_priced():
    """2,000 MiB/s of gp3 on 593.75 MB/s: 566.2 MiB/s pass, the rest is $0.08 a MiB/s."""
    fast = state("db.m6g.large", kind="gp3", size_gib=1000, throughput_mibps=2000)
    (found,) = findings(fast)

    assert "ThroughputBeyondInstance" == found.code
    assert pytest.approx(0.08 * (2000 - 593.75e6 / 2**20)) == float(found.usd_per_month or 0)


def test_a_standby_that_is_not_known_gives_a_lower_bound():
    """The price is then at least that of Single-AZ, and says so."""
    unknown = {Attribute.STANDBY: "multi_az is known only after apply"}
    (found,) = findings(state(ops=30_000, multi_az=None, unknown=unknown))

    assert found.price_text.startswith("At least $1,125.00 a month")


def test_without_a_region_the_price_is_not_known():
    """No region is assumed; the limit is the same everywhere."""
    (found,) = findings(state(ops=30_000, region=None))

    assert found.usd_per_month is None
    assert "region" in found.price_text


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (
            state(unknown={Attribute.IOPS: "iops is known only after apply"}),
            ("iops is known only after apply", "IOPSBeyondInstance"),
        ),
        # A class of the future: nothing is said of its limits.
        (state("db.r99.large", ops=9e4), ("db.r99.large",)),
    ],
)
def test_what_is_unknown_is_a_note_and_not_guessed(after: DeclaredState, words: tuple[str, ...]):
    database = DeclaredDatabase(kind=DatabaseKind.INSTANCE, address="db", file="plan.json", after=after)
    found, notes = check_databases((database,), catalog())

    assert () == found
    assert any(all(word in note for word in words) for note in notes)


def test_the_type_of_the_storage_may_be_unknown():
    """The class lets no more through, whatever the storage; only the price is open."""
    open_type = {Attribute.STORAGE_TYPE: "StorageType is not set"}
    (found,) = findings(state(ops=30_000, unknown=open_type))

    assert "IOPSBeyondInstance" == found.code
    assert found.usd_per_month is None


def test_where_no_class_lets_it_through_the_advice_names_none():
    """db.r5.2xlarge lets 18,750 IOPS through, and no db.r5 lets 90,000."""
    (found,) = [one for one in findings(state(ops=90_000)) if one.code == "IOPSBeyondInstance"]

    assert ["Provision at most 18,750 IOPS."] == [remedy.text for remedy in found.remedies]
