import pytest

from plimsoll.errors import AccessDenied, UsageError
from plimsoll.model.instance import Storage
from plimsoll.model.snapshot import Annotation, EventKind
from plimsoll.sources.aws.described import capacities, describe_all, describe_one, region_of, with_capacity
from unit.sources.aws.cloud import Cloud, account_of, described, error, in_turn, instance

DAY_S = 86_400
NAMES = ("billing", "orders-primary", "orders-replica")


def of(*instances, page=100):
    return account_of(Cloud(DescribeDBInstances=described(*instances, page=page)))


def one(**fields):
    return describe_one(of(instance(**fields)), "orders-primary")


def test_an_instance_is_found_by_its_name_in_any_case():
    """RDS folds identifiers; what it answers is the name. Without a zone the region is the asked one."""
    found = describe_one(of(*(instance(n, AvailabilityZone="") for n in NAMES)), "Orders-Primary")

    assert found.instance.identifier == "orders-primary"
    assert found.instance.region == "eu-central-1"
    assert found.instance.storage == Storage(kind="gp2", size_gib=1000)
    assert found.instance.launched_s == 1_709_280_000
    assert (found.status, found.resource_id) == ("available", "db-ORDERS-PRIMARY")


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("orders", (None, "orders")),
        ("arn:aws:rds:eu-west-1:123456789012:db:orders-1", ("eu-west-1", "orders-1")),
        ("arn:aws-us-gov:rds:us-gov-west-1:123456789012:db:a", ("us-gov-west-1", "a")),
    ],
)
def test_an_arn_says_region_and_name(identifier, expected):
    """A plain name says only itself."""
    assert region_of(identifier) == expected


@pytest.mark.parametrize(
    "identifier",
    [
        "arn:aws:rds:eu-west-1:123456789012:cluster:orders",
        "arn:aws:ec2:eu-west-1:123456789012:instance/i-1",
        "arn:aws:rds:eu-west-1:123456789012:db:",
        "arn:x",
    ],
)
def test_an_arn_of_something_else_is_refused(identifier):
    """The hint shows the form."""
    with pytest.raises(UsageError, match="is not the ARN of an RDS instance"):
        region_of(identifier)


ON = {"MonitoringInterval": 5, "PerformanceInsightsEnabled": "true", "PerformanceInsightsRetentionPeriod": 31}
CLUSTER = {"DBClusterIdentifier": "c", "Engine": "aurora-mysql"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # Each switch of its own, off unless it says otherwise.
        (ON, {"monitoring_interval_s": 5, "has_insights": True, "insights_kept_s": 31 * DAY_S}),
        ({}, {"monitoring_interval_s": 0, "has_insights": False, "insights_kept_s": 7 * DAY_S}),
        # DocumentDB and Neptune list their instances among those of RDS.
        ({"Engine": "postgres"}, {"is_rds": True}),
        ({"Engine": "docdb"}, {"is_rds": False}),
        # A class of fixed size in the same cluster does not grow.
        (CLUSTER | {"DBInstanceClass": "db.serverless"}, {"is_serverless": True, "is_rds": True}),
        (CLUSTER, {"is_serverless": False, "is_rds": True}),
    ],
)
def test_what_is_described_is_read(fields, expected):
    found = one(**fields)

    assert expected == {name: getattr(found, name) for name in expected}
    assert with_capacity(found, 16).instance.capacity_acu_max == 16


SHOPS = tuple(f"shop-{n:02d}" for n in range(15))


@pytest.mark.parametrize(
    ("replies", "hint"),
    [
        pytest.param([described(*map(instance, NAMES))], "Similar names: orders-primary", id="near"),
        pytest.param([described(*map(instance, SHOPS))], "shop-00, shop-01", id="far"),
        pytest.param([described(*map(instance, SHOPS))], "and 3 more", id="twelve at most"),
        # A role may be limited to single instances.
        pytest.param(
            [error("DBInstanceNotFound", status=404), error("AccessDenied", status=403)],
            "another region.",
            id="listing is not allowed",
        ),
        # RDS refuses some characters before it looks.
        pytest.param([error("InvalidParameterValue"), described(instance())], "--region", id="odd characters"),
    ],
)
def test_a_name_that_is_not_there_names_the_region_and_the_nearest(replies, hint):
    """Never a guess: the nearest name is said, not read."""
    name = "zzz" if "shop" in hint or "more" in hint else "orders-primry"
    with pytest.raises(UsageError) as caught:
        describe_one(account_of(Cloud(DescribeDBInstances=in_turn(*replies))), name)

    assert caught.value.message == f"no instance '{name}' in eu-central-1"
    assert "--region" in caught.value.hint
    assert hint in caught.value.hint


def test_a_description_that_is_denied_is_no_missing_instance():
    """The permission is what is missing."""
    cloud = Cloud(DescribeDBInstances=lambda _: error("AccessDenied", status=403))
    with pytest.raises(AccessDenied, match="rds:DescribeDBInstances"):
        describe_one(account_of(cloud), "orders")


@pytest.mark.parametrize(
    ("pattern", "names"),
    [("*", NAMES), ("orders-*", NAMES[1:]), ("ORDERS-?rimary", NAMES[1:2]), ("[bo]*ing", NAMES[:1])],
)
def test_a_pattern_fits_names_in_any_case_and_in_order(pattern, names):
    """Whatever the order in which RDS lists them, and on however many pages."""
    account = of(*(instance(name) for name in reversed(NAMES)), page=1)

    assert list(names) == [d.instance.identifier for d in describe_all(account, pattern)]


def test_a_pattern_that_fits_none_says_what_there_is():
    """And where it looked."""
    with pytest.raises(UsageError) as caught:
        describe_all(of(*map(instance, NAMES)), "shop-*")

    assert caught.value.message == "none of the 3 instances in eu-central-1 matches 'shop-*'"
    assert "billing, orders-primary, orders-replica" in caught.value.hint


def test_additional_volumes_and_a_log_volume_are_named():
    """Their reads and writes are not where the instance's are."""
    volumes = [{"VolumeName": "rdsdbdata2"}, {"VolumeName": "rdsdbdata3"}]
    gaps = one(AdditionalStorageVolumes=volumes, DedicatedLogVolume="true").gaps

    assert ["additional storage volumes", "dedicated log volume"] == [g.metric for g in gaps]
    assert "2 additional storage volumes" in gaps[0].reason
    assert one().gaps == ()


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, None),
        (
            {"StorageOperationStatus": "Initializing", "StorageOperationPercentProgress": 43},
            Annotation(
                time_s=1_709_280_000, text="volumes are being loaded from a snapshot, 43 % done", kind=EventKind.RESTORE
            ),
        ),
        (
            {"StorageOperationStatus": "Optimizing"},
            Annotation(time_s=0, text="storage is being optimised", kind=EventKind.OPTIMISATION),
        ),
        (
            {"DBInstanceStatus": "storage-optimization", "PercentProgress": "7"},
            Annotation(time_s=0, text="storage is being optimised, 7 % done", kind=EventKind.OPTIMISATION),
        ),
        ({"StorageOperationStatus": "Something new"}, None),
    ],
)
def test_a_storage_operation_under_way_is_an_annotation(fields, expected):
    """Loading from a snapshot began with the instance; optimising goes on now."""
    assert one(**fields).operation == expected


def test_capacities_are_of_the_clusters_that_have_one():
    """Asked for a hundred clusters at a time."""

    def script(parameters):
        asked = [v for k, v in parameters.items() if k.startswith("Filters.Filter.1.Values")]
        scaling = {"ServerlessV2ScalingConfiguration": {"MinCapacity": 0.5, "MaxCapacity": 32}}
        return {"DBClusters": [{"DBClusterIdentifier": name} | (scaling if name != "c7" else {}) for name in asked]}

    cloud = Cloud(DescribeDBClusters=script)
    found = capacities(account_of(cloud), [f"c{n}" for n in range(150)])

    assert len(cloud.sent) == 2
    assert len(found) == 149
    assert found["c149"] == 32
    assert "c7" not in found


class Elsewhere:
    """An account whose other regions are those given, each with so many instances."""

    def __init__(self, counts, region="eu-central-1"):
        self.counts, self.region = counts, region

    def regions(self):
        """The others."""
        return sorted(self.counts)

    def in_region(self, region):
        """The same account there."""
        return Elsewhere(self.counts, region)

    def call(self, operation, **parameters):
        """One page."""
        count = self.counts.get(self.region, 0)
        if count is None:
            raise AccessDenied("AWS does not know these credentials here", "Enable it.")
        return {"DBInstances": [instance(f"i{n}") for n in range(count)]}

    def pages(self, operation, **parameters):
        """All pages."""
        yield self.call(operation)


@pytest.mark.parametrize("find", [describe_one, describe_all])
@pytest.mark.parametrize(
    ("counts", "hint"),
    [
        # The usual mistake is a region; one that is not opened is passed over.
        (
            {"eu-west-1": 3, "us-east-1": 1, "us-west-2": 0, "af-south-1": None},
            "Give --region; these regions have instances: eu-west-1, us-east-1.",
        ),
        # Without any instance the profile is the likelier mistake.
        ({"eu-west-1": 0}, "--profile"),
    ],
)
def test_a_region_without_instances_names_those_that_have_some(find, counts, hint):
    with pytest.raises(UsageError) as caught:
        find(Elsewhere(counts), "orders")

    assert caught.value.message.startswith("there is no instance in ")
    assert hint in caught.value.hint


def test_the_other_regions_are_those_of_the_partition():
    """Nobody of an account in China has instances in Ireland."""
    account = account_of(Cloud())

    assert {"eu-west-1", "us-east-1"} <= set(account.regions())
    assert not {"eu-central-1", "cn-north-1"} & set(account.regions())
