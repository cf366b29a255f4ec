"""What the volumes give, by type and size."""

from functools import partial

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits.layout import volumes_of
from plimsoll.model.ceiling import Family, Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import kib, mib_per_s
from unit.limits.instances import epoch, of, on, values

THROUGHPUT, IOPS = Family.VOLUME_THROUGHPUT, Family.VOLUME_IOPS


def throughput(subject: Instance) -> float:
    (ceiling,) = of(subject, THROUGHPUT)
    assert ceiling.phase is Phase.FIXED
    return ceiling.value


@pytest.mark.parametrize(
    ("size_gib", "baseline"), [(20, 100), (33, 100), (34, 102), (100, 300), (399, 1197)]
)
def test_gp2_holds_three_iops_per_gib(size_gib: float, baseline: float):
    """A gp2 volume holds 3 IOPS per GiB, at least 100, and bursts to 3,000."""
    assert values(of(on("gp2", size_gib), IOPS)) == {Phase.BASELINE: baseline, Phase.BURST: 3000}


def test_every_gp2_volume_has_its_own_credits():
    """Four volumes have four times 5.4 million credits; AWS publishes this capacity."""
    ceilings = of(on("gp2", 1000), IOPS)

    assert values(ceilings) == {Phase.BASELINE: 3000, Phase.BURST: 12_000}
    assert {(c.capacity_low, c.capacity_high) for c in ceilings} == {(21.6e6, 21.6e6)}
    assert {c.balance_metric for c in ceilings} == {Metric.VOLUME_BALANCE_RATIO}


def test_large_gp2_volumes_do_not_burst():
    """From 1,000 GiB a volume on, the baseline is no less than the burst: one number, no credits."""
    (ceiling,) = of(on("gp2", 4000), IOPS)

    assert (ceiling.phase, ceiling.value) == (Phase.FIXED, 12_000)
    assert ceiling.balance_metric is None


def test_gp2_ends_at_16000_iops_a_volume():
    """65,536 GiB on four volumes give 64,000 IOPS."""
    assert values(of(on("gp2", 65_536), IOPS)) == {Phase.FIXED: 64_000}


@pytest.mark.parametrize(
    ("size_gib", "mib"), [(170, 128), (171, 250), (399, 250), (400, 512), (680, 512), (684, 1000)]
)
def test_gp2_up_to_170_gib_has_the_lower_throughput(size_gib: float, mib: float):
    """A gp2 volume of 170 GiB or less moves 128 MiB/s, a larger one 250 MiB/s."""
    assert throughput(on("gp2", size_gib)) == mib_per_s(mib)


def test_a_counted_volume_wins_over_the_striping_rule():
    """One volume seen under 1 TiB is one volume: 3,072 IOPS and 250 MiB/s, and no credits."""
    seen = on("gp2", 1024, volume_count=1)

    assert values(of(seen, IOPS)) == {Phase.FIXED: 3072}
    assert throughput(seen) == mib_per_s(250)
    assert "seen on the instance" in of(seen, IOPS)[0].note


def test_an_old_instance_may_have_another_layout():
    """Striping was documented in 2022: the note asks for a count of an older instance."""
    storage = Storage(kind="gp2", size_gib=1000)
    old, young = (
        Instance(engine="postgres", storage=storage, launched_s=epoch(day))
        for day in ("2019-06-01", "2023-06-01")
    )

    assert "count the devices" in of(old, IOPS)[0].note
    assert "count the devices" not in of(young, IOPS)[0].note


@pytest.mark.parametrize(
    ("size_gib", "iops", "mib"), [(20, 3000, 125), (399, 3000, 125), (400, 12_000, 500)]
)
def test_gp3_includes_3000_iops_a_volume(size_gib: float, iops: float, mib: float):
    """gp3 without anything provisioned gives 3,000 IOPS and 125 MiB/s a volume."""
    assert values(of(on("gp3", size_gib), IOPS)) == {Phase.FIXED: iops}
    assert throughput(on("gp3", size_gib)) == mib_per_s(mib)


def test_the_note_counts_the_volumes():
    """The note gives the number of volumes that were added up."""
    notes = [of(on("gp3", size_gib), IOPS)[0].note for size_gib in (20, 400)]

    assert notes[0].endswith(", one volume")
    assert notes[1].endswith(", 4 volumes")


def test_gp3_gives_what_was_provisioned():
    """What was bought is the limit, in total and not for each volume."""
    bought = on("gp3", 400, provisioned_ops_per_s=20_000, provisioned_bytes_per_s=mib_per_s(1000))

    assert values(of(bought, IOPS)) == {Phase.FIXED: 20_000}
    assert throughput(bought) == mib_per_s(1000)


@pytest.mark.parametrize(
    ("engine", "iops", "mib"),
    [("mysql", 40_000, 625), ("mariadb", 32_000, 500), ("postgres", 40_000, 500)],
)
def test_gp3_throughput_is_raised_for_mysql_and_mariadb(engine: str, iops: float, mib: float):
    """Above 32,000 IOPS RDS raises it to 16 KiB for each of them, for these two engines only."""
    bought = on("gp3", 1000, engine=engine, provisioned_ops_per_s=iops)

    assert throughput(bought) == mib_per_s(mib)


def test_up_to_32000_iops_nothing_is_raised():
    """Two volumes that were seen have their 125 MiB/s each at 32,000 IOPS, and 16 KiB a request beyond."""
    seen = partial(on, "gp3", 1000, engine="mysql", volume_count=2)

    assert throughput(seen(provisioned_ops_per_s=32_000)) == mib_per_s(250)
    assert throughput(seen(provisioned_ops_per_s=32_064)) == mib_per_s(501)


@pytest.mark.parametrize(
    ("iops", "expected"),
    [
        (2000, mib_per_s(500)),
        (32_000, mib_per_s(500)),
        (48_000, mib_per_s(750)),
        (64_000, mib_per_s(1000)),
    ],
)
def test_io1_throughput_follows_from_iops(iops: float, expected: float):
    """An io1 volume moves 500 MiB/s up to 32,000 IOPS, then 16 KiB for each IOPS, at most 1,000 MiB/s."""
    volume = on("io1", 2000, engine="sqlserver-se", provisioned_ops_per_s=iops)

    assert throughput(volume) == expected
    assert values(of(volume, IOPS)) == {Phase.FIXED: iops}


def test_io1_on_four_volumes_moves_four_times_as_much():
    """Four io1 volumes move 2,000 MiB/s together while none has more than 32,000 IOPS."""
    assert throughput(on("io1", 4000, provisioned_ops_per_s=30_000)) == mib_per_s(2000)
    assert throughput(on("io1", 6000, provisioned_ops_per_s=256_000)) == 256_000 * kib(16)


@pytest.mark.parametrize(("iops", "mib"), [(1000, 256), (10_000, 2560), (200_000, 16_000)])
def test_io2_throughput_follows_from_iops(iops: float, mib: float):
    """io2 moves 0.256 MiB/s for each IOPS, at most 4,000 MiB/s a volume."""
    assert throughput(on("io2", 1000, provisioned_ops_per_s=iops)) == pytest.approx(mib_per_s(mib))


@pytest.mark.parametrize("kind", ["io1", "io2"])
def test_unknown_iops_are_not_guessed(kind: str):
    """io1 and io2 without their IOPS have no known ceiling."""
    assert of(on(kind, 1000), IOPS) == ()
    assert of(on(kind, 1000), THROUGHPUT) == ()


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
        on("gp2", 100, engine="db2-se"),
        on("gp2", 3),
        on("floppy", 100),
    ],
)
def test_what_is_not_known_has_no_ceiling(subject: Instance):
    """Aurora, half descriptions and storage that RDS does not document have no volume ceilings."""
    assert of(subject, IOPS) == ()
    assert of(subject, THROUGHPUT) == ()


def test_without_an_engine_the_layout_is_known_where_all_agree():
    """Every engine has one volume at 100 GiB; at 1,000 GiB SQL Server has one and others four."""
    small, large = (Instance(storage=Storage(kind="gp2", size_gib=size)) for size in (100, 1000))
    volumes = volumes_of(small, catalog())

    assert volumes is not None
    assert volumes.count == 1
    assert volumes_of(large, catalog()) is None


def test_counted_volumes_need_no_engine():
    """A host whose volumes were counted needs no striping rule."""
    host = Instance(storage=Storage(kind="gp2", size_gib=1000, volume_count=4))

    assert values(of(host, IOPS)) == {Phase.BASELINE: 3000, Phase.BURST: 12_000}
