"""
The AWS account of an experiment: an instance in the double of RDS, and its metrics in the double of CloudWatch.

What is written here is read back over HTTP, as a user's own account would be.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.config import Config

from plimsoll.model.instance import Instance
from plimsoll.model.metric import METRICS
from plimsoll.model.snapshot import Snapshot
from plimsoll_lab.servers.cloudwatch import LAUNCHED

NAMESPACE = "AWS/RDS"
# AWS's example keys, which its documentation uses; the double accepts any.
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "example"}
# PutMetricData takes up to a thousand (CloudWatch API Reference).
_DATA_MOST = 1000


class ExperimentAccount:
    """Write to the double of AWS what RDS would show of an experiment."""

    def __init__(self, url: str, region: str) -> None:
        """Keep the address of the double; nothing is sent yet."""
        self.url = url
        self.region = region
        session = boto3.session.Session(
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name=region,
        )
        # A proxy of the environment is for the internet, not for loopback.
        config = Config(proxies={})
        self._rds = session.client("rds", endpoint_url=url, config=config)
        self._cloudwatch = session.client("cloudwatch", endpoint_url=url, config=config)
        self._is_created = False

    def describe(self, instance: Instance) -> None:
        """Make DescribeDBInstances show the instance as it is now."""
        storage = instance.storage
        shown: dict[str, Any] = {
            "DBInstanceIdentifier": instance.identifier,
            "DBInstanceClass": instance.db_class,
            "AllocatedStorage": int(storage.size_gib or 0),
            "StorageType": storage.kind,
        }
        if storage.provisioned_ops_per_s is not None:
            shown["Iops"] = int(storage.provisioned_ops_per_s)
        if self._is_created:
            self._rds.modify_db_instance(**shown, ApplyImmediately=True)
            return
        launched = datetime.fromtimestamp(instance.launched_s or 0, UTC).date().isoformat()
        self._rds.create_db_instance(
            **shown,
            Engine=instance.engine,
            EngineVersion=instance.engine_version,
            MasterUsername="plimsoll",
            MasterUserPassword="not-a-secret",
            Tags=[{"Key": LAUNCHED, "Value": launched}],
        )
        self._is_created = True

    def put(self, snapshot: Snapshot) -> None:
        """Write every sample of a snapshot that CloudWatch would have."""
        data = list(_data_of(snapshot))
        for first in range(0, len(data), _DATA_MOST):
            self._cloudwatch.put_metric_data(Namespace=NAMESPACE, MetricData=data[first : first + _DATA_MOST])


def _data_of(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    dimensions = [{"Name": "DBInstanceIdentifier", "Value": snapshot.instance.identifier}]
    for metric, series in snapshot.series.items():
        facts = METRICS[metric]
        if facts.cloudwatch is None:
            continue
        for time_s, value in zip(series.time_s, series.value, strict=True):
            yield {
                "MetricName": facts.cloudwatch,
                "Dimensions": dimensions,
                "Timestamp": datetime.fromtimestamp(int(time_s), UTC),
                "Value": float(value) / facts.scale,
            }
