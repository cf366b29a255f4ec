"""
List every API operation that is sent, its IAM action, and what is lost without it.

Rule 1: all of them are read-only.
Rule 2: an operation that is not in this table is not sent; `account.py` asserts it.
"""

from msgspec import Struct


class Operation(Struct, frozen=True, kw_only=True):
    """One operation of one service."""

    service: str
    """Name in boto3, and before the colon in IAM: `rds`."""
    name: str
    """Name in the API: `DescribeDBInstances`."""
    resource: str = "*"
    """Narrowest resource that a policy can name; `*` if the action supports no narrower one."""
    answer_key: str
    """Field that every complete answer has; an answer without it was cut or garbled."""
    lost: str = ""
    """Data that a report lacks without it; empty if an instance cannot be diagnosed without it."""

    @property
    def action(self) -> str:
        """Name in IAM: `rds:DescribeDBInstances`."""
        return f"{self.service}:{self.name}"

    @property
    def page_token(self) -> str:
        """Name of the parameter and of the field that carry the token of the next page."""
        return "Marker" if self.service == "rds" else "NextToken"


DESCRIBE_INSTANCES = Operation(
    service="rds", name="DescribeDBInstances", resource="arn:aws:rds:*:*:db:*", answer_key="DBInstances"
)
GET_METRIC_DATA = Operation(service="cloudwatch", name="GetMetricData", answer_key="MetricDataResults")
DESCRIBE_CLUSTERS = Operation(
    service="rds",
    name="DescribeDBClusters",
    resource="arn:aws:rds:*:*:cluster:*",
    answer_key="DBClusters",
    lost="the ceiling of an Aurora Serverless instance's capacity",
)
DESCRIBE_EVENTS = Operation(
    service="rds",
    name="DescribeEvents",
    answer_key="Events",
    lost="what happened to the instance, such as a restore that makes storage slow",
)
DESCRIBE_INSTANCE_TYPES = Operation(
    service="ec2",
    name="DescribeInstanceTypes",
    answer_key="InstanceTypes",
    lost="the check of the catalog's limits against EC2's own answer",
)
GET_LOG_EVENTS = Operation(
    service="logs",
    name="GetLogEvents",
    resource="arn:aws:logs:*:*:log-group:RDSOSMetrics:log-stream:*",
    answer_key="events",
    lost="the number of volumes and what a minute's average hides",
)
GET_RESOURCE_METRICS = Operation(
    service="pi",
    name="GetResourceMetrics",
    resource="arn:aws:pi:*:*:metrics/rds/*",
    answer_key="MetricList",
    lost="which sessions waited for I/O",
)
DESCRIBE_DIMENSION_KEYS = Operation(
    service="pi",
    name="DescribeDimensionKeys",
    resource="arn:aws:pi:*:*:metrics/rds/*",
    answer_key="Keys",
    lost="which statements waited for I/O",
)
GET_PRODUCTS = Operation(
    service="pricing", name="GetProducts", answer_key="PriceList", lost="prices that are newer than the catalog's"
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
