"""Messages of any text: every receiver's form stays valid, within limits, and without markup of others."""

import json
import re
from email import message_from_bytes
from email.policy import default as policy

import jsonschema
import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fixtures.receivers.doubles import wrong_message
from fixtures.receivers.messages import START_S, message
from plimsoll.model.severity import SEVERITIES
from plimsoll.reports.schema.describe import schema_of
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.alertmanager import annotations_of, labels_of
from plimsoll.watch.receivers.email import mail_of, parsed_address
from plimsoll.watch.receivers.pagerduty import event_of
from plimsoll.watch.receivers.slack_blocks import blocks_of, notification_of
from plimsoll.watch.receivers.webhook import WatchMessageDocument, body_of
from plimsoll.watch.receivers.wording import text_of

# Single surrogates are texts of Python, though not of UTF-8.
ANY_CHARACTER = st.characters(exclude_categories=())
SPECIAL = st.sampled_from(
    ["x" * 300, "<!channel>", "\r\nBcc: x@y.example\r\n", "&lt;", "]]>", "\u202e", "\0", "=?utf-8?q?a=0d=0aBcc:_x@y?="]
)
TEXTS = st.text(ANY_CHARACTER) | st.lists(st.text(ANY_CHARACTER) | SPECIAL).map("".join)
LISTS = st.lists(SPECIAL | st.text(ANY_CHARACTER, max_size=20), max_size=12).map(tuple)
SCHEMA = schema_of(WatchMessageDocument)
SENDER = parsed_address("sender", "plimsoll@example.com")


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """A message of which every text that can come from outside is any text."""
    names = ("account", "region", "instance", "rule", "ceiling", "title", "link", "runbook")
    return message(
        **{name: draw(TEXTS) for name in names},
        facts=draw(LISTS),
        advice=draw(LISTS),
        state=draw(st.sampled_from(WatchState)),
        severity=draw(st.sampled_from(SEVERITIES)),
        number=draw(st.integers(1, 9)),
        is_simulated=draw(st.booleans()),
    )


@given(messages())
def test_slack_accepts_it_and_mentions_nobody(found):
    """Blocks are within their limits, and the notification has no angle bracket that is not escaped."""
    body = {"text": notification_of(found), "blocks": blocks_of(found, is_thread_below=True)}
    marked = [e["text"] for e in body["blocks"][-1]["elements"] if e["type"] == "mrkdwn"]

    assert "" == wrong_message(json.loads(msgspec.json.encode(body)))
    assert not set("<>") & set(body["text"])
    assert not re.search(r"&(?!amp;|lt;|gt;)", body["text"])
    # Outside our own dates and links, the marked texts have words of ours only.
    assert all(not set("<>|&") & set(re.sub(r"<[^<>]*>", "", text)) for text in marked)
    assert all(re.fullmatch(r"!date\^.*|https?://.*", b) for b in re.findall(r"<([^|>]*)", " ".join(marked)))


@given(messages())
def test_an_email_has_our_headers_only(found):
    """After the transport, headers and text are what was meant."""
    mail = mail_of(found, SENDER, [SENDER], START_S)
    back = message_from_bytes(mail.as_bytes(policy=policy.clone(linesep="\r\n")), policy=policy)

    assert set(mail.keys()) == set(back.keys())
    assert not {"bcc", "cc"} & {name.lower() for name in back}
    # The library may lose a space between encoded words.
    assert mail["Subject"].replace(" ", "") == back["Subject"].replace(" ", "")
    assert back["Subject"].isprintable()
    assert text_of(found) == back.get_content().replace("\r\n", "\n")


@given(messages())
def test_alertmanager_gets_labels_that_are_not_empty(found):
    """Values are texts of UTF-8 on one line."""
    labels = labels_of(found, "critical")

    assert all(value and value.isprintable() for value in labels.values())
    assert msgspec.json.encode([labels, annotations_of(found)])


@given(messages())
def test_pagerduty_gets_fields_within_their_limits(found):
    """A summary of at most 1,024 characters, a source, and an event below 512 KB."""
    event = event_of(found, "critical")

    assert 1 <= len(event["payload"]["summary"]) <= 1024
    assert event["payload"]["source"]
    assert len(msgspec.json.encode(event)) < 512 * 1024


@given(messages())
def test_a_webhook_gets_the_form_that_is_described(found):
    """The document has the schema, whatever the texts are."""
    jsonschema.validate(json.loads(msgspec.json.encode(body_of(found, has_picture=True))), SCHEMA)


@given(messages())
def test_simulated_data_is_called_simulated(found):
    """In the first words of every form, however long a name is."""
    found = replace(found, is_simulated=True)
    heads = [
        text_of(found).partition("\n")[0],
        notification_of(found),
        blocks_of(found)[0]["text"]["text"],
        event_of(found, "info")["payload"]["summary"],
        body_of(found, has_picture=False).headline,
        annotations_of(found)["summary"],
        mail_of(found, SENDER, [SENDER], START_S)["Subject"],
    ]

    assert all("simulated data" in head for head in heads)
