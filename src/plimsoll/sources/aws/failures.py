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

_RENEW = "Renew the credentials, for single sign-on with 'aws sso login', and run the command again."
_CLOCK = "Synchronise this machine's clock; AWS refuses requests whose time is minutes off."
_AGAIN = "Run the command again. If it fails again, look at the AWS Health Dashboard."
_ALLOW = "Allow {action} for this role; the documentation has the smallest sufficient policy."
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
    One kind of failure: the error it becomes, its sentences, and the number of attempts.

    `{action}`, `{region}`, `{host}`, `{code}` and `{status}` are filled in.
    """

    kind: type[PlimsollError]
    message: str
    hint: str
    attempts: int = 1
    """How often a request is sent before this failure counts."""
    is_final: bool = False
    """Whether every other request of the action would fail too, so that none is sent."""


_DENIED = Failure(kind=AccessDenied, message="access denied to {action}", hint=_ALLOW)
_EXPIRED = Failure(kind=AccessDenied, message="the AWS credentials have expired", hint=_RENEW, is_final=True)
_UNKNOWN_KEY = Failure(
    kind=AccessDenied,
    message="AWS does not know these credentials in {region}",
    hint="Check the access key and the session token, and that this account has {region} enabled.",
)
_SIGNATURE = Failure(
    kind=AccessDenied, message="AWS refused the signature of {action}", hint=f"Check the secret access key. {_CLOCK}"
)
_SKEW = Failure(kind=AccessDenied, message="AWS refused {action}: this machine's clock is off", hint=_CLOCK)
_THROTTLED = Failure(
    kind=Throttled,
    message="AWS throttled {action}, and the retries did not help",
    hint="Run the command again later, or name fewer instances or a shorter window.",
)
_NOT_OPEN = Failure(
    kind=AccessDenied,
    message="this account has not enabled {region} for {action}",
    hint="Enable the region or the service for the account, or give another --region.",
)
_INTERNAL = Failure(
    kind=SourceError, message="AWS failed to answer {action} (an error on its side)", hint=_AGAIN, attempts=4
)
_TIMEOUT = Failure(
    kind=Unreachable,
    message="{host} did not answer {action} in time",
    hint=f"{_NETWORK} Then run the command again.",
    attempts=2,
    is_final=True,
)
_CLOSED = Failure(
    kind=Unreachable,
    message="{host} closed the connection without answering {action}",
    hint=f"A firewall or a proxy may have closed it. {_NETWORK}",
    attempts=4,
)
_UNREACHABLE = Failure(kind=Unreachable, message="unable to reach {host}", hint=_NETWORK, attempts=4)
_GARBLED = Failure(
    kind=Garbled,
    message="the answer to {action} was cut off or garbled",
    hint="Run the command again. A proxy between this machine and AWS may be the cause.",
    # A second attempt tells a passing fault from a lasting one.
    attempts=2,
)
_ENDLESS = Failure(
    kind=SourceError,
    message="the answer to {action} has more than 16 MiB",
    hint="AWS sends no such answer. Check the proxy and AWS_ENDPOINT_URL.",
    is_final=True,
)
_NOT_AWS = Failure(
    kind=SourceError,
    message="the answer to {action} was an error {status} that is not from AWS",
    hint="A proxy or another server answered. Check the proxy and AWS_ENDPOINT_URL.",
    attempts=4,
)
_REDIRECTED = Failure(
    kind=SourceError,
    message="{action} was redirected to another address ({status}), which AWS does not do",
    hint="Check AWS_ENDPOINT_URL, http or https, and whether the network requires a login.",
)
_TOO_LARGE = Failure(
    kind=TooLarge, message="AWS refused {action} ({code})", hint="Name fewer instances or a shorter window."
)
_NO_CREDENTIALS = Failure(kind=AccessDenied, message="no AWS credentials were found", hint=_CREDENTIALS)

BY_CODE: dict[str, Failure] = {
    **dict.fromkeys(("AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "AuthorizationError"), _DENIED),
    **dict.fromkeys(("NotAuthorized", "NotAuthorizedException", "Forbidden", "403"), _DENIED),
    **dict.fromkeys(("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired"), _EXPIRED),
    **dict.fromkeys(
        ("InvalidClientTokenId", "UnrecognizedClientException", "AuthFailure", "InvalidToken"), _UNKNOWN_KEY
    ),
    **dict.fromkeys(("InvalidAccessKeyId", "MissingAuthenticationToken"), _UNKNOWN_KEY),
    **dict.fromkeys(("MissingAuthenticationTokenException",), _UNKNOWN_KEY),
    **dict.fromkeys(("SignatureDoesNotMatch", "InvalidSignatureException", "InvalidSignature"), _SIGNATURE),
    **dict.fromkeys(("IncompleteSignature", "IncompleteSignatureException"), _SIGNATURE),
    **dict.fromkeys(("RequestExpired", "RequestTimeTooSkewed", "RequestInTheFuture"), _SKEW),
    **dict.fromkeys(("Throttling", "ThrottlingException", "ThrottledException", "RequestLimitExceeded"), _THROTTLED),
    **dict.fromkeys(("TooManyRequestsException", "RequestThrottled", "RequestThrottledException", "429"), _THROTTLED),
    **dict.fromkeys(("LimitExceeded", "LimitExceededException", "BandwidthLimitExceeded", "SlowDown"), _THROTTLED),
    **dict.fromkeys(("OptInRequired", "SubscriptionRequiredException"), _NOT_OPEN),
    **dict.fromkeys(("InternalFailure", "InternalError", "InternalServiceError", "InternalServiceFault"), _INTERNAL),
    **dict.fromkeys(("ServiceUnavailable", "ServiceUnavailableException"), _INTERNAL),
    **dict.fromkeys(("RequestTimeout", "RequestTimeoutException"), _TIMEOUT),
    **dict.fromkeys(("RequestEntityTooLarge", "RequestEntityTooLargeException", "413"), _TOO_LARGE),
    # CloudWatch's codes for too many points, too many queries, or a query that it cannot answer.
    **dict.fromkeys(("ValidationError", "ValidationException"), _TOO_LARGE),
    **dict.fromkeys(("InvalidParameterValue", "InvalidParameterCombination"), _TOO_LARGE),
}
"""
Failures by the code of an error answer.

Source:
    Common errors in the API references of RDS, CloudWatch, CloudWatch Logs, EC2 and Performance
    Insights; botocore's table of throttling codes (read 2026-11).
"""

# A wrong key and a wrong clock have the same code; only the message tells them apart
# ("Signature expired: … is now earlier than …", "Signature not yet current: …").
_CLOCK_WORDS = re.compile(r"expired|not yet current|earlier than|too skewed", re.IGNORECASE)

BY_EXCEPTION: dict[str, Failure] = {
    **dict.fromkeys(("NoCredentialsError", "NoAuthTokenError"), _NO_CREDENTIALS),
    "PartialCredentialsError": Failure(
        kind=AccessDenied, message="the AWS credentials are incomplete", hint=_CREDENTIALS
    ),
    **dict.fromkeys(
        ("CredentialRetrievalError", "MetadataRetrievalError", "UnknownCredentialError"),
        Failure(
            kind=AccessDenied,
            message="the AWS credentials could not be fetched from the source in the profile",
            hint="Run 'aws sts get-caller-identity' with the same profile; it shows the cause.",
        ),
    ),
    **dict.fromkeys(
        ("UnauthorizedSSOTokenError", "SSOTokenLoadError", "TokenRetrievalError", "SSOError"),
        Failure(
            kind=AccessDenied,
            message="the single sign-on session has expired or does not exist",
            hint="Run 'aws sso login' with the same profile, then this command again.",
        ),
    ),
    **dict.fromkeys(
        ("LoginError", "LoginRefreshRequired", "LoginTokenLoadError"),
        Failure(
            kind=AccessDenied,
            message="the login session has expired or does not exist",
            hint="Run 'aws login' with the same profile, then this command again.",
        ),
    ),
    **dict.fromkeys(("RefreshWithMFAUnsupportedError",), _EXPIRED),
    **dict.fromkeys(
        ("ConfigParseError", "ConfigNotFound", "InvalidConfigError", "InfiniteLoopConfigError"),
        Failure(
            kind=UsageError,
            message="the AWS configuration file cannot be used",
            hint="Run 'aws configure list' with the same profile; it shows the cause.",
        ),
    ),
    "MissingDependencyException": Failure(
        kind=UsageError,
        message="the AWS profile needs a library that is not installed",
        hint="Install botocore[crt], or use another kind of credentials.",
    ),
    **dict.fromkeys(("ConnectTimeoutError", "ReadTimeoutError"), _TIMEOUT),
    "ConnectionClosedError": _CLOSED,
    "EndpointConnectionError": _UNREACHABLE,
    "ProxyConnectionError": Failure(
        kind=Unreachable, message="unable to reach AWS through the proxy", hint="Check HTTPS_PROXY and NO_PROXY."
    ),
    "SSLError": Failure(
        kind=Unreachable,
        message="the certificate of {host} was refused",
        hint="Check the clock, the proxy and AWS_CA_BUNDLE.",
    ),
    "InvalidRegionError": Failure(
        kind=UsageError, message="'{region}' is not the name of a region", hint="Write it as eu-west-1."
    ),
    **dict.fromkeys(("IncompleteReadError", "ResponseStreamingError"), _GARBLED),
    "AnswerTooLargeError": _ENDLESS,
    "HTTPClientError": _UNREACHABLE,
    "BotoCoreError": Failure(
        kind=SourceError,
        message="{action} could not be sent",
        hint="Run 'aws rds describe-db-instances' with the same profile; it shows the cause.",
    ),
}
"""Failures by the name of an exception of botocore or of `bounded`; `_named` tries the most specific class first."""


def failure_of(error: BaseException, status: int | None = None) -> Failure:
    """
    Return the failure for an exception of botocore.

    Args:
        status: HTTP status if there was an answer; botocore's parsers do not return it.
    """
    found = _of_answer(error) or _named(error)
    if found is not None and found is not _GARBLED:
        return found
    if status is not None and 300 <= status < 400:
        return _REDIRECTED
    return _NOT_AWS if status is not None and status >= 400 else _GARBLED


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


def _action(error: BaseException, operation: Operation) -> str:
    """Name the refused action, which may be a request for credentials that precedes the wanted one."""
    name = getattr(error, "operation_name", None)
    is_other = name in ("AssumeRole", "AssumeRoleWithWebIdentity", "AssumeRoleWithSAML")
    return f"sts:{name}" if is_other else operation.action


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


_REFUSED = Failure(
    kind=SourceError,
    message="AWS refused {action} ({code})",
    hint="Run the command again. If it fails again, the window or the instance may have changed.",
)


def _of_answer(error: BaseException) -> Failure | None:
    code = error_code(error)
    answer = getattr(error, "response", None)
    if not isinstance(answer, dict):
        return None
    status = (answer.get("ResponseMetadata") or {}).get("HTTPStatusCode")
    message = str((answer.get("Error") or {}).get("Message") or "")
    failure = BY_CODE.get(code)
    if failure is _SIGNATURE and _CLOCK_WORDS.search(message):
        return _SKEW
    if failure is not None:
        return failure
    if isinstance(status, int) and status >= 500:
        return _INTERNAL
    if isinstance(status, int) and 300 <= status < 400:
        return _REDIRECTED
    return _BY_STATUS.get(status or 0, _REFUSED)


_BY_STATUS = {401: _UNKNOWN_KEY, 403: _DENIED, 413: _TOO_LARGE, 429: _THROTTLED}


def _status(error: BaseException) -> int | None:
    answer = getattr(error, "response", None)
    if not isinstance(answer, dict):
        return None
    found = (answer.get("ResponseMetadata") or {}).get("HTTPStatusCode")
    return found if isinstance(found, int) else None


def _named(error: BaseException) -> Failure | None:
    """Find a failure by the exception's own name, then by its ancestors'."""
    if isinstance(error, TimeoutError):  # ours: the whole answer took too long
        return _TIMEOUT
    for ancestor in type(error).__mro__:
        if ancestor.__name__ in BY_EXCEPTION:
            return BY_EXCEPTION[ancestor.__name__]
    return None


def _host(error: BaseException, operation: Operation) -> str:
    """Return the requested host, without path, user name and password."""
    address = str((getattr(error, "kwargs", None) or {}).get("endpoint_url") or "")
    try:
        host = urlsplit(address).hostname
    except ValueError:
        host = None
    return shown(host, 100) if host else f"AWS for {operation.action}"
