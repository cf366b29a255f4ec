"""gp2 that gp3 beats, storage below the striping threshold, and storage that RDS refuses."""

from decimal import Decimal

import pytest

from plimsoll.model.infrastructure import DeclaredState
from unit.lint.infrastructure.test_provisioned import findings as found
from unit.lint.infrastructure.test_provisioned import state as declared


def state(kind: str, size_gib: float, *, db_class: str = "db.m5.large", **bought) -> DeclaredState:
    return declared(db_class, kind=kind, size_gib=size_gib, **bought)


@pytest.mark.parametrize(
    ("size_gib", "codes"),
    [
        (100, ["GP3FasterThanGP2"]),
        (170, ["GP3FasterThanGP2"]),
        # One gp2 volume above 170 GiB has 250 MiB/s and gp3 has 125 there: not faster in everything.
        (300, []),
        (500, ["GP3FasterThanGP2"]),
        # 10,000 GiB of gp2 hold 30,000 IOPS, which cost extra as gp3.
        (10_000, []),
    ],
)
def test_gp2_is_reported_where_gp3_is_faster_and_no_dearer(size_gib: float, codes: list[str]):
    """In us-east-1 both cost the same for each GiB, so the speed decides."""
    big = "db.r5.12xlarge" if size_gib > 1000 else "db.m5.large"

    assert codes == [f.code for f in found(state("gp2", size_gib, db_class=big))]


def test_storage_just_below_four_volumes_is_mentioned_with_its_price():
    """10 GiB more are $1.15 a month, and four volumes in place of one."""
    (one,) = found(state("gp3", 390, db_class="db.r6g.4xlarge"))

    assert ("BelowStripingThreshold", Decimal("1.150")) == (one.code, one.usd_per_month)


@pytest.mark.parametrize(
    "sound",
    [
        # 300 GiB more would cost more than a twentieth of the instance.
        state("gp3", 100, db_class="db.m6g.large"),
        # A class without the IOPS gains nothing.
        state("gp3", 390, db_class="db.t3.micro"),
        # RDS documents one volume for SQL Server, so there is no threshold.
        state("gp3", 390, engine="sqlserver-se", db_class="db.r5.8xlarge"),
    ],
)
def test_storage_that_gains_nothing_is_not_mentioned(sound: DeclaredState):
    assert () == found(sound)


@pytest.mark.parametrize(
    "refused",
    [
        state("gp3", 390, ops=6000),
        state("gp3", 500, ops=4000),
        state("gp3", 500, ops=12_000, throughput_mibps=4000),
        state("io1", 50, ops=1000),
        state("io1", 100, ops=18_000, db_class="db.r5.12xlarge"),
    ],
)
def test_what_rds_refuses_is_critical(refused: DeclaredState):
    """A wrong combination fails when it is applied; the finding has the documented range."""
    (first, *_) = found(refused)

    assert ("StorageRefused", "critical") == (first.code, first.severity)
    assert first.facts


def test_rates_that_rds_reports_for_plain_gp3_are_no_request():
    """RDS reports 3,000 IOPS and 125 MiB/s for gp3 on which nothing was provisioned, and a plan repeats them."""
    grown = state("gp3", 200, ops=3000, throughput_mibps=125)

    assert () == found(grown, before=state("gp3", 100, ops=3000, throughput_mibps=125))


def test_storage_that_exists_is_not_refused():
    """Only what the change creates or changes is checked against what RDS sells today."""
    odd = state("io1", 100, ops=18_000, db_class="db.r5.12xlarge")

    assert "StorageRefused" not in [f.code for f in found(odd, before=odd)]
