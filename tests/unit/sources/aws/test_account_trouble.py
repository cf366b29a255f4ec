import threading

import pytest

from plimsoll.errors import AccessDenied, SourceError, Throttled, Unreachable
from plimsoll.sources.aws.account import ATTEMPTS_MAX
from plimsoll.sources.aws.meter import Deadline
from plimsoll.sources.aws.operations import DESCRIBE_EVENTS, DESCRIBE_INSTANCES, GET_LOG_EVENTS
from unit.sources.aws.cloud import Cloud, Reply, account_of, error, in_threads, in_turn


def test_what_is_throttled_at_first_is_asked_four_times_in_all():
    """Then nobody asks for it any more, in whatever thread; other operations are asked as before."""
    cloud = Cloud(GetLogEvents=lambda _: error("Throttling"))
    account = account_of(cloud)
    found = []

    def work():
        try:
            account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="s")
        except Throttled as throttled:
            found.append(throttled.message)

    in_threads(work)

    assert ["AWS throttled logs:GetLogEvents, and the retries did not help"] * 8 == found
    assert ATTEMPTS_MAX == cloud.counts["GetLogEvents"]
    account.call(DESCRIBE_INSTANCES)


@pytest.mark.parametrize(("reply", "sent"), [(error("InternalFailure", status=500), 4), (Reply(b"<cut"), 2)])
def test_an_error_is_repeated_so_often_and_no_more(reply, sent):
    """An error on AWS's side may pass in a second; an answer that is garbled twice stays so."""
    cloud = Cloud(DescribeDBInstances=lambda _: reply)
    with pytest.raises(SourceError):
        account_of(cloud).call(DESCRIBE_INSTANCES)

    assert sent == len(cloud.sent)


def test_a_refusal_for_everything_is_met_once():
    """Eight threads ask for the events of eight instances; the policy refuses the action."""
    cloud = Cloud(DescribeEvents=lambda _: error("AccessDenied", status=403))
    account = account_of(cloud)
    found = []

    def work():
        try:
            account.call(DESCRIBE_EVENTS)
        except AccessDenied as denied:
            found.append(denied.hint)

    in_threads(work)

    assert 8 == len(found)
    assert 1 == cloud.counts["DescribeEvents"]


def test_a_refusal_of_one_instance_is_not_taken_for_all():
    """A policy can allow Enhanced Monitoring of some instances only."""
    whole = {"events": [], "nextForwardToken": "f", "nextBackwardToken": "b"}
    denied = error("AccessDeniedException", status=400)
    cloud = Cloud(GetLogEvents=in_turn(denied, lambda _: whole))
    account = account_of(cloud)
    with pytest.raises(AccessDenied):
        account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="a")

    assert [] == account.call(GET_LOG_EVENTS, logGroupName="g", logStreamName="b")["events"]


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
    account.call(DESCRIBE_INSTANCES)
    now[0] = 64.0
    account.call(DESCRIBE_INSTANCES)
    now[0] = 71.0
    with pytest.raises(Unreachable, match=r"took longer than 70 s, so rds:DescribeEvents was not"):
        account.call(DESCRIBE_EVENTS)


def test_time_is_earned_by_answers():
    """A minute from the first request, and five seconds for each answer."""
    now = [1000.0]
    deadline = Deadline(clock=lambda: now[0])
    now[0] += 1000

    assert 60.0 == deadline.left_s()
    deadline.earn()
    now[0] += 64
    deadline.refuse_beyond("rds:DescribeEvents")
    now[0] += 1
    with pytest.raises(Unreachable, match=r"longer than 65 s, so rds:DescribeEvents was not read"):
        deadline.refuse_beyond("rds:DescribeEvents")
