"""A link to a server on loopback, which can be cut."""

import socket
import threading
from collections.abc import Iterator

import pytest

from plimsoll_lab.servers.link import Link

WAIT_S = 30.0
SILENCE_S = 0.5


@pytest.fixture
def echo_port() -> Iterator[int]:
    """A server that sends back whatever it gets."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve(line: socket.socket) -> None:
            with line:
                while data := line.recv(1024):
                    line.sendall(data)

        def accept() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(line,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def connect(link: Link) -> socket.socket:
    """A client behind the link."""
    return socket.create_connection(("127.0.0.1", link.port), timeout=WAIT_S)


def is_silent(line: socket.socket) -> bool:
    """Whether nothing is sent back, and the connection stays open."""
    line.settimeout(SILENCE_S)
    line.sendall(b"lost")
    try:
        line.recv(1024)
    except TimeoutError:
        return True
    return False


def test_a_whole_link_relays(echo_port: int) -> None:
    """Every byte, of several clients at once."""
    with Link(echo_port) as link, connect(link) as one, connect(link) as other:
        one.sendall(b"first")
        other.sendall(b"second")
        found = one.recv(1024), other.recv(1024)

    assert (b"first", b"second") == found


def test_a_cut_link_loses_every_byte_in_silence_until_it_is_mended(echo_port: int) -> None:
    """
    On connections of before as on new ones: nothing is refused or closed. Mended, it relays new ones; the
    old ones have lost bytes, and are closed.
    """
    with Link(echo_port) as link, connect(link) as old:
        old.sendall(b"before")
        before = old.recv(1024)
        link.cut()
        with connect(link) as new:
            silent = is_silent(old), is_silent(new)
        link.mend()
        old.settimeout(WAIT_S)
        rest = old.recv(1024)
        with connect(link) as new:
            new.sendall(b"again")
            again = new.recv(1024)

    assert (b"before", b"", b"again") == (before, rest, again)
    assert (True, True) == silent


def test_a_server_that_is_gone_closes_its_clients() -> None:
    """As without the link, where they would be refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Link(port) as link, connect(link) as line:
        rest = line.recv(1024)

    assert b"" == rest
