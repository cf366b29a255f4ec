"""The HTTP server of the watch: who may read, and clients that do not behave."""

import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from plimsoll.errors import UsageError
from plimsoll.watch import web
from plimsoll.watch.web import WatchServer


class Door:
    """Lets in one user, and has no time for another."""

    tls: ssl.SSLContext | None = None
    headers: Mapping[str, str] = {"Strict-Transport-Security": "max-age=1"}

    def refusal(self, authorization: str | None) -> HTTPStatus | None:
        """None for `Basic right` only."""
        if authorization == "Basic busy":
            return HTTPStatus.SERVICE_UNAVAILABLE
        return None if authorization == "Basic right" else HTTPStatus.UNAUTHORIZED


def broken(_request: Request) -> Response:
    """An error of ours."""
    raise ZeroDivisionError("3 / 0")


def at(address: tuple[str, int], log: Callable[..., None] = lambda _event, **_fields: None, **more) -> WatchServer:
    """A server with plain answers that does not listen yet."""
    return WatchServer(
        address,
        healthy=lambda: (200, "healthy"),
        ready=lambda: (200, "ready"),
        reload=lambda: (200, "reloading"),
        metrics=lambda _accept, _encoding: (b"m 1\n", {"Content-Type": "text/plain"}),
        log=log,
        **more,
    )


@contextmanager
def served(access: Door | None = None, lines: list[dict[str, object]] | None = None) -> Iterator[WatchServer]:
    """A server with plain answers."""

    def log(event: str, **fields: object) -> None:
        if lines is not None:
            lines.append({"event": event, **fields})

    with at(("127.0.0.1", 0), log, routes=[Route("/broken", broken)], access=access) as server:
        yield server


def test_an_address_in_use_is_said():
    """One sentence with the reason, and what to do."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(UsageError) as caught:
            at(("127.0.0.1", port))

    assert caught.value.message == f"unable to listen on 127.0.0.1:{port}: address already in use"


def test_every_path_asks_who_comes():
    """Also one that does not exist: what is there is nobody's business."""
    with served(Door()) as server:
        for path in ("/-/healthy", "/metrics", "/nothing"):
            answer = httpx.get(f"http://{server.address}{path}")
            assert answer.status_code == 401
            assert answer.headers["WWW-Authenticate"].startswith("Basic")
            assert answer.headers["Strict-Transport-Security"] == "max-age=1"
        right = {"Authorization": "Basic right"}
        assert httpx.get(f"http://{server.address}/metrics", headers=right).text == "m 1\n"


def test_who_comes_while_passwords_wait_is_to_come_again():
    """A browser would ask for another password on a 401, though this one may be right."""
    with served(Door()) as server:
        busy = {"Authorization": "Basic busy"}
        answer = httpx.get(f"http://{server.address}/metrics", headers=busy)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert answer.text == "too many passwords wait to be checked; try again\n"
    assert "WWW-Authenticate" not in answer.headers


def test_a_silent_client_is_let_go(monkeypatch: pytest.MonkeyPatch):
    """Whether it sends nothing or half a request, at the start or after an answer."""
    monkeypatch.setattr(web, "_PATIENCE_S", 0.3)
    whole = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"
    with served() as server:
        host, _, port = server.address.rpartition(":")
        for said in (b"", b"GET /-/hea", whole, whole + b"GET"):
            with socket.create_connection((host, int(port)), timeout=5.0) as client:
                client.sendall(said)
                begun_s = time.monotonic()
                while client.recv(4096):
                    pass
                assert time.monotonic() - begun_s < 3.0


@pytest.mark.parametrize("is_later", [False, True])
def test_nonsense_in_a_body_is_no_error_of_ours(is_later: bool, caplog: pytest.LogCaptureFixture):
    """Before the request was answered and afterwards: the connection ends, and nothing is logged."""
    begun, nonsense = (b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", b"Z\r\n")
    with served() as server:
        host, _, port = server.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30.0) as client:
            client.sendall(begun if is_later else begun + nonsense)
            answer = client.recv(4096)
            if is_later:
                client.sendall(nonsense)
            while more := client.recv(4096):
                answer += more

    assert answer.startswith(b"HTTP/1.1 200 " if is_later else b"HTTP/1.1 400 ")
    assert 1 == answer.count(b"HTTP/1.1 ")
    assert [] == caplog.records


def test_an_error_of_ours_is_logged_and_not_shown():
    """The reader gets a sentence, the log gets the reason."""
    lines: list[dict[str, object]] = []
    with served(lines=lines) as server:
        answer = httpx.get(f"http://{server.address}/broken")

    assert (answer.status_code, "ZeroDivision" in answer.text) == (500, False)
    assert lines == [{"event": "page failed", "path": "/broken", "error": "ZeroDivisionError: 3 / 0"}]
