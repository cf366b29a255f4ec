"""What Alertmanager gets: alerts that its labels identify. tests/live has a real Alertmanager."""

from collections.abc import Iterator

import pytest

from fixtures.receivers.doubles import Given, Recorder
from fixtures.receivers.messages import BOUND, HOSTILE, NEARING, RESOLVED, START_S, UNKNOWN, hostile, message
from plimsoll.errors import SourceError
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.receivers.alertmanager import AlertmanagerReceiver, alert_name
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from plimsoll.watch.receivers.secret import Secret

LATER_S = START_S + 9_000.0


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    with Recorder() as running:
        yield running


def receiver(*recorders: Recorder, now_s: float = LATER_S, **arguments) -> AlertmanagerReceiver:
    urls = [f"{each.url}/prefix/" for each in recorders]
    return AlertmanagerReceiver("team", urls, now=lambda: now_s, **arguments)


def test_labels_of_ones_own_come_beside_ours(recorder):
    """They are added, and replace none."""
    receiver(recorder, labels={"team": "dba", "severity": "mine"}).send(BOUND, "")
    (sent,) = recorder.sent
    labels = sent.json[0]["labels"]

    assert "/prefix/api/v2/alerts" == sent.path
    assert ("dba", "critical") == (labels["team"], labels["severity"])


def test_a_change_of_severity_ends_the_alert_with_the_old_one(recorder):
    """At any moment one alert of an episode is open."""
    earlier = receiver(recorder).send(NEARING, "")
    later = receiver(recorder).send(BOUND, earlier)
    opened, ended = recorder.sent[1].json

    assert ("warning", "critical") == (earlier, later)
    assert ("critical", None) == (opened["labels"]["severity"], opened.get("endsAt"))
    assert ended["annotations"]["summary"].startswith("Goes on as critical: 212.9 MB/s")
    assert ("warning", "2026-11-22T10:34:00Z") == (ended["labels"]["severity"], ended["endsAt"])


def test_without_data_the_open_alert_stays_the_same(recorder):
    """Unknown changes annotations, never labels; on its own it is an alert."""
    unknown = message(number=3, state=WatchState.UNKNOWN, severity="warning")

    assert "critical" == receiver(recorder).send(unknown, "critical")
    assert "warning" == receiver(recorder).send(UNKNOWN, "")

    (alert,) = recorder.sent[0].json

    assert ("critical", "unknown") == (alert["labels"]["severity"], alert["annotations"]["state"])
    assert "endsAt" not in alert
    assert "ceiling" not in recorder.sent[1].json[0]["labels"]


def test_no_time_is_in_the_future(recorder):
    """A clock that is an hour behind resolves the alert all the same, and never before its start."""
    receiver(recorder, now_s=START_S - 3_600).send(RESOLVED, "critical")
    (alert,) = recorder.sent[0].json

    assert ("2026-11-22T09:14:00Z",) * 2 == (alert["startsAt"], alert["endsAt"])


def test_one_member_of_a_cluster_is_enough(recorder):
    """All members get the alert; a failure of one is no failure."""
    with Recorder() as other:
        other.first.append(Given(500, b""))
        receiver(other, recorder).send(BOUND, "")

        assert other.sent[0].body == recorder.sent[0].body


def test_what_may_work_later_counts_more_than_a_refusal(recorder):
    """If all fail, the error is of one that may accept the alert later."""
    with Recorder() as other:
        other.first.append(Given(400, b'"bad"'))
        recorder.first.append(Given(429, b""))
        with pytest.raises(BusyReceiver):
            receiver(other, recorder).send(BOUND, "")
        other.first.append(Given(400, b'"bad"'))
        with pytest.raises(RefusedError):
            receiver(other).send(BOUND, "")


def test_authorization_is_sent_and_never_shown(recorder):
    """An answer that repeats the header is not shown."""
    recorder.first.append(Given(401, b"not Bearer planted-token"))
    with pytest.raises(SourceError) as found:
        receiver(recorder, authorization=Secret("Bearer planted-token")).send(BOUND, "")

    assert "Bearer planted-token" == recorder.sent[0].headers["authorization"]
    assert "planted" not in found.value.message


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_values(recorder, text):
    """Names of labels are ours; values are one line of text that is not empty."""
    receiver(recorder).send(hostile(text), "")
    (alert,) = recorder.sent[0].json
    labels = alert["labels"]

    assert labels.keys() <= {
        *("alertname", "severity", "aws_account_id", "aws_region", "dbidentifier"),
        *("ceiling", "episode", "simulated"),
    }
    assert all(value and value.isprintable() and len(value) <= 250 for value in labels.values())


@pytest.mark.parametrize(
    ("rule", "name"),
    [("bound", "PlimsollBound"), ("time-to-empty", "PlimsollTimeToEmpty"), ("no data/ü", "PlimsollNoData")],
)
def test_the_name_of_an_alert_is_that_of_its_rule(rule, name):
    assert name == alert_name(rule)
