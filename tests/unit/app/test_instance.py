"""What the caller says about an instance, and what becomes of a target."""

from plimsoll.app.instance import with_flags
from plimsoll.app.options import InstanceOptions
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import mib_per_s

NOTHING = InstanceOptions()
BOUGHT = Instance(
    identifier="orders",
    db_class="db.r5.large",
    engine="postgres",
    storage=Storage(
        kind="gp3",
        size_gib=500.0,
        provisioned_ops_per_s=12_000.0,
        provisioned_bytes_per_s=mib_per_s(500),
        volume_count=4,
    ),
    launched_s=1_600_000_000,
)


def flagged(**flags) -> Instance:
    return with_flags(BOUGHT, InstanceOptions(**flags))


def test_every_flag_replaces_what_the_source_says():
    """Each flag sets its field in our units, and only that field."""
    changed = flagged(
        identifier="claims",
        db_class="db.t3.large",
        engine="mysql",
        storage="IO1",
        size_gib=400,
        iops=20_000,
        throughput_mibps=750,
        launched="2019-06-01",
    )
    storage = Storage(
        kind="io1",
        size_gib=400,
        provisioned_ops_per_s=20_000,
        provisioned_bytes_per_s=750 * 1024 * 1024,
        volume_count=4,
    )

    assert changed == Instance(
        identifier="claims", db_class="db.t3.large", engine="mysql", storage=storage, launched_s=1_559_347_200
    )
    assert BOUGHT.storage == flagged(engine="mysql").storage
    assert Instance() == with_flags(Instance(), NOTHING)
    assert BOUGHT == with_flags(BOUGHT, NOTHING)


def test_additional_storage_is_kept_whatever_is_said_of_the_first():
    """Oracle and SQL Server may have storage beside the first, which no flag speaks of."""
    more = Storage(kind="io2", size_gib=200.0, provisioned_ops_per_s=5000.0)
    instance = Instance(engine="oracle-ee", storage=Storage(kind="gp3", additional=(more,)))

    assert (more,) == with_flags(instance, NOTHING).storage.additional
    assert (more,) == with_flags(instance, InstanceOptions(size_gib=400.0)).storage.additional
