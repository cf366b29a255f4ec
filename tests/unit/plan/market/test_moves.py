"""What is changed, and what costs nothing."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from msgspec.structs import replace

from plan_cases import claims
from plimsoll.catalog.load import catalog
from plimsoll.catalog.prices import CatalogPrices
from plimsoll.limits import ceilings_of, legacy_limits_of
from plimsoll.model.ceiling import Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.plan import MoveKind
from plimsoll.plan.market.cost import cost_of, usd_per_day_more
from plimsoll.plan.market.moves import FreeMove, free_moves, legacy_of, moves_of
from plimsoll.units import MIB

SEARCH = Instance(
    identifier="search",
    db_class="db.r5.2xlarge",
    engine="postgres",
    engine_version="11.9",
    region="us-east-1",
    multi_az=False,
    launched_s=int(datetime(2019, 6, 4, tzinfo=UTC).timestamp()),
    storage=Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=30_000),
)
"""The search service: launched before its class was raised, with IOPS that it cannot use."""


def usd_more(before: Instance, after: Instance) -> Decimal | None:
    book = CatalogPrices(catalog(), "us-east-1")
    return usd_per_day_more(before, cost_of(before, book), after, cost_of(after, book))


def free(instance: Instance, **known: object) -> tuple[FreeMove, ...]:
    return free_moves(instance, catalog(), usd_more=usd_more, **known)  # type: ignore[arg-type]


def test_moves_say_what_becomes_of_what():
    """Class, type, size, IOPS, throughput, each as people write it."""
    after = claims(
        db_class="db.m6g.xlarge",
        storage=Storage(kind="gp3", size_gib=1500, provisioned_ops_per_s=16_000, provisioned_bytes_per_s=750 * MIB),
    )

    assert [move.text for move in moves_of(claims(), after)] == [
        "class db.t3.xlarge to db.m6g.xlarge",
        "storage type gp2 to gp3",
        "storage size 1,200 GiB to 1,500 GiB",
        "IOPS by size to 16,000",
        "throughput by size to 750 MiB/s",
    ]
    assert moves_of(claims(), claims()) == ()


def test_dropping_what_was_bought_falls_back_to_what_is_included():
    """gp3 without provisioned IOPS has those that are included."""
    before = claims(storage=Storage(kind="gp3", size_gib=500, provisioned_ops_per_s=20_000))
    (move,) = moves_of(before, replace(before, storage=Storage(kind="gp3", size_gib=500)))

    assert (move.kind, move.before, move.after) == (MoveKind.IOPS, "20,000", "included")


def test_the_search_service_is_stopped_and_started_first():
    """Its plateau of 212.5 MB/s was documented until 2019-12-04; a restart brings 287.5."""
    held = [c for c in ceilings_of(SEARCH, catalog()) if c.phase is Phase.LEGACY]
    plateau = [c for c in held if c.value in (212.5e6, 437.5e6)]
    legacy = legacy_of(SEARCH, catalog(), plateau)

    assert (legacy.ebs_baseline_bytes_per_s, legacy.ebs_burst_bytes_per_s) == (212.5e6, 437.5e6)
    move = free(SEARCH, legacy=legacy)[0]
    assert move.is_restart
    assert move.instance == SEARCH
    assert move.moves[0].text == (
        "stop and start: EBS throughput 212.5 MB/s (437.5 MB/s in bursts) to 287.5 MB/s (593.8 MB/s in bursts)"
    )
    assert "EC2 documents that a stop and start applies the present limits" in move.text


def test_without_a_legacy_plateau_nobody_restarts():
    """Old instances may have been stopped since: what was seen decides, not the age."""
    present = [c for c in ceilings_of(SEARCH, catalog()) if c.phase is not Phase.LEGACY]

    assert legacy_limits_of(SEARCH, catalog())
    assert legacy_of(SEARCH, catalog(), present) is None
    assert not any(move.is_restart for move in free(SEARCH))


def test_iops_that_the_class_cannot_pass_on_are_dropped():
    """db.r5.2xlarge passes 18,750 IOPS; 30,000 were bought, and each costs $0.10 a month."""
    (move,) = free(SEARCH)

    assert move.instance.storage.provisioned_ops_per_s == 18_750
    assert "db.r5.2xlarge can use 18,750 IOPS" in move.text
    more = usd_more(SEARCH, move.instance)
    assert more is not None
    assert more * 730 / 24 == Decimal(-1125)


@pytest.mark.parametrize(
    "instance",
    [
        # It passes on 30,000 IOPS.
        replace(SEARCH, db_class="db.r5.8xlarge"),
        # gp2 of 250 GiB moves 250 MiB/s, gp3 125; on a large class four gp2 volumes move 1,000 to 500.
        claims(storage=Storage(kind="gp2", size_gib=250)),
        claims(db_class="db.r5.12xlarge"),
        # There is no EBS volume to change.
        claims(engine="aurora-mysql", db_class="db.r5.large", storage=Storage(kind="aurora")),
        Instance(storage=Storage(kind="gp2", size_gib=100)),
    ],
)
def test_what_would_serve_less_is_not_free(instance: Instance):
    """Nothing is moved."""
    assert () == free(instance)


@pytest.mark.parametrize("asked", [{}, {"usd_more": lambda *_: None}, {"usd_more": lambda *_: Decimal(1)}])
def test_gp3_is_not_called_free_without_a_price(asked: dict):
    """An unknown price is not the same price."""
    assert () == free_moves(claims(), catalog(), **asked)


def test_gp3_keeps_the_iops_that_its_throughput_needs():
    """2,000 MiB/s take 8,000 IOPS; the included 12,000 are the least anyway, and the class needs 593.75 MB/s."""
    before = replace(
        SEARCH,
        storage=Storage(kind="gp3", size_gib=1000, provisioned_ops_per_s=40_000, provisioned_bytes_per_s=2000 * MIB),
    )
    (move,) = free(before)

    assert move.instance.storage.provisioned_ops_per_s == 18_750
    # 593.75 MB/s are 566.2 MiB/s, and throughput is sold in whole ones.
    assert move.instance.storage.provisioned_bytes_per_s == 567 * MIB


def test_gp3_is_free_where_it_serves_no_less():
    """1,200 GiB of gp2 and of gp3 both cost 11.5 cents a GiB, and db.t3.xlarge uses 347.5 MB/s at most."""
    (move,) = free(claims())

    assert move.instance.storage == Storage(kind="gp3", size_gib=1200)
    assert usd_more(claims(), move.instance) == 0
