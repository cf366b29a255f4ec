"""
Send messages by e-mail.

All messages of an episode have one subject and refer to its first one, so mail programs show them as one thread. A
message that is sent again has the same Message-ID, by which many servers recognise it.

Rule 1: a password is sent over TLS only, and a server that offers no TLS gets nothing.
Rule 2: nothing that comes from a database can begin a header: subjects are one line.

Source: RFC 5322, 3.6.4 (Message-ID, References); RFC 3834, 5 (Auto-Submitted); RFC 5321, 4.2.1 (4yz and 5yz).
"""

import re
import smtplib
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import formatdate
from functools import cache
from typing import Literal

from msgspec import Struct

from plimsoll.errors import SourceError, Unreachable, UsageError
from plimsoll.watch.law.message import Message
from plimsoll.watch.receivers.receiver import RefusedError
from plimsoll.watch.receivers.secret import Secret, is_in
from plimsoll.watch.receivers.web import is_loopback
from plimsoll.watch.receivers.wording import SIMULATED, one_line, subject_of, text_of

USUAL_PORTS = {"starttls": 587, "tls": 465, "none": 25}
"""Ports of submission (RFC 6409, RFC 8314) and of SMTP."""

# What addresses for alerts look like; RFC 5322 allows more, for example quoted names.
_ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*"
)

# A judgement: servers answer within a second, and greylisting is an answer too; others wait for their messages.
_ANSWER_S = 20.0

# RFC 5322 allows lines of 998 characters; phones show about 60 of a subject.
_SUBJECT_LENGTH_MAX = 200

# What a server says about a refused message, as much as fits into an error message.
_SAID_LENGTH_MAX = 160


class MailServer(Struct, frozen=True, kw_only=True):
    """A server that takes messages."""

    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    user: str = ""
    password: Secret | None = None


class EmailReceiver:
    """Sends each message as an e-mail with the picture attached."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(
        self,
        name: str,
        server: MailServer,
        sender: str,
        to: Sequence[str],
        *,
        note: Callable[[str], None] = lambda _sentence: None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Check the addresses; nothing is sent yet.

        Args:
            name: of the receiver.
            server: where to deliver.
            sender: address that messages come from.
            to: addresses that messages go to, at least one.
            note: is called with one sentence if some of the addresses were refused.
            now: epoch seconds, for the date of messages.

        Raises:
            UsageError: an address is not one, or a password would be sent without TLS.
        """
        self.name = name
        self._server = server
        self._sender = parsed_address(f"receiver '{name}': sender", sender)
        self._to = [parsed_address(f"receiver '{name}': to", each) for each in to]
        if not self._to:
            raise UsageError(f"receiver '{name}': to is empty", 'Write to = ["me@example.com"].')
        is_open = server.security == "none" and not is_loopback(server.host)
        if is_open and server.password is not None:
            raise UsageError(
                f"receiver '{name}': a password would be sent without TLS", 'Set security = "starttls" or "tls".'
            )
        self._note, self._now = note, now

    def send(self, message: Message, earlier: str) -> str:  # noqa: ARG002 - References name the first message
        """Deliver a message, and return its Message-ID."""
        mail = mail_of(message, self._sender, self._to, self._now())
        try:
            connection = self._connection()
            try:
                refused = connection.send_message(mail)
                # The server has the message: what happens now changes nothing.
                with suppress(smtplib.SMTPException, OSError):
                    connection.quit()
            finally:
                connection.close()
        except (smtplib.SMTPException, OSError) as error:
            raise self._failure(error) from None
        if refused:
            # The others have it; to send it again would give it to them twice.
            self._note(f"receiver '{self.name}': the server refused {len(refused)} of {len(self._to)} addresses")
        return str(mail["Message-ID"])

    def _connection(self) -> smtplib.SMTP:
        server = self._server
        if server.security == "tls":
            context = _authorities()
            connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=_ANSWER_S, context=context)
        else:
            connection = smtplib.SMTP(server.host, server.port, timeout=_ANSWER_S)
        try:
            if server.security == "starttls":
                connection.starttls(context=_authorities())
            if server.password is not None:
                connection.login(server.user, server.password.reveal())
        except BaseException:
            connection.close()
            raise
        return connection

    def _failure(self, error: Exception) -> SourceError:
        who = f"receiver '{self.name}'"
        if isinstance(error, smtplib.SMTPNotSupportedError):
            return RefusedError(
                f"{who}: the server does not offer what is needed: {self._said(str(error))}",
                'Check the port, and set security to "tls", "starttls" or "none".',
            )
        if isinstance(error, smtplib.SMTPAuthenticationError):
            kind = RefusedError if error.smtp_code >= 500 else SourceError
            return kind(f"{who}: the server refused the login", "Check user and password.")
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            codes = [(code, text) for code, text in error.recipients.values()]
            # One address that may accept it later is enough to try again.
            code, text = min(codes, key=lambda found: found[0])
            return self._refused(code, text)
        if isinstance(error, smtplib.SMTPResponseException):
            return self._refused(error.smtp_code, error.smtp_error)
        if isinstance(error, ssl.SSLError):
            return Unreachable(
                f"no TLS connection to {who}: {self._said(error.reason or str(error)).lower()}",
                "Check port and security, and set SSL_CERT_FILE to your authority's certificates.",
            )
        if isinstance(error, TimeoutError):
            return Unreachable(f"{who} did not answer in {_ANSWER_S:g} s", "Check host and port.")
        reason = getattr(error, "strerror", None) or "the connection broke"
        return Unreachable(f"unable to reach {who}: {self._said(str(reason)).lower()}", "Check its host and port.")

    def _refused(self, code: int, text: bytes | str) -> SourceError:
        said = self._said(text.decode("utf-8", "replace") if isinstance(text, bytes) else text)
        sentence = f"receiver '{self.name}': the server refused the message ({code}: {said})"
        if 500 <= code < 600:
            return RefusedError(sentence, "Check sender and addresses, and what the server allows.")
        return SourceError(sentence, "It will be tried again.")

    def _said(self, text: str) -> str:
        password = self._server.password
        if password is not None and is_in([password], text):
            return "no reason shown, because it contains the password"
        return one_line(text, _SAID_LENGTH_MAX).rstrip(".") or "no reason given"


def mail_of(message: Message, sender: Address, to: Sequence[Address], now_s: float) -> EmailMessage:
    """Return the e-mail of a message: plain text, and the picture as an attachment."""
    mail = EmailMessage()
    # A name that looks like an encoded word (RFC 2047) would be decoded, with whatever is in it.
    label = f"Plimsoll, {SIMULATED}" if message.is_simulated else "Plimsoll"
    subject = f"[{label}] {subject_of(message)}".replace("=?", "= ?")
    mail["Subject"] = one_line(subject, _SUBJECT_LENGTH_MAX)
    mail["From"] = sender
    mail["To"] = to
    mail["Date"] = formatdate(now_s, usegmt=True)
    mail["Message-ID"] = _identifier(message, message.number, sender)
    if message.number > 1:
        first = _identifier(message, 1, sender)
        before = _identifier(message, message.number - 1, sender)
        mail["In-Reply-To"] = before
        mail["References"] = first if first == before else f"{first} {before}"
    # Absence notices and the like are not answers that anybody reads.
    mail["Auto-Submitted"] = "auto-generated"
    mail["X-Auto-Response-Suppress"] = "All"
    # For filters of mail programs.
    mail["X-Plimsoll-State"] = message.state.value
    mail["X-Plimsoll-Severity"] = message.severity
    mail.set_content(text_of(message), cte="quoted-printable")
    if message.picture_png:
        mail.add_attachment(
            message.picture_png,
            maintype="image",
            subtype="png",
            disposition="inline",
            filename=f"timeline-{message.key}-{message.number}.png",
        )
    return mail


def _identifier(message: Message, number: int, sender: Address) -> str:
    return f"<plimsoll.{message.key}.{number}@{sender.domain}>"


def parsed_address(what: str, text: str) -> Address:
    """Return an address `name@domain`, without a display name."""
    if not _ADDRESS.fullmatch(text):
        raise UsageError(f"{what} has an address that is none", "Write it as name@example.com.")
    return Address(addr_spec=text)


@cache
def _authorities() -> ssl.SSLContext:
    """Return the certificates to trust."""
    return ssl.create_default_context()
