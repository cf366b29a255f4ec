"""Storage that RDS would not sell is refused in one sentence, with what would be possible."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.limits.purchase import check_purchase
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import mib_per_s
from unit.limits.instances import on


@pytest.mark.parametrize(
    "subject",
    [
        Instance(db_class="db.r5.2xlarge"),
        Instance(engine="aurora-postgresql", storage=Storage(kind="aurora-iopt1")),
        on("gp2", 5),
        on("gp2", 65_536),
        on("gp3", 400, provisioned_ops_per_s=12_000, provisioned_bytes_per_s=mib_per_s(3000)),
        on("gp3", 400, provisioned_ops_per_s=64_000, provisioned_bytes_per_s=mib_per_s(4000)),
        on("gp3", 20, engine="sqlserver-se", provisioned_ops_per_s=3000),
        on("gp3", 20_000, provisioned_ops_per_s=12_000),
        on("io1", 100, provisioned_ops_per_s=5000),
        on("io2", 256, provisioned_ops_per_s=256_000),
        on("standard", 3072),
    ],
)
def test_what_rds_sells_passes(subject: Instance):
    """Documented combinations are no error."""
    assert check_purchase(subject, catalog()) is None


@pytest.mark.parametrize(
    ("subject", "message", "hint"),
    [
        (on("gp4", 100), "RDS has no storage type 'gp4'", "gp2, gp3, io1, io2 or standard"),
        (
            Instance(storage=Storage(kind="gp2", size_gib=100)),
            "the layout of gp2 storage depends on the engine",
            "--engine",
        ),
        (
            Instance(engine="postgres", storage=Storage(kind="gp2")),
            "the limits of gp2 storage depend on its size",
            "--size-gib",
        ),
        (
            Instance(engine="postgres", storage=Storage(size_gib=100)),
            "--size-gib was given, but no storage type",
            "--storage",
        ),
        (
            Instance(engine="postgres", storage=Storage(volume_count=4)),
            "--volumes was given, but no storage type",
            "--storage",
        ),
        (on("gp2", 100, engine="aurora-mysql"), "Aurora does not keep its data on gp2", "Omit --storage"),
        (on("aurora", 100), "postgres does not run on aurora storage", "Aurora engine"),
        (on("gp2", 100, engine="db2-se"), "RDS does not offer gp2 storage for db2", "another"),
        (on("gp2", 4), "RDS does not sell gp2 storage of 4 GiB for postgres", "from 5 to 65,536 GiB"),
        (on("gp3", 70_000), "RDS does not sell gp3 storage of 70,000 GiB for postgres", "65,536"),
        (on("standard", 4000), "RDS does not sell standard storage of 4,000 GiB for postgres", "up to 3,072"),
        (
            on("gp2", 100, provisioned_ops_per_s=1000),
            "IOPS cannot be provisioned on 100 GiB of gp2 for postgres",
            "gp3, io1 or io2",
        ),
        (
            on("gp3", 399, provisioned_ops_per_s=3000),
            "IOPS cannot be provisioned on 399 GiB of gp3 for postgres",
            "at 400 GiB and above",
        ),
        (
            on("gp3", 399, provisioned_bytes_per_s=mib_per_s(500)),
            "throughput cannot be provisioned on 399 GiB of gp3 for postgres",
            "larger gp3 storage",
        ),
        (
            on("gp3", 400, provisioned_ops_per_s=100_000),
            "100,000 IOPS cannot be provisioned on 400 GiB of gp3 for postgres",
            "12,000 to 64,000",
        ),
        (
            on("gp3", 400, provisioned_bytes_per_s=mib_per_s(5000)),
            "5,000 MiB/s cannot be provisioned on 400 GiB of gp3 for postgres",
            "500 to 4,000",
        ),
        (
            on("gp3", 400, provisioned_bytes_per_s=mib_per_s(3500)),
            "3,500 MiB/s need more than 12,000 IOPS",
            "--iops 14000",
        ),
        (on("io1", 100), "io1 storage needs provisioned IOPS", "--iops"),
        (on("io1", 100, provisioned_ops_per_s=6000), "6,000 IOPS on 100 GiB are 60 IOPS per GiB", "0.5 to 50"),
        (on("io1", 4000, provisioned_ops_per_s=1000), "1,000 IOPS on 4,000 GiB are 0.25 IOPS per GiB", "0.5 to 50"),
        (
            on("io2", 400, provisioned_ops_per_s=1000, provisioned_bytes_per_s=mib_per_s(500)),
            "the throughput of io2 storage follows from its IOPS",
            "Omit --throughput-mibps",
        ),
    ],
)
def test_contradictions_are_named(subject: Instance, message: str, hint: str):
    """The message says what cannot be, the hint what can."""
    with pytest.raises(UsageError) as caught:
        check_purchase(subject, catalog())

    assert caught.value.message == message
    assert hint in caught.value.hint
