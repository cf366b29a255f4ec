"""A server's refusal is known by its SQLSTATE, whatever language it speaks; real sockets, no server."""

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from fixtures.certificates import signed_by_itself
from plimsoll.errors import AccessDenied, ServerFull, SourceError, Unreachable
from plimsoll.sources.postgres.pg_stat import refusal

GERMAN = "tut mir leid, schon zu viele Verbindungen"
SSL_REQUEST = 80_877_103


def refused_with(code: str, words: str = GERMAN) -> bytes:
    """An ErrorResponse as a server with German messages sends it."""
    fields = {"S": "FATAL", "V": "FATAL", "C": code, "M": words, "F": "proc.c", "L": "353"}
    if not code:
        del fields["C"]
    body = b"".join(k.encode() + v.encode() + b"\0" for k, v in fields.items()) + b"\0"
    return b"E" + struct.pack("!i", len(body) + 4) + body


@contextmanager
def answering(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[bytes]]]:
    """A listener that answers every beginning of a session alike; what was sent to it."""
    heard: list[bytes] = []

    def answer_one(line: socket.socket) -> None:
        with suppress(OSError):
            while len(head := line.recv(8)) == 8:
                length, code = struct.unpack("!ii", head)
                if code == SSL_REQUEST:
                    line.sendall(b"S" if tls else b"N")
                    line = tls.wrap_socket(line, server_side=True) if tls else line
                    continue
                heard.append(head + line.recv(length - 8))
                line.sendall(answer)
                break
        line.close()

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            answer_one(line)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1], heard
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(10)


def refusal_of(answer: bytes) -> tuple[SourceError, list[bytes]]:
    """What is made of a failed connection to such a server."""
    with answering(answer) as (port, heard):
        dsn = f"host=127.0.0.1 port={port} user=app password=s3cret dbname=orders connect_timeout=5"
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(dsn)
        return refusal(caught.value, dsn), heard


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        pytest.param(refused_with("53300"), ServerFull, GERMAN, id="full"),
        pytest.param(refused_with("28P01", "Passwort"), AccessDenied, "", id="bad word"),
        pytest.param(refused_with("3D000", "Datenbank"), AccessDenied, "", id="no database"),
        pytest.param(refused_with("57P03", "startet"), Unreachable, "", id="starting"),
        pytest.param(refused_with(""), Unreachable, "", id="no code"),
        pytest.param(refused_with("53300")[:20], Unreachable, "", id="cut off"),
        pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", Unreachable, "", id="no PostgreSQL"),
        pytest.param(b"", Unreachable, "", id="silent"),
        pytest.param(b"E\x7f\xff\xff\xff", Unreachable, "", id="endless"),
    ],
)
def test_a_refusal_is_known_in_every_language(answer: bytes, kind: type[SourceError], words: str):
    """
    By its code; what is no refusal with a code stays a server that did not answer. The words stand in
    the evidence, as the server said them.
    """
    found, heard = refusal_of(answer)

    assert kind is type(found)
    assert words in found.message
    assert "s3cret" not in found.message
    # libpq may try again without TLS.
    assert 2 <= len(heard) <= 4
    assert all(b"app\0" in one and b"orders\0" in one for one in heard)
    assert not any(b"s3cret" in one for one in heard)


def test_nobody_there_is_nobody_there():
    """The port was closed before: no code, and the sentence as before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    dsn = f"host=127.0.0.1 port={port} user=app dbname=orders"
    with pytest.raises(psycopg.OperationalError) as caught:
        psycopg.connect(dsn)

    assert "did not answer" in refusal(caught.value, dsn).message


@pytest.mark.parametrize("mode", ["prefer", "require", "disable"])
def test_a_server_with_tls_is_asked_under_tls(tmp_path: Path, mode: str):
    """As libpq would ask it; whose certificate it is does not matter, since nothing secret is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(signed_by_itself(tmp_path))
    with answering(refused_with("53300"), context) as (port, heard):
        dsn = f"host=127.0.0.1 port={port} user=app dbname=orders sslmode={mode}"
        with pytest.raises(psycopg.OperationalError) as caught:
            psycopg.connect(dsn)
        found = refusal(caught.value, dsn)

    assert ServerFull is type(found)
    assert heard
