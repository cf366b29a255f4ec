import threading

import pytest
from botocore.exceptions import ReadTimeoutError

from plimsoll.errors import AccessDenied, Unreachable
from plimsoll.sources.aws.account import ATTEMPTS_MAX
from plimsoll.sources.aws.meter import Deadline
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS, DESCRIBE_INSTANCES, GET_LOG_EVENTS
from unit.sources.aws.cloud import Cloud, account_of, error, in_turn


def test_a_refusal_of_one_instance_is_not_taken_for_all():
    """A policy can allow Enhanced Monitoring of some instances only."""
    whole = {"events": [], "nextForwardToken": "f", "nextBackwardToken": "b"}
    denied = error("AccessDeniedException", status=400)
    cloud = Cloud(GetLogEvents=in_turn(denied, lambda _: whole))
    account = account_of(cloud)
    with pytest.raises(AccessDenied):
        account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="a")

    assert [] == account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="b")["events"]


def test_what_was_never_answered_in_time_is_not_asked_for_again():
    """The next request of the action would wait as long; expired credentials are as final."""
    late = ReadTimeoutError(endpoint_url="https://logs.example/")
    cloud = Cloud(GetLogEvents=lambda _: late)
    account = account_of(cloud)
    for _ in range(2):
        with pytest.raises(Unreachable, match=r"logs\.example did not answer logs:GetLogEvents in time"):
            account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="s")

    assert ATTEMPTS_MAX == len(cloud.sent)


def test_an_answer_that_never_ends_is_left_alone(monkeypatch):
    """A byte now and then keeps a connection alive; the request as a whole has a limit."""
    monkeypatch.setattr("plimsoll.sources.aws.account.READ_TIMEOUT_S", 0.05)
    gate = threading.Event()
    cloud = Cloud(DescribeDBInstances=lambda _: gate.wait(5) and {"DBInstances": []})
    with pytest.raises(Unreachable, match="did not answer rds:DescribeDBInstances in time"):
        account_of(cloud).call(DESCRIBE_INSTANCES)
    gate.set()

    assert 2 == cloud.counts["DescribeDBInstances"]


def test_a_reading_as_a_whole_has_a_time_limit():
    """Every answer earns five seconds; without any it ends after a minute."""
    now = [0.0]
    account = account_of(Cloud())
    account.deadline = Deadline(clock=lambda: now[0])
    now[0] = 1000.0  # it begins with the first request
    account.call(DESCRIBE_INSTANCES)
    now[0] = 1064.0
    account.call(DESCRIBE_INSTANCES)
    now[0] = 1070.0
    with pytest.raises(Unreachable, match=r"took longer than 70 s, so rds:DescribeEvents was not"):
        account.call(DESCRIBE_EVENTS)
