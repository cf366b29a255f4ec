"""What each receiver is sent for the messages of one simulated episode, as its service gets it."""

import json
from collections.abc import Callable, Iterator
from email.policy import default as policy

import pytest

from fixtures.receivers.doubles import PagerDuty as PagerDutyDouble
from fixtures.receivers.doubles import Recorder, Slack
from fixtures.receivers.messages import BOUND, KEY, MESSAGES, START_S
from plimsoll.watch.law.message import Message
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


def sent_by(recorder: Recorder, receiver: Receiver, message: Message, earlier: str = "") -> str:
    """The body of the request for a message, with an indent."""
    before = len(recorder.sent)
    receiver.send(message, earlier)
    (sent,) = recorder.sent[before:]
    return json.dumps(sent.json, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


KINDS: dict[str, Callable[[Recorder, str], str]] = {
    "alertmanager": lambda recorder, name: sent_by(
        recorder, AlertmanagerReceiver("team", [recorder.url], now=lambda: NOW_S), MESSAGES[name], EARLIER.get(name, "")
    ),
    "slack": lambda recorder, name: sent_by(
        recorder, SlackWebhook("team", Secret(f"{recorder.url}/services/x")), MESSAGES[name]
    ),
    "webhook": lambda recorder, name: sent_by(recorder, Webhook("team", Secret(recorder.url)), MESSAGES[name]),
}


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_body_of_a_request(golden, recorder, kind, name):
    """Alertmanager, Slack's webhook and the generic webhook."""
    golden(f"receivers/{kind}/{name}.json", KINDS[kind](recorder, name))


@pytest.mark.parametrize("name", MESSAGES)
def test_the_event_for_pagerduty(golden, name):
    """The double accepts it as Events API v2 describes it."""
    with PagerDutyDouble() as double:
        receiver = PagerDuty("team", Secret("R" * 32), url=f"{double.url}/v2/enqueue")
        found = sent_by(double, receiver, MESSAGES[name])

    golden(f"receivers/pagerduty/{name}.json", found)


@pytest.mark.parametrize("name", MESSAGES)
def test_the_text_of_an_email(golden, name):
    """Headers and text; the transfer encoding is undone, since people do not see it."""
    sender, to = parsed_address("sender", "plimsoll@example.com"), "dba@example.com"
    mail = mail_of(MESSAGES[name], sender, [parsed_address("to", to)], NOW_S)
    headers = "".join(f"{key}: {value}\n" for key, value in mail.items())

    assert mail.as_bytes(policy=policy)
    golden(f"receivers/email/{name}.txt", f"{headers}\n{mail.get_content()}")


@pytest.mark.parametrize("name", MESSAGES)
def test_the_text_for_apprise(golden, recorder, name):
    """Title and text, for services that have no layout."""
    receiver = AppriseReceiver("team", Secret(f"json://{recorder.url[7:]}"))
    found = json.loads(sent_by(recorder, receiver, MESSAGES[name]))

    golden(f"receivers/apprise/{name}.txt", f"{found['title']} [{found['type']}]\n\n{found['message']}")


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
