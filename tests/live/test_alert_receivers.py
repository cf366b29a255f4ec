"""Alerts at Debian's real Alertmanager: one for an episode, whatever is sent again, and none after its end."""

import json
import subprocess
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest

from fixtures.receivers.doubles import Recorder
from fixtures.receivers.messages import BOUND, EMPTY, HOSTILE, KEY, NEARING, RESOLVED, UNKNOWN, hostile, message
from live.prometheus_server import wait_for
from live.told_alertmanager import alertmanager_for
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.receivers.alertmanager import AlertmanagerReceiver
from plimsoll_lab.servers.prometheus import Alertmanager
from plimsoll_lab.servers.store import default_store

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def told() -> Iterator[Recorder]:
    """Who Alertmanager tells."""
    with Recorder() as running:
        yield running


@pytest.fixture(scope="module")
def alertmanager(told: Recorder) -> Iterator[Alertmanager]:
    with alertmanager_for(told) as running:
        yield running


def receiver(alertmanager: Alertmanager) -> AlertmanagerReceiver:
    return AlertmanagerReceiver("team", [alertmanager.address])


def open_alerts(alertmanager: Alertmanager, key: str) -> list[dict[str, Any]]:
    """What the API says of an episode."""
    url = f"{alertmanager.address}/api/v2/alerts?filter=episode%3D%22{key}%22"
    with urlopen(url, timeout=10) as answer:
        return json.load(answer)


def by_amtool(alertmanager: Alertmanager, *arguments: str) -> str:
    """What Alertmanager's own client prints."""
    home = default_store().get(Alertmanager.package)
    command = [home / "usr/bin/amtool", f"--alertmanager.url={alertmanager.address}", *arguments]
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=True, timeout=30
    ).stdout


def told_of(told: Recorder, key: str) -> list[tuple[str, str]]:
    """Status and severity of each notification of an episode."""
    return [
        (alert["status"], alert["labels"]["severity"])
        for sent in list(told.sent)
        for alert in sent.json["alerts"]
        if alert["labels"]["episode"] == key
    ]


def test_an_episode_is_one_alert_from_its_beginning_to_its_end(alertmanager, told):
    """
    Repetitions merge, a change of severity exchanges the alert, unknown resolves nothing, the end closes it.

    Each of these is told once.
    """
    earlier = ""
    for each in (NEARING, NEARING, NEARING):
        earlier = receiver(alertmanager).send(each, earlier)
        (alert,) = open_alerts(alertmanager, KEY)
    assert ("warning", "active") == (alert["labels"]["severity"], alert["status"]["state"])
    wait_for("the first notification", lambda: told_of(told, KEY))

    for _ in range(3):
        earlier = receiver(alertmanager).send(BOUND, earlier)
        (alert,) = open_alerts(alertmanager, KEY)
    assert "critical" == alert["labels"]["severity"]
    assert "2026-11-22T10:14:00.000Z" == alert["startsAt"]
    wait_for("its exchange", lambda: len(told_of(told, KEY)) == 3)

    shown = by_amtool(alertmanager, "alert", "query", "dbidentifier=orders-primary", "-o", "json")
    assert [KEY] == [found["labels"]["episode"] for found in json.loads(shown)]

    gap = message(number=3, state=WatchState.UNKNOWN, severity="warning")
    receiver(alertmanager).send(gap, earlier)
    (alert,) = open_alerts(alertmanager, KEY)
    assert ("critical", "unknown") == (alert["labels"]["severity"], alert["annotations"]["state"])

    for _ in range(3):
        receiver(alertmanager).send(RESOLVED, earlier)
        assert [] == open_alerts(alertmanager, KEY)
    assert "[]" == by_amtool(alertmanager, "alert", "query", f"episode={KEY}", "-o", "json").strip()
    wait_for("its end", lambda: ("resolved", "critical") in told_of(told, KEY))

    assert [
        *(("firing", "critical"), ("firing", "warning")),
        *(("resolved", "critical"), ("resolved", "warning")),
    ] == sorted(told_of(told, KEY))


def test_episodes_of_one_instance_are_alerts_of_their_own(alertmanager):
    """Rules and episodes are told apart; silences and routes find them by the labels of the instance."""
    for each in (EMPTY, UNKNOWN):
        receiver(alertmanager).send(each, "")
    names = [open_alerts(alertmanager, m.key)[0]["labels"]["alertname"] for m in (EMPTY, UNKNOWN)]

    assert ["PlimsollBalanceEmpty", "PlimsollNoData"] == names
    silenced = by_amtool(*(alertmanager, "silence", "add", "dbidentifier=orders-primary", "-c", "test", "-d", "1h"))
    assert silenced.strip()
    wait_for("the silence", lambda: open_alerts(alertmanager, EMPTY.key)[0]["status"]["silencedBy"])


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_hostile_texts_are_accepted_as_they_are(alertmanager, number):
    """The real server parses every text as a value of a label."""
    receiver(alertmanager).send(hostile(HOSTILE[number], key=f"hostile{number}"), "")
    (alert,) = open_alerts(alertmanager, f"hostile{number}")

    assert alert["labels"]["alertname"].startswith("Plimsoll")
