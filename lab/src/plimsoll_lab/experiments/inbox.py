"""
A receiver of messages on this machine, which takes what is sent to an incoming webhook of Slack.

It is no Slack: it keeps each message and answers as Slack's documentation says.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

# Slack refuses larger messages.
_BYTES_MAX = 1_000_000


class MessageInbox:
    """Receives messages on loopback while it is open."""

    def __init__(self) -> None:
        """Bind a free port; nothing is received before the inbox is opened."""
        self.texts: list[str] = []
        """The text of each message, in the order in which they came."""
        inbox = self

        class InboxHandler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                inbox._receive(self)

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), InboxHandler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """Return the address of the webhook."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/services/T0/B0/experiment"

    def __enter__(self) -> Self:
        """Begin to receive."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Receive nothing more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("Content-Length") or 0)
        status, answer = 400, b"invalid_payload"
        if 0 < length <= _BYTES_MAX:
            try:
                self.texts.append(str(json.loads(request.rfile.read(length))["text"]))
                status, answer = 200, b"ok"
            except (ValueError, KeyError, TypeError):
                pass
        request.send_response(status)
        request.send_header("Content-Length", str(len(answer)))
        request.end_headers()
        request.wfile.write(answer)
