"""A search engine that answers what a test tells it to, for what a real one does only when it is in trouble."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Answer = Callable[[str, str, bytes], tuple[int, Any]]
"""From method, path and body of a request to the status and the JSON of its answer."""


class Stub:
    """An HTTP server on a free port of loopback."""

    def __init__(self, answer: Answer) -> None:
        stub = self
        self.requests: list[tuple[str, str]] = []

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                stub.requests.append((self.command, self.path))
                status, found = answer(self.command, self.path, body)
                data = b"" if self.command == "HEAD" else json.dumps(found).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815 - names of the standard library

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def written(body: bytes, status: int = 201) -> dict[str, Any]:
    """The answer to a bulk request in which every write had this status."""
    actions = [json.loads(line) for line in body.splitlines()]
    return {"items": [{"index": {"status": status}} for one in actions if "index" in one]}
