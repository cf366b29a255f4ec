"""
Explain failed requests: one sentence for the cause, one for the remedy.

Rule: of what AWS or the library wrote, repeat only codes and the names of operations, regions, profiles
and hosts. Their messages may quote keys, tokens and addresses with passwords.
"""

import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from msgspec import Struct

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable, UsageError
from plimsoll.sources.aws.operations import Operation
from plimsoll.sources.values.shown import shown

_CLOCK = "Synchronise this machine's clock; AWS refuses requests whose time is minutes off."
_CREDENTIALS = (
    "Give --profile, or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
    "'aws sts get-caller-identity' shows whether they are found."
)
_NETWORK = "Check the network, the proxy settings and AWS_ENDPOINT_URL."


class Garbled(SourceError):
    """The answer does not have the documented form."""


class TooLarge(SourceError):
    """The request exceeds what the service answers at once."""


class Failure(Struct, frozen=True, kw_only=True):
    """
    One kind of failure: what it is known by, the error it becomes, and its sentences.

    `{action}`, `{region}`, `{host}`, `{code}` and `{status}` are filled in.
    """

    codes: str = ""
    """Codes of answers, with blanks between."""
    statuses: tuple[int, ...] = ()
    """HTTP statuses of answers whose code is in no row."""
    classes: str = ""
    """Exceptions of botocore, by name, because older releases lack some, and of `bounded_session`."""
    kind: type[PlimsollError]
    message: str
    hint: str
    is_final: bool = False
    """Whether every other request of the action would fail too, so that none is sent."""


_SKEW = Failure(
    codes="RequestExpired RequestTimeTooSkewed RequestInTheFuture",
    kind=AccessDenied,
    message="AWS refused {action}: this machine's clock is off",
    hint=_CLOCK,
)
_SIGNATURE = Failure(
    codes="SignatureDoesNotMatch InvalidSignatureException InvalidSignature IncompleteSignature "
    "IncompleteSignatureException",
    kind=AccessDenied,
    message="AWS refused the signature of {action}",
    hint=f"Check the secret access key. {_CLOCK}",
)
_UNREACHABLE = Failure(
    classes="EndpointConnectionError HTTPClientError", kind=Unreachable, message="unable to reach {host}", hint=_NETWORK
)
_GARBLED = Failure(
    classes="IncompleteReadError ResponseStreamingError",
    kind=Garbled,
    message="the answer to {action} was cut off or garbled",
    hint="Run the command again. A proxy between this machine and AWS may be the cause.",
)
_NOT_AWS = Failure(
    kind=SourceError,
    message="the answer to {action} was an error {status} that is not from AWS",
    hint="A proxy or another server answered. Check the proxy and AWS_ENDPOINT_URL.",
)
_REFUSED = Failure(
    kind=SourceError,
    message="AWS refused {action} ({code})",
    hint="Run the command again. If it fails again, the window or the instance may have changed.",
)

FAILURES: tuple[Failure, ...] = (
    Failure(
        codes="AccessDenied AccessDeniedException UnauthorizedOperation AuthorizationError NotAuthorized "
        "NotAuthorizedException Forbidden",
        statuses=(403,),
        kind=AccessDenied,
        message="access denied to {action}",
        hint="Allow {action} for this role; the documentation has the smallest sufficient policy.",
    ),
    Failure(
        codes="ExpiredToken ExpiredTokenException TokenRefreshRequired",
        classes="RefreshWithMFAUnsupportedError",
        kind=AccessDenied,
        message="the AWS credentials have expired",
        hint="Renew the credentials, for single sign-on with 'aws sso login', and run the command again.",
        is_final=True,
    ),
    Failure(
        codes="InvalidClientTokenId UnrecognizedClientException AuthFailure InvalidToken InvalidAccessKeyId "
        "MissingAuthenticationToken MissingAuthenticationTokenException",
        statuses=(401,),
        kind=AccessDenied,
        message="AWS does not know these credentials in {region}",
        hint="Check the access key and the session token, and that this account has {region} enabled.",
    ),
    _SIGNATURE,
    _SKEW,
    Failure(
        codes="Throttling ThrottlingException ThrottledException RequestLimitExceeded "
        "TooManyRequestsException RequestThrottled RequestThrottledException LimitExceeded "
        "LimitExceededException BandwidthLimitExceeded SlowDown",
        statuses=(429,),
        kind=Throttled,
        message="AWS throttled {action}, and the retries did not help",
        hint="Run the command again later, or name fewer instances or a shorter window.",
    ),
    Failure(
        codes="OptInRequired SubscriptionRequiredException",
        kind=AccessDenied,
        message="this account has not enabled {region} for {action}",
        hint="Enable the region or the service for the account, or give another --region.",
    ),
    Failure(
        codes="InternalFailure InternalError InternalServiceError InternalServiceFault ServiceUnavailable "
        "ServiceUnavailableException",
        statuses=tuple(range(500, 600)),
        kind=SourceError,
        message="AWS failed to answer {action} (an error on its side)",
        hint="Run the command again. If it fails again, look at the AWS Health Dashboard.",
    ),
    Failure(
        # A TimeoutError is ours: the whole answer took too long.
        codes="RequestTimeout RequestTimeoutException",
        classes="ConnectTimeoutError ReadTimeoutError TimeoutError",
        kind=Unreachable,
        message="{host} did not answer {action} in time",
        hint=f"{_NETWORK} Then run the command again.",
        is_final=True,
    ),
    Failure(
        # Of CloudWatch, the last four: too many points, too many queries, or a query that it cannot answer.
        codes="RequestEntityTooLarge RequestEntityTooLargeException ValidationError ValidationException "
        "InvalidParameterValue InvalidParameterCombination",
        statuses=(413,),
        kind=TooLarge,
        message="AWS refused {action} ({code})",
        hint="Name fewer instances or a shorter window.",
    ),
    Failure(
        statuses=tuple(range(300, 400)),
        kind=SourceError,
        message="{action} was redirected to another address ({status}), which AWS does not do",
        hint="Check AWS_ENDPOINT_URL, http or https, and whether the network requires a login.",
    ),
    Failure(
        classes="NoCredentialsError NoAuthTokenError",
        kind=AccessDenied,
        message="no AWS credentials were found",
        hint=_CREDENTIALS,
    ),
    Failure(
        classes="PartialCredentialsError",
        kind=AccessDenied,
        message="the AWS credentials are incomplete",
        hint=_CREDENTIALS,
    ),
    Failure(
        classes="CredentialRetrievalError MetadataRetrievalError UnknownCredentialError",
        kind=AccessDenied,
        message="the AWS credentials could not be fetched from the source in the profile",
        hint="Run 'aws sts get-caller-identity' with the same profile; it shows the cause.",
    ),
    Failure(
        classes="UnauthorizedSSOTokenError SSOTokenLoadError TokenRetrievalError SSOError",
        kind=AccessDenied,
        message="the single sign-on session has expired or does not exist",
        hint="Run 'aws sso login' with the same profile, then this command again.",
    ),
    Failure(
        classes="LoginError LoginRefreshRequired LoginTokenLoadError",
        kind=AccessDenied,
        message="the login session has expired or does not exist",
        hint="Run 'aws login' with the same profile, then this command again.",
    ),
    Failure(
        classes="ConfigParseError ConfigNotFound InvalidConfigError InfiniteLoopConfigError",
        kind=UsageError,
        message="the AWS configuration file cannot be used",
        hint="Run 'aws configure list' with the same profile; it shows the cause.",
    ),
    Failure(
        classes="MissingDependencyException",
        kind=UsageError,
        message="the AWS profile needs a library that is not installed",
        hint="Install botocore[crt], or use another kind of credentials.",
    ),
    Failure(
        classes="ConnectionClosedError",
        kind=Unreachable,
        message="{host} closed the connection without answering {action}",
        hint=f"A firewall or a proxy may have closed it. {_NETWORK}",
    ),
    _UNREACHABLE,
    Failure(
        classes="ProxyConnectionError",
        kind=Unreachable,
        message="unable to reach AWS through the proxy",
        hint="Check HTTPS_PROXY and NO_PROXY.",
    ),
    Failure(
        classes="SSLError",
        kind=Unreachable,
        message="the certificate of {host} was refused",
        hint="Check the clock, the proxy and AWS_CA_BUNDLE.",
    ),
    Failure(
        classes="InvalidRegionError",
        kind=UsageError,
        message="'{region}' is not the name of a region",
        hint="Write it as eu-west-1.",
    ),
    _GARBLED,
    Failure(
        classes="AnswerTooLargeError",
        kind=SourceError,
        message="the answer to {action} has more than 16 MiB",
        hint="AWS sends no such answer. Check the proxy and AWS_ENDPOINT_URL.",
        is_final=True,
    ),
    Failure(
        classes="BotoCoreError",
        kind=SourceError,
        message="{action} could not be sent",
        hint="Run 'aws rds describe-db-instances' with the same profile; it shows the cause.",
    ),
    _NOT_AWS,
    _REFUSED,
)
"""
Source:
    Common errors in the API references of RDS, CloudWatch, CloudWatch Logs, EC2 and Performance
    Insights; botocore's table of throttling codes (read 2026-11).
"""
BY_CODE = {code: failure for failure in FAILURES for code in failure.codes.split()}
BY_STATUS = {status: failure for failure in FAILURES for status in failure.statuses}
BY_CLASS = {name: failure for failure in FAILURES for name in failure.classes.split()}

# A wrong key and a wrong clock have the same code; only the message tells them apart
# ("Signature expired: … is now earlier than …", "Signature not yet current: …").
_CLOCK_WORDS = re.compile(r"expired|not yet current|earlier than|too skewed", re.IGNORECASE)


def failure_of(error: BaseException, status: int | None = None) -> Failure:
    """
    Return the failure for an exception of botocore.

    Args:
        status: HTTP status if there was an answer; botocore's parsers do not return it.
    """
    answer = getattr(error, "response", None)
    if isinstance(answer, dict):
        found = BY_CODE.get(error_code(error)) or BY_STATUS.get(_status(error) or 0, _REFUSED)
        message = str((answer.get("Error") or {}).get("Message") or "")
        return _SKEW if found is _SIGNATURE and _CLOCK_WORDS.search(message) else found
    # The exception's own class comes before its ancestors.
    found = next((BY_CLASS[c.__name__] for c in type(error).__mro__ if c.__name__ in BY_CLASS), _GARBLED)
    if found is not _GARBLED or status is None or status < 300:
        return found
    return BY_STATUS[status] if status < 400 else _NOT_AWS


def explained(
    error: BaseException, operation: Operation, region: str, known_regions: Iterable[str], status: int | None = None
) -> PlimsollError:
    """
    Return the error to show for a request that failed.

    Args:
        error: what botocore raised.
        known_regions: names of regions, read only if the region may be the cause.
        status: HTTP status if there was an answer.
    """
    failure = failure_of(error, status)
    if failure is _UNREACHABLE and region not in known_regions:
        return UsageError(
            f"unable to reach AWS in '{shown(region)}', which is not a known region",
            "Check --region; regions are written as eu-west-1.",
        )
    words = {
        "action": _action(error, operation),
        "region": shown(region),
        "host": _host(error, operation),
        "code": shown(error_code(error) or _status(error) or "no code"),
        "status": str(_status(error) or status or ""),
    }
    return failure.kind(failure.message.format(**words), failure.hint.format(**words))


def garbled(operation: Operation) -> PlimsollError:
    """Return the error for an answer without its required field."""
    return explained(ValueError(), operation, "", ())


def error_code(error: BaseException) -> str:
    """Return the code of an error answer of AWS; empty for every other failure."""
    answer = getattr(error, "response", None)
    details = answer.get("Error") if isinstance(answer, dict) else None
    return str(details.get("Code") or "") if isinstance(details, dict) else ""


def is_worth_halving(error: PlimsollError) -> bool:
    """Return whether a smaller request may succeed: the answer was cut, or the request too large."""
    return isinstance(error, (Garbled, TooLarge))


def _action(error: BaseException, operation: Operation) -> str:
    """Name the refused action, which may be a request for credentials that precedes the wanted one."""
    name = getattr(error, "operation_name", None)
    is_other = name in ("AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML")
    return f"sts:{name}" if is_other else operation.action


def _status(error: BaseException) -> int | None:
    answer = getattr(error, "response", None)
    if not isinstance(answer, dict):
        return None
    found = (answer.get("ResponseMetadata") or {}).get("HTTPStatusCode")
    return found if isinstance(found, int) else None


def _host(error: BaseException, operation: Operation) -> str:
    """Return the requested host, without path, user name and password."""
    address = str((getattr(error, "kwargs", None) or {}).get("endpoint_url") or "")
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    return shown(host, 100) if host else f"AWS for {operation.action}"
