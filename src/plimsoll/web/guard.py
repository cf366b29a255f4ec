"""
Who may ask for a page, and who may change something by it.

Rule 1: a page is served under names of this machine only. So no other site can read it by pointing its own name here.
Rule 2: a form counts only with a token that was made for the cookie of the same browser, and from the same site.
Rule 3: a page loads nothing from elsewhere, and stands in no frame.
"""

import hashlib
import hmac
import ipaddress
import secrets
import socket
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "plimsoll-form"
TOKEN = "token"  # noqa: S105  the name of a field
# Judgements: our longest form has five fields and some hundred letters.
_FORM_BYTES_MAX = 8192
_FIELDS_MAX = 10
# Sixteen random bytes: nobody guesses 128 bits.
_COOKIE_LETTERS = 32

_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class RefusedFormError(Exception):
    """A form that is not taken; its text says why, for the person who sent it."""


def policy_of(nonce: str) -> str:
    """Return the content security policy of a page whose own style has a nonce."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            f"style-src 'self' 'nonce-{nonce}'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        )
    )


class HostNames:
    """The names under which this page may be asked for."""

    def __init__(self, external_url: str) -> None:
        """Take the configured address, and the names of this machine."""
        configured = urlsplit(external_url).hostname if external_url else None
        mine = {"localhost", socket.gethostname(), socket.getfqdn(), configured or ""}
        self._names = {name.lower().rstrip(".") for name in mine if name}

    def has(self, host: str) -> bool:
        """Return whether a header `Host` is one of ours; a number of an address always is."""
        name = urlsplit(f"//{host}").hostname or ""
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower().rstrip(".") in self._names
        return True


class PageGuard:
    """Refuses other names of this machine, and adds the headers of a page."""

    def __init__(self, app: ASGIApp, *, names: HostNames) -> None:
        """Guard an application."""
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("Content-Security-Policy", policy_of("none"))
            await send(message)

        if not self._names.has(Headers(scope=scope).get("host", "")):
            refusal = PlainTextResponse(
                "this page is not served under this name; set external_url in [web] to allow it\n", 421
            )
            await refusal(scope, receive, sent)
            return
        await self._app(scope, receive, sent)


class FormGuard:
    """Makes and checks the tokens of forms, for the life of this process."""

    def __init__(self, names: HostNames) -> None:
        """Take a new secret."""
        self._secret, self._names = secrets.token_bytes(32), names

    def cookie_of(self, request: Request) -> str:
        """Return the cookie of a browser, or a new one."""
        found = request.cookies.get(COOKIE, "")
        return found if len(found) == _COOKIE_LETTERS else secrets.token_hex(_COOKIE_LETTERS // 2)

    def token_of(self, cookie: str) -> str:
        """Return the token of forms for a cookie."""
        return hmac.new(self._secret, cookie.encode(), hashlib.sha256).hexdigest()

    async def fields(self, request: Request) -> dict[str, str]:
        """
        Return the fields of a form.

        Raises:
            RefusedFormError: it comes from another site, is too large, or its token is not ours.
        """
        self._check_origin(request)
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > _FORM_BYTES_MAX:
                raise RefusedFormError("this form is too large")
        try:
            found = parse_qs(body.decode("utf-8", "replace"), max_num_fields=_FIELDS_MAX)
        except ValueError as error:
            raise RefusedFormError("this form has too many fields") from error
        fields = {name: values[0] for name, values in found.items()}
        cookie = request.cookies.get(COOKIE, "")
        token = fields.pop(TOKEN, "").encode()
        if len(cookie) != _COOKIE_LETTERS or not hmac.compare_digest(token, self.token_of(cookie).encode()):
            raise RefusedFormError("this form is too old; load the page again, and send it again")
        return fields

    def _check_origin(self, request: Request) -> None:
        site = request.headers.get("sec-fetch-site", "same-origin")
        origin = request.headers.get("origin")
        is_ours = origin is None or (
            urlsplit(origin).netloc == request.headers.get("host", "")
            or (urlsplit(origin).hostname is not None and self._names.has(urlsplit(origin).netloc))
        )
        # A page with no-referrer has the origin `null` in some browsers; the token decides then.
        if site not in ("same-origin", "none") or not (is_ours or origin == "null"):
            raise RefusedFormError("this form comes from another site")
