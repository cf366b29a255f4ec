"""
Check before the start that receivers can be reached: connect, and close the connection. No message is sent.

Rule: an error names the receiver, and never its address, which may be a secret.
"""

import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import assert_never
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from msgspec import Struct

from plimsoll.errors import Unreachable
from plimsoll.watch.receivers.email import USUAL_PORTS
from plimsoll.watch.receivers.pagerduty import SERVICES
from plimsoll.watch.receivers.secret import read_secret
from plimsoll.watch.receivers.settings import (
    AlertmanagerSettings,
    AppriseSettings,
    EmailSettings,
    Environment,
    PagerDutySettings,
    ReceiverSettings,
    SlackSettings,
    WebhookSettings,
)
from plimsoll.watch.receivers.web import is_loopback

# As long as a delivery waits for a connection.
_CONNECT_S = 5.0
_PORTS = {"http": 80, "https": 443}
# Eight at once: the check of any number of receivers takes seconds.
_AT_ONCE = 8


class Place(Struct, frozen=True, kw_only=True):
    """Where a connection is made to."""

    host: str
    port: int
    is_tls: bool


def check_reachable(receivers: Sequence[ReceiverSettings], environment: Environment) -> None:
    """
    Connect to every receiver once.

    Args:
        receivers: tables of the configuration that were opened without an error.
        environment: variables of the process, for addresses that are secrets.

    Raises:
        Unreachable: at least one cannot be reached; the message names each.
    """
    if not receivers:
        return
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as workers:
        reasons = list(workers.map(lambda one: _reason_of(places_of(one, environment)), receivers))
    failed = [(one.name, reason) for one, reason in zip(receivers, reasons, strict=True) if reason]
    if not failed:
        return
    listed = "; ".join(f"receiver '{name}': {reason}" for name, reason in failed)
    raise Unreachable(
        f"unable to reach {listed}", "Check host, port and firewalls, or start with --start-anyway: messages then wait."
    )


def places_of(settings: ReceiverSettings, environment: Environment) -> tuple[Place, ...]:
    """Return where a receiver is, one of which is enough; empty if only a library knows."""
    what = f"receiver '{settings.name}':"
    match settings:
        case SlackSettings():
            if settings.channel:
                return (_place(settings.api_url),)
            file, variable = settings.webhook_url_file, settings.webhook_url_env
            url = read_secret(f"{what} webhook_url", file, variable, environment)
            return (_place(url.reveal()),)
        case AlertmanagerSettings():
            return tuple(_place(url) for url in settings.urls)
        case PagerDutySettings():
            return (_place(settings.url or SERVICES[settings.region]),)
        case WebhookSettings():
            if settings.url:
                return (_place(settings.url),)
            secret = read_secret(f"{what} url", settings.url_file, settings.url_env, environment)
            return (_place(secret.reveal()),)
        case EmailSettings():
            port = settings.port or USUAL_PORTS[settings.security]
            return (Place(host=settings.host, port=port, is_tls=settings.security == "tls"),)
        case AppriseSettings():
            return ()
        case _:
            assert_never(settings)


def _place(url: str) -> Place:
    """Return where requests to an address go: its host, or the proxy in front of it."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = {} if is_loopback(host) or proxy_bypass(host) else getproxies()
    proxy = urlsplit(proxies.get(parts.scheme) or proxies.get("all") or "")
    if proxy.hostname:
        return Place(host=proxy.hostname, port=proxy.port or 80, is_tls=False)
    return Place(host=host, port=parts.port or _PORTS[parts.scheme], is_tls=parts.scheme == "https")


def _reason_of(places: Sequence[Place]) -> str:
    """Return why none of the places can be reached; empty if one can, or if there is none."""
    reason = ""
    for place in places:
        reason = _reason_at(place)
        if not reason:
            return ""
    return reason


def _reason_at(place: Place) -> str:
    try:
        with socket.create_connection((place.host, place.port), timeout=_CONNECT_S) as plain:
            if place.is_tls:
                context = ssl.create_default_context()
                with context.wrap_socket(plain, server_hostname=place.host):
                    pass
    except ssl.SSLCertVerificationError as error:
        return f"its certificate is not trusted: {error.verify_message}"
    except ssl.SSLError:
        return "it does not answer with TLS"
    except TimeoutError:
        return f"it did not answer in {_CONNECT_S:g} s"
    except socket.gaierror:
        return "its host has no address"
    except (OSError, UnicodeError) as error:
        return (getattr(error, "strerror", None) or "the connection broke").lower()
    return ""
