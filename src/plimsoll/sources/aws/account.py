"""
One account and region, read-only: requests go out here and nowhere else.

Rule 1: every attempt is counted before it is sent, and one too many is not sent.
Rule 2: what fails leaves as one of our errors; botocore's own stay here.
"""

import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from plimsoll import __version__
from plimsoll.errors import PlimsollError, SourceError, Unreachable, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.failures import Garbled, error_code, explained, garbled
from plimsoll.sources.aws.meter import Meter
from plimsoll.sources.aws.operations import GET_METRIC_DATA, OPERATIONS, Operation
from plimsoll.sources.shown import shown

CONCURRENCY = 8
"""Requests under way at once. CloudWatch allows 50 GetMetricData a second and account (service
quotas, 2026-04); eight of some tenths of a second each stay below, with room for others."""
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30
ATTEMPTS_MAX = 4
"""A request is sent at most this often; botocore waits between, up to 20 s."""

# One request that fails may be bad luck. Three in a row, each tried four times, are an outage, and
# asking on would keep people waiting for the same answer.
FAILURES_IN_A_ROW_MAX = 3

# More pages than any answer of ours has; a token that never ends would be followed for ever.
PAGES_MAX = 200


class Refused(SourceError):
    """AWS answered with an error code that only the caller can judge."""

    def __init__(self, code: str, error: PlimsollError) -> None:
        """Keep the code, and the error to show if the caller has no use for it."""
        super().__init__(error.message, error.hint)
        self.code = code
        self.error = error


class Account:
    """One account and region, read-only; counts every request and stops before too many."""

    def __init__(
        self, core: Any, *, region: str | None, meter: Meter, now_s: Callable[[], float]
    ) -> None:
        """Use botocore's session `core`; no request is sent."""
        self.region = _region(core, region)
        self.now_s = now_s
        self.meter = meter
        self.remembered: dict[str, Any] = {}
        """Answers that hold for the whole run, by a name that their reader chose."""
        self._core = core
        self._lock = threading.Lock()
        self._clients: dict[str, Any] = {}
        self._failures: dict[str, int] = {}
        self._has_answered = False

    def _total(self) -> Usage:
        return self.meter.total()

    usage = property(_total, doc="Requests sent so far by IAM action, retries included.")

    def in_region(self, region: str) -> "Account":
        """The same account in another region, with the same count of requests."""
        if region == self.region:
            return self
        return Account(self._core, region=region, meter=self.meter, now_s=self.now_s)

    def call(
        self, operation: Operation, *, judged: frozenset[str] = frozenset(), **parameters: Any
    ) -> dict[str, Any]:
        """
        Send one request and return the answer as botocore parsed it; times as AWS wrote them.

        Args:
            judged: error codes that the caller judges itself.

        Raises:
            Refused: AWS answered with one of the codes of `judged`.
            UsageError: the request would be one too many, or the region does not exist.
            SourceError: AWS refused, did not answer, or answered what cannot be read.
        """
        assert operation in OPERATIONS
        try:
            return self._once(operation, judged, parameters)
        except Garbled:
            # botocore repeats a request whose answer broke off, but not one whose answer arrived
            # and cannot be read; once more tells a passing fault from a lasting one.
            return self._once(operation, judged, parameters)

    def _once(
        self, operation: Operation, judged: frozenset[str], parameters: dict[str, Any]
    ) -> dict[str, Any]:
        self._refuse_after_outage(operation)
        if operation is GET_METRIC_DATA:
            self.meter.requested(len(parameters["MetricDataQueries"]))
        try:
            from botocore import xform_name

            answer = getattr(self._client(operation), xform_name(operation.name))(**parameters)
        except PlimsollError:
            raise
        except Exception as error:  # noqa: BLE001  a garbled answer may raise anything in a parser
            raise self._failed(error, operation, judged) from None
        self._count_failure(operation, has_failed=False)
        self._has_answered = True
        # botocore makes an empty answer of JSON that was cut off.
        if not isinstance(answer, dict) or operation.answer_key not in answer:
            raise garbled(operation)
        return answer

    def pages(
        self, operation: Operation, sent: str, received: str, **parameters: Any
    ) -> Iterator[dict[str, Any]]:
        """
        Every page of an answer.

        Args:
            sent: name of the parameter that carries the token of the next page.
            received: name of the field in which an answer gives it.

        Raises:
            SourceError: as `call`, or the pages do not end.
        """
        seen: set[str] = set()
        for _ in range(PAGES_MAX):
            answer = self.call(operation, **parameters)
            yield answer
            token = answer.get(received)
            if not token:
                return
            if token in seen:
                break
            seen.add(token)
            parameters[sent] = token
        raise endless(operation)

    def _client(self, operation: Operation) -> Any:
        with self._lock:
            if operation.service not in self._clients:
                self._clients[operation.service] = self._new_client(operation.service)
            return self._clients[operation.service]

    def _new_client(self, service: str) -> Any:
        import boto3
        from botocore.config import Config

        client = boto3.Session(botocore_session=self._core).client(
            service,
            region_name=self.region,
            config=Config(
                connect_timeout=CONNECT_TIMEOUT_S,
                read_timeout=READ_TIMEOUT_S,
                retries={"mode": "standard", "total_max_attempts": ATTEMPTS_MAX},
                max_pool_connections=CONCURRENCY,
                user_agent_extra=f"plimsoll/{__version__}",
            ),
        )
        by_name = {o.name: o for o in OPERATIONS if o.service == service}

        def before_send(event_name: str, **_: Any) -> None:
            name = event_name.rpartition(".")[2]
            assert name in by_name
            self.meter.sent(by_name[name])

        client.meta.events.register("before-send.*.*", before_send)
        return client

    def _failed(
        self, error: Exception, operation: Operation, judged: frozenset[str]
    ) -> PlimsollError:
        code = error_code(error)
        # A region that has answered exists, though the installed boto3 may be older than it.
        known = (self.region,) if self._has_answered else _Regions(self._core)
        shown_error = explained(error, operation, self.region, known)
        self._count_failure(operation, has_failed=isinstance(shown_error, Unreachable))
        return Refused(code, shown_error) if code in judged else shown_error

    def _count_failure(self, operation: Operation, *, has_failed: bool) -> None:
        with self._lock:
            in_a_row = self._failures.get(operation.service, 0) + 1 if has_failed else 0
            self._failures[operation.service] = in_a_row

    def _refuse_after_outage(self, operation: Operation) -> None:
        with self._lock:
            in_a_row = self._failures.get(operation.service, 0)
        if in_a_row >= FAILURES_IN_A_ROW_MAX:
            raise Unreachable(
                f"{operation.action} was not asked for: the last {in_a_row} requests to "
                f"{operation.service} were not answered",
                "Check the network, then run the command again.",
            )


class _Regions:
    """The regions that the installed boto3 knows, in every partition; read when asked."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def __iter__(self) -> Iterator[str]:
        for partition in self._core.get_available_partitions():
            yield from self._core.get_available_regions("rds", partition, True)


def open_account(
    *,
    profile: str | None,
    region: str | None,
    max_api_calls: int,
    now_s: Callable[[], float],
) -> Account:
    """
    The account that the environment, the configuration and the profile name; no request is sent.

    Args:
        profile: of the AWS configuration; None for the one the environment names.
        region: None for the one of the profile or the environment.
        max_api_calls: requests that may be sent in all, ≥ 1.
        now_s: the present, epoch seconds.

    Raises:
        UsageError: no such profile, no region, or a configuration that cannot be read.
    """
    import botocore.session
    from botocore.exceptions import BotoCoreError

    core = botocore.session.Session(profile=profile)
    # Times stay as AWS wrote them. botocore would make a datetime of each of a hundred thousand,
    # which takes ten times as long as all the rest; its command line sets this parser the same way.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_as_written)
    try:
        return Account(core, region=region, meter=Meter(max_api_calls), now_s=now_s)
    except BotoCoreError as error:
        if type(error).__name__ == "ProfileNotFound":
            name = profile or core.profile or ""
            raise UsageError(
                f"the AWS configuration has no profile '{shown(name)}'", _profiles(core)
            ) from None
        raise UsageError(
            "the AWS configuration file cannot be used",
            "Run 'aws configure list' with the same profile; it shows the cause.",
        ) from None


def endless(operation: Operation) -> SourceError:
    """The error for an answer whose pages do not end."""
    return SourceError(
        f"the pages of {operation.action} repeat and do not end",
        "Run the command again; a proxy may stand between this machine and AWS.",
    )


def _as_written(value: Any) -> Any:
    return value


def _region(core: Any, region: str | None) -> str:
    # AWS_REGION is what the AWS command line and Lambda set; botocore reads AWS_DEFAULT_REGION.
    found = region or os.environ.get("AWS_REGION") or core.get_config_variable("region")
    if not found:
        core.get_scoped_config()  # a profile that does not exist is the likelier cause
        raise UsageError(
            "no AWS region is set", "Give --region, as --region eu-west-1, or set AWS_REGION."
        )
    core.get_scoped_config()
    return str(found)


def _profiles(core: Any) -> str:
    names = sorted(shown(name) for name in core.available_profiles)
    if not names:
        return "There is none at all; 'aws configure sso' or 'aws configure' writes one."
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"Give --profile one of: {', '.join(names[:12])}{more}."
