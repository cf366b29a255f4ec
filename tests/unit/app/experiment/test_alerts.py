"""A phase that passes before a watch, minute by minute."""

from pathlib import Path

from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.model.snapshot import Snapshot, cut
from plimsoll_lab.judges.alerts import slack_messages_of
from plimsoll_lab.judges.load_checks import alert_check

ROOT = Path(__file__).resolve().parents[4]
HOUR_S = 3600


def hours_of_the_incident(count: float) -> Snapshot:
    """The hours of the bundled claims pipeline from half past midnight on; its data are simulated."""
    snapshot = read_target(str(ROOT / "examples/claims-pipeline"), InstanceOptions())
    assert snapshot.window_s is not None
    start_s = snapshot.window_s[0] + int(4.5 * HOUR_S)
    return cut(snapshot, (start_s, start_s + int(count * HOUR_S)))


def test_the_alert_of_the_post_arrives_once():
    """The byte balance is at zero from 02:05 on, so the message comes at 02:35."""
    texts = slack_messages_of(hours_of_the_incident(2.5), empty_minutes=30)
    found = alert_check(texts, empty_minutes=30)

    assert found.is_right, texts
    assert "since 2023-02-14 02:05 UTC and still now (30 min)" in found.found
    assert all("simulated" in text for text in texts)
    assert len(texts) == len(set(texts))


def test_before_its_time_there_is_no_alert():
    texts = slack_messages_of(hours_of_the_incident(2), empty_minutes=30)
    found = alert_check(texts, empty_minutes=30)

    assert not found.is_right
    assert f"{len(texts)} messages arrived, and none says so" == found.found
