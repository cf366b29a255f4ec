"""
The HTTP server of the watch: is it alive, is it ready, what did it find, read the file again; and the page.

Rule 1: it listens on loopback unless another address is given.
Rule 2: an answer is computed from what is in memory and in the ledger; no request reads a target.
Rule 3: a client that is slow, or one that never ends, holds up neither the loop nor the end of the process.
"""

import asyncio
import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Protocol, Self

import h11
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from plimsoll.errors import UsageError
from plimsoll.watch.delivery import Log

# A request is some lines of headers; a client that does not send them is let go after this time.
_PATIENCE_S = 10.0
# At the end, answers that are being written get this long.
_FAREWELL_S = 5
# A judgement: more than the browsers of a team keep open, fewer than a process may open files.
_CONNECTIONS_MAX = 256

Answer = tuple[int, str]
"""HTTP status, and one line of text."""

MetricsText = Callable[[str, str], tuple[bytes, dict[str, str]]]
"""Takes the headers `Accept` and `Accept-Encoding`; returns the body and its headers."""

METRICS_PATH = "/metrics"
_REFUSALS = {
    HTTPStatus.UNAUTHORIZED: ("a user and a password are needed", {"WWW-Authenticate": 'Basic realm="plimsoll"'}),
    HTTPStatus.SERVICE_UNAVAILABLE: ("too many passwords wait to be checked; try again", {"Retry-After": "1"}),
}
_WORDS = {404: "there is nothing here", 405: "this path takes another method"}


class WebAccess(Protocol):
    """Who may read, and whether over TLS."""

    @property
    def tls(self) -> ssl.SSLContext | None:
        """Return the context of TLS; None for plain HTTP."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return headers that every answer gets."""

    def refusal(self, authorization: str | None) -> HTTPStatus | None:
        """Return why the header `Authorization` may not read, None if it may; this may take 100 ms."""


class WatchServer:
    """Answers `GET /-/healthy`, `GET /-/ready`, `GET /metrics` and `POST /-/reload`, and what else it is handed."""

    def __init__(
        self,
        address: tuple[str, int],
        *,
        healthy: Callable[[], Answer],
        ready: Callable[[], Answer],
        reload: Callable[[], Answer],
        metrics: MetricsText,
        log: Log,
        routes: Iterable[BaseRoute] = (),
        access: WebAccess | None = None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Listen and answer in a thread.

        Args:
            address: host and port; port 0 for any free one.
            healthy: whether the process works.
            ready: whether it has read its targets.
            reload: reads the configuration again soon.
            metrics: what was found last.
            log: takes errors of ours.
            routes: further paths, such as those of the page.
            access: who may read; None for everybody.
            on_end: called when the server is to stop, so that answers without an end find one.

        Raises:
            UsageError: the address is in use or not one of this machine.
        """
        self._socket, self._on_end = _listening(address), on_end
        app = _app_of(
            [
                _line("/-/healthy", healthy),
                _line("/-/ready", ready),
                _line("/-/reload", reload, method="POST"),
                Route(METRICS_PATH, _metrics_of(metrics)),
                *routes,
            ],
            log,
        )
        config = uvicorn.Config(
            _Guard(app, access),
            http=_PatientProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=_CONNECTIONS_MAX,
            timeout_graceful_shutdown=_FAREWELL_S,
        )
        config.load()
        config.ssl = access.tls if access is not None else None
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="watch-http", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        # The socket listens already, so that a client that comes early waits.
        self._server.run(sockets=[self._socket])

    @property
    def address(self) -> str:
        """Return host and port on which it listens."""
        host, port = self._socket.getsockname()[:2]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering, and free the port."""
        self._on_end()
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


def _listening(address: tuple[str, int]) -> socket.socket:
    """
    Return a socket that listens.

    Raises:
        UsageError: the address is in use or not one of this machine.
    """
    host, port = address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen()
            found.setblocking(False)
        except OSError:
            found.close()
            raise
    except OSError as error:
        raise UsageError(
            f"unable to listen on {host}:{port}: {(error.strerror or str(error)).lower()}",
            "Give another --web.listen-address (listen_address in [web]), or '' for no server.",
        ) from error
    return found


def _line(path: str, answer: Callable[[], Answer], *, method: str = "GET") -> Route:
    def answered(_request: Request) -> Response:
        status, text = answer()
        return PlainTextResponse(f"{text}\n", status)

    return Route(path, answered, methods=[method])


def _metrics_of(metrics: MetricsText) -> Callable[[Request], Response]:
    def answered(request: Request) -> Response:
        names = ("accept", "accept-encoding")
        body, headers = metrics(*(request.headers.get(name, "") for name in names))
        return Response(body, headers=headers)

    return answered


def _app_of(routes: list[BaseRoute], log: Log) -> Starlette:
    def refused(_request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        is_plain = error.detail == HTTPStatus(error.status_code).phrase
        text = _WORDS.get(error.status_code, error.detail) if is_plain else error.detail
        return PlainTextResponse(f"{text}\n", error.status_code, headers=error.headers)

    def failed(request: Request, error: Exception) -> Response:
        log("page failed", path=request.url.path[:200], error=f"{type(error).__name__}: {error}")
        return PlainTextResponse("this went wrong here; the log has the reason\n", 500)

    app = Starlette(routes=routes, exception_handlers={HTTPException: refused, Exception: failed})
    # A path with a slash too many is none of ours; a redirect would repeat what the client sent.
    app.router.redirect_slashes = False
    return app


class _Guard:
    """Lets in who is allowed, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, access: WebAccess | None) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                headers.setdefault("Cache-Control", "no-store")
                headers.setdefault("X-Content-Type-Options", "nosniff")
                for name, value in self._access.headers.items() if self._access else ():
                    headers[name] = value
            await send(message)

        if self._access is not None:
            authorization = Headers(scope=scope).get("authorization")
            # Passwords are hashed slowly on purpose.
            status = await run_in_threadpool(self._access.refusal, authorization)
            if status is not None:
                text, headers = _REFUSALS[status]
                await PlainTextResponse(f"{text}\n", status, headers)(scope, receive, sent)
                return
        await self._app(scope, receive, sent)


class _PatientProtocol(H11Protocol):
    """HTTP as uvicorn speaks it, for clients that send their request within a time."""

    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget_due()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_due()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        # Nonsense in the body of a request that has its answer already gets no second one.
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _await_request(self) -> None:
        self._forget_due()
        self._due = self.loop.call_later(_PATIENCE_S, self._let_go)

    def _forget_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None

    def _let_go(self) -> None:
        if self.cycle is None or self.cycle.response_complete:
            with contextlib.suppress(RuntimeError):
                self.transport.close()
