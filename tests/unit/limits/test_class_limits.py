"""What the provider's API says of a class, laid over the catalog."""

import pytest
from msgspec.structs import replace

from plimsoll.catalog.load import catalog
from plimsoll.errors import CatalogError
from plimsoll.limits import ceilings_of, chain_of, limits_of
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.ceiling import Ceiling, Family, Phase
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.units import GIB, mb_per_s
from unit.limits.instances import epoch, instance, legacy, of, values

THROUGHPUT, IOPS = Family.INSTANCE_EBS_THROUGHPUT, Family.INSTANCE_EBS_IOPS
SOURCE = "ec2:DescribeInstanceTypes of r5.2xlarge"


def ec2_answer(
    baseline: float = 287.5,
    burst: float = 593.75,
    baseline_ops_per_s: float = 12_000,
    burst_ops_per_s: float = 18_750,
    read_on: str = "2027-02-03",
) -> EbsLimits:
    """Return an answer of EC2 in MB/s and IOPS; by default that of db.r5.2xlarge."""
    return EbsLimits(
        baseline_bytes_per_s=mb_per_s(baseline),
        burst_bytes_per_s=mb_per_s(burst),
        baseline_ops_per_s=baseline_ops_per_s,
        burst_ops_per_s=burst_ops_per_s,
        source=SOURCE,
        read_on=read_on,
    )


def present(subject: Instance, family: Family) -> tuple[Ceiling, ...]:
    return tuple(c for c in of(subject, family) if c.phase is not Phase.LEGACY)


@pytest.mark.parametrize("answer", [ec2_answer(), ec2_answer(287.4, 593.0, 11_990, 18_800)])
def test_where_ec2_agrees_the_catalog_stays(answer: EbsLimits):
    """Half a percent is rounding; the catalog's origin says more than an API call."""
    assert ceilings_of(instance(ebs_limits=answer), catalog()) == ceilings_of(instance(), catalog())


def test_where_ec2_differs_its_numbers_are_used():
    """Today's ceilings are EC2's, with the call and its date; the note names both numbers in their unit."""
    baseline, burst = present(instance(ebs_limits=ec2_answer(burst=1000)), THROUGHPUT)
    ops, ops_burst = present(instance(ebs_limits=ec2_answer(baseline_ops_per_s=15_000)), IOPS)

    assert values((baseline, burst)) == {Phase.BASELINE: mb_per_s(287.5), Phase.BURST: mb_per_s(1000)}
    assert (burst.origin.source, burst.origin.read_on) == (SOURCE, "2027-02-03")
    for ceiling, words in (
        (burst, "593.75 MB/s; EC2 reports 1,000 MB/s"),
        (ops, "12,000 IOPS; EC2 reports 15,000 IOPS"),
    ):
        assert ceiling.note.startswith(f"the catalog (read 2026-10-27) has {words}")
    assert not any("EC2 reports" in ceiling.note for ceiling in (baseline, ops_burst))


@pytest.mark.parametrize(
    ("db_class", "most", "words"),
    [
        ("db.r5.2xlarge", 1000, "EC2 reports 1,000 MB/s"),
        # It is listed and has no numbers in the catalog.
        ("db.x2m.xlarge", 500, "the catalog has no number for it"),
    ],
)
def test_one_number_for_ever_may_come_from_ec2(db_class: str, most: float, words: str):
    """A baseline equal to the maximum is a fixed number, without a balance."""
    (fixed,) = present(instance(db_class, ebs_limits=ec2_answer(most, most)), THROUGHPUT)

    assert (fixed.phase, fixed.value) == (Phase.FIXED, mb_per_s(most))
    assert words in fixed.note


def test_what_the_catalog_has_becomes_a_legacy_limit():
    """An instance that ran before the change may still have the catalog's number, until it restarts."""
    old = instance(ebs_limits=ec2_answer(burst=1000), launched_s=epoch("2024-01-01"))
    new = replace(old, launched_s=epoch("2027-01-01"))

    assert legacy(old, THROUGHPUT) == {mb_per_s(593.75): Phase.BURST}
    assert legacy(new, THROUGHPUT) == {}
    assert {c.origin.valid_to for c in of(old, THROUGHPUT) if c.phase is Phase.LEGACY} == {"2026-10-27"}


def test_legacy_limits_still_come_from_the_catalog():
    """What EC2 reports today does not change what was documented in 2019."""
    old = instance(launched_s=epoch("2019-06-01"))

    assert legacy(replace(old, ebs_limits=ec2_answer()), THROUGHPUT) == legacy(old, THROUGHPUT)


def test_an_older_answer_supersedes_nothing():
    """An answer from before the catalog was read is used for its own time, and makes no legacy limit."""
    subject = instance(ebs_limits=ec2_answer(burst=1000, read_on="2026-01-01"), launched_s=epoch("2024-01-01"))

    assert legacy(subject, THROUGHPUT) == {}


def test_a_class_the_catalog_does_not_know_has_ec2s_limits():
    """
    The EBS ceilings are EC2's alone; memory and network stay unknown, and nothing is raised. The account
    has such an instance: the sheet says only that the catalog does not know it.
    """
    subject = instance("db.r99.large", ebs_limits=ec2_answer())
    families = {c.family for c in ceilings_of(subject, catalog())}
    notes = sheet_of(subject, catalog()).notes

    assert families == {THROUGHPUT, IOPS, Family.CPU}
    assert {c.origin.source for c in of(subject, THROUGHPUT)} == {SOURCE}
    assert sheet_of(subject, catalog()).rows
    assert limits_of(replace(subject, memory_bytes=4 * GIB), catalog()).memory_bytes == 4 * GIB
    assert "The catalog does not know this class." in notes
    assert not any("No list of RDS" in note for note in notes)


def test_a_class_of_which_nothing_is_known_stays_an_error():
    """Neither the catalog nor EC2 knows it."""
    with pytest.raises(CatalogError, match=r"unknown instance class 'db\.r99\.large'"):
        ceilings_of(instance("db.r99.large"), catalog())


@pytest.mark.parametrize(
    "answer",
    [
        ec2_answer(0, 0),
        ec2_answer(float("nan"), 593.75),
        ec2_answer(700, 593.75),
        ec2_answer(baseline_ops_per_s=-1),
        ec2_answer(burst_ops_per_s=float("inf")),
    ],
)
def test_an_answer_that_cannot_be_is_no_answer(answer: EbsLimits):
    """A snapshot may hold anything; zero, infinity and a baseline above the maximum are no limits."""
    assert ceilings_of(instance(ebs_limits=answer), catalog()) == ceilings_of(instance(), catalog())
    with pytest.raises(CatalogError):
        ceilings_of(instance("db.r99.large", ebs_limits=answer), catalog())


def test_numbers_that_the_instance_reported_are_used():
    """vCPUs and memory read from the instance replace those of the class; a host has no class at all."""
    limits = limits_of(instance(vcpu_count=4, memory_bytes=3 * GIB), catalog())

    assert (limits.vcpu_count, limits.memory_bytes) == (4, 3 * GIB)
    assert limits_of(Instance(ebs_limits=ec2_answer()), catalog()) is None


def test_no_ebs_limit_for_aurora_whatever_ec2_says():
    """The class's EBS limits are not those of the cluster volume."""
    subject = instance(engine="aurora-mysql", ebs_limits=ec2_answer())

    assert of(subject, THROUGHPUT) == ()
    assert chain_of(subject, catalog()) == ()


@pytest.mark.parametrize(
    ("db_class", "host"),
    [
        ("db.r5.4xlarge.tpc2.mem2x", "db.r5.8xlarge"),
        ("db.r5.2xlarge.tpc1.mem2x", "db.r5.4xlarge"),
        ("db.r5b.xlarge.tpc2.mem4x", "db.r5b.4xlarge"),
    ],
)
def test_preconfigured_oracle_classes_have_the_limits_of_their_host(db_class: str, host: str):
    """mem2x is the memory of a class twice as large; its EC2 type has the EBS limits of that one."""
    born = epoch("2025-01-01")
    subject = instance(db_class, engine="oracle-ee", launched_s=born)
    larger = instance(host, engine="oracle-ee", launched_s=born)

    for family in (THROUGHPUT, IOPS):
        assert values(of(subject, family)) == values(of(larger, family))
        assert all("inferred" in c.note for c in of(subject, family))
