"""The shape of an instance has every field that limits and prices depend on."""

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from plimsoll.app.prices import book_of
from plimsoll.catalog.load import catalog
from plimsoll.limits import chain_of
from plimsoll.model.instance import Deployment, EbsLimits, Instance, Storage
from plimsoll.plan.market.cost import cost_of
from plimsoll.plan.market.shape import shape_of

BARE = Instance(
    identifier="orders",
    db_class="db.r5.2xlarge",
    engine="postgres",
    engine_version="16.3",
    region="us-east-1",
    storage=Storage(kind="gp2", size_gib=300.0),
    launched_s=1_500_000_000,
    connection_max=77,
    pending=("class db.r5.4xlarge",),
)
LIMITS = EbsLimits(
    baseline_bytes_per_s=1e8,
    burst_bytes_per_s=2e8,
    baseline_ops_per_s=1e3,
    burst_ops_per_s=2e3,
    source="ec2",
    read_on="2026-11-20",
)


@pytest.mark.parametrize(
    "instance",
    [
        BARE,
        replace(BARE, cluster="one", multi_az=None),
        replace(BARE, multi_az=True, vcpu_count=3, memory_bytes=2**33),
        replace(BARE, ebs_limits=LIMITS),
        replace(BARE, engine="oracle-se2", license_model="license-included", region="eu-west-1"),
        replace(BARE, db_class="db.serverless", engine="aurora-mysql", capacity_acu_max=8.0),
    ],
)
def test_limits_and_prices_of_the_shape_are_those_of_the_instance(instance: Instance):
    shape, book = shape_of(instance), book_of(str(instance.region), None)

    assert chain_of(instance, catalog()) == chain_of(shape, catalog())
    assert cost_of(instance, book, catalog=catalog()) == cost_of(shape, book, catalog=catalog())


def test_members_of_clusters_have_one_shape():
    first, second = (shape_of(replace(BARE, identifier=n, cluster=n)) for n in ("one", "two"))

    assert first == second
    assert Deployment.MULTI_AZ_CLUSTER is first.deployment
    assert first.cluster is not UNSET
