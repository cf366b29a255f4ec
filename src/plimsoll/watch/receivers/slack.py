"""
Send messages to Slack: by an incoming webhook, or as a bot.

A webhook can only add messages: each transition is one. A bot adds one message for an episode, updates it at each
transition, and writes the transition and its picture into the thread. A bot needs the scope `chat:write`, and
`files:write` for pictures.

Source: Slack's API reference: incoming webhooks, chat.postMessage, chat.update, files.getUploadURLExternal,
files.completeUploadExternal, rate limits.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from plimsoll.errors import SourceError
from plimsoll.watch.law.message import Message, WatchState
from plimsoll.watch.receivers.receiver import RefusedError
from plimsoll.watch.receivers.secret import Secret
from plimsoll.watch.receivers.slack_blocks import blocks_of, notification_of
from plimsoll.watch.receivers.web import WebAnswer, WebReceiver, is_loopback
from plimsoll.watch.receivers.wording import headline, one_line

_JSON = {"Content-Type": "application/json; charset=utf-8"}
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}

# Errors that are about the moment, not about the message, the token or the channel.
_LATER = frozenset(
    {
        "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org",
        "rate_limited", "rollup_error", "accesslimited", "external_channel_migrating",
    }
)  # fmt: skip

# The message that was to be updated is gone, or too old to be changed: a new one takes its place.
_GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})

# Slack shows a preview of linked pages otherwise, and fetches them for it.
_UNFURLED_NEVER = {"unfurl_links": False, "unfurl_media": False}

# Slack's title of a file has up to 255 characters.
_TITLE_LENGTH_MAX = 255


class SlackPlace(Struct, frozen=True, kw_only=True):
    """Where the message of an episode is."""

    channel: str
    """Identifier of the channel, as Slack answered it."""
    ts: str
    """Identifier of the message in the channel; replies to it are its thread."""
    number: int
    """Of the newest transition that was delivered."""


class SlackWebhook:
    """Adds each message to the channel of an incoming webhook."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(self, name: str, url: Secret) -> None:
        """Prepare; `url` contains the secret of the webhook."""
        self.name = name
        self._url = url
        self._web = WebReceiver(name, [url])

    def send(self, message: Message, earlier: str) -> str:  # noqa: ARG002 - a webhook cannot update a message
        """Deliver a message, and return its identifier; Slack gives none."""
        body = {"text": notification_of(message), "blocks": blocks_of(message), **_UNFURLED_NEVER}
        answer = self._web.post(self._url.reveal(), msgspec.json.encode(body), _JSON)
        if 400 <= answer.status < 500 and answer.body.decode("utf-8", "replace").strip() in _LATER:
            raise self._web.busy(answer.wait_s)
        self._web.delivered(answer)
        return f"{message.key}-{message.number}"


class SlackBot:
    """Keeps one message for each episode up to date, with its transitions in the thread."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(
        self,
        name: str,
        token: Secret,
        channel: str,
        *,
        api: str = "https://slack.com/api",
        note: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        """
        Prepare; nothing is sent yet.

        Args:
            name: of the receiver.
            token: of the bot.
            channel: identifier or name of the channel.
            api: address of the API.
            note: is called with one sentence if a message was delivered without its picture.
        """
        self.name = name
        self._token = token
        self._channel = channel
        self._api = api.rstrip("/")
        self._note = note
        self._web = WebReceiver(name, [token])

    def send(self, message: Message, earlier: str) -> str:
        """
        Deliver a message, and return where the message of its episode is.

        The update comes first: done twice it changes nothing. The reply is last, so a repetition after a failure
        adds no second one.
        """
        place = _place(earlier)
        if place is not None and place.number >= message.number:
            return earlier
        if place is not None and (updated := self._update(place, message)):
            self._reply(updated, message)
            self._picture(updated, message)
            return msgspec.json.encode(updated).decode()
        body = {"channel": self._channel, **_UNFURLED_NEVER, **_content(message)}
        answer = self._call("chat.postMessage", body)
        place = SlackPlace(
            channel=str(answer.get("channel") or self._channel), ts=str(answer.get("ts", "")), number=message.number
        )
        self._picture(place, message)
        return msgspec.json.encode(place).decode()

    def _update(self, place: SlackPlace, message: Message) -> SlackPlace | None:
        """Update the message of the episode; return None if it is gone."""
        where = {"channel": place.channel, "ts": place.ts}
        blocks = blocks_of(message, is_thread_below=True)
        try:
            self._call("chat.update", where | _content(message) | {"blocks": blocks})
        except _GoneError:
            return None
        return msgspec.structs.replace(place, number=message.number)

    def _reply(self, place: SlackPlace, message: Message) -> None:
        body = {
            "channel": place.channel,
            "thread_ts": place.ts,
            **_UNFURLED_NEVER,
            # A reply notifies nobody in the channel: what is worse than before is shown there too.
            "reply_broadcast": message.state is WatchState.BOUND,
            **_content(message),
        }
        self._call("chat.postMessage", body)

    def _picture(self, place: SlackPlace, message: Message) -> None:
        """Add the picture to the thread; a message without it counts as delivered."""
        if not message.picture_png or not place.ts:
            return
        try:
            self._upload(place, message)
        except SourceError as error:
            self._note(f"{error.message}; the message was sent without its picture")

    def _upload(self, place: SlackPlace, message: Message) -> None:
        name = f"plimsoll-{message.key}-{message.number}.png"
        title = one_line(f"{headline(message)}: timeline", _TITLE_LENGTH_MAX)
        size = len(message.picture_png)
        form = urlencode({"filename": name, "length": size, "alt_txt": title})
        ticket = self._call("files.getUploadURLExternal", form.encode())
        url, file = str(ticket.get("upload_url", "")), str(ticket.get("file_id", ""))
        if not self._is_of_slack(url):
            raise SourceError(
                f"receiver '{self.name}' gave an address for the picture that is not Slack's",
                "Check the address of the API.",
            )
        headers = {"Content-Type": "application/octet-stream"}
        self._web.delivered(self._web.post(url, message.picture_png, headers))
        body = {"files": [{"id": file, "title": title}], "channel_id": place.channel, "thread_ts": place.ts}
        self._call("files.completeUploadExternal", body)

    def _is_of_slack(self, url: str) -> bool:
        parts, own = urlsplit(url), urlsplit(self._api)
        host = parts.hostname or ""
        if is_loopback(own.hostname or ""):
            return is_loopback(host)
        # slack.com, files.slack.com; slack-gov.com for the governments' Slack.
        base = ".".join((own.hostname or "").split(".")[-2:])
        return parts.scheme == "https" and (host == base or host.endswith(f".{base}"))

    def _call(self, method: str, body: dict[str, Any] | bytes) -> dict[str, Any]:
        """Call a method of the API with JSON, or with a form where the method takes no JSON."""
        is_form = isinstance(body, bytes)
        content = body if isinstance(body, bytes) else msgspec.json.encode(body)
        headers = {**(_FORM if is_form else _JSON), "Authorization": f"Bearer {self._token.reveal()}"}
        answer = self._web.post(f"{self._api}/{method}", content, headers)
        self._web.delivered(answer)
        found = self._web.object_of(answer)
        if found.get("ok") is True:
            return found
        raise self._error(method, str(found.get("error", "")), answer)

    def _error(self, method: str, code: str, answer: WebAnswer) -> SourceError:
        if code in {"ratelimited", "rate_limited"}:
            return self._web.busy(answer.wait_s)
        code = code if code.isascii() and code.replace("_", "").isalnum() else "no reason given"
        sentence = f"receiver '{self.name}': Slack refused {method}: {code[:60]}"
        if code in _GONE:
            return _GoneError(sentence)
        if code in _LATER or code == "no reason given":
            return SourceError(sentence, "It will be tried again.")
        return RefusedError(sentence, _HINTS.get(code, "Check the token, its scopes and the channel."))


class _GoneError(SourceError):
    """The message of the episode no longer exists or can no longer be changed."""


_HINTS = {
    "missing_scope": "Give the bot chat:write, and files:write for pictures, and install it again.",
    "not_in_channel": "Invite the bot to the channel.",
    "channel_not_found": "Check the channel; a private one is found only after the bot was invited.",
    "is_archived": "Choose a channel that is not archived.",
    "token_revoked": "Create a new token.",
    "token_expired": "Create a new token.",
    "invalid_auth": "Check the token: it begins with xoxb-.",
}


def _content(message: Message) -> dict[str, Any]:
    return {
        "text": notification_of(message),
        "blocks": blocks_of(message),
        "parse": "none",
        "link_names": False,
        # Programs that read the channel recognise a message that was sent again.
        "metadata": {
            "event_type": "plimsoll_transition",
            "event_payload": {"key": message.key, "number": message.number},
        },
    }


def _place(earlier: str) -> SlackPlace | None:
    """Return what an earlier call returned; None for the first, and for what another receiver returned."""
    try:
        place = msgspec.json.decode(earlier, type=SlackPlace)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return place if place.ts else None
