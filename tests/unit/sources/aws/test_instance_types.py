import pytest

from plimsoll.model.instance import EbsLimits, Instance
from plimsoll.sources.aws.instance_types import facts_of, with_facts
from plimsoll.units import GIB
from unit.sources.aws.cloud import Cloud, account_of

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


def test_answers_are_remembered_also_that_there_is_none():
    """
    A second instance of the class costs no request. A type that is not offered is left out: it is
    asked for as a filter, where EC2 does not mind.
    """
    cloud = offering(R5)
    account = account_of(cloud)
    facts_of(account, ["r5.2xlarge", "x9.huge"])

    assert facts_of(account, ["x9.huge", "r5.2xlarge"]).keys() == {"r5.2xlarge"}
    assert len(cloud.sent) == 1


@pytest.mark.parametrize(
    ("changes", "limits"),
    [
        pytest.param({}, LIMITS, id="decimal megabytes, with the day of the answer"),
        pytest.param({"ebsInfo": {}}, None, id="old types have none"),
        pytest.param(
            {"ebsInfo": {"ebsOptimizedInfo": {"baselineIops": 5}}}, None, id="half of them would be read as zero"
        ),
    ],
)
def test_facts_fill_what_rds_did_not_say_itself(changes, limits):
    """Chosen cores go before the class's own number."""
    facts = facts_of(account_of(offering(R5 | changes)), ["r5.2xlarge"])["r5.2xlarge"]
    found = [with_facts(given, facts) for given in (Instance(), Instance(vcpu_count=4))]

    assert [Instance(vcpu_count=count, memory_bytes=64 * GIB, ebs_limits=limits) for count in (8, 4)] == found


def test_types_are_asked_for_a_hundred_at_a_time():
    """EC2 gives no more on a page."""
    cloud = offering(R5)
    facts_of(account_of(cloud), [f"t{n}.large" for n in range(101)])

    assert len(cloud.sent) == 2
