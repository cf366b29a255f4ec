"""PagerDuty, against a double that checks events as Events API v2 describes them."""

import json
from collections.abc import Iterator

import pytest

from fixtures.receivers.doubles import PagerDuty as Double
from fixtures.receivers.doubles import given
from fixtures.receivers.messages import BOUND, EMPTY, EMPTY_KEY, HOSTILE, KEY, NEARING, RESOLVED, hostile, message
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.receivers.pagerduty import PagerDuty
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from plimsoll.watch.receivers.secret import Secret


@pytest.fixture
def double() -> Iterator[Double]:
    with Double() as running:
        yield running


def receiver(double: Double, key: str = "R" * 32) -> PagerDuty:
    return PagerDuty("team", Secret(key), url=f"{double.url}/v2/enqueue")


def test_an_episode_is_one_alert(double):
    """Transitions and repetitions merge by the key; the end resolves it, and nothing else."""
    earlier = ""
    for each in (NEARING, BOUND, BOUND):
        earlier = receiver(double).send(each, earlier)
    receiver(double).send(EMPTY, "")

    assert {KEY, EMPTY_KEY} == set(double.alerts)
    assert "critical" == double.alerts[KEY]["payload"]["severity"]

    receiver(double).send(RESOLVED, earlier)

    assert {EMPTY_KEY} == set(double.alerts)
    assert [KEY] == double.resolved


def test_without_data_an_alert_stays_as_severe_as_it_was(double):
    """Unknown resolves nothing, and does not lower the severity of what is open."""
    earlier = receiver(double).send(BOUND, "")
    unknown = message(number=3, state=WatchState.UNKNOWN, severity="warning")
    receiver(double).send(unknown, earlier)

    assert "critical" == double.alerts[KEY]["payload"]["severity"]
    assert "No data" in double.alerts[KEY]["payload"]["summary"]


def test_a_wrong_routing_key_is_refused_and_not_shown(double):
    with pytest.raises(RefusedError) as found:
        receiver(double, "W" * 32).send(BOUND, "")

    assert "'routing_key' is not known" in found.value.message
    assert "W" * 32 not in found.value.message


def test_a_limit_of_events_is_waited_for(double):
    double.first.append(given(429, {"status": "throttle exceeded"}, Retry_After="60"))
    with pytest.raises(BusyReceiver) as found:
        receiver(double).send(BOUND, "")

    assert 60 == found.value.wait_s


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_stay_within_the_fields(double, text):
    """The double refuses a summary above 1,024 characters and an event above 512 KB."""
    receiver(double).send(hostile(text), "")
    found = json.dumps(double.alerts[KEY]["payload"], ensure_ascii=False)

    assert found.isprintable()


def test_a_long_summary_ends_with_an_ellipsis(double):
    receiver(double).send(hostile("x" * 5_000), "")
    summary = double.alerts[KEY]["payload"]["summary"]

    assert (1_024, "…") == (len(summary), summary[-1])
