"""
Send requests to one account and region, read-only; no other file sends any.

Rule 1: every attempt is counted before it is sent, and one above the bound is not sent.
Rule 2: a failure is raised as one of our errors; botocore's own errors do not leave this file.
Rule 3: failures never cause more requests: throttling slows down all requests of that operation,
        and a request that was refused for good is not sent again.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from plimsoll import __version__
from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.credentials import Credentials, bad_endpoint
from plimsoll.sources.aws.failures import Failure, error_code, explained, failure_of, is_worth_halving
from plimsoll.sources.aws.meter import Meter
from plimsoll.sources.aws.operations import GET_METRIC_DATA, OPERATIONS, Operation
from plimsoll.sources.aws.pace import Deadline, RequestPace
from plimsoll.sources.aws.role import assume_role
from plimsoll.sources.aws.workers import within
from plimsoll.sources.values.shown import shown

CONCURRENCY = 8
"""Requests in flight. CloudWatch allows 50 GetMetricData requests per second and account (service
quotas, 2026-04). Eight that take some tenths of a second each stay below, with room for others."""
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30
"""Longest wait for the next byte, and for one whole answer: a slow server must not block a reading."""
SHARE_OF_OPTIONAL = 0.25
"""
Share of the remaining time that one attempt of an optional request may take. Such a request is sent
twice at most, so more than half of the time is left for the required ones.
"""

REPEAT_FIRST_S = 0.25
"""Wait before the second attempt if AWS did not throttle; doubled before each further attempt."""

# A judgement: one failed request may be chance. Three in a row, each sent several times, are an
# outage, and more requests would only make people wait.
FAILURES_IN_A_ROW_MAX = 3

# More pages than any of our answers has. Without a bound, a faulty token would be followed forever.
PAGES_MAX = 200


class Refused(SourceError):
    """An error answer of AWS whose code the caller handles."""

    def __init__(self, code: str, error: PlimsollError) -> None:
        """Keep the code, and the error to raise if the caller does not handle it."""
        super().__init__(error.message, error.hint)
        self.code = code
        self.error = error


class Account:
    """One account and region, read-only; counts every request and stops before too many."""

    def __init__(
        self,
        core: Any,
        *,
        region: str | None,
        meter: Meter,
        now_s: Callable[[], float],
        deadline: Deadline | None = None,
    ) -> None:
        """Use botocore's session `core`; send no request yet."""
        self.region = _region(core, region)
        self.now_s = now_s
        self.meter = meter
        self.deadline = deadline or Deadline()
        self.remembered: dict[str, Any] = {}
        """Results that are valid for the whole run, by a name that their reader chose."""
        self.is_waiting_for = ""
        """Action of the last request, for the progress line."""
        self._core = core
        self._lock = threading.Lock()
        self._credentials = Credentials(core)
        self._clients: dict[str, Any] = {}
        self._standings: dict[str, _Standing] = {}
        self._unreached: dict[str, int] = {}
        self._seen = threading.local()
        self._has_answered = False

    def _total(self) -> Usage:
        return self.meter.total()

    usage = property(_total, doc="Requests sent so far by IAM action, retries included.")

    def in_region(self, region: str) -> "Account":
        """Return the same account in another region, with the same count of requests and time limit."""
        if region == self.region:
            return self
        return Account(self._core, region=region, meter=self.meter, now_s=self.now_s, deadline=self.deadline)

    def regions(self) -> list[str]:
        """Return the other regions of this partition that the installed boto3 knows."""
        partition = self._core.get_partition_for_region(self.region)
        names = self._core.get_available_regions("rds", partition)
        return sorted(name for name in names if name != self.region)

    def call(self, operation: Operation, *, judged: frozenset[str] = frozenset(), **parameters: Any) -> dict[str, Any]:
        """
        Send one request and return the answer as botocore parsed it, with times as AWS wrote them.

        The first request of an action is sent alone, so that a refusal happens once, not eight times. A
        request that was refused for good is not sent again.

        Args:
            judged: error codes that the caller handles.

        Raises:
            Refused: AWS answered with one of the codes of `judged`.
            CallsSpent: the request would exceed the bound.
            UsageError: the region does not exist.
            SourceError: AWS refused, did not answer, or sent an answer that cannot be read.
        """
        assert operation in OPERATIONS
        standing = self._standing(operation)
        if standing.is_proven:
            return self._repeated(operation, standing, judged, parameters)
        with standing.alone:
            return self._repeated(operation, standing, judged, parameters)

    def give_up(self, operation: Operation, error: PlimsollError) -> None:
        """Answer every later request of the operation with this error, without sending it."""
        standing = self._standing(operation)
        with self._lock:
            standing.given_up = standing.given_up or error

    def has_answered(self, operation: Operation) -> bool:
        """Return whether AWS has answered a request of this operation."""
        return self._standing(operation).is_proven

    def _repeated(
        self, operation: Operation, standing: "_Standing", judged: frozenset[str], parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Send one request, repeat it as often as its failures allow, and record the outcome."""
        attempts, answers_before = 0, standing.answers
        while True:
            self._refuse_in_vain(operation, standing)
            sent_in = standing.pace.wait()
            self._refuse_in_vain(operation, standing)
            outcome = self._attempt(operation, parameters)
            attempts += 1
            if isinstance(outcome, dict):
                self._note_answer(operation, standing)
                return outcome
            if outcome.code in judged:
                self._note_answer(operation, standing)
                raise Refused(outcome.code, outcome.error)
            if isinstance(outcome.error, Throttled):
                standing.pace.throttled(sent_in)
                if standing.pace.is_in_vain:
                    self.give_up(operation, outcome.error)
                    raise outcome.error
                continue
            if attempts < outcome.failure.attempts:
                self._sleep(REPEAT_FIRST_S * 2 ** (attempts - 1))
                continue
            self._note_failure(operation, standing, outcome, answers_before)
            raise outcome.error

    def _attempt(self, operation: Operation, parameters: dict[str, Any]) -> "dict[str, Any] | _Failed":
        """Send one request once."""
        self._credentials.check(operation, self.region)
        try:
            client = self._client(operation)
        except PlimsollError:
            raise
        except Exception as error:  # noqa: BLE001  whatever botocore finds wrong in its settings
            raise explained(error, operation, self.region, (self.region,)) from None
        if operation is GET_METRIC_DATA:
            self.meter.requested(len(parameters["MetricDataQueries"]))
        share = 1.0 if operation.is_needed else SHARE_OF_OPTIONAL
        limit_s = min(float(READ_TIMEOUT_S), share * self.deadline.left_s())
        self.is_waiting_for = operation.action
        found = within(limit_s, lambda: self._sent(client, operation, parameters))
        if found is None:
            is_over = self.deadline.left_s() <= 0
            late = TimeoutError()
            return _Failed(
                code="",
                failure=failure_of(late),
                error=self.deadline.over(operation.action) if is_over else explained(late, operation, self.region, ()),
            )
        raised, answer, status = found
        if isinstance(raised, PlimsollError):
            raise raised
        # botocore returns an empty answer for JSON that was cut off, so check for the field.
        if raised is None and isinstance(answer, dict) and operation.answer_key in answer:
            return answer
        return self._failed(raised or ValueError(), operation, status)

    def _sent(
        self, client: Any, operation: Operation, parameters: dict[str, Any]
    ) -> tuple[BaseException | None, Any, int | None]:
        """Return the exception or the answer of one request, and the HTTP status if there was an answer."""
        from botocore import xform_name

        self._seen.status = None
        try:
            answer = getattr(client, xform_name(operation.name))(**parameters)
        except Exception as error:  # noqa: BLE001  a garbled answer may raise anything in a parser
            return error, None, self._seen.status
        return None, answer, self._seen.status

    def pages(self, operation: Operation, sent: str, received: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """
        Yield every page of an answer.

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

        try:
            client = boto3.Session(botocore_session=self._core).client(
                service,
                region_name=self.region,
                config=Config(
                    connect_timeout=CONNECT_TIMEOUT_S,
                    read_timeout=READ_TIMEOUT_S,
                    # No retries by botocore: this file decides on them for all requests together.
                    retries={"mode": "standard", "total_max_attempts": 1},
                    max_pool_connections=CONCURRENCY,
                    user_agent_extra=f"plimsoll/{__version__}",
                ),
            )
        except ValueError as error:
            if "endpoint" in str(error).lower():
                raise bad_endpoint(service) from None
            raise
        by_name = {o.name: o for o in OPERATIONS if o.service == service}

        def before_send(event_name: str, **_: Any) -> None:
            name = event_name.rpartition(".")[2]
            assert name in by_name
            self.meter.sent(by_name[name])

        def before_parse(response_dict: dict[str, Any], **_: Any) -> None:
            self._seen.status = response_dict.get("status_code")

        client.meta.events.register("before-send.*.*", before_send)
        client.meta.events.register("before-parse.*.*", before_parse)
        return client

    def _failed(self, error: BaseException, operation: Operation, status: int | None) -> "_Failed":
        # A region that has answered exists, even if the installed boto3 is too old to know it.
        known = (self.region,) if self._has_answered else _Regions(self._core)
        return _Failed(
            code=error_code(error),
            failure=failure_of(error, status),
            error=explained(error, operation, self.region, known, status),
        )

    def _standing(self, operation: Operation) -> "_Standing":
        with self._lock:
            return self._standings.setdefault(operation.action, _Standing(self._sleep))

    @staticmethod
    def _sleep(seconds: float) -> None:
        time.sleep(seconds)

    def _note_answer(self, operation: Operation, standing: "_Standing") -> None:
        standing.pace.answered()
        self.deadline.earn()
        with self._lock:
            standing.answers += 1
            standing.failures = 0
            self._unreached[operation.service] = 0
            self._has_answered = True

    def _note_failure(
        self, operation: Operation, standing: "_Standing", failed: "_Failed", answers_before: int
    ) -> None:
        """Count a final failure, and give up the operation if its next request would fail too."""
        is_unreachable = isinstance(failed.error, Unreachable)
        with self._lock:
            standing.failures += 1
            unreached = self._unreached.get(operation.service, 0) + 1 if is_unreachable else 0
            self._unreached[operation.service] = unreached
            # If a policy can name single instances, a refusal may concern only one of them.
            is_all = operation.resource == "*" and isinstance(failed.error, AccessDenied)
            is_alone = standing.answers == 0 and failed.failure.is_final
            is_outage = (
                standing.failures >= FAILURES_IN_A_ROW_MAX
                and standing.answers == answers_before
                and not is_unreachable
                and not is_worth_halving(failed.error)
            )
        if is_all or is_alone or is_outage:
            self.give_up(operation, failed.error)

    def _refuse_in_vain(self, operation: Operation, standing: "_Standing") -> None:
        """
        Refuse a request that would fail like earlier ones.

        Raises:
            SourceError: the operation was given up, the service does not answer, or no time is left.
        """
        with self._lock:
            given_up = standing.given_up
            in_a_row = self._unreached.get(operation.service, 0)
        if given_up is not None:
            raise type(given_up)(given_up.message, given_up.hint)
        if in_a_row >= FAILURES_IN_A_ROW_MAX:
            raise Unreachable(
                f"{operation.action} was not requested: the last {in_a_row} requests to "
                f"{operation.service} were not answered",
                "Check the network, then run the command again.",
            )
        self.deadline.refuse_beyond(operation.action)


class _Standing:
    """Outcomes of the requests of one operation so far."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self.pace = RequestPace(sleep=sleep)
        self.alone = threading.Lock()
        """Lock that the first request holds until one was answered."""
        self.answers = 0
        self.failures = 0
        """Failed requests in a row, repetitions not counted."""
        self.given_up: PlimsollError | None = None

    @property
    def is_proven(self) -> bool:
        return self.answers > 0


@dataclass(frozen=True, slots=True)
class _Failed:
    """How one attempt failed."""

    code: str
    failure: Failure
    error: PlimsollError


class _Regions:
    """The regions of every partition that the installed boto3 knows, read on first use."""

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
    role_arn: str | None = None,
) -> Account:
    """
    Return the account of the environment, configuration and profile; no request is sent.

    Args:
        profile: profile of the AWS configuration; None takes the environment's.
        region: None takes that of the profile or the environment.
        max_api_calls: largest number of requests, ≥ 1.
        now_s: returns the current time, epoch seconds.
        role_arn: role to assume with these credentials; None for none.

    Raises:
        UsageError: no such profile, no region, no such form of a role, or a configuration that cannot be read.
    """
    from botocore.exceptions import BotoCoreError

    from plimsoll.sources.files.bounded_session import BoundedSession

    core = BoundedSession(profile=profile)
    # Keep times as AWS wrote them. botocore would parse each of a hundred thousand into a datetime,
    # which takes ten times as long as all the rest. The AWS CLI sets this parser the same way.
    core.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=_as_written)
    try:
        core.register_component("data_loader", _descriptions(core.get_config_variable("data_path")))
        account = Account(core, region=region, meter=Meter(max_api_calls), now_s=now_s)
    except BotoCoreError as error:
        if type(error).__name__ == "ProfileNotFound":
            name = profile or core.profile or ""
            raise UsageError(f"the AWS configuration has no profile '{shown(name)}'", _profiles(core)) from None
        raise UsageError(
            "the AWS configuration file cannot be used",
            "Run 'aws configure list' with the same profile; it shows the cause.",
        ) from None
    if role_arn is not None:
        assume_role(core, role_arn, account.region)
    return account


def endless(operation: Operation) -> SourceError:
    """Return the error for an answer whose pages do not end."""
    return SourceError(
        f"the pages of {operation.action} repeat and do not end",
        "Run the command again. A proxy between this machine and AWS may be the cause.",
    )


@cache
def _descriptions(data_path: str | None) -> Any:
    """Return the reader of what botocore knows of services; a watch would read megabytes of JSON in every turn."""
    from botocore.loaders import create_loader

    return create_loader(data_path)


def _as_written(value: Any) -> Any:
    return value


def _region(core: Any, region: str | None) -> str:
    # The AWS CLI and Lambda use AWS_REGION, but botocore reads only AWS_DEFAULT_REGION.
    # Source: AWS SDKs and Tools Reference Guide, "AWS Region".
    found = region or os.environ.get("AWS_REGION") or core.get_config_variable("region")
    if not found:
        core.get_scoped_config()  # raises for a profile that does not exist, the more likely cause
        raise UsageError("no AWS region is set", "Give --region, for example eu-west-1, or set AWS_REGION.")
    core.get_scoped_config()
    return str(found)


def _profiles(core: Any) -> str:
    names = sorted(shown(name) for name in core.available_profiles)
    if not names:
        return "The configuration has no profile; 'aws configure sso' or 'aws configure' creates one."
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"Give --profile one of: {', '.join(names[:12])}{more}."
