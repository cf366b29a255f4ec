import pytest
from botocore import exceptions as botocore_exceptions
from botocore.exceptions import ClientError

from plimsoll.errors import AccessDenied, SourceError, Throttled, Unreachable, UsageError
from plimsoll.sources.aws.failures import (
    BY_CLASS,
    BY_CODE,
    FAILURES,
    TooLarge,
    error_code,
    explained,
    failure_of,
    is_worth_halving,
)
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCES, GET_METRIC_DATA, GET_RESOURCE_METRICS
from plimsoll.sources.files import bounded_session as bounded
from unit.sources.aws.cloud import SECRET, Cloud, account_of

REGIONS = ("eu-central-1", "us-east-1")


def answered(code, message="no", status=400):
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "GetMetricData")


def error_of(error, *, region="eu-central-1", operation=GET_METRIC_DATA, status=None):
    return explained(error, operation, region, REGIONS, status)


def made(name):
    """An exception of botocore with whatever its message needs."""
    if name == "TimeoutError":
        return TimeoutError()
    kind = getattr(botocore_exceptions, name, None) or getattr(bounded, name)
    fields = dict.fromkeys(("provider", "error_msg", "endpoint_url", "proxy_url", "error", "request", "path"), "x")
    fields |= dict.fromkeys(("cred_var", "msg", "region_name", "source_profile", "name"), "x")
    fields |= {"visited_profiles": [], "actual_bytes": 1, "expected_bytes": 2, "profile": "x"}
    return kind(**fields)


def test_every_row_of_the_table_is_met_and_fills_its_sentences():
    """A code or class is in one row only; one that botocore drops would silently fall to a vaguer sentence."""
    met = [made(name) for name in BY_CLASS] + [answered(code, f"secret {SECRET}") for code in BY_CODE]
    met += [answered("Odd", SECRET, status) for status in (302, 500, 400)]
    pairs = [(error, None) for error in met] + [(ValueError(), 500)]

    assert len(BY_CODE) + len(BY_CLASS) == sum(len(f"{f.codes} {f.classes}".split()) for f in FAILURES)
    assert list(BY_CLASS.values()) == [failure_of(made(name)) for name in BY_CLASS]
    assert set(FAILURES) == {failure_of(error, status) for error, status in pairs}
    for error, status in pairs:
        found = error_of(error, status=status)
        assert "{" not in found.message + found.hint
        assert SECRET not in found.message + found.hint
        assert not found.message.endswith(".")
        assert found.hint.endswith(".")


@pytest.mark.parametrize(
    ("code", "message", "status", "kind", "words"),
    [
        pytest.param(
            *("AccessDenied", "no", 403, AccessDenied),
            ("access denied to cloudwatch:GetMetricData", "Allow cloudwatch:GetMetricData"),
            id="the hint can be pasted to whoever grants permissions",
        ),
        pytest.param(
            *("AuthFailure", "no", 401, AccessDenied, ("does not know these credentials in eu-central-1",)), id="a key"
        ),
        pytest.param(
            *("SignatureDoesNotMatch", "no", 403, AccessDenied, ("refused the signature of", "secret access key")),
            id="a wrong key",
        ),
        pytest.param(
            *("SignatureDoesNotMatch", "Signature expired: 20261120T100000Z is now earlier than 20261120T114500Z"),
            *(403, AccessDenied, ("this machine's clock is off", "clock")),
            id="a clock that is late has the code of a wrong key; only the message tells them apart",
        ),
        pytest.param(
            *("SignatureDoesNotMatch", "Signature not yet current: 20261120T140000Z is still later"),
            *(403, AccessDenied, ("this machine's clock is off", "clock")),
            id="a clock that is early",
        ),
        pytest.param(
            *("InvalidParameterValue", "no", 400, TooLarge), ("(InvalidParameterValue)", "fewer"), id="too large"
        ),
        # A proxy's page or a new code still says something, by its status.
        *(
            pytest.param("Odd", "no", status, kind, (words,), id=f"odd {status}")
            for status, kind, words in (
                (500, SourceError, "an error on its side"),
                (503, SourceError, "an error on its side"),
                (403, AccessDenied, "access denied"),
                (401, AccessDenied, "does not know these credentials"),
                (413, TooLarge, "(Odd)"),
                (429, Throttled, "throttled"),
                (301, SourceError, "redirected to another address (301)"),
                (400, SourceError, "(Odd)"),
            )
        ),
    ],
)
def test_an_error_answer_is_one_sentence(code, message, status, kind, words):
    """By its code, or else its status."""
    error = error_of(answered(code, message, status))

    assert kind is type(error)
    assert all(word in f"{error.message} {error.hint}" for word in words)


@pytest.mark.parametrize(
    ("region", "kind"),
    [(name, Unreachable) for name in ("eu-central-1", "cn-north-1", "us-gov-west-1")] + [("eu-nowhere-1", UsageError)],
)
def test_a_region_that_does_not_exist_is_told_from_a_network_that_is_down(region, kind):
    """Both look alike to the network; boto3 knows the regions of every partition without any request."""
    gone = botocore_exceptions.EndpointConnectionError(endpoint_url="https://x.example/")
    with pytest.raises(kind) as caught:
        account_of(Cloud(DescribeDBInstances=lambda _: gone), region=region).call(DESCRIBE_INSTANCES)

    expected = "unable to reach x.example"
    if kind is UsageError:
        expected = f"unable to reach AWS in '{region}', which is not a known region"
        assert "--region" in caught.value.hint
    assert expected == caught.value.message


def test_a_region_that_has_answered_exists():
    """It may be newer than the installed boto3; then only one of its services is away."""
    gone = botocore_exceptions.EndpointConnectionError(endpoint_url="https://pi.example/")
    cloud = Cloud(GetResourceMetrics=lambda _: gone)
    account = account_of(cloud, region="eu-nowhere-1")
    account.call(DESCRIBE_INSTANCES)
    asked = {"ServiceType": "RDS", "Identifier": "db-X", "StartTime": 0, "EndTime": 60}
    with pytest.raises(Unreachable, match=r"unable to reach pi\.example"):
        account.call(GET_RESOURCE_METRICS, MetricQueries=[{"Metric": "db.load.avg"}], **asked)


@pytest.mark.parametrize(
    ("region", "parameters", "kind", "message"),
    [
        ("eu-central-1", {"DBInstanceIdentifier": 7}, SourceError, "rds:DescribeDBInstances could not be sent"),
        ("eu central", {}, UsageError, "'eu central' is not the name of a region"),
    ],
)
def test_what_botocore_itself_refuses_is_no_answer(region, parameters, kind, message):
    """Nothing was sent, so nothing came back garbled."""
    cloud = Cloud()
    with pytest.raises(kind) as caught:
        account_of(cloud, region=region).call(DESCRIBE_INSTANCES, **parameters)

    assert message == caught.value.message
    assert [] == cloud.sent


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://user:word@aws.example:444/x", "aws.example"),
        ("https://[", "AWS for cloudwatch:GetMetricData"),
        ("", "AWS for cloudwatch:GetMetricData"),
    ],
)
def test_only_the_host_of_an_address_is_shown(address, host):
    """An address in the environment may carry a password."""
    error = error_of(botocore_exceptions.ConnectTimeoutError(endpoint_url=address))

    assert error.message == f"{host} did not answer cloudwatch:GetMetricData in time"


def test_what_is_no_answer_has_no_code():
    """Exceptions of other kinds may have a `response` of any kind."""
    odd = ValueError("x")
    odd.response = "text"

    assert error_code(odd) == ""
    assert error_code(answered("Throttling")) == "Throttling"
    assert error_of(odd).message == "the answer to cloudwatch:GetMetricData was cut off or garbled"


@pytest.mark.parametrize(
    ("code", "is_worth_it"),
    [(code, False) for code in ("AccessDenied", "Throttling", "InternalFailure", "Odd")]
    + [(code, True) for code in ("RequestEntityTooLarge", "ValidationError")],
)
def test_asking_for_less_helps_where_it_was_too_much(code, is_worth_it):
    """Where access is denied or AWS throttles, smaller requests only are more requests."""
    assert is_worth_it is is_worth_halving(error_of(answered(code)))
