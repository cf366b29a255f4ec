"""
List every API operation that is sent, its IAM action, and what is lost without it.

Rule 1: all of them are read-only.
Rule 2: an operation that is not in this table is not sent; `account.py` asserts it.
"""

from msgspec import Struct


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of one service."""

    service: str
    """Name in boto3: `rds`."""
    name: str
    """Name in the API: `DescribeDBInstances`."""
    action: str
    """Name in IAM: `rds:DescribeDBInstances`."""
    resource: str
    """Narrowest resource that a policy can name; `*` if the action supports no narrower one."""
    answer_key: str
    """Field that every complete answer has; an answer without it was cut or garbled."""
    purpose: str
    """Data that the operation provides."""
    is_needed: bool
    """Whether an instance cannot be diagnosed without it."""
    lost: str
    """Data that a report lacks without it."""

    @property
    def page_token(self) -> str:
        """Name of the parameter and of the field that carry the token of the next page."""
        return "Marker" if self.service == "rds" else "NextToken"


DESCRIBE_INSTANCES = Operation(
    service="rds",
    name="DescribeDBInstances",
    action="rds:DescribeDBInstances",
    resource="arn:aws:rds:*:*:db:*",
    answer_key="DBInstances",
    purpose="class, engine, storage and pending changes of every instance",
    is_needed=True,
    lost="everything",
)
GET_METRIC_DATA = Operation(
    service="cloudwatch",
    name="GetMetricData",
    action="cloudwatch:GetMetricData",
    resource="*",
    answer_key="MetricDataResults",
    purpose="rates, latencies, balances, CPU, memory, space and connections by the minute",
    is_needed=True,
    lost="everything",
)
DESCRIBE_CLUSTERS = Operation(
    service="rds",
    name="DescribeDBClusters",
    action="rds:DescribeDBClusters",
    resource="arn:aws:rds:*:*:cluster:*",
    answer_key="DBClusters",
    purpose="largest capacity of an Aurora Serverless instance",
    is_needed=False,
    lost="the ceiling of an Aurora Serverless instance's capacity",
)
DESCRIBE_EVENTS = Operation(
    service="rds",
    name="DescribeEvents",
    action="rds:DescribeEvents",
    resource="*",
    answer_key="Events",
    purpose="class changes, restores, failovers and backups on the timeline",
    is_needed=False,
    lost="what happened to the instance, such as a restore that makes storage slow",
)
DESCRIBE_INSTANCE_TYPES = Operation(
    service="ec2",
    name="DescribeInstanceTypes",
    action="ec2:DescribeInstanceTypes",
    resource="*",
    answer_key="InstanceTypes",
    purpose="EC2's own EBS limits of the class, beside the catalog's",
    is_needed=False,
    lost="the check of the catalog's limits against EC2's own answer",
)
GET_LOG_EVENTS = Operation(
    service="logs",
    name="GetLogEvents",
    action="logs:GetLogEvents",
    resource="arn:aws:logs:*:*:log-group:RDSOSMetrics:log-stream:*",
    answer_key="events",
    purpose="Enhanced Monitoring: number of volumes, and seconds inside the minutes",
    is_needed=False,
    lost="the number of volumes and what a minute's average hides",
)
GET_RESOURCE_METRICS = Operation(
    service="pi",
    name="GetResourceMetrics",
    action="pi:GetResourceMetrics",
    resource="arn:aws:pi:*:*:metrics/rds/*",
    answer_key="MetricList",
    purpose="Performance Insights: sessions at work, waiting, and waiting for I/O",
    is_needed=False,
    lost="which sessions waited for I/O",
)
DESCRIBE_DIMENSION_KEYS = Operation(
    service="pi",
    name="DescribeDimensionKeys",
    action="pi:DescribeDimensionKeys",
    resource="arn:aws:pi:*:*:metrics/rds/*",
    answer_key="Keys",
    purpose="Performance Insights: statements, users and hosts by what they waited for",
    is_needed=False,
    lost="which statements waited for I/O",
)
GET_PRODUCTS = Operation(
    service="pricing",
    name="GetProducts",
    action="pricing:GetProducts",
    resource="*",
    answer_key="PriceList",
    purpose="on-demand prices of a region, for 'plimsoll prices refresh' alone",
    is_needed=False,
    lost="prices that are newer than the catalog's",
)

OPERATIONS: tuple[Operation, ...] = (
    DESCRIBE_INSTANCES,
    GET_METRIC_DATA,
    DESCRIBE_CLUSTERS,
    DESCRIBE_EVENTS,
    DESCRIBE_INSTANCE_TYPES,
    GET_LOG_EVENTS,
    GET_RESOURCE_METRICS,
    DESCRIBE_DIMENSION_KEYS,
    GET_PRODUCTS,
)
