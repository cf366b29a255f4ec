import json

import pytest

from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.fleet import diagnose_fleet, exit_status
from plimsoll.app.render import render
from plimsoll.model.diagnosis import Verdict
from plimsoll.reports.overview.json import render_overview_json
from unit.sources.aws.cloud import WINDOW_S, Cloud, described, error, flat_metrics, instance, metric_name, result
from unit.sources.aws.conftest import alone
from unit.sources.aws.readings import fleet, read_fleet

__all__ = ["alone"]


def as_markdown(overview):
    """The Markdown form."""
    return render(overview, "markdown")


def quiet(query):
    """What a metric of an instance with little to do shows."""
    name = metric_name(query)
    if "Latency" in name:
        return 0.001
    if name == "DiskQueueDepth":
        return 0.01
    if name.startswith("Free"):
        return 5e11
    return 100.0 if "Balance" in name else 5.0


def metrics_with(status, kept, *names):
    """GetMetricData of quiet instances, some of whose metrics do not come whole."""

    def script(parameters):
        return {
            "MetricDataResults": [
                result(q, parameters, quiet(q), keep=kept, status=status)
                if metric_name(q) in names or not names
                else result(q, parameters, quiet(q))
                for q in parameters["MetricDataQueries"]
            ]
        }

    return script


def overview_of(cloud):
    """What `diagnose 'rds:*'` makes of a cloud."""
    return diagnose_fleet(read_fleet(cloud), diagnose=diagnose_snapshot, source="rds:*", window_s=WINDOW_S)


@pytest.mark.parametrize(
    ("operation", "action", "lost"),
    [
        ("DescribeEvents", "rds:DescribeEvents", "RDS events"),
        ("DescribeInstanceTypes", "ec2:DescribeInstanceTypes", "EC2 limits"),
        ("DescribeDBClusters", "rds:DescribeDBClusters", "Aurora capacity"),
    ],
)
def test_the_table_says_what_was_denied(operation, action, lost):
    """In the text, in Markdown and in JSON; once, and for whom."""
    serverless = instance(
        "a1", DBInstanceClass="db.serverless", Engine="aurora-postgresql", DBClusterIdentifier="cluster"
    )
    cloud = Cloud(
        DescribeDBInstances=described(serverless, instance("b1"), instance("c1")),
        **{operation: lambda _: error("AccessDenied", status=403)},
    )
    overview = overview_of(cloud)
    text = render(overview, "text", width=200, color=False)
    document = json.loads(render_overview_json(overview))

    assert 1 == text.count(f"{lost}: access denied to {action}")
    assert f"Allow {action}" in text
    assert f"{lost}: access denied to {action}" in as_markdown(overview)
    (failed,) = document["failed"]
    assert failed["reason"].startswith(f"{lost}: access denied to {action}")
    concerned = ["a1"] if operation == "DescribeDBClusters" else ["a1", "b1", "c1"]
    assert concerned == failed["identifiers"]


def test_nothing_is_said_where_nothing_was_denied():
    """What is switched off was not refused."""
    overview = overview_of(fleet())

    assert [] == json.loads(render_overview_json(overview))["failed"]
    assert "Read only in part" not in render(overview, "text", width=100, color=False)


@pytest.mark.parametrize("status", ["PartialData", "Forbidden", "InternalError"])
@pytest.mark.parametrize("kept", [slice(42, None), slice(0, 0)])
def test_a_rate_that_came_in_part_leaves_the_verdict_open(status, kept):
    """What did not come may have been at a ceiling: unknown, and status 2."""
    metrics = metrics_with(status, kept, "ReadThroughput")
    overview = overview_of(fleet(GetMetricData=metrics))

    assert {Verdict.UNKNOWN} == {row.verdict for row in overview.rows}
    assert 2 == exit_status(overview)


def test_another_metric_that_came_in_part_does_not():
    """Free storage that was refused hides nothing of what storage served."""
    metrics = metrics_with("Forbidden", slice(0, 0), "FreeStorageSpace")
    overview = overview_of(fleet(GetMetricData=metrics))

    assert 0 == exit_status(overview)
    assert "FreeStorageSpace: access denied" in render(overview, "text", width=200, color=False)


def test_every_metric_refused_is_said_of_the_metrics():
    """Not of the instance, which may well have run."""
    refused = metrics_with("Forbidden", slice(0, 0))
    overview = overview_of(fleet(GetMetricData=refused))

    assert 2 == exit_status(overview)
    assert all("access denied to cloudwatch:GetMetricData" in u.reason for u in overview.unread)


def test_a_window_of_which_most_is_missing_is_not_called_free():
    """Of three hours only the last came."""
    cloud = fleet(GetMetricData=flat_metrics())
    found = read_fleet(cloud, window_s=(WINDOW_S[0] - 9 * 3600, WINDOW_S[1]))
    first = next(iter(found))

    assert (WINDOW_S[0] - 9 * 3600, WINDOW_S[1]) == first.asked_s
