"""
Serve moto, which stands for AWS, on loopback: `python aws.py PORT`.

This runs in the environment of the server store, which has moto and not Plimsoll. It differs from `moto_server`:

* an RDS instance that is created with the tag `plimsoll:launched` has its date as InstanceCreateTime, because the
  limits of an instance class depend on when the instance was launched;
* GetMetricData looks at each sample once. moto looks at all samples again for each period of each metric, so that
  days of minutes would take hours.
"""

import logging
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from moto.cloudwatch.models import CloudWatchBackend, Statistics
from moto.rds.exceptions import InvalidParameterValue
from moto.rds.models import DBInstance, RDSBackend
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

HOST = "127.0.0.1"
LAUNCHED = "plimsoll:launched"

_create_db_instance = RDSBackend.create_db_instance
_get_metric_data = CloudWatchBackend.get_metric_data

Window = tuple[datetime, datetime]


def main() -> None:
    """Serve until the process is ended."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    RDSBackend.create_db_instance = create_db_instance
    CloudWatchBackend.get_metric_data = get_metric_data
    server = make_server(
        HOST,
        int(sys.argv[1]),
        DomainDispatcherApplication(create_backend_app),
        threaded=True,
        request_handler=MotoRequestHandler,
    )
    server.serve_forever()


def create_db_instance(backend: RDSBackend, asked: dict[str, Any]) -> DBInstance:
    """
    Create an RDS instance, launched on the date of its tag.

    Raises:
        InvalidParameterValue: the tag has no date of ISO 8601.
    """
    dates = [tag["Value"] for tag in asked.get("tags") or () if tag["Key"] == LAUNCHED]
    launched = _moment(dates[0]) if dates else None
    instance = _create_db_instance(backend, asked)
    if launched is not None:
        instance.instance_create_time = launched
    return instance


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"The tag {LAUNCHED} has '{text}', which is no date such as 2019-06-01."
        raise InvalidParameterValue(message) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def get_metric_data(
    backend: CloudWatchBackend,
    queries: list[dict[str, Any]],
    start_time: datetime,
    end_time: datetime,
    scan_by: str = "TimestampAscending",
) -> list[dict[str, Any]]:
    """Return the points of each query; queries with expressions are left to moto."""
    if any("MetricStat" not in query for query in queries):
        found: list[dict[str, Any]] = _get_metric_data(backend, queries, start_time, end_time, scan_by)
        return found
    samples = _by_metric(backend, (start_time, end_time))
    return [
        _answer(query, samples, is_newest_first=scan_by == "TimestampDescending")
        for query in queries
        if query.get("ReturnData", True)
    ]


Samples = dict[tuple[Any, ...], list[Any]]


def _by_metric(backend: CloudWatchBackend, window: Window) -> Samples:
    """Group the samples of a window by namespace, name and dimensions."""
    samples: Samples = defaultdict(list)
    for sample in backend.get_all_metrics():
        if window[0] <= sample.timestamp < window[1]:
            names = frozenset((d.name, d.value) for d in sample.dimensions)
            samples[sample.namespace, sample.name, names].append(sample)
    return samples


def _answer(query: dict[str, Any], samples: Samples, *, is_newest_first: bool) -> dict[str, Any]:
    asked = query["MetricStat"]
    metric, period_s, unit = asked["Metric"], int(asked["Period"]), asked.get("Unit")
    names = frozenset((d["Name"], d["Value"]) for d in metric.get("Dimensions") or ())
    periods: dict[int, list[Any]] = defaultdict(list)
    for sample in samples.get((metric["Namespace"], metric["MetricName"], names), ()):
        if unit is None or sample.unit == unit:
            periods[int(sample.timestamp.timestamp()) // period_s * period_s].append(sample)
    starts = sorted(periods, reverse=is_newest_first)
    return {
        "id": query["Id"],
        "label": query.get("Label") or f"{metric['MetricName']} {asked['Stat']}",
        "timestamps": [datetime.fromtimestamp(start, UTC) for start in starts],
        "values": [_statistic(asked["Stat"], periods[start]) for start in starts],
        "status_code": "Complete",
    }


def _statistic(name: str, samples: list[Any]) -> Any:
    statistics = Statistics([name], samples[0].timestamp)
    statistics.metric_data = samples
    return statistics.get_statistics_for_type(name)


if __name__ == "__main__":
    main()
