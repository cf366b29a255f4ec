"""What the caller says about an instance, and what becomes of a target."""

import json

import numpy as np
import pytest

import builders
from contract.tree import ROOT
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.instance import with_flags
from plimsoll.app.moments import epoch_of
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.errors import DataError
from plimsoll.model.diagnosis import Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import encode_snapshot
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


@pytest.mark.parametrize("name", ["r5.xlarge", "db.r5.xlarge"])
def test_the_prefix_of_a_class_may_be_left_out(name):
    """People write classes with and without `db.`."""
    assert "db.r5.xlarge" == flagged(db_class=name).db_class


@pytest.mark.parametrize(
    ("moment", "epoch_s"),
    [
        ("2019-06-01", 1_559_347_200),
        ("2019-06-01T12:00:00Z", 1_559_390_400),
        ("2019-06-01T12:00:00", 1_559_390_400),
        ("2019-06-01T12:00:00+02:00", 1_559_383_200),
    ],
)
def test_a_moment_without_an_offset_is_utc(moment, epoch_s):
    """Dates are read as UTC; an offset is honoured."""
    assert epoch_s == epoch_of(moment)


def test_a_target_that_is_no_export_is_refused(tmp_path):
    """A file with nothing of ours in it is said to be so."""
    prose = tmp_path / "letter.txt"
    prose.write_text("Dear colleague, regards.\n", encoding="utf-8")

    with pytest.raises(DataError):
        read_target(str(prose), NOTHING)


def test_a_recorded_snapshot_is_read_with_the_flags(tmp_path):
    """What was recorded comes back, with the instance as the flags say."""
    made = builders.snapshot(builders.storage([1e6, 2e6]), instance=BOUGHT)
    file = tmp_path / "orders.json"
    file.write_bytes(encode_snapshot(made))
    read = read_target(str(file), InstanceOptions(db_class="m5.large"))

    assert made.series == read.series
    assert "db.m5.large" == read.instance.db_class
    assert made == read_target(str(file), NOTHING)


def test_an_instance_file_describes_an_export(tmp_path):
    """A describe-db-instances answer beside a table of metrics says what was bought."""
    table = tmp_path / "metrics.csv"
    table.write_text(
        "timestamp,ReadIOPS,WriteIOPS\n2021-03-08T10:14:00Z,5,6\n2021-03-08T10:15:00Z,7,8\n", encoding="utf-8"
    )
    answer = tmp_path / "instance.json"
    bought = {
        "DBInstanceIdentifier": "orders",
        "DBInstanceClass": "db.r5.large",
        "Engine": "postgres",
        "StorageType": "gp2",
        "AllocatedStorage": 300,
    }
    answer.write_text(json.dumps({"DBInstances": [bought]}), encoding="utf-8")
    read = read_target(str(table), InstanceOptions(instance_file=answer, size_gib=400))

    assert ("orders", "db.r5.large") == (read.instance.identifier, read.instance.db_class)
    assert ("gp2", 400) == (read.instance.storage.kind, read.instance.storage.size_gib)
    np.testing.assert_array_equal(read.series[Metric.READ_OPS_PER_S].value, [5, 7])


def test_an_example_is_diagnosed_against_the_catalog():
    """The whole sentence, from a folder to a verdict."""
    snapshot = read_target(str(ROOT / "examples" / "quiet"), NOTHING)

    assert Verdict.SLACK == diagnose_snapshot(snapshot).verdict


def test_additional_storage_is_kept_whatever_is_said_of_the_first():
    """Oracle and SQL Server may have storage beside the first, which no flag speaks of."""
    more = Storage(kind="io2", size_gib=200.0, provisioned_ops_per_s=5000.0)
    instance = Instance(engine="oracle-ee", storage=Storage(kind="gp3", additional=(more,)))

    assert (more,) == with_flags(instance, NOTHING).storage.additional
    assert (more,) == with_flags(instance, InstanceOptions(size_gib=400.0)).storage.additional
