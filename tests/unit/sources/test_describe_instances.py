import json
from pathlib import Path

import pytest

from fuzz import corpus
from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Instance, Storage
from plimsoll.sources.describe_instances import read_answer
from plimsoll.sources.export import read_export, read_instance_file
from plimsoll.sources.reading import Reading
from plimsoll.units import mib_per_s

FIXTURE = Path(__file__).parents[2] / "fixtures" / "exports" / "answer" / "instances.json"


def described(**fields: object) -> Instance:
    reading = Reading()
    read_answer({"DBInstanceIdentifier": "a1"} | fields, reading, where="'x'")
    return reading.described[0]


def test_a_gp2_instance():
    """
    gp2 has no provisioned rates; RDS writes its zero throughput nevertheless.
    """
    assert read_instance_file(FIXTURE)[0] == Instance(
        identifier="orders-primary",
        db_class="db.r5.2xlarge",
        engine="postgres",
        engine_version="12.5",
        region="eu-west-1",
        multi_az=True,
        storage=Storage(kind="gp2", size_gib=1000),
        launched_s=1559390400,
    )


def test_a_gp3_instance():
    """
    Throughput is in MiB/s; the region comes from the ARN where no zone is given.
    """
    instance = read_instance_file(FIXTURE)[1]

    assert instance.storage == Storage(
        kind="gp3",
        size_gib=400,
        provisioned_ops_per_s=12000,
        provisioned_bytes_per_s=mib_per_s(500),
    )
    assert instance.region == "us-gov-west-1"
    assert instance.launched_s == 1559390400
    assert instance.multi_az is False


def test_an_aurora_instance_has_no_size():
    """
    An Aurora volume grows by itself, and RDS reports 1 GiB for it.
    """
    assert read_instance_file(FIXTURE)[2].storage == Storage(kind="aurora-iopt1")


@pytest.mark.parametrize(
    ("zone", "region"),
    [
        ("us-east-1a", "us-east-1"),
        ("us-gov-west-1b", "us-gov-west-1"),
        ("us-west-2-lax-1a", "us-west-2"),
        ("ap-southeast-2c", "ap-southeast-2"),
        ("", None),
        ("nowhere", None),
    ],
)
def test_the_region_of_a_zone(zone, region):
    assert described(AvailabilityZone=zone).region == region


def test_numbers_that_cannot_be_are_unknown():
    instance = described(StorageType="io1", AllocatedStorage=-5, Iops=0, StorageThroughput=1e300)

    assert instance.storage == Storage(kind="io1")


def test_a_list_and_a_single_instance_are_accepted(tmp_path):
    """
    `--query DBInstances` and `--query 'DBInstances[0]'` give a list and a lone description.
    """
    whole = json.loads(corpus.described("a1", "b1"))
    for name, document, count in (
        ("whole.json", whole, 2),
        ("list.json", whole["DBInstances"], 2),
        ("one.json", whole["DBInstances"][0], 1),
    ):
        (tmp_path / name).write_text(json.dumps(document))

        assert len(read_instance_file(tmp_path / name)) == count


def test_a_file_without_an_instance_is_named(tmp_path):
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(3)))
    with pytest.raises(UsageError, match="describes no instance"):
        read_instance_file(tmp_path / "m.json")


def test_a_wrong_type_is_named():
    with pytest.raises(DataError, match="AllocatedStorage"):
        described(AllocatedStorage="much")


def test_an_instance_file_wins_over_the_folder(tmp_path):
    folder = corpus.write(
        tmp_path / "e",
        {"m.json": corpus.metric_data(corpus.made(3)), "i.json": corpus.described("a1")},
    )
    other = corpus.write(tmp_path / "o", {"i.json": corpus.described("a1", StorageType="gp3")})

    assert read_export(folder).instance.storage.kind == "gp2"
    snapshot = read_export(folder, instance_file=other / "i.json")
    assert snapshot.instance.storage.kind == "gp3"
