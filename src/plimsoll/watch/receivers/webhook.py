"""
Send messages as JSON to any web address.

The header `Idempotency-Key` is the same when a message is sent again, so a receiver can merge repetitions. With a
secret, every request is signed as Standard Webhooks describes it; libraries that check this exist for most languages.

Source: Standard Webhooks 1.0 (standardwebhooks.com), "Signature scheme".
"""

import base64
import binascii
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.model.severity import Severity
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.web import WebReceiver
from plimsoll.watch.receivers.wording import headline, timestamp

# Standard Webhooks writes this before secrets that are base64.
_SECRET_PREFIX = "whsec_"  # noqa: S105 - a marker, no secret


class WatchMessageDocument(Struct, frozen=True, kw_only=True):
    """
    A message of a watch.

    What `plimsoll watch` sends to a receiver of the kind `webhook`, and all that a message says. Every field is always
    present; null means that there is none.
    """

    schema: Literal["plimsoll.watch-message/1"]
    """Name and version of this form."""
    id: str
    """Of the message: the same whenever it is sent again, and equal to the header `Idempotency-Key`."""
    key: str
    """Of the episode, from its first message to the one that resolves it."""
    number: int
    """Of the message within its episode, from 1."""
    state: WatchState
    """`nearing` or at (`bound`) a limit, resolved (`ok`), or no recent data (`unknown`), which resolves nothing."""
    severity: Severity
    """How urgent it is."""
    is_simulated: bool
    """Whether the data comes from a simulator, and no real database is meant."""
    account: str | None
    """AWS account."""
    region: str | None
    """AWS region."""
    instance: str
    """Name of the database instance, as the source has it."""
    rule: str
    """Rule that led to the message, for example `balance-empty`."""
    ceiling: str | None
    """The limit in words, for example `instance EBS throughput`."""
    headline: str
    """What happened to which instance, in a few words."""
    title: str
    """One sentence: number, unit, what it is compared with, since when."""
    facts: tuple[str, ...]
    """Further sentences."""
    advice: tuple[str, ...]
    """What to do first, in order."""
    since: str
    """Start of the episode, in UTC (RFC 3339)."""
    at: str
    """End of the data that led to this message, in UTC (RFC 3339)."""
    link: str | None
    """Page of the instance."""
    runbook: str | None
    """Page that explains the alert."""
    picture_png: str | None
    """Timeline as a PNG in base64; only with the setting `picture`."""


class Webhook:
    """Sends each message as one JSON document."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(
        self,
        name: str,
        url: Secret,
        *,
        signing: Secret | None = None,
        has_picture: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Prepare; nothing is sent yet.

        Args:
            name: of the receiver.
            url: where to send.
            signing: secret for signatures; None for no signature.
            has_picture: whether the picture is part of the document.
            now: epoch seconds; signatures contain the time.

        Raises:
            UsageError: the secret for signatures cannot be decoded.
        """
        self.name = name
        self._url = url
        self._signing = signing
        if signing is not None:
            signing_key(name, signing)  # wrong ones are refused before anything is sent
        self._has_picture = has_picture
        self._now = now
        self._web = WebReceiver(name, [url, *([signing] if signing else [])])

    def send(self, message: Message, earlier: str) -> str:  # noqa: ARG002 - each message stands for itself
        """Deliver a message, and return its identifier."""
        body = body_of(message, has_picture=self._has_picture)
        content = msgspec.json.encode(body)
        headers = {"Content-Type": "application/json", "Idempotency-Key": body.id}
        if self._signing is not None:
            key = signing_key(self.name, self._signing)
            headers |= signed(key, body.id, int(self._now()), content)
        self._web.delivered(self._web.post(self._url.reveal(), content, headers))
        return body.id


def body_of(message: Message, *, has_picture: bool) -> WatchMessageDocument:
    """Return the document of a message; texts stay as they are, because a program reads them."""
    picture = base64.b64encode(message.picture_png).decode() if has_picture else ""
    return WatchMessageDocument(
        schema="plimsoll.watch-message/1",
        id=f"{message.key}-{message.number}",
        key=message.key,
        number=message.number,
        state=message.state,
        severity=message.severity,
        is_simulated=message.is_simulated,
        account=_valid(message.account) or None,
        region=_valid(message.region) or None,
        instance=_valid(message.instance),
        rule=_valid(message.rule),
        ceiling=_valid(message.ceiling) or None,
        headline=headline(message),
        title=_valid(message.title),
        facts=tuple(map(_valid, message.facts)),
        advice=tuple(map(_valid, message.advice)),
        since=timestamp(message.since_s),
        at=timestamp(message.at_s),
        link=_valid(message.link) or None,
        runbook=_valid(message.runbook) or None,
        picture_png=picture or None,
    )


def signing_key(name: str, secret: Secret) -> bytes:
    """
    Return the key of signatures: after `whsec_` it is base64, otherwise the text itself.

    Raises:
        UsageError: what follows `whsec_` is not base64, or is empty.
    """
    text = secret.reveal()
    if not text.startswith(_SECRET_PREFIX):
        return text.encode()
    try:
        key = base64.b64decode(text.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise UsageError(
            f"receiver '{name}': the secret begins with whsec_, but the rest is not base64",
            "Copy the secret again, or use one without whsec_.",
        )
    return key


def signed(key: bytes, identifier: str, at_s: int, content: bytes) -> dict[str, str]:
    """Return the headers of a signature over identifier, time and content."""
    text = f"{identifier}.{at_s}.".encode() + content
    signature = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    return {"webhook-id": identifier, "webhook-timestamp": str(at_s), "webhook-signature": f"v1,{signature}"}


def _valid(text: str) -> str:
    """Return a text that UTF-8 can write: halves of surrogate pairs become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
