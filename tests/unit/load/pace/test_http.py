"""The answers that freno's clients understand, over a real socket."""

import json
import socket
import struct
from collections.abc import Iterator

import httpx
import pytest

from paced import T3, slow_truth
from plimsoll.errors import SourceError, UsageError
from plimsoll.load.pace.http import CheckServer
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.pace import Pace


def pace_of(slow) -> Pace:
    made = Pace(PaceController(T3, PaceTerms()), read_slow=slow, clock=lambda: 10.0)
    made.refresh()
    made.tick()
    return made


def served(slow) -> Iterator[httpx.Client]:
    server = CheckServer(pace_of(slow), store="orders", denied=["backup"], port=0).start()
    try:
        with httpx.Client(base_url=f"http://{server.address}", trust_env=False) as client:
            yield client
    finally:
        server.close()


@pytest.fixture
def idle() -> Iterator[httpx.Client]:
    yield from served(lambda: slow_truth(end_s=0))


@pytest.fixture
def busy() -> Iterator[httpx.Client]:
    yield from served(lambda: slow_truth(end_s=0, bytes_per_s=400e6))


@pytest.fixture
def blind() -> Iterator[httpx.Client]:
    def fails():
        raise SourceError("no answer")

    yield from served(fails)


def test_an_app_may_go_while_all_take_less_than_they_may(idle):
    """HEAD, which gh-ost sends, has the status of GET and no body."""
    answer = idle.get("/check/gh-ost/mysql/orders")

    assert 200 == answer.status_code == idle.head("/check/gh-ost/mysql/orders").status_code
    assert b"" == idle.head("/check/gh-ost/mysql/orders").content
    body = json.loads(answer.content)
    assert (200, 1, "") == (body["StatusCode"], body["Threshold"], body["Message"])
    assert 0 < body["Value"] < 1


def test_a_connection_is_kept_for_the_next_check(idle):
    """Ten checks a second over new connections would be work for both sides."""
    for _ in range(3):
        assert "keep-alive" != idle.head("/check/a/b/orders").headers.get("connection", "").lower()
        assert 200 == idle.head("/check/a/b/orders").status_code


def test_an_app_waits_while_all_take_more(busy):
    answer = busy.get("/check/gh-ost/mysql/orders")

    assert 429 == answer.status_code
    assert "1" == answer.headers["retry-after"]
    assert "used up until credits return" in answer.json()["Message"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/check/gh-ost/mysql/invoices", 404),
        ("/check/backup/mysql/orders", 417),
        ("/check/orders", 404),
        ("/", 404),
        ("/check/a/b/orders?bytes=none", 400),
        ("/check/a/b/orders?bytes=99999999999999999999", 400),
        # More than a minute at a time: a typing error must not stop everybody for hours.
        ("/check/etl/postgres/orders?bytes=1000000000000", 413),
        ("/_ping", 200),
    ],
)
def test_what_cannot_be_checked_has_its_status(idle, path, status):
    """And is not counted: the next may go at once."""
    assert status == idle.get(path).status_code
    assert "1" == idle.get("/check/etl/postgres/orders?bytes=1").headers["Retry-After"]


def test_without_measurements_the_answer_is_an_error(blind):
    """gh-ost waits at any other status than 200."""
    assert 500 == blind.head("/check/gh-ost/mysql/orders").status_code


def test_bytes_that_are_told_are_counted():
    """The first may go; after it, the allowance of many seconds is used up."""
    now = [0.0]
    pace = Pace(PaceController(T3, PaceTerms()), read_slow=lambda: slow_truth(end_s=0), clock=lambda: now[0])
    pace.refresh()
    pace.tick()
    now[0] = 1.0
    server = CheckServer(pace, store="orders", port=0)
    try:
        path = "/check/etl/postgres/orders?bytes=100000000"
        assert 200 == server.answer(path).status
        refused = server.answer(path)
        assert 429 == refused.status
        assert refused.retry_after_s >= 5
    finally:
        server.close()


def test_an_address_in_use_is_one_sentence():
    first = CheckServer(pace_of(lambda: slow_truth(end_s=0)), store="orders", port=0)
    port = int(first.address.rpartition(":")[2])
    try:
        with pytest.raises(UsageError, match=f"unable to listen on 127.0.0.1:{port}"):
            CheckServer(pace_of(lambda: slow_truth(end_s=0)), store="orders", port=port)
    finally:
        first.close()


@pytest.mark.parametrize("line", [b"GET http://[ HTTP/1.1", b"GET http://[::1/check HTTP/1.0"])
def test_a_request_that_is_none_is_answered(idle, capfd, line: bytes):
    host, port = idle.base_url.host, idle.base_url.port
    with socket.create_connection((host, port), timeout=30) as client:
        client.sendall(line + b"\r\n\r\n")
        answer = client.recv(1000)

    assert b" 404 " in answer.splitlines()[0]
    assert "" == capfd.readouterr().err


def test_a_client_that_goes_away_is_not_told_of(idle, capfd):
    host, port = idle.base_url.host, idle.base_url.port
    for _ in range(5):
        client = socket.create_connection((host, port), timeout=30)
        client.sendall(b"GET /check/a/b/orders HTTP/1.1\r\nHo")
        # The connection is reset, not closed.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()

    assert 200 == idle.get("/check/a/b/orders").status_code
    assert "" == capfd.readouterr().err


def test_it_listens_on_an_address_of_version_6():
    # That of version 4 as one of version 6: not every machine has ::1.
    host = "::ffff:127.0.0.1"
    server = CheckServer(pace_of(lambda: slow_truth(end_s=0)), store="orders", host=host, port=0)
    server.start()
    try:
        assert server.address.startswith(f"[{host}]:")
        assert 200 == httpx.get(f"http://{server.address}/check/a/b/orders", trust_env=False).status_code
    finally:
        server.close()
