"""What the volumes give, by type and size."""

from functools import partial

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits.layout import volumes_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import mib_per_s
from unit.limits.instances import epoch, of, on, values

THROUGHPUT, IOPS = Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS


def throughput(subject: Instance) -> float:
    (ceiling,) = of(subject, THROUGHPUT)
    assert ceiling.phase is Phase.FIXED
    return ceiling.value


def test_every_gp2_volume_has_its_own_credits():
    """Four volumes have four times 5.4 million credits; AWS publishes this capacity."""
    ceilings = of(on("gp2", 1000), IOPS)

    assert values(ceilings) == {Phase.BASELINE: 3000, Phase.BURST: 12_000}
    assert {(c.capacity_low, c.capacity_high) for c in ceilings} == {(21.6e6, 21.6e6)}
    assert {c.balance_metric for c in ceilings} == {Metric.VOLUME_BALANCE_RATIO}


def test_a_counted_volume_wins_over_the_striping_rule():
    """One volume seen under 1 TiB is one volume: 3,072 IOPS and 250 MiB/s, and no credits. No engine is needed then."""
    seen = Instance(storage=Storage(kind="gp2", size_gib=1024, volume_count=1))

    assert values(of(seen, IOPS)) == {Phase.FIXED: 3072}
    assert throughput(seen) == mib_per_s(250)
    assert "seen on the instance" in of(seen, IOPS)[0].note


def test_the_note_counts_the_volumes():
    """Those that were added up; striping was documented in 2022, so an older instance is asked for a count."""
    storage = Storage(kind="gp2", size_gib=1000)
    old, young = (
        of(Instance(engine="postgres", storage=storage, launched_s=epoch(day)), IOPS)[0].note
        for day in ("2019-06-01", "2023-06-01")
    )

    assert of(on("gp3", 20), IOPS)[0].note.endswith(", one volume")
    assert of(on("gp3", 400), IOPS)[0].note.endswith(", 4 volumes")
    assert [True, False] == ["count the devices" in note for note in (old, young)]


def test_up_to_32000_iops_nothing_is_raised():
    """Two volumes that were seen have their 125 MiB/s each at 32,000 IOPS, and 16 KiB a request beyond."""
    seen = partial(on, "gp3", 1000, engine="mysql", volume_count=2)

    assert throughput(seen(provisioned_ops_per_s=32_000)) == mib_per_s(250)
    assert throughput(seen(provisioned_ops_per_s=32_064)) == mib_per_s(501)


def test_magnetic_storage_has_a_documented_most():
    """RDS documents at most 1,000 IOPS for magnetic storage and no throughput."""
    magnetic = on("standard", 100)

    assert values(of(magnetic, IOPS)) == {Phase.FIXED: 1000}
    assert of(magnetic, THROUGHPUT) == ()


@pytest.mark.parametrize(
    "subject",
    [
        on("aurora", 100, engine="aurora-postgresql"),
        Instance(engine="postgres", storage=Storage(kind="gp2")),
        Instance(engine="postgres", storage=Storage(size_gib=100)),
        Instance(engine="postgres"),
        on("gp2", 300, engine="db2-se"),  # Db2 has neither gp2 nor magnetic
        on("gp3", 20_000, engine="sqlserver-se"),  # SQL Server ends at 16 TiB
        on("gp2", 3),
        on("gp3", 10),
        on("st1", 1000),
        on("io1", 1000),
        on("io2", 1000),
    ],
)
def test_what_is_not_known_has_no_ceiling(subject: Instance):
    """Aurora, half descriptions, IOPS that are unknown and storage that RDS does not document have none."""
    assert of(subject, IOPS) == ()
    assert of(subject, THROUGHPUT) == ()


def test_without_an_engine_the_layout_is_known_where_all_agree():
    """Every engine has one volume at 100 GiB; at 1,000 GiB SQL Server has one and others four."""
    small, large = (Instance(storage=Storage(kind="gp2", size_gib=size)) for size in (100, 1000))
    volumes = volumes_of(small, catalog())

    assert volumes.count == 1
    assert volumes_of(large, catalog()) is None
