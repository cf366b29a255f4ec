"""The published incident, read from an account over HTTP and told to four receivers at once, as it was reviewed."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import watched_incident
from fixtures.aws.double import Double, environment
from fixtures.receivers.doubles import Recorder, Slack
from live.prometheus_server import wait_for
from live.test_watch_incident import DATE, SHIFT_S, account
from live.told_alertmanager import alertmanager_for
from plimsoll.app.watch import open_targets
from plimsoll.watch.config import WatchSettings, open_receivers
from plimsoll.watch.receivers.settings import AlertmanagerSettings, SlackSettings, WebhookSettings
from plimsoll_lab.servers.prometheus import Alertmanager
from scenes import Book

pytestmark = pytest.mark.live

__all__ = ["account"]

# Times of Slack and Alertmanager, and days, which are those of the test.
TIMES = re.compile(r"<!date\^\d+\^")
# What happens in the incident, as it was reviewed for a webhook.
TRANSITIONS = [
    ("bound", "nearing"),
    ("bound", "bound"),
    ("balance-empty", "bound"),
    ("balance-empty", "ok"),
    ("bound", "ok"),
]
# What Alertmanager tells: an alert that becomes critical is another one, and the first one ends.
TOLD = [
    ("PlimsollBound", "firing", "warning"),
    ("PlimsollBound", "firing", "critical"),
    ("PlimsollBound", "resolved", "warning"),
    ("PlimsollBalanceEmpty", "firing", "critical"),
    ("PlimsollBalanceEmpty", "resolved", "critical"),
    ("PlimsollBound", "resolved", "critical"),
]
# After so many transitions, Alertmanager has told so much.
TOLD_AFTER = {0: 0, 1: 1, 2: 3, 3: 4, 4: 5, 5: 6}


@pytest.fixture
def told() -> Iterator[Recorder]:
    """Who Alertmanager tells."""
    with Recorder() as running:
        yield running


@pytest.fixture
def alertmanager(told: Recorder) -> Iterator[Alertmanager]:
    """A real one that tells at once."""
    with alertmanager_for(told) as running:
        yield running


def notified(told: Recorder) -> list[tuple[str, str, str]]:
    """Name, status and severity of each alert that Alertmanager told of."""
    return [
        (alert["labels"]["alertname"], alert["status"], alert["labels"]["severity"])
        for sent in list(told.sent)
        for alert in sent.json["alerts"]
    ]


def texts_of(found: Any) -> list[str]:
    """Every text of a block of Slack, in order."""
    if isinstance(found, dict):
        text = [found["text"]] if isinstance(found.get("text"), str) else []
        rest = [v for k, v in found.items() if k != "text" or not isinstance(v, str)]
        return text + [line for value in rest for line in texts_of(value)]
    if isinstance(found, list):
        return [line for value in found for line in texts_of(value)]
    return []


def page(title: str, bodies: list[list[str]]) -> str:
    """What one receiver got, to be reviewed; without days."""
    blocks = ["\n".join(f"  {line}" for line in lines) for lines in bodies]
    whole = f"{title}\n\n" + "\n\n".join(blocks) + "\n"
    return DATE.sub("DAY", TIMES.sub("<!date^SECONDS^", whole))


def slack_page(hooked: list[dict[str, Any]], slack: Slack) -> str:
    """What a channel shows of both forms."""
    asked = [
        [one.path.rpartition("/")[2], one.json["text"]]
        for one in slack.sent
        if one.path.endswith(("chat.postMessage", "chat.update"))
    ]
    shown = [[body["text"], *texts_of(body["blocks"])] for body in hooked]
    return page("Slack, by an incoming webhook", shown) + "\n" + page("Slack, by a bot: each request", asked)


def alertmanager_page(told: Recorder) -> str:
    """What Alertmanager tells; each alert is a group, and two of one moment are told in any order."""
    alerts = sorted(
        (alert for sent in told.sent for alert in sent.json["alerts"]),
        key=lambda a: (a["labels"]["alertname"], a["labels"]["severity"], a["status"]),
    )
    blocks = []
    for alert in alerts:
        labels, texts = alert["labels"], alert["annotations"]
        lines = [f"{alert['status']} {labels['alertname']} {labels['severity']}"]
        names = ("summary", "description", "advice", "state")
        lines += [f"{name}: {texts[name]}" for name in names if name in texts]
        blocks.append(lines)
    return page("Alertmanager, what it tells", blocks)


def configured(ledger: Path, hook: Recorder, slack: Slack, alertmanager: Alertmanager) -> WatchSettings:
    """One configuration with all of them."""
    return replace(
        watched_incident.settings_of(ledger, hook.url),
        receivers=(
            WebhookSettings(name="ops", url=hook.url),
            SlackSettings(name="slack-hook", webhook_url_env="HOOK"),
            SlackSettings(name="slack-bot", token_env="TOKEN", channel="C0123ABCDEF", api_url=f"{slack.url}/api"),
            AlertmanagerSettings(name="cluster", urls=(alertmanager.address,)),
        ),
    )


def test_every_receiver_gets_exactly_the_transitions(
    account: Double, tmp_path: Path, told: Recorder, alertmanager: Alertmanager, golden: Callable[[str, str], None]
):
    """Nearing, bound, no credits for an hour, and both ends: each once, in every receiver's own form."""
    expected = Book()
    watched_incident.watched(
        watched_incident.from_example(), watched_incident.settings_of(tmp_path / "example.db", "http://x/"), expected
    )
    with (
        Recorder() as hook,
        Slack() as slack,
        watched_incident.only_these_variables(environment(account.url, tmp_path)),
    ):
        settings = configured(tmp_path / "l.db", hook, slack, alertmanager)
        secrets = {"HOOK": f"{slack.url}/services/T0/B0/x", "TOKEN": slack.token}
        (target,), receivers = open_targets(settings), open_receivers(settings, secrets)

        def on_turn() -> None:
            wanted = TOLD_AFTER[len(hook.sent)]
            wait_for(f"{wanted} notifications", lambda: len(notified(told)) >= wanted)

        lines = watched_incident.watched(target, settings, *receivers, shift_s=SHIFT_S, on_turn=on_turn)

    assert [(m.json["rule"], m.json["state"]) for m in hook.sent] == TRANSITIONS
    # The same sentences as from the example, apart from their days, each once.
    assert [DATE.sub("DAY", m.json["title"]) for m in hook.sent] == [DATE.sub("DAY", m.title) for m in expected.got]
    assert [m.json["number"] for m in hook.sent] == [m.number for m in expected.got]
    assert len({m.headers["idempotency-key"] for m in hook.sent}) == len(TRANSITIONS)
    assert sorted(notified(told)) == sorted(TOLD)
    assert [line for line in lines if line["event"] == "not sent"] == []
    sent = [(line["receiver"], line["key"], line["number"]) for line in lines if line["event"] == "sent"]
    assert len(sent) == len(set(sent)) == 4 * len(TRANSITIONS)

    hooked = [one.json for one in slack.sent if one.path.startswith("/services/")]
    posted = [one for one in slack.sent if one.path.endswith("chat.postMessage")]
    updated = [one for one in slack.sent if one.path.endswith("chat.update")]
    assert len(hooked) == len(TRANSITIONS)
    # Two episodes; each later transition updates its message and adds a line to its thread.
    assert len([one for one in posted if "thread_ts" not in one.json]) == 2
    assert len([one for one in posted if "thread_ts" in one.json]) == len(updated) == 3

    golden("watch/claims-pipeline-slack.txt", slack_page(hooked, slack))
    golden("watch/claims-pipeline-alertmanager.txt", alertmanager_page(told))
