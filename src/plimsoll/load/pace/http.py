"""
Answer programs that ask over HTTP whether they may go on, in the form of freno.

`HEAD` or `GET /check/<app>/<store type>/<store name>`: 200 go on; 400 `bytes` is no number; 404 there is no such store; 417 the app is
denied; 413 more bytes at a time than a minute's; 429 wait; 500 nothing is measured. gh-ost asks so with `--throttle-http`, and waits at any other answer
than 200. `?bytes=N` says how much the app wants to send, and is counted.

Rule 1: it listens on loopback unless another address is given.
Rule 2: an answer is computed from what is in memory; no request of ours waits for a server.

Source:
    github/freno, doc/http.md (MIT): paths, methods and statuses.
"""

import json
import socket
import sys
import threading
from collections.abc import Collection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import ceil
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from plimsoll.errors import UsageError
from plimsoll.load.pace.pace import Pace

# More than any chunk, less than what would be a typing error: 1 TiB.
_BYTES_MAX = 2**40
# A batch that takes more at once stops all others for longer than anybody waits for an answer.
_AT_ONCE_S = 60.0
# A check is one line of headers; a client that sends nothing is let go after this time.
_PATIENCE_S = 10


class PaceAnswer(Struct, frozen=True, kw_only=True):
    """One answer, as freno words it."""

    status: int
    value: float
    """What everybody takes, divided by what everybody may take."""
    message: str = ""
    retry_after_s: int | None = None


class _QuietServer(ThreadingHTTPServer):
    """Says nothing of clients that go away in the middle of a request."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leave out what a client did; a mistake of ours is still said."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _QuietServer6(_QuietServer):
    address_family = socket.AF_INET6


class CheckServer:
    """A small HTTP server for one pace."""

    def __init__(
        self, pace: Pace, *, store: str, denied: Collection[str] = (), host: str = "127.0.0.1", port: int
    ) -> None:
        """
        Listen, but answer nothing before `start`.

        Args:
            pace: what to answer from; it must be started.
            store: name by which apps ask, for example orders-primary.
            denied: apps that are always told to wait.
            host: address to listen on.
            port: 0 for any free one.

        Raises:
            UsageError: the address is in use or not one of this machine.
        """
        self._pace, self._store, self._denied = pace, store, frozenset(denied)
        try:
            kind = _QuietServer6 if ":" in host else _QuietServer
            self._server = kind((host, port), _handler_of(self))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UsageError(
                f"unable to listen on {_place(host, port)}: {reason}",
                "Give another address with --listen, for example 127.0.0.1:9780.",
            ) from error
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """Return host and port on which it listens."""
        host, port = self._server.server_address[:2]
        return _place(str(host), port)

    def start(self) -> Self:
        """Answer requests in a thread."""
        self._thread = threading.Thread(target=self._server.serve_forever, name="pace-http", daemon=True)
        self._thread.start()
        return self

    def close(self) -> None:
        """Stop answering, and free the port."""
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

    def answer(self, target: str) -> PaceAnswer:
        """Return the answer to a request's path and query."""
        try:
            parts = urlsplit(target)
        except ValueError:
            return PaceAnswer(status=404, value=0.0, message="this is no path")
        steps = [unquote(step) for step in parts.path.split("/") if step]
        if steps == ["_ping"]:
            return PaceAnswer(status=200, value=0.0, message="pong")
        if len(steps) != 4 or steps[0] != "check":
            return PaceAnswer(status=404, value=0.0, message="ask for /check/<app>/<store type>/<store name>")
        _, app, _, store = steps
        if store != self._store:
            return PaceAnswer(status=404, value=0.0, message=f"there is no store but {self._store}")
        if app in self._denied:
            return PaceAnswer(status=417, value=1.0, message="this app is denied")
        wanted = parse_qs(parts.query).get("bytes", [""])[-1]
        if wanted:
            return self._counted(wanted)
        found = self._pace.check()
        if not found.is_known:
            return PaceAnswer(status=500, value=found.used_ratio, message=found.text)
        if found.may_go:
            return PaceAnswer(status=200, value=found.used_ratio)
        return PaceAnswer(status=429, value=found.used_ratio, message=found.text, retry_after_s=1)

    def _counted(self, wanted: str) -> PaceAnswer:
        byte_count = int(wanted) if wanted.isdecimal() and len(wanted) <= 13 else -1
        if not 0 <= byte_count <= _BYTES_MAX:
            return PaceAnswer(status=400, value=0.0, message="bytes is not a number of bytes")
        most = self._pace.allowance().bytes_per_s * _AT_ONCE_S
        if byte_count > most:
            return PaceAnswer(
                status=413, value=1.0, message=f"ask for at most {most:.0f} bytes at a time: a minute of the allowance"
            )
        wait_s = self._pace.try_take(byte_count)
        if wait_s is None:
            return PaceAnswer(status=200, value=0.0)
        return PaceAnswer(
            status=429, value=1.0, message="the allowance of this moment is used up", retry_after_s=max(ceil(wait_s), 1)
        )


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _handler_of(check_server: CheckServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version = "plimsoll"
        sys_version = ""
        timeout = _PATIENCE_S

        def do_GET(self) -> None:
            self._answer(has_body=True)

        def do_HEAD(self) -> None:
            self._answer(has_body=False)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing: gh-ost asks ten times a second."""

        def _answer(self, *, has_body: bool) -> None:
            found = check_server.answer(self.path)
            body = json.dumps(
                {"StatusCode": found.status, "Value": round(found.value, 4), "Threshold": 1, "Message": found.message}
            ).encode()
            self.send_response(found.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            if found.retry_after_s is not None:
                self.send_header("Retry-After", str(found.retry_after_s))
            self.end_headers()
            if has_body:
                self.wfile.write(body)

    return Handler
