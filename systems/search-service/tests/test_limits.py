"""What the API's protocol does with clients that send nonsense, or do not finish; without servers."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from search_service.api import limits

PATIENCE_S = 1.5
GET = b"GET / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """
    An application that takes its time and says yes, served with the protocol and the limits, and little patience.
    """
    monkeypatch.setattr(limits, "PATIENCE_S", PATIENCE_S)

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/slow":
            await asyncio.sleep(2 * PATIENCE_S)
        await PlainTextResponse("yes")(scope, receive, send)

    config = uvicorn.Config(limits.Limits(application), http=limits.Protocol, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        yield listening.getsockname()
        server.should_exit = True
        thread.join(60)
        assert not thread.is_alive()


def statuses(address: tuple[str, int], *parts: bytes) -> list[bytes]:
    """
    Send the parts one after the other, and return the statuses of all answers when the other side has ended.
    """
    with socket.create_connection(address, 60) as line:
        for part in parts:
            line.sendall(part)
            time.sleep(PATIENCE_S / 15)
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    return [row[9:12] for row in answer.splitlines() if row.startswith(b"HTTP/1.1 ")]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((GET[:5],), []),
        ((GET[:5], GET[5:9], GET[9:12]), []),
        ((GET + b"Content-Length: 9\r\n\r\n",), [b"413"]),
        ((GET + b"Content-Length: 9\r\n\r\n", b"x", b"x"), [b"413"]),
        ((b"POST" + GET[3:] + b"Content-Length: 9\r\n\r\n", b"x"), [b"200"]),
        ((GET + b"\r\n", GET[:5]), [b"200"]),
        ((b"SEARCH boots\r\n\r\n",), [b"400"]),
        ((b"SEARCH boots\r\n\r\n", b"more"), [b"400"]),
    ],
)
def test_who_does_not_finish_is_let_go(address: tuple[str, int], parts: tuple[bytes, ...], expected: list[bytes]):
    """
    Whatever was sent in between: else some clients could take all files that the process may open.
    """
    assert expected == statuses(address, *parts)


def test_who_never_stops_is_let_go(address: tuple[str, int]):
    with socket.create_connection(address, 60) as line:
        line.sendall(b"SEARCH boots\r\n\r\n")
        until = time.monotonic() + 60
        with contextlib.suppress(OSError):
            while time.monotonic() < until:
                line.sendall(b"more")
                time.sleep(PATIENCE_S / 15)

    assert time.monotonic() < until


def test_who_waits_for_an_answer_is_not(address: tuple[str, int]):
    """The application may take longer than a client."""
    request = GET.replace(b"/", b"/slow", 1) + b"Connection: close\r\n\r\n"

    assert [b"200"] == statuses(address, request)


@pytest.mark.parametrize("parts", [(GET + CHUNKED + b"Z\r\n",), (GET + CHUNKED, b"Z\r\n", b"Z\r\n")])
def test_nonsense_in_a_body_gets_one_answer(
    address: tuple[str, int], parts: tuple[bytes, ...], caplog: pytest.LogCaptureFixture
):
    """Before the request was looked at and afterwards; neither is an error of the service."""
    found = statuses(address, *parts)

    assert [[b"400"], [b"413"]][len(parts) > 1] == found
    assert [] == [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert [b"200"] == statuses(address, GET + b"Connection: close\r\n\r\n")
