"""What is refused before a request is looked at: long addresses, bodies, and what is no HTTP."""

import asyncio

import h11
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from search_service.api.problem import problem

URL_MOST = 16_384
"""Bytes of an address, a judgement: a hundred values of filters fit, and a header of HTTP/1.1 may have 64 KiB."""


class Limits:
    """An application that refuses what is too large and passes everything else on."""

    def __init__(self, app: ASGIApp) -> None:
        """Keep the application."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass the request on."""
        app = self._app
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            length = headers.get(b"content-length", b"0")
            has_body = length.strip(b"0") or b"transfer-encoding" in headers
            if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > URL_MOST:
                app = problem(414, f"An address has at most {URL_MOST} bytes.")
            elif has_body and scope["method"] in {"GET", "HEAD"}:
                app = problem(413, "Requests have no body.")
        await app(scope, receive, send)


PATIENCE_S = 10.0
"""
How long a client may take for a request, and for the rest of one that is refused; a judgement: both fit on a slow line.
"""


class Protocol(H11Protocol):
    """HTTP whose errors are problems too, for clients that finish what they send within a time."""

    _is_ended = False
    _due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._await_client()

    def data_received(self, data: bytes) -> None:
        """Take what the client sent, or drop it once this side has ended."""
        if self._is_ended:
            return
        super().data_received(data)
        if self._is_answering():
            self._forget_due()

    def on_response_complete(self) -> None:
        """Wait for the rest of this request, and for the next one."""
        super().on_response_complete()
        self._await_client()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._forget_due()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """
        Answer what is no HTTP, or has headers of more than 64 KiB, and end the connection.

        A connection that is closed while a client still sends is reset, and the client never sees its answer (RFC 9112,
        section 9.6); so only this side ends, until the client does too or time is up.
        """
        self.logger.debug("refused: %s", msg)
        # Nonsense in the body of a request that has its answer already gets no second one.
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self._send_400()
        if self._is_answering():
            self.cycle.disconnected = True
        self._is_ended = True
        self.transport.write_eof()
        self._await_client()

    def _send_400(self) -> None:
        answer = problem(400, "This is not HTTP/1.1, or its headers are too large.")
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_client(self) -> None:
        self._forget_due()
        self._due = self.loop.call_later(PATIENCE_S, self.transport.close)

    def _forget_due(self) -> None:
        if self._due is not None:
            self._due.cancel()
            self._due = None
