"""
Parse the address, matches and credentials of a server.

Rule 1: secrets have fields of their own, and no `repr`, message or label shows them.
Rule 2: only this file parses the command line and variables; nothing here connects.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.sources.values.shown import shown

TOKEN = "PLIMSOLL_PROM_TOKEN"  # noqa: S105  the name of a variable, not its value
USER = "PLIMSOLL_PROM_USER"
PASSWORD = "PLIMSOLL_PROM_PASSWORD"  # noqa: S105  likewise

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+\Z")
_AMAZON = re.compile(r"aps-workspaces(?:-fips)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\Z")
_API = re.compile(r"/api/v1(?:/.*)?\Z")
_EXAMPLE = "Write it as prom:http://host:9090."


class PrometheusServer(Struct, frozen=True, kw_only=True):
    """A Prometheus-compatible HTTP API, and what to read from it."""

    url: str
    """Scheme, host, port and path prefix, without user, query and trailing slash."""
    match: tuple[tuple[str, str], ...] = ()
    """Labels and values that every series must have."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request; values may be secret."""
    token: str | None = None
    """Bearer token; secret."""
    user: str | None = None
    password: str | None = None
    """Secret."""
    region: str | None = None
    """AWS region whose service `aps` the requests are signed for; None for no signature."""

    def __repr__(self) -> str:
        """Show the address and matches, never credentials."""
        return f"Server(url={self.url!r}, match={self.match!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        """Secret texts, longest first; values below three characters would hide ordinary words."""
        found = {self.token, self.user, self.password, *(value for _, value in self.headers)}
        return tuple(sorted((s for s in found if s and len(s) >= 3), key=len, reverse=True))

    def hidden(self, text: str) -> str:
        """Return the text with every secret replaced by `***`."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def server_of(
    url: str, *, match: Sequence[str], headers: Sequence[str], environment: Mapping[str, str]
) -> PrometheusServer:
    """
    Return the server of a target and its options.

    Args:
        url: `http://host:9090/prefix`; a user and password in it are used, but not kept in the URL. The
            path of the API itself (`…/api/v1/query`) is removed.
        match: `LABEL=VALUE`, all required.
        headers: `NAME:VALUE`, for example `X-Scope-OrgID:team`.
        environment: variables; PLIMSOLL_PROM_TOKEN, or PLIMSOLL_PROM_USER with
            PLIMSOLL_PROM_PASSWORD. A header `Authorization` takes precedence over both, a user in the
            URL over the variables.

    Raises:
        UsageError: not an address, a match or a header, or two kinds of credentials.
    """
    base, user, password = _address(url)
    sent = tuple(_header(text) for text in headers)
    token = environment.get(TOKEN) or None
    if user is None:
        user, password = environment.get(USER) or None, environment.get(PASSWORD) or None
        if token is not None and user is not None:
            raise UsageError(f"{TOKEN} and {USER} are both set", "Unset one of them.")
    else:
        token = None
    if any(name.lower() == "authorization" for name, _ in sent):
        token = user = password = None
    has_credentials = token is not None or user is not None
    has_credentials |= any(name.lower() == "authorization" for name, _ in sent)
    amazon = _AMAZON.match(urlsplit(base).hostname or "")
    return PrometheusServer(
        url=base,
        match=tuple(_match(text) for text in match),
        headers=sent,
        token=token,
        user=user,
        password=password,
        region=amazon.group(1) if amazon is not None and not has_credentials else None,
    )


def _address(url: str) -> tuple[str, str | None, str | None]:
    """Return the address without user and API path, the user, and the password."""
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError("the target is not the address of a server", _EXAMPLE) from error
    if parts.scheme not in ("http", "https"):
        raise UsageError("the target does not begin with http:// or https://", _EXAMPLE)
    if not host or not re.fullmatch(r"[0-9A-Za-z._:%-]+", host):
        raise UsageError("the target names no host", _EXAMPLE)
    if parts.query or parts.fragment:
        raise UsageError(
            "the target has a query after its path", "Give only the address; select series with --match LABEL=VALUE."
        )
    place = f"[{host}]" if ":" in host else host
    place += f":{port}" if port is not None else ""
    path = _API.sub("", parts.path).rstrip("/")
    user = unquote(parts.username) if parts.username else None
    password = unquote(parts.password or "") if user is not None else None
    return f"{parts.scheme}://{place}{path}", user, password


def _match(text: str) -> tuple[str, str]:
    label, equals, value = text.partition("=")
    label = label.strip()
    if not equals or not _LABEL.match(label) or not value:
        raise UsageError(
            f"--match '{shown(text)}' is not LABEL=VALUE", "Write it as --match dbidentifier=orders-primary."
        )
    return label, value


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    name, value = name.strip(), value.strip()
    # The value may be secret, so the message shows no part of it.
    if not colon or not _HEADER.match(name) or not value or not value.isprintable():
        raise UsageError("--header is not NAME:VALUE", "Write it as --header X-Scope-OrgID:team.")
    if not value.isascii():
        raise UsageError("--header has a value that is not ASCII", "Encode the value first.")
    return name, value
