import itertools
import json

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from botocore.loaders import JSONFileLoader

from plimsoll import __version__
from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Unreachable, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.account import ATTEMPTS_MAX, FAILURES_IN_A_ROW_MAX, open_account
from plimsoll.sources.aws.meter import CallsSpent
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS, DESCRIBE_INSTANCES, GET_LOG_EVENTS, Operation
from unit.sources.aws.cloud import (
    KEY,
    NOW_S,
    SECRET,
    TOKEN,
    Cloud,
    Reply,
    account_of,
    described,
    error,
    in_threads,
    in_turn,
    instance,
)


def opened(**options):
    return open_account(**{"profile": None, "region": None, "max_api_calls": 10, "now_s": lambda: NOW_S} | options)


def test_a_request_is_counted_by_its_action_and_names_the_program():
    """What is counted is named as IAM and the bill name it; the account's trail says who asked."""
    cloud = Cloud()
    account = account_of(cloud)
    account.call(DESCRIBE_INSTANCES)
    account.call(DESCRIBE_INSTANCES)
    account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="s")

    assert account.usage == Usage(calls=(("rds:DescribeDBInstances", 2), ("logs:GetLogEvents", 1)), metrics_requested=0)
    assert f"plimsoll/{__version__}" in cloud.headers[0]["User-Agent"]


def test_a_second_account_reads_no_description_of_a_service_again(monkeypatch):
    """A watch opens the account in every turn, and the descriptions are megabytes of JSON."""
    read = []
    load = JSONFileLoader.load_file
    opened(region="eu-west-1")._client(DESCRIBE_INSTANCES)
    monkeypatch.setattr(JSONFileLoader, "load_file", lambda self, path: read.append(path) or load(self, path))
    opened(region="eu-west-1")._client(DESCRIBE_INSTANCES)

    assert [] == [path for path in read if "rds" in path]


def test_retries_are_counted():
    """
    AWS sees three requests where two were throttled, and so does the count. Times stay as they were
    written: making a datetime of each would take longer than everything else.
    """
    cloud = Cloud(DescribeDBInstances=in_turn(error("Throttling"), Reply(b"", 503), described(instance())))
    account = account_of(cloud)
    answer = account.call(DESCRIBE_INSTANCES)

    assert ["2024-03-01T08:00:00.000Z"] == [i["InstanceCreateTime"] for i in answer["DBInstances"]]
    assert account.usage.call_count == 3 == len(cloud.sent)


@pytest.mark.parametrize(
    ("reply", "most", "allowed"),
    [
        pytest.param({"DBInstances": []}, 3, 3, id="the fourth is refused here"),
        pytest.param(error("Throttling"), 2, 0, id="a throttled one is not repeated beyond either"),
    ],
)
def test_no_request_is_sent_beyond_the_bound(reply, most, allowed):
    """AWS never sees it."""
    cloud = Cloud(DescribeDBInstances=lambda _: reply)
    account = account_of(cloud, most=most)
    for _ in range(allowed):
        account.call(DESCRIBE_INSTANCES)
    with pytest.raises(CallsSpent, match=f"stopped after {most} requests to AWS") as caught:
        account.call(DESCRIBE_INSTANCES)

    assert "--max-api-calls" in caught.value.hint
    assert len(cloud.sent) == most


def test_the_bound_holds_for_many_threads():
    """Eight threads of ten requests each send exactly as many as allowed."""
    cloud = Cloud()
    account = account_of(cloud, most=30)
    refused = []

    def work():
        for _ in range(10):
            try:
                account.call(DESCRIBE_INSTANCES)
            except CallsSpent as found:
                refused.append(found)

    account.call(DESCRIBE_INSTANCES)
    in_threads(work)

    assert len(cloud.sent) == 30 == account.usage.call_count
    assert len(refused) == 51


def test_only_operations_of_the_table_are_sent():
    """Another one is our own mistake, and no request."""
    cloud = Cloud()
    other = Operation(service="rds", name="DeleteDBInstance", answer_key="DBInstance")
    with pytest.raises(AssertionError):
        account_of(cloud).call(other)

    assert cloud.sent == []


@pytest.mark.parametrize(("marker", "sent"), [("again", 2), ("m{}", 200)], ids=["same", "new"])
def test_pages_do_not_go_on_for_ever(marker, sent):
    """The same marker twice is no progress; with ever new ones no answer goes beyond a number of pages."""
    numbers = itertools.count()
    cloud = Cloud(DescribeEvents=lambda _: {"Events": [], "Marker": marker.format(next(numbers))})
    with pytest.raises(SourceError, match="repeat and do not end"):
        list(account_of(cloud).pages(DESCRIBE_EVENTS))

    assert len(cloud.sent) == sent


LOG = {"logGroupName": "g", "logStreamName": "s"}
GARBLED_JSON = (b'{"events": [{"mess', b"", b"[]", b"null", b"<html>sign in</html>", b'"text"', b"\xff\xfe")
GARBLED_XML = (
    b"<DescribeDBInstancesResponse><Descri",
    b"",
    b"<html><body>sign in</body></html>",
    b"{}",
    (
        b"<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances><DBInstance>"
        b"<AllocatedStorage>many</AllocatedStorage></DBInstance></DBInstances>"
        b"</DescribeDBInstancesResult></DescribeDBInstancesResponse>"
    ),
)


@pytest.mark.parametrize(
    ("operation", "asked", "body"),
    [(GET_LOG_EVENTS, LOG, body) for body in GARBLED_JSON] + [(DESCRIBE_INSTANCES, {}, body) for body in GARBLED_XML],
)
def test_an_answer_that_is_garbled_is_asked_for_once_more_and_then_said(operation, asked, body):
    """botocore takes cut JSON for an empty answer, and its parsers raise anything; what comes second counts."""
    whole = Cloud().scripts[operation.name]
    cloud = Cloud(**{operation.name: in_turn(Reply(body), whole)})

    assert [] == account_of(cloud).call(operation, **asked)[operation.answer_key]
    assert 2 == len(cloud.sent)

    cloud = Cloud(**{operation.name: lambda _: Reply(body)})
    with pytest.raises(SourceError, match=f"the answer to {operation.action} was cut off or garbled"):
        account_of(cloud).call(operation, **asked)
    assert 2 == len(cloud.sent)


def test_a_service_that_does_not_answer_is_left_alone_after_a_while():
    """Three requests of four attempts each are an outage; the next is not even sent."""
    refused = EndpointConnectionError(endpoint_url="https://rds.eu-central-1.amazonaws.com/")
    cloud = Cloud(DescribeDBInstances=lambda _: refused)
    account = account_of(cloud)
    for _ in range(FAILURES_IN_A_ROW_MAX + 2):
        with pytest.raises(Unreachable, match=r"unable to reach rds\.eu-central-1\.amazonaws\.com"):
            account.call(DESCRIBE_INSTANCES)

    assert ATTEMPTS_MAX * FAILURES_IN_A_ROW_MAX == len(cloud.sent)


def test_an_answer_ends_the_count_of_failures():
    """Only failures in a row are an outage."""
    late = ReadTimeoutError(endpoint_url="https://rds.example/")
    cloud = Cloud(DescribeDBInstances=described())
    account = account_of(cloud)
    account.call(DESCRIBE_INSTANCES)
    cloud.scripts["DescribeDBInstances"] = lambda _: late
    for _ in range(2 * FAILURES_IN_A_ROW_MAX):
        with pytest.raises(Unreachable, match=r"rds\.example did not answer"):
            account.call(DESCRIBE_INSTANCES)
        cloud.scripts["DescribeDBInstances"] = described()
        account.call(DESCRIBE_INSTANCES)
        cloud.scripts["DescribeDBInstances"] = lambda _: late


def test_another_region_shares_the_count():
    """An ARN may lead to another region; the bound is the user's, not the region's."""
    account = account_of(Cloud(), most=2)
    other = account.in_region("us-east-1")
    account.call(DESCRIBE_INSTANCES)
    other.call(DESCRIBE_INSTANCES)

    assert (account.region, other.region) == ("eu-central-1", "us-east-1")
    assert account.in_region("eu-central-1") is account
    real = opened(region="eu-west-1")
    assert real.in_region("eu-west-2").meter is real.meter
    with pytest.raises(CallsSpent, match="stopped after 2"):
        other.call(DESCRIBE_INSTANCES)


def test_the_region_is_given_or_of_the_environment_or_of_the_profile(monkeypatch, tmp_path):
    """In the order of the AWS command line."""
    (tmp_path / "config").write_text("[profile shop]\nregion = eu-north-1\n")

    assert opened(profile="shop").region == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-2")
    assert opened().region == "eu-west-2"
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    assert opened().region == "eu-west-3"
    assert opened(region="us-east-1").region == "us-east-1"


@pytest.mark.parametrize(
    ("configuration", "options", "message", "hint"),
    [
        pytest.param(
            *("", {}, "no AWS region is set"),
            "Give --region, for example eu-west-1, or set AWS_REGION.",
            id="guessing a region would show an account without instances",
        ),
        pytest.param(
            "[profile shop]\nregion = eu-north-1\n[profile books]\n",
            {"profile": "shpo", "region": "eu-west-1"},
            "the AWS configuration has no profile 'shpo'",
            "Give --profile one of: books, shop.",
            id="a profile is missed also where a region is given",
        ),
        pytest.param(
            f"[profile shop\naws_secret_access_key = {SECRET}\n",
            {"region": "eu-west-1"},
            "the AWS configuration file cannot be used",
            "Run 'aws configure list' with the same profile; it shows the cause.",
            id="path and content stay out of the message",
        ),
    ],
)
def test_what_cannot_be_opened_is_said(configuration, options, message, hint, tmp_path):
    (tmp_path / "config").write_text(configuration)
    with pytest.raises(UsageError) as caught:
        opened(**options)

    assert (message, hint) == (caught.value.message, caught.value.hint)


@pytest.mark.parametrize(
    ("configuration", "key", "message", "hint"),
    [
        pytest.param("", "", "no AWS credentials were found", "--profile", id="none"),
        # A key without its secret is a typing error, not an absence.
        pytest.param("", KEY, "credentials are incomplete", "", id="half"),
        # The most common failure of all at eight in the morning.
        pytest.param(
            "sso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\n"
            "[sso-session s]\nsso_region = eu-west-1\nsso_start_url = https://nobody.example/start\n",
            *("", "single sign-on session has expired", "aws sso login"),
            id="expired",
        ),
    ],
)
def test_without_credentials_the_first_request_says_so(configuration, key, message, hint, tmp_path, monkeypatch):
    """Opening asks nothing; the sentence comes with the first request, which is not sent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    if key:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
    (tmp_path / "config").write_text(f"[profile shop]\nregion = eu-west-1\n{configuration}")
    account = opened(profile="shop") if configuration else opened(region="eu-west-1")
    with pytest.raises(AccessDenied, match=message) as caught:
        account.call(DESCRIBE_INSTANCES)

    assert hint in caught.value.hint
    assert KEY not in caught.value.message + caught.value.hint
    assert account.usage.call_count == 0


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (error("AccessDenied", f"User {KEY} is not", 403), AccessDenied),
        (error("SignatureDoesNotMatch", f"canonical {SECRET} {TOKEN}", 403), AccessDenied),
        (error("Whatever", SECRET, 400), SourceError),
        (EndpointConnectionError(endpoint_url=f"https://{KEY}:{SECRET}@proxy.example/"), Unreachable),
        (ValueError(f"bad {SECRET}"), SourceError),
    ],
)
def test_nothing_secret_is_repeated(reply, kind):
    """What AWS and botocore write may quote keys, tokens and addresses with passwords."""
    cloud = Cloud(DescribeDBInstances=lambda _: reply)
    with pytest.raises(kind) as caught:
        account_of(cloud).call(DESCRIBE_INSTANCES)
    text = json.dumps([caught.value.message, caught.value.hint, str(caught.value)])

    assert isinstance(caught.value, PlimsollError)
    assert caught.value.__cause__ is None
    assert not any(secret in text for secret in (KEY, SECRET, TOKEN))
    assert caught.value.hint.endswith(".")
