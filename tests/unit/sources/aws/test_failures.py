import pytest
from botocore import exceptions as botocore_exceptions
from botocore.exceptions import ClientError

from plimsoll.errors import AccessDenied, SourceError, Throttled, Unreachable, UsageError
from plimsoll.sources.aws.failures import BY_CODE, BY_EXCEPTION, TooLarge, error_code, explained, is_worth_halving
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCES, GET_METRIC_DATA, GET_RESOURCE_METRICS
from plimsoll.sources.files import bounded_session as bounded
from unit.sources.aws.cloud import SECRET, Cloud, account_of

REGIONS = ("eu-central-1", "us-east-1")


def answered(code, message="no", status=400):
    response = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "GetMetricData")


def error_of(error, *, region="eu-central-1", operation=GET_METRIC_DATA):
    return explained(error, operation, region, REGIONS)


@pytest.mark.parametrize(
    ("code", "kind", "message"),
    [
        ("AccessDenied", AccessDenied, "access denied to cloudwatch:GetMetricData"),
        ("AccessDeniedException", AccessDenied, "access denied to cloudwatch:GetMetricData"),
        ("UnauthorizedOperation", AccessDenied, "access denied to cloudwatch:GetMetricData"),
        ("NotAuthorizedException", AccessDenied, "access denied to cloudwatch:GetMetricData"),
        ("ExpiredToken", AccessDenied, "the AWS credentials have expired"),
        ("ExpiredTokenException", AccessDenied, "the AWS credentials have expired"),
        ("InvalidClientTokenId", AccessDenied, "AWS does not know these credentials in eu-central-1"),
        ("UnrecognizedClientException", AccessDenied, "AWS does not know these credentials in eu-central-1"),
        ("AuthFailure", AccessDenied, "AWS does not know these credentials in eu-central-1"),
        ("SignatureDoesNotMatch", AccessDenied, "AWS refused the signature of cloudwatch:GetMetricData"),
        ("RequestExpired", AccessDenied, "AWS refused cloudwatch:GetMetricData: this machine's clock is off"),
        ("OptInRequired", AccessDenied, "this account has not enabled eu-central-1 for cloudwatch:GetMetricData"),
        ("Throttling", Throttled, "AWS throttled cloudwatch:GetMetricData, and the retries did not help"),
        ("RequestLimitExceeded", Throttled, "AWS throttled cloudwatch:GetMetricData, and the retries did not help"),
        ("InternalServiceError", SourceError, "AWS failed to answer cloudwatch:GetMetricData (an error on its side)"),
        ("InvalidParameterValue", TooLarge, "AWS refused cloudwatch:GetMetricData (InvalidParameterValue)"),
    ],
)
def test_an_error_answer_is_one_sentence(code, kind, message):
    """By its code; the message of AWS is not repeated."""
    error = error_of(answered(code, f"secret {SECRET}"))

    assert (kind, message) == (type(error), error.message)


def test_a_permission_that_is_missing_is_named():
    """The hint can be pasted to whoever grants permissions."""
    assert "cloudwatch:GetMetricData" in error_of(answered("AccessDenied")).hint


@pytest.mark.parametrize(
    "message",
    [
        "Signature expired: 20261120T100000Z is now earlier than 20261120T114500Z",
        "Signature not yet current: 20261120T140000Z is still later than 20261120T121500Z",
    ],
)
def test_a_wrong_clock_is_told_from_a_wrong_key(message):
    """Both come as the same code; only the message tells them apart."""
    error = error_of(answered("SignatureDoesNotMatch", message, 403))

    assert error.message.endswith("this machine's clock is off")
    assert "clock" in error.hint


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (500, SourceError, "an error on its side"),
        (503, SourceError, "an error on its side"),
        (403, AccessDenied, "access denied"),
        (401, AccessDenied, "does not know these credentials"),
        (429, Throttled, "throttled"),
        (400, SourceError, "(Odd)"),
    ],
)
def test_a_code_we_do_not_know_is_told_by_the_status(status, kind, words):
    """A proxy's page or a new code still says something."""
    error = error_of(answered("Odd", status=status))

    assert type(error) is kind
    assert words in error.message


def made(name):
    """An exception of botocore with whatever its message needs."""
    kind = getattr(botocore_exceptions, name, None) or getattr(bounded, name)
    fields = dict.fromkeys(("provider", "error_msg", "endpoint_url", "proxy_url", "error", "request", "path"), "x")
    fields |= dict.fromkeys(("cred_var", "msg", "region_name", "source_profile", "name"), "x")
    fields |= {"visited_profiles": [], "actual_bytes": 1, "expected_bytes": 2, "profile": "x"}
    return kind(**fields)


@pytest.mark.parametrize("name", sorted(BY_EXCEPTION))
def test_every_exception_of_the_table_exists_and_is_one_sentence(name):
    """A name that botocore drops would silently fall to a vaguer sentence."""
    error = error_of(made(name))

    assert error.hint.endswith(".")
    assert not error.message.endswith(".")
    assert "{" not in error.message + error.hint


@pytest.mark.parametrize("code", sorted(BY_CODE))
def test_every_code_of_the_table_fills_its_sentence(code):
    """No field of a sentence is left empty."""
    error = error_of(answered(code))

    assert "{" not in error.message + error.hint
    assert error.hint.endswith(".")


def test_a_region_that_does_not_exist_is_told_from_a_network_that_is_down():
    """Both look alike to the network: a host that cannot be reached."""
    gone = made("EndpointConnectionError")

    assert type(error_of(gone, region="eu-central-1")) is Unreachable
    error = error_of(gone, region="eu-nowhere-1")
    assert type(error) is UsageError
    assert error.message.startswith("unable to reach AWS in 'eu-nowhere-1'")
    assert "--region" in error.hint


def test_the_regions_that_boto3_knows_are_asked_for():
    """In every partition, and without any request."""
    gone = botocore_exceptions.EndpointConnectionError(endpoint_url="https://x.example/")
    cloud = Cloud(DescribeDBInstances=lambda _: gone)
    with pytest.raises(UsageError, match="'eu-nowhere-1', which is not a known region"):
        account_of(cloud, region="eu-nowhere-1").call(DESCRIBE_INSTANCES)
    for region in ("eu-central-1", "cn-north-1", "us-gov-west-1"):
        with pytest.raises(Unreachable, match=r"unable to reach x\.example"):
            account_of(cloud, region=region).call(DESCRIBE_INSTANCES)


def test_a_region_that_has_answered_exists():
    """It may be newer than the installed boto3; then only one of its services is away."""
    gone = botocore_exceptions.EndpointConnectionError(endpoint_url="https://pi.example/")
    cloud = Cloud(GetResourceMetrics=lambda _: gone)
    account = account_of(cloud, region="eu-nowhere-1")
    account.call(DESCRIBE_INSTANCES)
    asked = {"ServiceType": "RDS", "Identifier": "db-X", "StartTime": 0, "EndTime": 60}
    with pytest.raises(Unreachable, match=r"unable to reach pi\.example"):
        account.call(GET_RESOURCE_METRICS, MetricQueries=[{"Metric": "db.load.avg"}], **asked)


def test_a_request_that_botocore_itself_refuses_is_no_answer():
    """Nothing was sent, so nothing came back garbled."""
    cloud = Cloud()
    with pytest.raises(SourceError, match="rds:DescribeDBInstances could not be sent"):
        account_of(cloud).call(DESCRIBE_INSTANCES, DBInstanceIdentifier=7)

    assert cloud.sent == []


def test_a_region_that_is_no_name_is_refused():
    """Before anything is looked up."""
    with pytest.raises(UsageError, match="'eu central' is not the name of a region"):
        account_of(Cloud(), region="eu central").call(DESCRIBE_INSTANCES)


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
    [
        ("AccessDenied", False),
        ("Throttling", False),
        ("InternalFailure", False),
        ("Odd", False),
        ("RequestEntityTooLarge", True),
        ("ValidationError", True),
    ],
)
def test_asking_for_less_helps_where_it_was_too_much(code, is_worth_it):
    """Where access is denied or AWS throttles, smaller requests only are more requests."""
    assert is_worth_it is is_worth_halving(error_of(answered(code)))
