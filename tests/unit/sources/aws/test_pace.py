import pytest

from plimsoll.errors import Unreachable
from plimsoll.sources.aws.pace import GAP_MOST_S, THROTTLED_IN_A_ROW_MAX, Deadline, RequestPace


class Clock:
    """A clock that only waiting moves."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def paced() -> tuple[RequestPace, Clock]:
    clock = Clock()
    return RequestPace(clock=clock, sleep=clock.sleep), clock


@pytest.mark.parametrize(
    ("throttled", "answered", "gap_s"),
    [
        pytest.param(0, 100, 0.0, id="a healthy account is asked as fast as it answers"),
        pytest.param(3, 5, 0.0, id="half the gap with each answer, and none in the end"),
        pytest.param(20, 0, GAP_MOST_S, id="nobody waits for minutes between two requests"),
    ],
)
def test_a_gap_has_an_end(throttled, answered, gap_s):
    """It grows with what is throttled to the most, and shrinks with answers to none."""
    pace, clock = paced()
    for _ in range(throttled):
        pace.throttled(pace.wait())
    for _ in range(answered):
        pace.wait()
        pace.answered()
    before = clock.now_s
    pace.wait()

    assert gap_s == pytest.approx(clock.now_s - before)
    assert pace.is_in_vain is (throttled == 20)
    assert throttled or before == 100.0


def test_every_round_of_throttling_doubles_the_gap():
    """A quarter of a second, a half, one, two, four: then it is in vain."""
    pace, clock = paced()
    sent = []
    while not pace.is_in_vain:
        round_ = pace.wait()
        sent.append(clock.now_s - 100.0)
        pace.throttled(round_)

    assert [0.0, 0.25, 0.75, 1.75, 3.75, 7.75] == sent
    assert THROTTLED_IN_A_ROW_MAX == len(sent)


def test_requests_that_are_refused_together_count_as_one_round():
    """Eight were under way when AWS began to throttle: that is one refusal, not eight."""
    pace, clock = paced()
    rounds = [pace.wait() for _ in range(8)]
    for round_ in rounds:
        pace.throttled(round_)
    pace.wait()

    assert 100.25 == clock.now_s
    assert not pace.is_in_vain


def test_all_requests_of_an_action_share_one_gap():
    """After a refusal they leave one after the other, whoever sends them."""
    pace, clock = paced()
    pace.throttled(pace.wait())
    pace.throttled(pace.wait())
    moments = []
    for _ in range(3):
        pace.wait()
        moments.append(clock.now_s)

    assert [100.75, 101.25, 101.75] == moments


def test_a_quota_of_two_a_second_is_met_without_giving_up():
    """Forty requests against a bucket of two tokens a second all come through, with few in vain."""
    pace, clock = paced()
    tokens, last_s, sent, answered = 2.0, clock.now_s, 0, 0
    while answered < 40:
        round_ = pace.wait()
        assert not pace.is_in_vain
        sent += 1
        tokens, last_s = min(tokens + 2 * (clock.now_s - last_s), 2.0), clock.now_s
        if tokens >= 1:
            tokens -= 1
            answered += 1
            pace.answered()
        else:
            pace.throttled(round_)

    assert sent <= 2 * 40


def test_time_is_earned_by_answers():
    """A minute from the first request, and five seconds for each answer."""
    clock = Clock()
    deadline = Deadline(clock=clock)
    clock.sleep(1000)

    assert 60.0 == deadline.left_s()
    deadline.earn()
    clock.sleep(64)
    deadline.refuse_beyond("rds:DescribeEvents")
    clock.sleep(1)
    with pytest.raises(Unreachable, match=r"longer than 65 s, so rds:DescribeEvents was not read"):
        deadline.refuse_beyond("rds:DescribeEvents")
