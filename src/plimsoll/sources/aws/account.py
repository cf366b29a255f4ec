"""
Send requests to one account and region, read-only; no other file sends any.

Rule 1: every attempt is counted before it is sent, and one above the bound is not sent.
Rule 2: a failure is raised as one of our errors; botocore's own errors do not leave this file.
Rule 3: botocore repeats what is throttled and what failed on AWS's side or on the way, ever more slowly;
        what fails after that, or was refused for good, is not sent again.
"""

import os
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

from plimsoll import __version__
from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, UsageError
from plimsoll.model.overview import Usage
from plimsoll.sources.aws.credentials import Credentials, bad_endpoint
from plimsoll.sources.aws.failures import Failure, error_code, explained, failure_of, is_worth_halving
from plimsoll.sources.aws.meter import Deadline, Meter
from plimsoll.sources.aws.operations import GET_METRIC_DATA, OPERATIONS, Operation
from plimsoll.sources.aws.role import assume_role
from plimsoll.sources.aws.workers import within
from plimsoll.sources.values.shown import listed, shown

CONCURRENCY = 8
"""Requests in flight. CloudWatch allows 50 GetMetricData requests per second and account (service
quotas, 2026-04). Eight that take some tenths of a second each stay below, with room for others."""
ATTEMPTS_MAX = 4
"""How often botocore sends a request. Between them it waits 0.5, 1 and 2 s on average where AWS throttles, beside
its turn at a rate that begins with a request every two seconds; after other failures it waits a twentieth of that
(botocore 1.44, retries/standard.py and adaptive.py)."""
CONNECT_TIMEOUT_S = 5
READ_TIMEOUT_S = 30
"""Longest wait for one whole answer: a slow server must not block a reading."""
SHARE_OF_OPTIONAL = 0.25
"""
Share of the remaining time that one attempt of an optional request may take. Such a request is sent
twice at most, so more than half of the time is left for the required ones.
"""

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
        self._here = threading.local()
        """Of the call in this thread: the metrics that it asks for, and the status of its last answer."""

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
        if standing.has_answered:
            return self._answer(operation, standing, judged, parameters)
        with standing.alone:
            return self._answer(operation, standing, judged, parameters)

    def pages(self, operation: Operation, **parameters: Any) -> Iterator[dict[str, Any]]:
        """
        Yield every page of an answer.

        Raises:
            SourceError: as `call`, or the pages do not end.
        """
        from botocore.exceptions import PaginationError
        from botocore.paginate import Paginator

        token = operation.page_token
        # botocore has descriptions of the pages of most operations, but not of Performance Insights'.
        described = {"input_token": token, "output_token": token, "result_key": operation.answer_key}
        found = Paginator(partial(self.call, operation), described, None).paginate(**parameters)
        try:
            for number, page in enumerate(found, 1):
                yield page
                if number == PAGES_MAX:
                    break
            else:
                return
        except PaginationError:
            pass
        raise SourceError(
            f"the pages of {operation.action} repeat and do not end",
            "Run the command again. A proxy between this machine and AWS may be the cause.",
        )

    def give_up(self, operation: Operation, error: PlimsollError) -> None:
        """Answer every later request of the operation with this error, without sending it."""
        standing = self._standing(operation)
        with self._lock:
            standing.given_up = standing.given_up or error

    def has_answered(self, operation: Operation) -> bool:
        """Return whether AWS has answered a request of this operation."""
        return self._standing(operation).has_answered

    def _answer(
        self, operation: Operation, standing: "_Standing", judged: frozenset[str], parameters: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the answer to a request; send it once more if the answer was garbled or late."""
        self._refuse_in_vain(operation)
        self._credentials.check(operation, self.region)
        for is_last in (False, True):
            found = self._sent(operation, parameters)
            if isinstance(found, dict):
                self._note_answer(standing)
                return found
            status = self._here.status
            failure = failure_of(found, status)
            # A region that has answered exists, even if the installed boto3 is too old to know it.
            known = (self.region,) if self._is_known_to_answer() else self._known_regions()
            error = explained(found, operation, self.region, known, status)
            if error_code(found) in judged:
                self._note_answer(standing)
                raise Refused(error_code(found), error)
            if is_last or not _is_unrepeated(found):
                self._note_failure(operation, standing, failure, error)
                raise error
        raise AssertionError("the second failure is raised")

    def _sent(self, operation: Operation, parameters: dict[str, Any]) -> dict[str, Any] | Exception:
        """Return the answer as botocore parsed it, or what botocore raised."""
        from botocore import xform_name

        self._here.status = None
        self._here.metric_count = len(parameters["MetricDataQueries"]) if operation is GET_METRIC_DATA else 0
        try:
            answer = getattr(self._client(operation), xform_name(operation.name))(**parameters)
        except PlimsollError:
            raise
        except Exception as error:  # noqa: BLE001  a garbled answer may raise anything in a parser
            return error
        # botocore returns an empty answer for JSON that was cut off, so check for the field.
        return answer if isinstance(answer, dict) and operation.answer_key in answer else ValueError()

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
                    # Longer than the wait for a whole answer, which `_send` ends.
                    read_timeout=2 * READ_TIMEOUT_S,
                    retries={"mode": "adaptive", "total_max_attempts": ATTEMPTS_MAX},
                    max_pool_connections=CONCURRENCY,
                    user_agent_extra=f"plimsoll/{__version__}",
                ),
            )
        except ValueError as error:
            if "endpoint" in str(error).lower():
                raise bad_endpoint(service) from None
            raise
        by_name = {o.name: o for o in OPERATIONS if o.service == service}

        def send(request: Any, event_name: str, **_: Any) -> Any:
            return self._send(by_name[event_name.rpartition(".")[2]], request, client)

        # After botocore's own, which waits for its turn where AWS throttles.
        client.meta.events.register_last("before-send", send)
        return client

    def _send(self, operation: Operation, request: Any, client: Any) -> Any:
        """
        Send one attempt and return its answer, unless it would be in vain or beyond a bound.

        Raises:
            TimeoutError: the answer is late; botocore does not repeat such a request, `_answer` does.
            PlimsollError: it must not be sent, or no time is left.
            BotoCoreError: it was not answered.
        """
        self._refuse_in_vain(operation)
        self.meter.sent(operation, self._here.metric_count)
        self.is_waiting_for = operation.action
        share = SHARE_OF_OPTIONAL if operation.lost else 1.0
        limit_s = min(float(READ_TIMEOUT_S), share * self.deadline.left_s())
        http = client._endpoint.http_session  # noqa: SLF001  what botocore itself would send with
        answer = within(limit_s, lambda: http.send(request))
        if answer is None:
            raise TimeoutError
        self._here.status = answer.status_code
        return answer

    def _standing(self, operation: Operation) -> "_Standing":
        with self._lock:
            return self._standings.setdefault(operation.action, _Standing())

    def _is_known_to_answer(self) -> bool:
        with self._lock:
            return any(standing.has_answered for standing in self._standings.values())

    def _known_regions(self) -> Iterator[str]:
        """Yield the regions of every partition that the installed boto3 knows."""
        for partition in self._core.get_available_partitions():
            yield from self._core.get_available_regions("rds", partition, True)

    def _note_answer(self, standing: "_Standing") -> None:
        self.deadline.earn()
        with self._lock:
            standing.has_answered = True
            standing.failures = 0

    def _note_failure(
        self, operation: Operation, standing: "_Standing", failure: Failure, error: PlimsollError
    ) -> None:
        """Count a failure, and give up the operation if its next request would fail too."""
        with self._lock:
            standing.failures += 1
            # If a policy can name single instances, a refusal may concern only one of them.
            is_for_all = operation.resource == "*" and isinstance(error, AccessDenied)
            is_first = failure.is_final and not standing.has_answered
            is_outage = standing.failures >= FAILURES_IN_A_ROW_MAX and not is_worth_halving(error)
        if isinstance(error, Throttled) or is_for_all or is_first or is_outage:
            self.give_up(operation, error)

    def _refuse_in_vain(self, operation: Operation) -> None:
        """
        Refuse a request that would fail like earlier ones.

        Raises:
            PlimsollError: the operation was given up, or no time is left.
        """
        given_up = self._standing(operation).given_up
        if given_up is not None:
            raise type(given_up)(given_up.message, given_up.hint)
        self.deadline.refuse_beyond(operation.action)


class _Standing:
    """Outcomes of the requests of one operation so far."""

    def __init__(self) -> None:
        self.alone = threading.Lock()
        """Lock that the first request holds until one was answered."""
        self.has_answered = False
        self.failures = 0
        """Failed requests in a row."""
        self.given_up: PlimsollError | None = None


def _is_unrepeated(error: Exception) -> bool:
    """Return whether an answer was garbled or late, which botocore neither names nor repeats."""
    from botocore.exceptions import BotoCoreError, ClientError

    return not isinstance(error, (BotoCoreError, ClientError))


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
    return f"Give --profile one of: {listed(names)}."
