"""The generic webhook: one document for each message, signed, the same when sent again."""

import base64
import hashlib
import hmac
import json
from pathlib import Path

import jsonschema
import msgspec
import pytest

from fixtures.receivers.doubles import Recorder
from fixtures.receivers.messages import BOUND, HOSTILE, KEY, MESSAGES, hostile, message, picture
from plimsoll.errors import UsageError
from plimsoll.reports.schema.describe import schema_of
from plimsoll.reports.schema.forms import schema_text
from plimsoll.reports.schema.page import fields_of
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.webhook import WatchMessageDocument, Webhook

ROOT = Path(__file__).resolve().parents[4]
SCHEMA = ROOT / "src" / "plimsoll" / "watch" / "receivers" / "watch-message.schema.json"
PAGE = ROOT / "docs" / "reference" / "watch-message-json.md"
NOW_S = 1_795_343_700


def hook(url: str, **arguments) -> Webhook:
    return Webhook("team", Secret(url), now=lambda: NOW_S + 0.7, **arguments)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_one_document(name):
    """The body has the documented form and says what the message says."""
    with Recorder() as recorder:
        returned = hook(recorder.url).send(MESSAGES[name], "")
    (sent,) = recorder.sent
    body = msgspec.json.decode(sent.body, type=WatchMessageDocument, strict=True)

    jsonschema.validate(sent.json, json.loads(SCHEMA.read_text()))
    assert MESSAGES[name].title == body.title
    assert body.is_simulated
    assert returned == body.id == sent.headers["idempotency-key"]
    assert "webhook-signature" not in sent.headers
    assert "application/json" == sent.headers["content-type"]


def test_a_repetition_is_the_same_request():
    """Body and Idempotency-Key are equal, so a receiver can merge it."""
    with Recorder() as recorder:
        for _ in range(2):
            hook(recorder.url).send(BOUND, "")
    first, second = recorder.sent

    assert first.body == second.body
    assert f"{KEY}-2" == first.headers["idempotency-key"] == second.headers["idempotency-key"]


@pytest.mark.parametrize("secret", ["a plain text", "whsec_" + base64.b64encode(b"key").decode()])
def test_the_signature_is_that_of_standard_webhooks(secret):
    """HMAC-SHA256 over identifier, time and body, in base64, after "v1,"."""
    with Recorder() as recorder:
        hook(recorder.url, signing=Secret(secret)).send(BOUND, "")
    (sent,) = recorder.sent
    key = b"key" if secret.startswith("whsec_") else secret.encode()
    text = b".".join([f"{KEY}-2".encode(), str(NOW_S).encode(), sent.body])
    expected = base64.b64encode(hmac.digest(key, text, hashlib.sha256)).decode()

    assert f"v1,{expected}" == sent.headers["webhook-signature"]
    assert (f"{KEY}-2", str(NOW_S)) == (sent.headers["webhook-id"], sent.headers["webhook-timestamp"])


def test_a_secret_that_is_no_base64_is_refused():
    with pytest.raises(UsageError, match="the rest is not base64"):
        hook("http://127.0.0.1", signing=Secret("whsec_%%%"))


@pytest.mark.parametrize("has_picture", [True, False])
def test_the_picture_is_sent_if_it_is_asked_for(has_picture):
    """In base64; otherwise the field is null."""
    with Recorder() as recorder:
        hook(recorder.url, has_picture=has_picture).send(message(picture_png=picture()), "")
    found = recorder.sent[0].json["picture_png"]

    assert (picture() if has_picture else None) == (found and base64.b64decode(found))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_a_text(text):
    """Whatever a name contains, the document is valid and the headers are ours."""
    with Recorder() as recorder:
        hook(recorder.url, signing=Secret("x")).send(hostile(text), "")
    (sent,) = recorder.sent

    assert text.encode("utf-8", "replace").decode() == json.loads(sent.body)["instance"]
    assert "bcc" not in sent.headers


def test_the_form_is_described(pytestconfig):
    """The schema and the table of the reference page are made of the Struct; --regenerate-golden writes them."""
    schema = schema_of(WatchMessageDocument)
    if pytestconfig.getoption("--regenerate-golden"):
        SCHEMA.write_text(schema_text(schema), encoding="utf-8")
        words = PAGE.read_text(encoding="utf-8").partition("## Document")[0]
        PAGE.write_text(words + fields_of(schema), encoding="utf-8")

    assert schema_text(schema) == SCHEMA.read_text(encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8").endswith(f"\n\n{fields_of(schema)}")
