"""
AWS in this process: answers scripted in Python, given to botocore where it would open a connection.

Everything before and after is botocore's own: signing, retries, parsing, its exceptions.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

import botocore.session
from botocore.awsrequest import AWSResponse

from plimsoll.model.metric import BY_CLOUDWATCH_NAME, METRICS
from plimsoll.sources.aws import account as accounts
from plimsoll.sources.aws.account import Account
from plimsoll.sources.aws.meter import Meter

NOW_S = 1_795_176_000  # 2026-11-20T12:00:00Z
HOUR_S = 3600
WINDOW_S = (NOW_S - HOUR_S, NOW_S)
REGION = "eu-central-1"
KEY = "AKIANOBODYSKEYATALL0"
SECRET = "nobodys/secret/nobodys/secret/nobodys/ab"
TOKEN = "nobodys-session-token"

_MEMBERS = {
    "DBInstances": "DBInstance",
    "DBClusters": "DBCluster",
    "Events": "Event",
    "EventCategories": "EventCategory",
    "ProcessorFeatures": "ProcessorFeature",
    "AdditionalStorageVolumes": "AdditionalStorageVolume",
}


class Reply:
    """A whole HTTP answer: status and body."""

    def __init__(self, body: bytes, status: int = 200) -> None:
        self.body, self.status = body, status


def error(code: str, message: str = "no", status: int = 400) -> dict[str, Any]:
    """An error answer; the cloud writes it as the service does."""
    return {"__error": (code, message, status)}


Script = Callable[[dict[str, Any]], Any]


class Cloud:
    """Answers by operation; a script gets the parameters and returns or raises what comes."""

    def __init__(self, **scripts: Script) -> None:
        self.scripts: dict[str, Script] = {
            "DescribeDBInstances": lambda _: {"DBInstances": []},
            "DescribeEvents": lambda _: {"Events": []},
            "DescribeDBClusters": lambda _: {"DBClusters": []},
            "DescribeInstanceTypes": lambda _: {"instanceTypeSet": []},
            "GetMetricData": flat_metrics(),
            "GetLogEvents": lambda p: {"events": [], "nextForwardToken": "f", "nextBackwardToken": "b"},
            "GetResourceMetrics": lambda _: {"MetricList": []},
        } | scripts
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def counts(self) -> Counter[str]:
        """Requests that arrived, by operation."""
        return Counter(name for name, _ in self.sent)

    def answer(self, request: Any, service: str) -> AWSResponse:
        """What a request brings."""
        parameters = _parameters(request)
        target = _text(request.headers.get("X-Amz-Target", ""))
        name = target.rpartition(".")[2] or parameters["Action"]
        self.sent.append((name, parameters))
        self.headers.append({k: _text(v) for k, v in request.headers.items()})
        found = self.scripts[name](parameters)
        if isinstance(found, BaseException):
            raise found
        reply = found if isinstance(found, Reply) else _written(service, name, found)
        raw = SimpleNamespace(stream=lambda: [reply.body])
        return AWSResponse(request.url, reply.status, {}, raw)


@cache
def _core() -> Any:
    """One session for all tests, since reading the services' models is what takes time."""
    core = botocore.session.Session()
    core.set_credentials(KEY, SECRET, TOKEN)
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=accounts._as_written)
    return core


class _Scripted(Account):
    """An account whose every client is answered by one cloud, also after its test has ended."""

    def __init__(self, cloud: Cloud, **options: Any) -> None:
        super().__init__(_core(), **options)
        self.cloud = cloud

    def in_region(self, region: str) -> Account:
        if region == self.region:
            return self
        return _Scripted(self.cloud, region=region, meter=self.meter, now_s=self.now_s)

    def _new_client(self, service: str) -> Any:
        client = super()._new_client(service)
        client._endpoint.http_session = SimpleNamespace(send=lambda request: self.cloud.answer(request, service))
        return client


def account_of(cloud: Cloud, *, most: int = 1000, region: str = REGION) -> Account:
    """An account whose requests go to that cloud."""
    return _Scripted(cloud, region=region, meter=Meter(most), now_s=lambda: NOW_S)


def instance(name: str = "orders-primary", **fields: Any) -> dict[str, Any]:
    """One of DBInstances."""
    return {
        "DBInstanceIdentifier": name,
        "DBInstanceClass": "db.r5.2xlarge",
        "Engine": "postgres",
        "EngineVersion": "16.4",
        "DBInstanceStatus": "available",
        "AvailabilityZone": f"{REGION}a",
        "MultiAZ": "false",
        "StorageType": "gp2",
        "AllocatedStorage": 1000,
        "DbiResourceId": f"db-{name.upper()}",
        "InstanceCreateTime": "2024-03-01T08:00:00.000Z",
    } | fields


def described(*instances: dict[str, Any], page: int = 100) -> Script:
    """DescribeDBInstances over these, by name or page by page."""

    def script(parameters: dict[str, Any]) -> Any:
        name = parameters.get("DBInstanceIdentifier")
        if name is not None:
            found = [i for i in instances if i["DBInstanceIdentifier"] == name.lower()]
            return {"DBInstances": found} if found else error("DBInstanceNotFound", status=404)
        at = int(parameters.get("Marker", 0))
        more = {"Marker": str(at + page)} if at + page < len(instances) else {}
        return {"DBInstances": list(instances[at : at + page]), **more}

    return script


def flat_metrics(*, without: tuple[str, ...] = (), value: float = 10.0) -> Script:
    """GetMetricData with the same value for every sample of the window."""

    def script(parameters: dict[str, Any]) -> Any:
        return {
            "MetricDataResults": [
                result(query, parameters, value if metric_name(query) not in without else None)
                for query in parameters["MetricDataQueries"]
            ]
        }

    return script


def metric_name(query: dict[str, Any]) -> str:
    """The metric that a query asks for."""
    return query["MetricStat"]["Metric"]["MetricName"]


def instance_name(query: dict[str, Any]) -> str:
    """The instance that a query asks about."""
    return query["MetricStat"]["Metric"]["Dimensions"][0]["Value"]


def result(
    query: dict[str, Any],
    parameters: dict[str, Any],
    value: float | None,
    *,
    status: str = "Complete",
    keep: slice = slice(None),
) -> dict[str, Any]:
    """One of MetricDataResults: a sample of the value for every period, ratios within 0–1."""
    period = query["MetricStat"]["Period"]
    times = list(range(int(parameters["StartTime"]), int(parameters["EndTime"]), period))[keep]
    name = metric_name(query)
    is_ratio = METRICS[BY_CLOUDWATCH_NAME[name]].unit == "ratio"
    written = min(value, 100.0) if value is not None and is_ratio else value
    return {
        "Id": query["Id"],
        "Label": name,
        "Timestamps": [] if value is None else times,
        "Values": [] if value is None else [written] * len(times),
        "StatusCode": status,
    }


def in_threads(work: Callable[[], None]) -> None:
    """Do the work in eight threads at once."""
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_turn(*replies: Any) -> Script:
    """One reply after the other; the last one stays. A script among them is asked."""
    left = list(replies)

    def script(parameters: dict[str, Any]) -> Any:
        found = left.pop(0) if len(left) > 1 else left[0]
        return found(parameters) if callable(found) else found

    return script


def _parameters(request: Any) -> dict[str, Any]:
    body = request.body.decode() if isinstance(request.body, bytes) else request.body
    return json.loads(body) if body.startswith("{") else dict(parse_qsl(body))


def _written(service: str, name: str, found: dict[str, Any]) -> Reply:
    failure = found.get("__error")
    if service in ("rds", "ec2"):
        return _xml(service, name, found, failure)
    if failure:
        code, message, status = failure
        return Reply(json.dumps({"__type": code, "message": message}).encode(), status)
    return Reply(json.dumps(found).encode())


def _xml(service: str, name: str, found: dict[str, Any], failure: Any) -> Reply:
    if failure:
        code, message, status = failure
        inner = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
        text = {
            "rds": f"<ErrorResponse>{inner}<RequestId>r</RequestId></ErrorResponse>",
            "ec2": f"<Response><Errors>{inner}</Errors><RequestID>r</RequestID></Response>",
        }[service]
        return Reply(text.encode(), status)
    inside = _elements(found)
    if service == "rds":
        inside = f"<{name}Result>{inside}</{name}Result>"
    return Reply(f"<{name}Response>{inside}</{name}Response>".encode())


def _elements(found: dict[str, Any]) -> str:
    return "".join(f"<{name}>{_element(name, value)}</{name}>" for name, value in found.items())


def _element(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return _elements(value)
    if isinstance(value, list):
        member = _MEMBERS.get(name, "item")
        return "".join(f"<{member}>{_element(member, v)}</{member}>" for v in value)
    return escape(str(value))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
