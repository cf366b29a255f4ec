import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from msgspec import UNSET

from fuzz import corpus
from plimsoll.errors import DataError, UsageError
from plimsoll.model.instance import Deployment, Instance, Storage
from plimsoll.sources.documents.describe_instances import read_answer
from plimsoll.sources.export.read import read_export, read_instance_file
from plimsoll.sources.reading.reading import Reading
from plimsoll.units import mib_per_s

FIXTURE = Path(__file__).parents[3] / "fixtures" / "exports" / "answer" / "instances.json"


def described(**fields: object) -> Instance:
    reading = Reading()
    read_answer({"DBInstanceIdentifier": "a1"} | fields, reading, where="'x'")
    return reading.described[0]


def test_instances_of_a_fixture():
    """
    gp2 has no provisioned rates; RDS writes its zero throughput nevertheless. Throughput is in MiB/s;
    the region comes from the ARN where no zone is given. An Aurora volume grows by itself, and RDS
    reports 1 GiB for it.
    """
    gp2, gp3, aurora = read_instance_file(FIXTURE).described

    assert gp2 == Instance(
        identifier="orders-primary",
        db_class="db.r5.2xlarge",
        engine="postgres",
        engine_version="12.5",
        region="eu-west-1",
        multi_az=True,
        storage=Storage(kind="gp2", size_gib=1000),
        launched_s=1559390400,
    )
    assert gp3.storage == Storage(
        kind="gp3", size_gib=400, provisioned_ops_per_s=12000, provisioned_bytes_per_s=mib_per_s(500)
    )
    assert (gp3.region, gp3.launched_s, gp3.multi_az) == ("us-gov-west-1", 1559390400, False)
    assert aurora.storage == Storage(kind="aurora-iopt1")


def features(**chosen: str) -> dict[str, object]:
    return {"ProcessorFeatures": [{"Name": n, "Value": v} for n, v in chosen.items()]}


LAUNCHES = [
    "2019-06-01T10:00:00Z",
    "2019-06-01T10:00:00.412000+00:00",
    1559383200,
    datetime(2019, 6, 1, 10, tzinfo=UTC),
    datetime(2019, 6, 1, 12, tzinfo=timezone(timedelta(hours=2))),
    datetime(2019, 6, 1, 10),  # noqa: DTZ001
]
TAGS = [{"Key": "team", "Value": "shop"}, {"Key": "env", "Value": ""}, {"Key": "a"}]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # The licence sets prices of Oracle and SQL Server apart; one that is not said is not known.
        ({"LicenseModel": "bring-your-own-license"}, {"license_model": "bring-your-own-license"}),
        ({}, {"license_model": None, "tags": UNSET}),
        ({"AvailabilityZone": "us-east-1a"}, {"region": "us-east-1"}),
        ({"AvailabilityZone": "us-gov-west-1b"}, {"region": "us-gov-west-1"}),
        ({"AvailabilityZone": "us-west-2-lax-1a"}, {"region": "us-west-2"}),
        ({"AvailabilityZone": "ap-southeast-2c"}, {"region": "ap-southeast-2"}),
        ({"AvailabilityZone": ""}, {"region": None}),
        ({"AvailabilityZone": "nowhere"}, {"region": None}),
        # Numbers that cannot be are unknown.
        (
            {"StorageType": "io1", "AllocatedStorage": -5, "Iops": 0, "StorageThroughput": 1e300},
            {"storage": Storage(kind="io1")},
        ),
        # Tools that rewrite JSON put quotes around numbers.
        (
            {"AllocatedStorage": "500", "StorageType": "gp3", "MultiAZ": "true"},
            {"storage": Storage(kind="gp3", size_gib=500.0), "multi_az": True},
        ),
        # The command line prints text, an SDK returns datetimes; without an offset both mean UTC.
        *(({"InstanceCreateTime": created}, {"launched_s": 1559383200}) for created in LAUNCHES),
        *(
            ({"InstanceCreateTime": created}, {"launched_s": None})
            for created in (None, [], "soon", datetime(1970, 1, 1, tzinfo=UTC))
        ),
        ({"PendingModifiedValues": {}}, {"pending": ()}),
        ({"PendingModifiedValues": None}, {"pending": ()}),
        # Oracle and SQL Server may run on fewer cores or threads than the class has.
        (features(coreCount="4", threadsPerCore="1"), {"vcpu_count": 4}),
        (features(coreCount="4", threadsPerCore="2"), {"vcpu_count": 8}),
        (features(coreCount="4"), {"vcpu_count": None}),
        (features(coreCount="many", threadsPerCore="2"), {"vcpu_count": None}),
        (features(coreCount="0", threadsPerCore="2"), {"vcpu_count": None}),
        (features(), {"vcpu_count": None}),
        ({"TagList": TAGS}, {"tags": (("a", ""), ("env", ""), ("team", "shop"))}),
        ({"TagList": []}, {"tags": ()}),
        # Tags of another form cost themselves alone.
        *(({"TagList": t}, {"tags": UNSET}) for t in ("team", [1], [{"Key": 3}], {"team": "shop"})),
        # A number that is no text either, but half a pair of surrogates, costs its own field.
        *(({f: "\ud800x"}, {}) for f in ("AllocatedStorage", "MultiAZ", "Iops")),
    ],
)
def test_a_field_says_what_it_says_and_costs_itself_alone(fields, expected):
    """What is odd is unknown, and the class is still known."""
    found = described(DBInstanceClass="db.r5.large", **fields)

    assert {"db_class": "db.r5.large"} | expected == {name: getattr(found, name) for name in ("db_class", *expected)}


def test_an_instance_without_a_name_is_refused():
    """What cannot be told from others is no description."""
    with pytest.raises(DataError, match="DBInstanceIdentifier"):
        described(DBInstanceIdentifier=["a1"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AvailabilityZone", {}),
        ("MultiAZ", "yes"),
        ("EngineVersion", -1),
        ("PendingModifiedValues", {"AllocatedStorage": []}),
        ("ProcessorFeatures", 7),
        *(("AllocatedStorage", value) for value in (-5, 1e300, "9" * 10_000)),
        *(("Iops", value) for value in ("many", -1, float("inf"), float("nan"))),
        ("StorageThroughput", -5),
        *(("InstanceCreateTime", value) for value in (10**30, "9999-12-31", -1)),
    ],
)
def test_an_odd_field_costs_itself_alone(name, value):
    """What it is or what nobody can have bought: the rest of the description counts, and the field is named."""
    reading = Reading()
    document = {"DBInstanceIdentifier": "a1", "DBInstanceClass": "db.r5.large", name: value}
    read_answer({"DBInstances": [document]}, reading, where="'x'")
    (gap,) = reading.gaps
    (found,) = reading.described

    assert Instance(identifier="a1", db_class="db.r5.large", storage=found.storage) == found
    assert name == gap.metric
    assert "is not a valid value of this field" in gap.reason


def test_an_odd_field_is_named_beside_the_metrics(tmp_path):
    """What was left out of --instance is a gap of the snapshot."""
    instance = {"DBInstanceIdentifier": "a1", "DBInstanceClass": "db.r5.large", "Iops": "many"}
    (tmp_path / "i.json").write_text(json.dumps({"DBInstances": [instance]}))
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(3)))
    snapshot = read_export(tmp_path / "m.json", instance_file=tmp_path / "i.json")

    assert "Iops" in [gap.metric for gap in snapshot.gaps]


def test_a_list_and_a_single_instance_are_accepted(tmp_path):
    """`--query DBInstances` and `--query 'DBInstances[0]'` give a list and a lone description."""
    whole = json.loads(corpus.described("a1", "b1"))
    for name, document, count in (
        ("whole.json", whole, 2),
        ("list.json", whole["DBInstances"], 2),
        ("one.json", whole["DBInstances"][0], 1),
    ):
        (tmp_path / name).write_text(json.dumps(document))

        assert len(read_instance_file(tmp_path / name).described) == count


def test_a_file_without_an_instance_is_named(tmp_path):
    (tmp_path / "m.json").write_bytes(corpus.metric_data(corpus.made(3)))
    with pytest.raises(UsageError, match="describes no instance"):
        read_instance_file(tmp_path / "m.json")


def test_an_instance_file_wins_over_the_folder(tmp_path):
    folder = corpus.write(
        tmp_path / "e", {"m.json": corpus.metric_data(corpus.made(3)), "i.json": corpus.described("a1")}
    )
    other = corpus.write(tmp_path / "o", {"i.json": corpus.described("a1", StorageType="gp3")})

    assert read_export(folder).instance.storage.kind == "gp2"
    snapshot = read_export(folder, instance_file=other / "i.json")
    assert snapshot.instance.storage.kind == "gp3"


def test_changes_that_were_ordered_are_short_phrases():
    pending = {
        "DBInstanceClass": "db.r5.4xlarge",
        "AllocatedStorage": 2000,
        "Iops": 20000,
        "StorageThroughput": 750,
        "StorageType": "gp3",
        "MultiAZ": True,
        "EngineVersion": "15.4",
        "DedicatedLogVolume": True,
        "AdditionalStorageVolumes": [{"VolumeName": "rdsdbdata2", "AllocatedStorage": 500}],
        "ProcessorFeatures": [{"Name": "coreCount", "Value": "4"}, {"Name": "threadsPerCore", "Value": "2"}],
    }

    assert described(PendingModifiedValues=pending).pending == (
        "class db.r5.4xlarge",
        "8 vCPUs",
        "storage type gp3",
        "storage 2,000 GiB",
        "IOPS 20,000",
        "storage throughput 750 MiB/s",
        "dedicated log volume",
        "additional storage rdsdbdata2",
        "Multi-AZ",
        "engine version 15.4",
    )


def test_a_password_that_waits_to_be_changed_is_never_kept():
    """RDS masks it, other makers of such answers may not."""
    instance = described(PendingModifiedValues={"MasterUserPassword": "hunter2", "MultiAZ": False})

    assert instance.pending == ("single-AZ",)
    assert "hunter2" not in str(instance)


def test_a_member_of_a_multi_az_cluster_is_multi_az():
    """Each member says false of itself; an Aurora cluster is another thing."""
    member = {"DBClusterIdentifier": "c1", "MultiAZ": False}
    mine = described(Engine="postgres", StorageType="io1", **member)
    aurora = described(Engine="aurora-postgresql", **member)
    alone = described(Engine="postgres", MultiAZ=True)

    assert (True, "c1", Deployment.MULTI_AZ_CLUSTER) == (mine.multi_az, mine.cluster, mine.deployment)
    assert (False, UNSET, Deployment.SINGLE_AZ) == (aurora.multi_az, aurora.cluster, aurora.deployment)
    assert Deployment.MULTI_AZ is alone.deployment


def test_additional_storage_is_read_with_its_own_rates():
    """RDS spells its IOPS in capitals and its types too; what is not there yet is left out."""
    instance = described(
        Engine="oracle-ee",
        StorageType="gp3",
        AllocatedStorage=1000,
        Iops=12000,
        StorageThroughput=500,
        AdditionalStorageVolumes=[
            {
                "VolumeName": "rdsdbdata2",
                "StorageVolumeStatus": "ACTIVE",
                "StorageType": "IO2",
                "AllocatedStorage": 400,
                "IOPS": 20000,
                "StorageThroughput": 0,
            },
            {
                "VolumeName": "rdsdbdata3",
                "StorageVolumeStatus": "CREATING",
                "StorageType": "GP3",
                "AllocatedStorage": 200,
            },
        ],
    )

    assert instance.storage.additional == (Storage(kind="io2", size_gib=400, provisioned_ops_per_s=20000),)
    assert instance.storage.provisioned_ops_per_s == 12000
    assert instance.storage.total_gib == 1400


@pytest.mark.parametrize("text", ["\ud800x", ["\udfff"]])
def test_half_a_pair_of_surrogates_is_one_sentence(text):
    """JSON may hold what no Unicode text can, where an instance should be described."""
    with pytest.raises(DataError) as caught:
        read_answer({"DBInstances": [text]}, Reading(), where="'x'")

    assert caught.value.message.isprintable()


def test_hostile_tags_are_bounded_and_printable():
    """Half a pair of surrogates is legal in JSON but not in UTF-8; an escape sequence must not reach a terminal."""
    listed = [
        {"Key": "\u001b[2J" + "k" * 500, "Value": "\ud800" + "v" * 1000},
        *({"Key": f"aws:{n:03d}", "Value": "x"} for n in range(100)),
        *({"Key": f"key-{n:03d}", "Value": "x"} for n in range(50)),
    ]
    tags = dict(described(TagList=listed).tags or ())

    assert 64 == len(tags)
    assert 50 == sum(key.startswith("key-") for key in tags)
    assert 128 == max(map(len, tags))
    assert 256 == max(map(len, tags.values()))
    assert all((key + value).isprintable() for key, value in tags.items())
