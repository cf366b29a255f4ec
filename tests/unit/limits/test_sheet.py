"""The sheet of `plimsoll limits`: rows, knee, balances, what cannot be reached, notes."""

from itertools import pairwise

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.ceiling import Family
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.sheet import LimitSheet
from plimsoll.units import KIB, mib_per_s
from unit.limits.instances import epoch, instance, on

GP2 = Storage(kind="gp2", size_gib=1000)


def sheet(subject: Instance) -> LimitSheet:
    return sheet_of(subject, catalog())


def balances(subject: Instance) -> dict[Metric, bool | None]:
    return {note.metric: note.can_move for note in sheet(subject).balances}


def reason(subject: Instance, metric: Metric) -> str:
    return next(n.reason for n in sheet(subject).balances if n.metric is metric)


def test_the_curve_passes_through_the_rows():
    """It goes from 8 KiB to 1 MiB in equal steps of a sixteenth of a doubling, and meets every row."""
    found = sheet(instance())
    sizes = [row.io_size_bytes / KIB for row in found.curve]

    assert (8, 1024) == (sizes[0], sizes[-1])
    assert [2 ** (1 / 16)] * 112 == pytest.approx([b / a for a, b in pairwise(sizes)])
    assert list(found.rows) == list(found.curve)[::16]


def test_a_knee_needs_two_limits_and_a_second_one_a_burst():
    """300 IOPS of at most 256 KiB are below 128 MiB/s; gp3 under db.m3.large does not burst."""
    small = sheet(on("gp2", 100))
    steady = sheet(instance("db.m3.large", engine="mysql", storage=Storage(kind="gp3", size_gib=100)))

    assert small.knee is None
    assert small.rows[-1].baseline.bytes_per_s == mib_per_s(75)
    assert steady.knee is not None
    assert steady.burst_knee is None


def test_balances_that_the_volumes_cannot_reach_do_not_move():
    """Volumes that give no more than the class's baseline leave its credits alone."""
    gp3 = instance(storage=Storage(kind="gp3", size_gib=100), launched_s=epoch("2024-01-01"))

    assert balances(gp3) == {
        Metric.BYTE_BALANCE_RATIO: False,  # 131 MB/s of 287.5
        Metric.IO_BALANCE_RATIO: False,  # 3,000 IOPS of 12,000
        Metric.VOLUME_BALANCE_RATIO: False,
        Metric.CPU_CREDITS: False,
    }
    assert "131.07 MB/s" in reason(gp3, Metric.BYTE_BALANCE_RATIO)


BYTES, OPS, VOLUME = Metric.BYTE_BALANCE_RATIO, Metric.IO_BALANCE_RATIO, Metric.VOLUME_BALANCE_RATIO
ONE_VOLUME = Storage(kind="gp2", size_gib=1024, volume_count=1)
FAST = Storage(kind="gp3", size_gib=1000, provisioned_bytes_per_s=mib_per_s(1000))
YOUNG_S = epoch("2024-01-01")


@pytest.mark.parametrize(
    ("subject", "metric", "can_move", "words"),
    [
        # Four gp2 volumes burst to 12,000 IOPS, exactly what db.r5.2xlarge holds forever.
        (instance(storage=GP2), OPS, False, ""),
        # 262 MB/s are below today's baseline of 287.5 MB/s and above the 212.5 MB/s of 2018.
        (instance(storage=ONE_VOLUME, launched_s=epoch("2019-06-01")), BYTES, None, "legacy limits"),
        (instance(storage=ONE_VOLUME, launched_s=YOUNG_S), BYTES, False, ""),
        # A class that takes no more than the volumes' baseline never spends their credits.
        (instance("db.m1.large", storage=Storage(kind="gp2", size_gib=3900)), VOLUME, False, "can use"),
        # From 1,000 GiB a volume on BurstBalance stands still.
        (instance(storage=Storage(kind="gp2", size_gib=4000)), VOLUME, False, ""),
        # Without EBS limits, or on Aurora, it is unknown.
        *(
            (subject, metric, None, "")
            for subject in (instance("db.m3.large"), instance(engine="aurora-postgresql"))
            for metric in (BYTES, OPS)
        ),
        # db.r5.4xlarge launched today has neither throughput nor IOPS credits.
        (instance("db.r5.4xlarge", launched_s=YOUNG_S), BYTES, False, "fixed limit"),
        # db.m5.12xlarge had a fixed limit in 2018, 625 MB/s, as it has one now: there were never credits.
        (instance("db.m5.12xlarge", storage=FAST, launched_s=epoch("2018-06-01")), BYTES, False, ""),
    ],
)
def test_a_balance_moves_where_storage_can_pass_a_baseline(
    subject: Instance, metric: Metric, can_move: bool | None, words: str
):
    """Whether credits are ever spent, and why not."""
    assert balances(subject)[metric] is can_move
    assert words in reason(subject, metric)


def test_storage_above_the_class_is_unreachable():
    """
    30,000 provisioned IOPS under a class that takes 18,750 are money without IOPS; db.t3.micro takes 3,072
    while credits last; 3,000 IOPS and 125 MiB/s under db.r5.2xlarge can be used in full.
    """
    storage = Storage(kind="io1", size_gib=4000, provisioned_ops_per_s=30_000)
    dear, small = (
        {item.family: item for item in sheet(subject).unreachable}
        for subject in (instance(storage=storage), instance("db.t3.micro", storage=ONE_VOLUME))
    )

    assert [(30_000, 18_750, 12_000), (3072, 11_800, 500)] == [
        (ops.bought, ops.burst, ops.baseline) for ops in (dear[Family.VOLUME_IOPS], small[Family.VOLUME_IOPS])
    ]
    assert dear[Family.VOLUME_THROUGHPUT].bought == mib_per_s(2000)
    assert sheet(instance(storage=Storage(kind="gp3", size_gib=100))).unreachable == ()


def test_sources_are_named_once_with_their_dates():
    """Every published ceiling's origin is listed, and none twice."""
    found = sheet(instance("db.t3.xlarge", storage=GP2))
    named = [(origin.source, origin.read_on) for origin in found.origins]
    used = {(c.origin.source, c.origin.read_on) for c in found.ceilings if c.origin.read_on}

    assert len(named) == len(set(named))
    assert set(named) == used


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (instance(), "only the limits of the instance class"),
        (instance(engine="aurora-mysql"), "documented for Aurora"),
        (instance("db.m3.large", storage=GP2), "unknown, not zero"),
        (instance("db.x2m.xlarge"), "documents no numbers"),
        (instance("db.r5.2xlarge.tpc1.mem2x"), "inferred from equal memory"),
        (instance("db.m5.metal"), "db.m5.metal is in no RDS list"),
        (instance("db.z1d.large"), "db.z1d.large is listed for postgres in no region"),
        (instance(storage=Storage(kind="standard", size_gib=100)), "magnetic storage are not"),
        (
            instance(engine="oracle-ee", storage=Storage(kind="io1", size_gib=400, provisioned_ops_per_s=1000)),
            "only on db.r5b",
        ),
    ],
)
def test_every_doubt_is_a_note(subject: Instance, words: str):
    """Every doubt about the numbers is a note."""
    assert words in " ".join(sheet(subject).notes)


def test_an_instance_without_any_rate_has_no_rows():
    """Aurora has ceilings, and no curve."""
    found = sheet(instance(engine="aurora-mysql"))

    assert (found.rows, found.curve, found.knee) == ((), (), None)
    assert found.ceilings
