"""
Send requests to the web addresses of receivers.

Rule 1: certificates are checked, and redirects are not followed.
Rule 2: every request has a deadline, and every answer has a largest size.
Rule 3: addresses of receivers are secrets: no error and no log contains more than the receiver's name.
"""

import logging
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.watch.receivers.receiver import BusyReceiver, RefusedError
from plimsoll.watch.receivers.secret import Secret, is_in
from plimsoll.watch.receivers.wording import one_line

# Judgements: a receiver that needs longer is tried again later, while others wait for their messages.
_CONNECT_S = 5.0
_READ_S = 15.0
_ANSWER_S = 30.0

# Answers of receivers have below 4 KiB; we read one field of them.
_ANSWER_BYTES_MAX = 262_144

# A judgement: a longer Retry-After is a mistake or an outage, and we ask once an hour.
_LONGEST_WAIT_S = 3_600.0

# What a server says about a refused request, as much as fits into an error message.
_SAID_LENGTH_MAX = 160

# Request Timeout and Too Early are 4xx answers about the moment, not about the message.
_LATER = frozenset({408, 425})


class WebAnswer(Struct, frozen=True, kw_only=True):
    """What a receiver answered."""

    status: int
    """HTTP status."""
    body: bytes
    """At most `_ANSWER_BYTES_MAX` bytes."""
    wait_s: float = 0.0
    """Seconds to wait, from Retry-After; 0 if absent."""


class WebReceiver:
    """The web side of one receiver: its name for errors, and the secrets that errors must not contain."""

    def __init__(
        self,
        name: str,
        secrets: Sequence[Secret] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Prepare; nothing is sent yet.

        Args:
            name: of the receiver, from the configuration.
            secrets: what no error may contain.
            clock: monotonic seconds.
            now: epoch seconds; a Retry-After with a date is compared with it.
        """
        self.name = name
        self._secrets = tuple(secrets)
        self._clock, self._now = clock, now
        # httpx logs the address of every request, and its transport logs headers.
        for logger in ("httpx", "httpcore"):
            logging.getLogger(logger).setLevel(logging.WARNING)

    def post(self, url: str, content: bytes, headers: Mapping[str, str]) -> WebAnswer:
        """
        Send one request by POST, and return the answer, whatever its status.

        Raises:
            SourceError: no answer came, it was too large, or it took too long.
        """
        import httpx

        is_near = is_loopback(urlsplit(url).hostname or "")
        try:
            with (
                httpx.Client(
                    timeout=httpx.Timeout(_READ_S, connect=_CONNECT_S),
                    follow_redirects=False,
                    # A proxy for external hosts cannot reach this machine's loopback.
                    trust_env=not is_near,
                    verify=_authorities(),
                ) as client,
                client.stream(
                    "POST",
                    url,
                    content=content,
                    # An answer that is not compressed cannot grow while it is read.
                    headers={"User-Agent": "plimsoll", "Accept-Encoding": "identity", **headers},
                ) as response,
            ):
                body = self._body(response)
                wait_s = _wait_s(response.headers.get("retry-after", ""), self._now())
                return WebAnswer(status=response.status_code, body=body, wait_s=wait_s)
        except httpx.HTTPError as error:
            raise self._unreachable(error) from None

    def delivered(self, answer: WebAnswer) -> WebAnswer:
        """
        Return an answer that accepts the message.

        Raises:
            BusyReceiver: the receiver asks us to wait.
            RefusedError: the receiver will not accept this message.
            SourceError: the receiver failed; try again later.
        """
        status = answer.status
        if 200 <= status < 300:
            return answer
        if status == 429 or (status == 503 and answer.wait_s):
            raise self.busy(answer.wait_s)
        if 300 <= status < 400:
            raise RefusedError(
                f"receiver '{self.name}' answered with a redirect (HTTP {status})",
                "Configure the final address: messages are not sent to where a redirect points.",
            )
        said = self.said(answer.body)
        reason = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        if 400 <= status < 500 and status not in _LATER:
            raise RefusedError(
                f"receiver '{self.name}' refused the message ({reason})",
                "Check its address and its secret; delivery is tried again after a longer time.",
            )
        raise SourceError(f"receiver '{self.name}' failed ({reason})", "It will be tried again.")

    def busy(self, wait_s: float) -> BusyReceiver:
        """Return the error for a receiver that asks us to wait; 0 s if it did not say how long."""
        wait_s = min(max(wait_s, 0.0), _LONGEST_WAIT_S)
        asked = f" and asks to wait {wait_s:g} s" if wait_s else ""
        return BusyReceiver(
            f"receiver '{self.name}' takes no more messages now{asked}",
            "The message stays in the outbox.",
            wait_s=wait_s,
        )

    def said(self, body: bytes) -> str:
        """Return what an answer says, short and on one line; empty if it repeats a secret or is no text."""
        text = body[:_ANSWER_BYTES_MAX].decode("utf-8", "replace")
        if text.lstrip().startswith("<") or is_in(self._secrets, text):
            return ""
        return one_line(text, _SAID_LENGTH_MAX)

    def object_of(self, answer: WebAnswer) -> dict[str, Any]:
        """
        Return an answer that must be a JSON object.

        Raises:
            SourceError: it is not one.
        """
        try:
            found = msgspec.json.decode(answer.body)
        except msgspec.DecodeError:
            found = None
        if not isinstance(found, dict):
            raise SourceError(
                f"receiver '{self.name}' did not answer with a JSON object (HTTP {answer.status})",
                "Check its address, and any proxy in front of it.",
            )
        return found

    def _body(self, response: Any) -> bytes:
        deadline = self._clock() + _ANSWER_S
        parts: list[bytes] = []
        size = 0
        for part in response.iter_raw():
            size += len(part)
            if size > _ANSWER_BYTES_MAX:
                raise SourceError(
                    f"receiver '{self.name}' answered with more than {_ANSWER_BYTES_MAX:,} bytes",
                    "Check its address: this is not the API that was expected.",
                )
            if self._clock() > deadline:
                raise Unreachable(
                    f"receiver '{self.name}' did not finish its answer in {_ANSWER_S:g} s",
                    "Check the receiver and any proxy in front of it.",
                )
            parts.append(part)
        return b"".join(parts)

    def _unreachable(self, error: Exception) -> Unreachable:
        import httpx

        who = f"receiver '{self.name}'"
        if isinstance(error, httpx.ConnectTimeout):
            return Unreachable(
                f"{who} did not accept a connection in {_CONNECT_S:g} s",
                "Check its host and port, firewalls and proxies.",
            )
        if isinstance(error, httpx.TimeoutException):
            return Unreachable(
                f"{who} did not answer in {_READ_S:g} s", "Check the receiver and any proxy in front of it."
            )
        reason = one_line(str(error).rpartition("]")[2].strip(" ."), _SAID_LENGTH_MAX).lower()
        if not reason or is_in(self._secrets, str(error)):
            reason = "the connection broke"
        if _is_tls(error):
            return Unreachable(
                f"no TLS connection to {who}: {reason}",
                "Check http or https, and set SSL_CERT_FILE to the certificates of your authority.",
            )
        return Unreachable(f"unable to reach {who}: {reason}", "Check its host and port.")


def checked_url(what: str, url: str, *, needs_tls: bool, is_secret: bool) -> str:
    """
    Return the address of a receiver if it can be used.

    Args:
        what: setting, for messages: `receiver 'team': url`.
        url: the address.
        needs_tls: whether http is allowed only on loopback, since a secret is sent along.
        is_secret: whether the address was read as a secret; otherwise it may contain none.

    Raises:
        UsageError: it is not an address of the web, or contains a secret although it was not read as one.
    """
    parts = _split(url)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{what} is not an address of the web", "Begin it with https://.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"{what} contains a user name or a password", "Use the settings for secrets instead.")
    if not is_secret and (parts.query or parts.fragment):
        raise UsageError(
            f"{what} contains '?' or '#', where secrets are often written",
            "Use url_file or url_env for an address that contains a secret.",
        )
    if needs_tls and parts.scheme != "https" and not is_loopback(parts.hostname):
        raise UsageError(f"{what} begins with http://, and a secret is sent to it", "Use https://.")
    return url


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult | None:
    """Return the parts of an address; None if it has no valid host or port, or characters that no address has."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _wait_s(text: str, now_s: float) -> float:
    """Return the seconds of a Retry-After header, which is a number or a date."""
    if text.isascii() and text.isdigit() and len(text) < 8:
        return min(float(text), _LONGEST_WAIT_S)
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return 0.0
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    wait_s = (at - datetime.fromtimestamp(now_s, UTC)).total_seconds()
    return min(max(wait_s, 0.0), _LONGEST_WAIT_S)


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


@cache
def _authorities() -> ssl.SSLContext:
    """Return the certificates to trust; reading them takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()
