import pytest

from plimsoll.errors import AccessDenied
from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.sources.aws.instance_types import facts_of, with_facts
from plimsoll.units import GIB
from unit.sources.aws.cloud import Cloud, account_of, error

R5 = {
    "instanceType": "r5.2xlarge",
    "vCpuInfo": {"defaultVCpus": 8},
    "memoryInfo": {"sizeInMiB": 65536},
    "ebsInfo": {
        "ebsOptimizedInfo": {
            "baselineThroughputInMBps": 287.5,
            "baselineIops": 12000,
            "maximumThroughputInMBps": 593.75,
            "maximumIops": 18750,
        }
    },
}
LIMITS = EbsLimits(
    baseline_bytes_per_s=287.5e6,
    burst_bytes_per_s=593.75e6,
    baseline_ops_per_s=12000,
    burst_ops_per_s=18750,
    source="ec2:DescribeInstanceTypes of r5.2xlarge",
    read_on="2026-11-20",
)


def offering(*types):
    def script(parameters):
        asked = {v for k, v in parameters.items() if k.startswith("Filter.1.Value")}
        return {"instanceTypeSet": [t for t in types if t["instanceType"] in asked]}

    return Cloud(DescribeInstanceTypes=script)


def test_limits_are_in_decimal_megabytes():
    """EC2's MB are a million bytes; the date is the day of the answer."""
    facts = facts_of(account_of(offering(R5)), ["r5.2xlarge"])["r5.2xlarge"]

    assert facts.ebs_limits == LIMITS
    assert (facts.vcpu_count, facts.memory_bytes) == (8, 64 * GIB)


def test_a_type_that_is_not_offered_is_left_out():
    """It is asked for as a filter, where EC2 does not mind."""
    assert set(facts_of(account_of(offering(R5)), ["r5.2xlarge", "x9.huge"])) == {"r5.2xlarge"}


def test_answers_are_remembered_also_that_there_is_none():
    """A second instance of the class costs no request."""
    cloud = offering(R5)
    account = account_of(cloud)
    facts_of(account, ["r5.2xlarge", "x9.huge"])

    assert facts_of(account, ["x9.huge", "r5.2xlarge"]).keys() == {"r5.2xlarge"}
    assert len(cloud.sent) == 1


def test_types_are_asked_for_a_hundred_at_a_time():
    """EC2 gives no more on a page."""
    cloud = offering(R5)
    facts_of(account_of(cloud), [f"t{n}.large" for n in range(101)])

    assert len(cloud.sent) == 2


@pytest.mark.parametrize(
    "changes",
    [{"ebsInfo": {}}, {"ebsInfo": {"ebsOptimizedInfo": {"baselineIops": 5}}}],
)
def test_limits_that_are_not_whole_are_none(changes):
    """Old types have no such numbers; half of them would be read as zero."""
    facts = facts_of(account_of(offering(R5 | changes)), ["r5.2xlarge"])["r5.2xlarge"]

    assert facts.ebs_limits is None
    assert facts.vcpu_count == 8


def test_what_rds_said_itself_stays():
    """Chosen cores go before the class's own number."""
    facts = facts_of(account_of(offering(R5)), ["r5.2xlarge"])["r5.2xlarge"]
    chosen = with_facts(Instance(vcpu_count=4), facts)
    usual = with_facts(Instance(), facts)

    assert (chosen.vcpu_count, chosen.memory_bytes, chosen.ebs_limits) == (4, 64 * GIB, LIMITS)
    assert usual.vcpu_count == 8


def test_a_refusal_names_the_permission():
    """What becomes of it is the reader's business."""
    cloud = Cloud(DescribeInstanceTypes=lambda _: error("UnauthorizedOperation", status=403))
    with pytest.raises(AccessDenied, match="ec2:DescribeInstanceTypes"):
        facts_of(account_of(cloud), ["r5.2xlarge"])
