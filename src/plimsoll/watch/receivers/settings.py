"""
What the configuration says of receivers, and how one is opened.

Rule 1: a setting that does not exist is refused, not ignored.
Rule 2: a secret is named by `…_file` or `…_env`. No setting contains one, so settings can be printed and logged.
"""

import base64
import re
from collections.abc import Callable, Mapping
from typing import Literal, assert_never

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.model.severity import Severity
from plimsoll.watch.receivers.alertmanager import AlertmanagerReceiver
from plimsoll.watch.receivers.apprise import AppriseReceiver
from plimsoll.watch.receivers.email import USUAL_PORTS, EmailReceiver, MailServer
from plimsoll.watch.receivers.pagerduty import SERVICES, PagerDuty
from plimsoll.watch.receivers.receiver import Receiver
from plimsoll.watch.receivers.secret import Secret, read_secret
from plimsoll.watch.receivers.selective import SelectiveReceiver
from plimsoll.watch.receivers.slack import SlackBot, SlackWebhook
from plimsoll.watch.receivers.web import checked_url
from plimsoll.watch.receivers.webhook import Webhook

# Names appear in log lines, errors and the ledger.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

Environment = Mapping[str, str]
Note = Callable[[str], None]


class OneReceiver(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every receiver has."""

    name: str
    """Unique; letters, digits, '-', '_' and '.'."""
    least_severity: Severity = "note"
    """An episode is sent from its first message of this severity: note (all), warning or critical."""


class SlackSettings(OneReceiver, frozen=True, kw_only=True, tag="slack"):
    """Slack: an incoming webhook, or the token of a bot with a channel."""

    webhook_url_file: str = ""
    webhook_url_env: str = ""
    token_file: str = ""
    token_env: str = ""
    channel: str = ""
    """Only with a token; identifier (C0123ABCDEF) or name."""
    api_url: str = "https://slack.com/api"


class AlertmanagerSettings(OneReceiver, frozen=True, kw_only=True, tag="alertmanager"):
    """Prometheus Alertmanager."""

    urls: tuple[str, ...]
    """Addresses of all members of the cluster, without /api/v2."""
    user: str = ""
    """For basic authentication; then a password is needed."""
    password_file: str = ""
    password_env: str = ""
    token_file: str = ""
    token_env: str = ""
    labels: dict[str, str] = {}
    """Further labels of every alert, for example `team`."""


class PagerDutySettings(OneReceiver, frozen=True, kw_only=True, tag="pagerduty"):
    """PagerDuty, by the integration key of Events API v2."""

    routing_key_file: str = ""
    routing_key_env: str = ""
    region: str = "us"
    """Service region of PagerDuty: us or eu."""
    url: str = ""
    """Another address that takes the same events; empty for PagerDuty's own."""


class WebhookSettings(OneReceiver, frozen=True, kw_only=True, tag="webhook"):
    """Any web address, as JSON."""

    url: str = ""
    """Address, if it contains no secret."""
    url_file: str = ""
    url_env: str = ""
    secret_file: str = ""
    """Secret for signatures; optional."""
    secret_env: str = ""
    picture: bool = False
    """Whether the picture is sent, in base64."""


class EmailSettings(OneReceiver, frozen=True, kw_only=True, tag="email"):
    """E-mail, through an SMTP server."""

    host: str
    """SMTP server."""
    port: int = 0
    """0 for the usual one: 587 with starttls, 465 with tls, 25 with none."""
    security: Literal["starttls", "tls", "none"] = "starttls"
    """How the connection is encrypted; none only without a password, or on this machine."""
    sender: str
    """Address that messages come from."""
    to: tuple[str, ...]
    """Addresses that messages go to."""
    user: str = ""
    """For servers that need a login; then a password is needed."""
    password_file: str = ""
    password_env: str = ""


class AppriseSettings(OneReceiver, frozen=True, kw_only=True, tag="apprise"):
    """One of the services that Apprise knows; needs the extra `notify`."""

    url_file: str = ""
    url_env: str = ""


ReceiverSettings = (
    SlackSettings | AlertmanagerSettings | PagerDutySettings | WebhookSettings | EmailSettings | AppriseSettings
)
"""One table `[[receivers]]` of the configuration."""


def open_receiver(
    settings: ReceiverSettings, environment: Environment, note: Note = lambda _sentence: None
) -> Receiver:
    """
    Return the receiver that the settings describe; nothing is sent yet.

    Args:
        settings: one table of the configuration.
        environment: variables of the process, for secrets.
        note: is called with one sentence about what did not work although the message was delivered.

    Raises:
        UsageError: a setting is missing, wrong or contradicts another, or a secret cannot be read.
        ExtraMissing: the library of the receiver is not installed.
    """
    if not _NAME.fullmatch(settings.name):
        raise UsageError(
            "the name of a receiver has letters, digits, '-', '_' and '.' only, at most 64 of them",
            'Write for example name = "team-databases".',
        )
    receiver = _opened(settings, environment, note)
    if settings.least_severity == "note":
        return receiver
    return SelectiveReceiver(receiver, settings.least_severity)


def _opened(settings: ReceiverSettings, environment: Environment, note: Note) -> Receiver:
    match settings:
        case SlackSettings():
            return _slack(settings, environment, note)
        case AlertmanagerSettings():
            return _alertmanager(settings, environment)
        case PagerDutySettings():
            return _pagerduty(settings, environment)
        case WebhookSettings():
            return _webhook(settings, environment)
        case EmailSettings():
            return _email(settings, environment, note)
        case AppriseSettings():
            what = f"receiver '{settings.name}': url"
            url = read_secret(what, settings.url_file, settings.url_env, environment)
            return AppriseReceiver(settings.name, url)
        case _:
            assert_never(settings)


def _slack(settings: SlackSettings, environment: Environment, note: Note) -> Receiver:
    what = f"receiver '{settings.name}':"
    is_bot = bool(settings.token_file or settings.token_env)
    if is_bot == bool(settings.webhook_url_file or settings.webhook_url_env):
        raise UsageError(
            f"{what} either a webhook_url or a token is needed",
            "Give webhook_url_file or webhook_url_env, or token_file or token_env with a channel.",
        )
    if is_bot != bool(settings.channel):
        raise UsageError(f"{what} a channel belongs to a token", "A webhook has its channel already; a bot needs one.")
    if not is_bot:
        url = _secret_url(what, "webhook_url", settings.webhook_url_file, settings.webhook_url_env, environment)
        return SlackWebhook(settings.name, url)
    token = _header_secret(what, "token", settings.token_file, settings.token_env, environment)
    api = checked_url(f"{what} api_url", settings.api_url, needs_tls=True, is_secret=False)
    return SlackBot(settings.name, token, settings.channel, api=api, note=note)


def _alertmanager(settings: AlertmanagerSettings, environment: Environment) -> Receiver:
    what = f"receiver '{settings.name}':"
    if not settings.urls:
        raise UsageError(f"{what} urls is empty", 'Write for example urls = ["http://host:9093"].')
    for url in settings.urls:
        checked_url(f"{what} urls", url, needs_tls=False, is_secret=False)
    for name in settings.labels:
        if not _LABEL.fullmatch(name):
            raise UsageError(
                f"{what} '{name[:60]}' is not the name of a label",
                "Use letters, digits and '_', and begin with a letter.",
            )
    return AlertmanagerReceiver(
        settings.name, settings.urls, authorization=_authorization(settings, environment), labels=settings.labels
    )


def _authorization(settings: AlertmanagerSettings, environment: Environment) -> Secret | None:
    what = f"receiver '{settings.name}':"
    has_password = bool(settings.password_file or settings.password_env)
    has_token = bool(settings.token_file or settings.token_env)
    if has_password != bool(settings.user) or (has_password and has_token):
        raise UsageError(
            f"{what} user and password belong together, and exclude a token",
            "Give user with password_file or password_env, or token_file or token_env, or none.",
        )
    if has_password:
        password = read_secret(f"{what} password", settings.password_file, settings.password_env, environment)
        pair = f"{settings.user}:{password.reveal()}".encode()
        return Secret(f"Basic {base64.b64encode(pair).decode()}")
    if has_token:
        token = _header_secret(what, "token", settings.token_file, settings.token_env, environment)
        return Secret(f"Bearer {token.reveal()}")
    return None


def _pagerduty(settings: PagerDutySettings, environment: Environment) -> Receiver:
    what = f"receiver '{settings.name}':"
    key = read_secret(f"{what} routing_key", settings.routing_key_file, settings.routing_key_env, environment)
    if settings.region not in SERVICES:
        raise UsageError(
            f"{what} region is 'us' or 'eu', the service region of PagerDuty",
            "The host of its web page says which: eu.pagerduty.com is 'eu'.",
        )
    url = settings.url or SERVICES[settings.region]
    checked_url(f"{what} url", url, needs_tls=True, is_secret=False)
    return PagerDuty(settings.name, key, url=url)


def _webhook(settings: WebhookSettings, environment: Environment) -> Receiver:
    what = f"receiver '{settings.name}':"
    if settings.url:
        if settings.url_file or settings.url_env:
            raise UsageError(f"{what} url excludes url_file and url_env", "Give one of the three.")
        url = Secret(checked_url(f"{what} url", settings.url, needs_tls=False, is_secret=False))
    else:
        url = _secret_url(what, "url", settings.url_file, settings.url_env, environment)
    signing = None
    if settings.secret_file or settings.secret_env:
        signing = read_secret(f"{what} secret", settings.secret_file, settings.secret_env, environment)
    return Webhook(settings.name, url, signing=signing, has_picture=settings.picture)


def _email(settings: EmailSettings, environment: Environment, note: Note) -> Receiver:
    what = f"receiver '{settings.name}':"
    has_password = bool(settings.password_file or settings.password_env)
    if has_password != bool(settings.user):
        raise UsageError(
            f"{what} user and password belong together",
            "Give user with password_file or password_env, or none of them.",
        )
    password = None
    if has_password:
        password = read_secret(f"{what} password", settings.password_file, settings.password_env, environment)
    server = MailServer(
        host=settings.host,
        port=settings.port or USUAL_PORTS[settings.security],
        security=settings.security,
        user=settings.user,
        password=password,
    )
    return EmailReceiver(settings.name, server, settings.sender, settings.to, note=note)


def _secret_url(what: str, setting: str, file: str, variable: str, environment: Environment) -> Secret:
    found = read_secret(f"{what} {setting}", file, variable, environment)
    checked_url(f"{what} {setting}", found.reveal(), needs_tls=True, is_secret=True)
    return found


def _header_secret(what: str, setting: str, file: str, variable: str, environment: Environment) -> Secret:
    found = read_secret(f"{what} {setting}", file, variable, environment)
    if not found.reveal().isascii() or " " in found.reveal():
        raise UsageError(
            f"{what} {setting} has characters that no token has", "Copy the token again, without quotes and spaces."
        )
    return found
