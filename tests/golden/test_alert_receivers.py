"""What each receiver is sent for the messages of one simulated episode, as its service gets it."""

import json
from collections.abc import Callable, Iterator
from email.policy import default as policy

import pytest

from fixtures.receivers.doubles import PagerDuty as PagerDutyDouble
from fixtures.receivers.doubles import Recorder, Slack
from fixtures.receivers.messages import BOUND, KEY, MESSAGES, START_S
from plimsoll.watch.receivers.alertmanager import AlertmanagerReceiver
from plimsoll.watch.receivers.apprise import AppriseReceiver
from plimsoll.watch.receivers.email import mail_of, parsed_address
from plimsoll.watch.receivers.pagerduty import PagerDuty
from plimsoll.watch.receivers.receiver import Receiver
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.slack import SlackBot, SlackPlace, SlackWebhook
from plimsoll.watch.receivers.webhook import Webhook

# Apprise looks for imghdr, which Python 3.13 no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")

NOW_S = START_S + 9_000.0
EARLIER = {"bound": "warning", "resolved": "critical"}
"""The severity that was open before, by the message."""


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with Recorder() as running:
        yield running


def sent_by(recorder: Recorder, receiver: Receiver, name: str) -> str:
    """The body of the request for a message, with an indent."""
    before = len(recorder.sent)
    receiver.send(MESSAGES[name], EARLIER.get(name, ""))
    (sent,) = recorder.sent[before:]
    return json.dumps(sent.json, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def event(_: Recorder, name: str) -> str:
    """The double of PagerDuty accepts it as Events API v2 describes it."""
    with PagerDutyDouble() as double:
        return sent_by(double, PagerDuty("team", Secret("R" * 32), url=f"{double.url}/v2/enqueue"), name)


def mail(_: Recorder, name: str) -> str:
    """Headers and text; the transfer encoding is undone, since people do not see it."""
    sender, to = (parsed_address(what, f"{who}@example.com") for what, who in (("sender", "plimsoll"), ("to", "dba")))
    made = mail_of(MESSAGES[name], sender, [to], NOW_S)
    assert made.as_bytes(policy=policy)
    headers = "".join(f"{key}: {value}\n" for key, value in made.items())
    return f"{headers}\n{made.get_content()}"


def notification(recorder: Recorder, name: str) -> str:
    """Title and text, for services that have no layout."""
    found = json.loads(sent_by(recorder, AppriseReceiver("team", Secret(f"json://{recorder.url[7:]}")), name))
    return f"{found['title']} [{found['type']}]\n\n{found['message']}"


KINDS: dict[str, Callable[[Recorder, str], str]] = {
    "alertmanager/{}.json": lambda recorder, name: sent_by(
        recorder, AlertmanagerReceiver("team", [recorder.url], now=lambda: NOW_S), name
    ),
    "slack/{}.json": lambda recorder, name: sent_by(
        recorder, SlackWebhook("team", Secret(f"{recorder.url}/services/x")), name
    ),
    "webhook/{}.json": lambda recorder, name: sent_by(recorder, Webhook("team", Secret(recorder.url)), name),
    "pagerduty/{}.json": event,
    "email/{}.txt": mail,
    "apprise/{}.txt": notification,
}


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("file", KINDS)
def test_what_a_receiver_gets(golden, recorder, file, name):
    golden(f"receivers/{file.format(name)}", KINDS[file](recorder, name))


def test_the_requests_of_a_bot_for_a_transition(golden):
    """An update of the message of the episode, and a reply in its thread."""
    with Slack() as slack:
        slack.messages["1795342440.0001"] = {}
        earlier = json.dumps({"channel": "C0123ABCDEF", "ts": "1795342440.0001", "number": 1})
        bot = SlackBot("team", Secret(slack.token), "#databases", api=f"{slack.url}/api")
        later = bot.send(BOUND, earlier)
        requests = {sent.path: sent.json for sent in slack.sent}

    assert KEY in json.dumps(requests)
    assert SlackPlace(**json.loads(later)).number == 2
    text = json.dumps(requests, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    golden("receivers/slack-bot/bound.json", text)
