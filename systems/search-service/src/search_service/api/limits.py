"""What is refused before a request is looked at: long addresses, bodies, and what is no HTTP."""

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
                app = problem(413, "Requests have no body.", {"Connection": "close"})
        await app(scope, receive, send)


class Protocol(H11Protocol):
    """HTTP whose errors are problems too."""

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, or has headers of more than 64 KiB, and close the connection."""
        self.logger.debug("refused: %s", msg)
        answer = problem(400, "This is not HTTP/1.1, or its headers are too large.")
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
