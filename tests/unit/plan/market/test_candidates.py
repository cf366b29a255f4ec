"""What can be bought for an instance."""

import pytest
from msgspec.structs import replace

from plan_cases import calm, claims, classes, needs, offered
from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.limits import volumes
from plimsoll.limits.layout import volumes_of
from plimsoll.limits.purchase import check_purchase
from plimsoll.model.instance import EbsLimits, Instance, Storage
from plimsoll.plan.market.candidates import orderable_classes
from plimsoll.plan.market.storages import describe_storage

ENGINES = ("postgres", "mysql", "mariadb", "oracle-ee", "sqlserver-se", "db2-se")
FROM_EC2 = EbsLimits(
    baseline_bytes_per_s=90e6,
    burst_bytes_per_s=350e6,
    baseline_ops_per_s=4000,
    burst_ops_per_s=15_700,
    source="ec2:DescribeInstanceTypes",
    read_on="2026-11-01",
)


def on(storage: Storage, engine: str = "postgres") -> Instance:
    return claims(db_class="db.m5.xlarge", engine=engine, storage=storage)


def test_the_remedy_of_the_claims_pipeline_is_among_them():
    """
    db.m6g.xlarge has the vCPUs and memory of db.t3.xlarge, and the gp2 volume may stay; so may all of
    it. db.m6g.large has half the memory, and it says how to ask for it.
    """
    found = offered(claims())
    reasons = {one.db_class: one.reason for one in found.refused}
    index = next(k for k in range(len(found)) if found.name(k) == "db.m6g.xlarge, gp2 1,200 GiB")

    assert found.present is not None
    assert found.instance(found.present) == claims()
    assert "db.m6g.large" not in classes(found)
    assert "8 GiB of memory instead of 16 GiB" in reasons["db.m6g.large"]
    assert found.instance(index) == claims(db_class="db.m6g.xlarge")
    assert found.is_same_storage[index]
    assert not found.is_same_class[index]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "storage",
    [
        Storage(kind="gp2", size_gib=100),
        Storage(kind="gp2", size_gib=1200),
        Storage(kind="gp3", size_gib=380),
        Storage(kind="io1", size_gib=3000, provisioned_ops_per_s=30_000),
        Storage(kind="standard", size_gib=200),
    ],
    ids=lambda storage: storage.kind,
)
def test_all_other_storage_can_be_bought_and_is_not_smaller(engine: str, storage: Storage):
    """RDS would sell every storage; none shrinks, and one that grows does so by a tenth at least."""
    before = on(storage, engine)
    found = offered(before)

    others = [one for one in found.storages if one != storage]
    assert others
    for one in others:
        check_purchase(replace(before, storage=one), catalog())
        assert one.kind != "standard"
        assert one.size_gib is not None
        assert storage.size_gib is not None
        assert one.size_gib == storage.size_gib or 10 * one.size_gib >= 11 * storage.size_gib


def test_growing_past_a_layout_is_offered_where_it_starts_or_a_tenth_above():
    """
    From 100 GiB the four volumes begin at 400; from 380 at 418, for RDS grows by a tenth. Of 100 GiB of
    gp3 there is one kind; of 400 GiB throughput follows IOPS, 4 to 1.
    """
    found = offered(on(Storage(kind="gp3", size_gib=100)))
    near = offered(on(Storage(kind="gp3", size_gib=380)))
    small = [s for s in found.storages if s.kind == "gp3" and s.size_gib == 100]
    large = [s for s in found.storages if s.kind == "gp3" and s.size_gib == 400]

    assert {s.size_gib for s in found.storages if s.kind == "gp3"} == {100, 400}
    assert {s.size_gib for s in near.storages if s.kind == "gp3"} == {380, 418}
    assert small == [Storage(kind="gp3", size_gib=100)]
    assert {s.provisioned_ops_per_s for s in large} >= {None, 12_000, 64_000}
    assert max(s.provisioned_bytes_per_s or 0 for s in large) == 4000 * 1024**2


def test_sql_server_has_one_volume_and_its_own_ranges():
    """gp3 for SQL Server sells 3,000 to 16,000 IOPS at any size, and io1 for every class up to 32,000."""
    found = offered(on(Storage(kind="gp2", size_gib=1200), "sqlserver-se"))
    gp3 = [s for s in found.storages if s.kind == "gp3"]

    assert {volumes_of(on(s, "sqlserver-se"), catalog()).count for s in gp3} == {1}  # type: ignore[union-attr]
    assert max(s.provisioned_ops_per_s or 0 for s in gp3) == 16_000
    io1 = [s.provisioned_ops_per_s or 0 for s in found.storages if s.kind == "io1"]
    assert max(io1) == 32_000


def test_storage_is_what_may_be_changed_to():
    """Where gp2 is denied the present storage is not among them; where only gp3 is allowed it may stay."""
    denied, allowed = offered(claims(), deny=("gp2",)), offered(claims(), allow=("gp3",))

    assert {storage.kind for storage in denied.storages} == {"gp3", "io1", "io2"}
    assert denied.present is None
    assert {storage.kind for storage in allowed.storages if storage != claims().storage} >= {"gp3"}
    assert not {s.kind for s in allowed.storages} & {"io1", "io2"}


def test_what_is_kept_stays():
    """Kept class and kept storage leave the other one free."""
    same_class, same_storage = (offered(claims(), keep_class=True), offered(claims(), keep_storage=True))

    assert classes(same_class) == {"db.t3.xlarge"}
    assert len(same_class.storages) > 100
    assert same_storage.storages == (claims().storage,)
    assert len(same_storage.classes) > 100


def test_other_architectures_can_be_denied_and_old_generations_named():
    """Without Graviton the change is to x86 alone. db.m4.xlarge runs on Xen; it can still be ordered."""
    found = offered(claims(), deny=("graviton",))

    assert {limits.cpu_arch for limits in found.classes if limits} == {"x86_64"}
    assert "db.m4.xlarge" not in classes(offered(claims()))
    assert "db.m4.xlarge" in classes(offered(claims(), allow=("db.m4.*", "smaller-network")))


def test_a_class_whose_limits_nobody_documents_is_no_way_forward():
    """EBS limits decide for RDS; Aurora keeps its data elsewhere, and may have such a class."""
    reason = "its EBS limits are not documented"
    found = offered(claims())

    assert all(c.ebs_burst_bytes_per_s for c in found.classes if c is not None)
    assert reason in {one.reason for one in found.refused}
    aurora = claims(engine="aurora-postgresql", storage=Storage(kind="aurora"))
    assert reason not in {one.reason for one in offered(aurora).refused}


UNDESCRIBED = "Storage type and size are unknown"
ADDITIONAL = Storage(kind="gp3", size_gib=300, additional=(Storage(kind="io2", size_gib=500),))


@pytest.mark.parametrize(
    ("engine", "storage", "note"),
    [
        # Without type or size, no alternatives can be listed.
        ("postgres", Storage(kind="gp3"), UNDESCRIBED),
        ("postgres", Storage(size_gib=100.0), UNDESCRIBED),
        ("postgres", Storage(), UNDESCRIBED),
        # Additional volumes of Oracle are bought one by one; Aurora's storage has nothing to buy.
        ("oracle-ee", ADDITIONAL, "Storage with several volumes stays as it is."),
        ("aurora-postgresql", Storage(kind="aurora"), ""),
    ],
)
def test_storage_may_be_left_as_it_is(engine: str, storage: Storage, note: str):
    """The class is varied alone, and a note says so."""
    found = offered(claims(engine=engine, db_class="db.r6i.xlarge", storage=storage))

    assert (storage,) == tuple(found.storages)
    assert len(classes(found)) > 1
    assert any(one.startswith(note) for one in (*found.notes, ""))


def test_a_host_has_no_class_to_change():
    """Without a class only the storage is varied, and without an engine not even that."""
    host = Instance(storage=Storage(kind="gp2", size_gib=100))
    found = offered(host, needs(host))

    assert len(found) == 1
    assert "The class is unknown: only storage options are shown." in found.notes


def test_classes_are_those_of_the_engine():
    """Oracle has preconfigured classes, which PostgreSQL has not; SQL Server has no Graviton."""
    oracle = orderable_classes("oracle-ee", "us-east-1", catalog())
    postgres = orderable_classes("postgres", "us-east-1", catalog())
    sqlserver = orderable_classes("sqlserver-se", "us-east-1", catalog())

    assert "db.r5.2xlarge.tpc1.mem2x" in oracle
    assert "db.r5.2xlarge.tpc1.mem2x" not in postgres
    assert "db.m6g.large" in postgres
    assert "db.m6g.large" not in sqlserver


def test_preconfigured_classes_need_a_word():
    """How many vCPUs they have is not documented, so they are proposed to those who do not mind."""
    before = claims(engine="oracle-ee", db_class="db.r5.large", storage=Storage(kind="gp2", size_gib=300))
    plain = offered(before)
    bold = offered(before, allow=("smaller-cpu", "smaller-network"))

    reasons = {one.db_class: one.reason for one in plain.refused}
    assert reasons["db.r5.2xlarge.tpc1.mem2x"] == "its number of vCPUs is not documented"
    assert "db.r5.2xlarge.tpc1.mem2x" in classes(bold)


def test_the_smallest_t_classes_hold_less():
    """db.t3.micro takes 6 TiB at most."""
    before = claims(db_class="db.t3.micro", storage=Storage(kind="gp2", size_gib=5000))
    found = offered(before)
    sizes = {
        found.storages[storage].size_gib or 0
        for limits, storage in zip(found.class_index, found.storage_index, strict=True)
        if found.classes[limits] and found.classes[limits].db_class == "db.t3.micro"  # type: ignore[union-attr]
    }

    assert max(sizes) <= 6144
    assert max(s.size_gib or 0 for s in found.storages) > 6144


def test_volumes_that_were_counted_stay_while_the_layout_does():
    """One volume under 1,200 GiB of gp2 stays one as gp3; under 300 GiB it becomes the documented four past 400."""
    before = claims(storage=Storage(kind="gp2", size_gib=1200, volume_count=1))
    gp3 = next(s for s in offered(before).storages if s.kind == "gp3" and s.provisioned_ops_per_s is None)
    small = claims(storage=Storage(kind="gp3", size_gib=300, volume_count=1))
    counts = {s.size_gib: s.volume_count for s in offered(small).storages if s.kind == "gp3"}

    assert gp3.volume_count == 1
    assert volumes.iops(replace(before, storage=gp3), catalog())[0].value == 3000
    assert counts == {300: 1, 400: None}


def test_what_is_known_of_a_class_goes_with_it():
    """EBS limits, cores and connections that the instance reported are those of its present class."""
    before = claims(ebs_limits=FROM_EC2, vcpu_count=4, connection_max=500, pending=("class db.m5.large",))
    found = offered(before)
    is_same = list(found.is_same_class)
    other, same = is_same.index(False), is_same.index(True)

    assert found.instance(other).ebs_limits is None
    assert found.instance(other).connection_max is None
    assert found.instance(other).pending == ()
    assert found.instance(same).ebs_limits == FROM_EC2


def test_a_class_unknown_to_the_catalog_may_be_left():
    """The provider's answer about it is enough for a comparison with others."""
    before = claims(db_class="db.z9.xlarge", ebs_limits=FROM_EC2, vcpu_count=4, memory_bytes=16 * 1024**3)

    assert "db.z9.xlarge" in classes(offered(before))
    assert "db.m6g.xlarge" in classes(offered(before))


def test_another_region_is_reported_as_unlisted():
    """The catalog lists classes by engine for us-east-1; elsewhere a note says what to ask."""
    notes = offered(claims(region="eu-west-1")).notes

    assert any("The catalog does not list the classes of eu-west-1" in note for note in notes)
    assert not any("not in the catalog" in note for note in offered(claims()).notes)


@pytest.mark.parametrize(
    ("before", "constraints", "message"),
    [
        (claims(engine=None), {}, "which classes can be ordered depends on the engine"),
        (claims(), {"engine": "mysql"}, "claims runs postgres and cannot be changed to mysql"),
        (claims(), {"engine": "sybase"}, "'sybase' is not an engine that RDS has"),
        (claims(), {"deny": ("gp*", "io*")}, "--allow and --deny leave no storage that could be bought"),
        (claims(), {"deny": ("db.*",)}, "--allow and --deny leave no class that could be bought"),
    ],
)
def test_what_cannot_be_is_refused(before: Instance, constraints: dict[str, object], message: str):
    """One sentence each, with a remedy."""
    with pytest.raises(UsageError) as refused:
        offered(before, calm(before), **constraints)

    assert message in refused.value.message
    assert refused.value.hint.endswith(".")


def test_storage_reads_as_people_write_it():
    """Type, size, IOPS and throughput, as far as they are known."""
    bought = Storage(kind="gp3", size_gib=400, provisioned_ops_per_s=16_000, provisioned_bytes_per_s=750 * 1024**2)

    assert describe_storage(bought) == "gp3 400 GiB, 16,000 IOPS, 750 MiB/s"
    assert describe_storage(Storage()) == ""


def test_a_cluster_is_offered_what_a_cluster_may_have():
    """Classes with a disk of their own alone; no gp2, and of gp3 no throughput to choose."""
    bought = Storage(kind="io1", size_gib=400, provisioned_ops_per_s=4000)
    found = offered(claims(db_class="db.m6gd.xlarge", cluster="c1", multi_az=True, storage=bought))
    families = {one.db_class.split(".")[1] for one in found.classes if one}

    assert {"m6gd", "r6gd", "m8gd"} <= families
    assert not families & {"m6g", "m6i", "r8g", "t3"}
    assert {"gp3", "io1", "io2"} == {storage.kind for storage in found.storages}
    assert {None} == {storage.provisioned_bytes_per_s for storage in found.storages}
    assert any(storage.provisioned_ops_per_s == 20_000 for storage in found.storages)
    assert "no Multi-AZ DB cluster is sold with it" in {one.reason for one in found.refused}


def test_a_cluster_does_not_become_a_single_instance():
    """RDS has no such change."""
    with pytest.raises(UsageError, match="cannot be changed to a single instance"):
        offered(claims(cluster="c1", multi_az=True), multi_az=False)
