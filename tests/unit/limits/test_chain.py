"""The chain that the law replays."""

from plimsoll.catalog.load import catalog
from plimsoll.limits import chain_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.units import mb_per_s
from unit.limits.instances import instance, on

GP2 = Storage(kind="gp2", size_gib=1000)


def test_an_instance_bucket_promises_no_more_than_is_documented():
    """The chain takes the smaller reading: a full bucket lasts 30 minutes at the maximum."""
    stage = chain_of(instance(), catalog())[0]

    assert stage.capacity / (stage.burst - stage.baseline) == 1800


def test_legacy_limits_replace_those_of_the_instance():
    """With the limits of 2018 the instance stages change, and the volumes stay."""
    legacy = catalog().legacy_limits("db.r5.2xlarge")[-1]
    then = chain_of(instance(storage=GP2), catalog(), use_legacy=legacy)
    now = chain_of(instance(storage=GP2), catalog())

    assert (then[0].baseline, then[0].burst) == (mb_per_s(212.5), mb_per_s(437.5))
    assert then[2:] == now[2:]


def test_a_legacy_maximum_alone_is_held_forever():
    """Where the page of the time gave no baseline, none is made up."""
    legacy = catalog().legacy_limits("db.r6gd.large")[0]
    stage = chain_of(instance("db.r6gd.large"), catalog(), use_legacy=legacy)[0]

    assert stage.baseline == stage.burst == mb_per_s(78.75)


def test_what_is_not_documented_is_no_stage():
    """Unknown EBS limits, no storage, magnetic throughput and Aurora leave stages out."""
    names = [
        [stage.name for stage in chain_of(subject, catalog())]
        for subject in (
            instance("db.m3.large", storage=GP2),
            instance(),
            on("standard", 100),
            instance(engine="aurora-mysql", storage=Storage(kind="aurora")),
            Instance(),
        )
    ]

    assert names == [
        ["volume_throughput", "volume_iops"],
        ["instance_ebs_throughput", "instance_ebs_iops"],
        ["volume_iops"],
        [],
        [],
    ]
