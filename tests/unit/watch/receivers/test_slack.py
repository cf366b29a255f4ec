"""Slack by webhook and as a bot, against a double that refuses what Slack refuses."""

import json
import re
from collections.abc import Iterator

import pytest

from fixtures.receivers.doubles import Given, Slack, given
from fixtures.receivers.messages import BOUND, HOSTILE, KEY, MESSAGES, NEARING, RESOLVED, hostile, message, picture
from plimsoll.errors import SourceError
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.slack import SlackBot, SlackWebhook

PLANTED = "planted-part-of-a-webhook"


@pytest.fixture
def slack() -> Iterator[Slack]:
    with Slack() as running:
        yield running


def webhook(slack: Slack) -> SlackWebhook:
    return SlackWebhook("team", Secret(f"{slack.url}/services/T0/B0/{PLANTED}"))


def bot(slack: Slack, *, token: str = "xoxb-simulated", notes: list[str] | None = None) -> SlackBot:
    kept = [] if notes is None else notes
    api = f"{slack.url}/api"
    return SlackBot("team", Secret(token), "#databases", api=api, note=kept.append)


def texts_of(found) -> list[str]:
    """Every text of a request, wherever it is."""
    if isinstance(found, dict):
        return [text for value in found.values() for text in texts_of(value)]
    if isinstance(found, list):
        return [text for value in found for text in texts_of(value)]
    return [found] if isinstance(found, str) else []


@pytest.mark.parametrize("name", MESSAGES)
def test_a_webhook_accepts_every_message(slack, name):
    """A transition is one request, and says that its data is simulated."""
    webhook(slack).send(MESSAGES[name], "")
    (sent,) = slack.sent

    assert "(simulated data)" in sent.json["text"]
    assert "(simulated data)" in sent.json["blocks"][0]["text"]["text"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Given(400, b"invalid_payload"), RefusedError),
        (Given(403, b"invalid_token"), RefusedError),
        (Given(404, b"no_service"), RefusedError),
        (Given(410, b"channel_is_archived"), RefusedError),
        (Given(429, b"rate_limited", {"Retry-After": "30"}), BusyReceiver),
        (Given(500, b"rollup_error"), SourceError),
    ],
)
def test_what_a_webhook_refuses_is_told_apart(slack, answer, kind):
    """What will never work is RefusedError; what may work later is not."""
    slack.first.append(answer)
    with pytest.raises(SourceError) as found:
        webhook(slack).send(BOUND, "")

    assert kind is type(found.value)
    assert PLANTED not in found.value.message + found.value.hint


def test_a_bot_keeps_one_message_for_an_episode(slack):
    """The first transition adds a message; later ones update it and are replies in its thread."""
    earlier = ""
    for each in (NEARING, BOUND, RESOLVED):
        earlier = bot(slack).send(each, earlier)
    roots = [m for m in slack.messages.values() if "thread_ts" not in m]
    replies = [m for m in slack.messages.values() if "thread_ts" in m]

    assert 1 == len(roots)
    assert "🟢 Resolved: orders-primary (simulated data)" == roots[0]["blocks"][0]["text"]["text"]
    assert "History: see the thread" in texts_of(roots[0])
    assert [2, 3] == [m["metadata"]["event_payload"]["number"] for m in replies]
    assert [True, False] == [m["reply_broadcast"] for m in replies]
    assert {"1795342440.0001"} == {m["thread_ts"] for m in replies}


def test_a_message_that_was_delivered_is_not_sent_again(slack):
    """What the last call returned has its number: nothing is asked of Slack."""
    earlier = bot(slack).send(BOUND, "")
    asked = len(slack.sent)

    assert earlier == bot(slack).send(BOUND, earlier)
    assert asked == len(slack.sent)


def test_a_reply_that_failed_is_sent_once(slack):
    """The update is done again, which changes nothing; the reply is added once."""
    earlier = bot(slack).send(NEARING, "")
    slack.first += [given(200, {"ok": True}), Given(500, b"")]
    with pytest.raises(SourceError):
        bot(slack).send(BOUND, earlier)
    bot(slack).send(BOUND, earlier)

    assert 2 == len(slack.messages)


@pytest.mark.parametrize("code", ["message_not_found", "cant_update_message", "edit_window_closed"])
def test_a_message_that_is_gone_is_replaced(slack, code):
    """Somebody deleted the message, or it is too old: a new one takes its place."""
    earlier = bot(slack).send(NEARING, "")
    slack.first.append(given(200, {"ok": False, "error": code}))
    later = bot(slack).send(BOUND, earlier)

    assert "1795342440.0002" == json.loads(later)["ts"]
    assert "thread_ts" not in slack.messages["1795342440.0002"]


def test_what_another_receiver_returned_is_a_first_message(slack):
    """After a webhook was exchanged for a bot, an open episode begins a message."""
    assert "1795342440.0001" == json.loads(bot(slack).send(BOUND, f"{KEY}-1"))["ts"]


def test_the_picture_is_in_the_thread(slack):
    """It is uploaded in three steps, and shared as a reply."""
    bot(slack).send(message(picture_png=picture()), "")
    (file,) = slack.files.values()

    assert picture() == file["content"]
    assert ("1795342440.0001", "C0123ABCDEF") == (file["thread_ts"], file["channel"])
    assert f"plimsoll-{KEY}-2.png" == file["name"]


def test_without_the_scope_for_files_the_message_comes_without_picture(slack):
    """The message counts as delivered, and one sentence says what is missing."""
    slack.scopes.discard("files:write")
    notes: list[str] = []
    returned = bot(slack, notes=notes).send(message(picture_png=picture()), "")

    assert returned
    (note,) = notes

    assert "Slack refused files.getUploadURLExternal: missing_scope" in note
    assert note.endswith("; the message was sent without its picture")


def test_a_picture_goes_to_slack_only(slack):
    """An address of somebody else in an answer gets nothing."""
    notes: list[str] = []
    foreign = {"ok": True, "upload_url": "https://evil.example/in", "file_id": "F1"}
    slack.first += [given(200, {"ok": True, "ts": "1.1", "channel": "C1"}), given(200, foreign)]
    bot(slack, notes=notes).send(message(picture_png=picture()), "")

    assert ["that is not Slack's" in note for note in notes] == [True]


@pytest.mark.parametrize(
    ("url", "is_slack"),
    [
        ("https://files.slack.com/upload/v1/x", True),
        ("https://slack.com/x", True),
        ("http://files.slack.com/x", False),
        ("https://files.slack.com.evil.example/x", False),
        ("https://evilslack.com/x", False),
        ("", False),
    ],
)
def test_an_address_is_slacks_by_its_host(url, is_slack):
    assert is_slack == SlackBot("team", Secret("x"), "c")._is_of_slack(url)


@pytest.mark.parametrize(
    ("error", "kind", "hint"),
    [
        ("invalid_auth", RefusedError, "xoxb-"),
        ("missing_scope", RefusedError, "chat:write"),
        ("not_in_channel", RefusedError, "Invite the bot"),
        ("a_new_error", RefusedError, "Check the token"),
        ("internal_error", SourceError, "tried again"),
        ("<b>&\n", SourceError, "tried again"),
        ("ratelimited", BusyReceiver, "outbox"),
    ],
)
def test_errors_of_the_api_are_told_apart(slack, error, kind, hint):
    """Slack answers errors with status 200."""
    slack.first.append(given(200, {"ok": False, "error": error}))
    with pytest.raises(SourceError) as found:
        bot(slack).send(BOUND, "")

    assert kind is type(found.value)
    assert hint in found.value.hint
    assert "<b>" not in found.value.message


def test_a_wrong_token_is_refused_and_not_shown(slack):
    with pytest.raises(RefusedError) as found:
        bot(slack, token="xoxb-planted").send(BOUND, "")

    assert "receiver 'team': Slack refused chat.postMessage: invalid_auth" == found.value.message


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b"\xff"])
def test_an_answer_that_is_no_object_is_an_error(slack, body):
    """A proxy that answers in Slack's place did not deliver anything."""
    slack.first.append(Given(200, body))
    with pytest.raises(SourceError, match="did not answer with a JSON object"):
        bot(slack).send(BOUND, "")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_mention_nobody_and_fit(slack, text):
    """mrkdwn is escaped; everything else is shown as it is; the double checks Slack's limits."""
    first = hostile(text, number=1)
    earlier = bot(slack).send(first, "")
    bot(slack).send(hostile(text, number=2), earlier)
    webhook(slack).send(first, "")
    for sent in slack.sent:
        found = sent.json
        marked = [one["text"] for one in found["blocks"][-1]["elements"] if one["type"] == "mrkdwn"]

        assert not set("<>") & set(found["text"])
        assert all(map(str.isprintable, texts_of(found)))
        # Only our own dates and links are in angle brackets.
        brackets = re.findall(r"<([^>]*)", " ".join(marked))
        assert all(b.startswith(("!date^1795", "https://watch.example.com/")) for b in brackets)
        assert not any(">" in re.sub(r"<[^<>]*>", "", one) for one in marked)
