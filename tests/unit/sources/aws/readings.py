"""Readings of the scripted cloud, as the tests of one instance and of many begin them."""

import json

from fuzz import corpus
from plimsoll.sources.aws.read import read_instance, read_instances
from unit.sources.aws.cloud import WINDOW_S, Cloud, account_of, described, instance

FLEET = ("billing", "orders-primary", "orders-replica")


def type_of(db_class: str) -> str | None:
    """As the catalog would say it: serverless runs on no type of EC2."""
    return db_class.removeprefix("db.") if db_class != "db.serverless" else None


def read(cloud, identifier="orders-primary", window_s=WINDOW_S, *, most=1000, **options):
    """The snapshot of one instance."""
    account = account_of(cloud, most=most)
    return read_instance(account, identifier, window_s, **{"ec2_type_of": type_of} | options)[0]


def read_fleet(cloud, pattern="*", window_s=WINDOW_S, *, most=1000, **options):
    """The snapshots of many."""
    account = account_of(cloud, most=most)
    return read_instances(account, pattern, window_s, **{"ec2_type_of": type_of} | options)


def one(**scripts):
    """A cloud with one instance."""
    return Cloud(DescribeDBInstances=described(instance()), **scripts)


def fleet(*names, **scripts):
    """A cloud with many instances."""
    return Cloud(DescribeDBInstances=described(*(instance(n) for n in names or FLEET)), **scripts)


def document(end_s, name="orders-primary"):
    """A document of Enhanced Monitoring."""
    return corpus.enhanced_document(end_s, end_s) | {"instanceID": name}


def by_seconds(name="orders-primary"):
    """GetLogEvents with a document of every second that is asked for."""

    def script(parameters):
        start, end = parameters["startTime"] // 1000, parameters["endTime"] // 1000
        if not parameters["startFromHead"]:
            start = end - 1
        token = parameters.get("nextToken")
        seconds = range(start, end) if token is None else ()
        return {
            "events": [{"timestamp": t * 1000, "message": json.dumps(document(t, name))} for t in seconds],
            "nextForwardToken": "f1",
            "nextBackwardToken": "b1",
        }

    return script
