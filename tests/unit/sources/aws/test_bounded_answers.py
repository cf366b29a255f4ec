"""An answer of AWS is read up to a bound, whatever client asks and however the answer is sent."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from plimsoll.errors import AccessDenied, SourceError
from plimsoll.sources.aws.account import CONCURRENCY, open_account
from plimsoll.sources.aws.operations import DESCRIBE_INSTANCES, OPERATIONS
from plimsoll.sources.files.bounded_session import MOST_BYTES, BoundedSession
from plimsoll.units import GIB, MIB
from unit.sources.aws.cloud import KEY, NOW_S, REGION, SECRET

PART = b"<a>0123456789</a>" * 4096
# What kernel and library may hold beyond what was read.
BUFFERED_BYTES = 16 * MIB
ENDLESS: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "in chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        lambda part: b"%x\r\n%s\r\n" % (len(part), part),
    ),
    "until it closes": (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", lambda part: part),
    "of a length": (b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % GIB, lambda part: part),
    "an error": (
        b"HTTP/1.1 400 Bad\r\nTransfer-Encoding: chunked\r\n\r\n",
        lambda part: b"%x\r\n%s\r\n" % (len(part), part),
    ),
    "packed": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
        lambda part: b"%x\r\n%s\r\n" % (len(part), part),
    ),
}


class EndlessServer:
    """Answers every request without end, up to a GiB, and counts the bytes that were taken."""

    def __init__(self, head: bytes, framed: Callable[[bytes], bytes]) -> None:
        self.taken: list[int] = []
        self._head, self._framed = head, framed
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering, and wait for the last answer to end."""
        # A close alone does not wake the thread that accepts.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        connection.recv(1 << 16)
        part, sent = self._framed(PART), 0
        try:
            connection.sendall(self._head)
            while sent < GIB:
                connection.sendall(part)
                sent += len(part)
        except OSError:
            pass
        self.taken.append(sent)


@contextmanager
def endless(how: str) -> Iterator[EndlessServer]:
    """A server whose answers do not end."""
    server = EndlessServer(*ENDLESS[how])
    try:
        yield server
    finally:
        server.close()


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    """Credentials of nobody."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


def account_at(url: str, monkeypatch: pytest.MonkeyPatch, role_arn: str | None = None):
    """An account whose endpoint is that address."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    return open_account(profile=None, region=REGION, max_api_calls=100, now_s=lambda: NOW_S, role_arn=role_arn)


@pytest.mark.attack(
    "A server that answers in the place of AWS sends an answer without end",
    "one sentence; the answer is read up to 16 MiB",
)
@pytest.mark.parametrize("how", ENDLESS)
def test_an_answer_without_end_is_refused_at_the_bound(monkeypatch, how):
    """Chunked, by length, until the connection closes, as an error, and packed: one sentence, one request."""
    with endless(how) as server, pytest.raises(SourceError) as refused:
        account_at(server.url, monkeypatch).call(DESCRIBE_INSTANCES)

    assert "the answer to rds:DescribeDBInstances has more than 16 MiB" == refused.value.message
    assert 1 == len(server.taken)
    assert server.taken[0] < MOST_BYTES + BUFFERED_BYTES


@pytest.mark.parametrize("service", sorted({operation.service for operation in OPERATIONS}))
def test_every_client_of_an_account_has_the_bound(monkeypatch, service):
    """Also those of services that are asked rarely, and of logs and prices."""
    client = account_at("http://127.0.0.1:1", monkeypatch)._new_client(service)

    assert "BoundedHttp" == type(client._endpoint.http_session).__name__


def test_the_answer_that_brings_a_roles_credentials_has_the_bound(monkeypatch):
    """STS is asked by botocore itself, with clients of the same session."""
    role_arn = "arn:aws:iam::123456789012:role/plimsoll"
    with endless("in chunks") as server, pytest.raises((SourceError, AccessDenied)):
        account_at(server.url, monkeypatch, role_arn).call(DESCRIBE_INSTANCES)

    assert max(server.taken) < MOST_BYTES + BUFFERED_BYTES


def test_an_object_of_s3_is_still_read_piece_by_piece(monkeypatch):
    """Its body is handed out as it comes, without the bound of answers that are held."""
    with endless("of a length") as server:
        client = BoundedSession().create_client("s3", region_name=REGION, endpoint_url=server.url, config=None)
        body = client.get_object(Bucket="bucket", Key="key")["Body"]
        taken = sum(len(body.read(MIB)) for _ in range(MOST_BYTES // MIB + 1))
        body.close()

    assert MOST_BYTES + MIB == taken


def test_the_largest_answer_of_cloudwatch_fits_twice():
    """GetMetricData answers with 100,800 data points at most; all answers in flight take 128 MiB."""
    point = "<member>2026-11-20T12:00:00Z</member><member>1.2345678901234567E17</member>"

    assert 2 * 100_800 * len(point) < MOST_BYTES
    assert CONCURRENCY * MOST_BYTES <= 128 * MIB
