"""How RDS makes a change of a Multi-AZ DB cluster, and the command that orders it."""

import pytest
from botocore import xform_name
from botocore.session import get_session

from plan_cases import claims
from plimsoll.model.instance import Instance, Storage
from unit.plan.market.test_rules import commands, disruption


def member(**fields) -> Instance:
    """The writer of a Multi-AZ DB cluster on 400 GiB of io1."""
    bought = {
        "db_class": "db.m6gd.xlarge",
        "cluster": "claims-cluster",
        "multi_az": True,
        "storage": Storage(kind="io1", size_gib=400, provisioned_ops_per_s=4000),
    }
    return claims(**(bought | fields))


def test_a_cluster_is_changed_as_a_whole():
    """Its members cannot be modified, so the command names the cluster, and its class option is another."""
    (line,) = commands(member(), member(db_class="db.r6gd.xlarge"))

    assert line == (
        "aws rds modify-db-cluster --db-cluster-identifier claims-cluster --region us-east-1"
        " --db-cluster-instance-class db.r6gd.xlarge --apply-immediately"
    )
    found = disruption(member(), member(db_class="db.r6gd.xlarge"))
    assert found.is_restart
    assert "the writer and both readable standbys change" in found.text.lower()
    assert "A Multi-AZ DB cluster: its three instances change and are billed together." in found.notes


@pytest.mark.parametrize(
    ("after", "options"),
    [
        # RDS takes no other IOPS, and requires them with a type of storage.
        (Storage(kind="gp3", size_gib=200), "--storage-type gp3 --allocated-storage 200 --iops 3000"),
        (Storage(kind="io1", size_gib=400, provisioned_ops_per_s=6000), "--allocated-storage 400 --iops 6000"),
        (Storage(kind="gp3", size_gib=400), "--storage-type gp3 --allocated-storage 400 --iops 12000"),
        (
            Storage(kind="gp3", size_gib=500, provisioned_ops_per_s=20_000),
            "--storage-type gp3 --allocated-storage 500 --iops 20000",
        ),
    ],
)
def test_storage_of_a_cluster_is_ordered_with_its_iops(after: Storage, options: str):
    """IOPS belong to every change of a cluster's storage; there is no option for its throughput."""
    (line,) = commands(member(), member(storage=after))

    assert line == (
        "aws rds modify-db-cluster --db-cluster-identifier claims-cluster --region us-east-1"
        f" {options} --apply-immediately"
    )


def test_a_cluster_cannot_be_stopped():
    """There is no command for it, and the text says what to do instead."""
    assert commands(member(), member(), is_restart=True) == ()
    assert "RDS cannot stop a Multi-AZ DB cluster" in disruption(member(), member(), is_restart=True).text


def test_options_of_a_cluster_are_those_of_the_service():
    """Every option that is printed is a member of ModifyDBCluster, as the client's own model has it."""
    shape = get_session().get_service_model("rds").operation_model("ModifyDBCluster").input_shape
    known = {"--" + xform_name(name, "-") for name in shape.members}
    after = member(db_class="db.r6gd.xlarge", storage=Storage(kind="gp3", size_gib=500, provisioned_ops_per_s=20_000))
    (line,) = commands(member(), after)

    used = {word for word in line.split() if word.startswith("--")} - {"--region"}
    assert used <= known
