"""
Relay connections on loopback to a server, until the link is cut: a partition without rights on the network.

Rule: a cut link loses every byte in silence, as a broken network does. Nothing is refused and nothing is closed, so that
both sides find out by their own time limits.
"""

import contextlib
import selectors
import socket
import threading
from typing import Self

from plimsoll_lab.servers.server import HOST

# A judgement: most answers of etcd are smaller.
_CHUNK = 65_536
# A cut or a mend is noticed after this time.
_TICK_S = 0.1


class Link:
    """Relay connections to one port of loopback while the `with` block lasts."""

    def __init__(self, target_port: int) -> None:
        """Listen on a free port; nothing is relayed yet."""
        self._target = (HOST, target_port)
        self._listener = socket.create_server((HOST, 0))
        self.port = int(self._listener.getsockname()[1])
        self._is_whole = threading.Event()
        self._is_whole.set()
        self._is_over = threading.Event()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._thread = threading.Thread(target=self._relay, daemon=True)

    def __enter__(self) -> Self:
        """Begin to relay."""
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Close every connection."""
        self._is_over.set()
        self._thread.join()

    def cut(self) -> None:
        """Lose every byte from now on, on old and on new connections."""
        self._is_whole.clear()

    def mend(self) -> None:
        """Relay new connections again; the old ones have lost bytes and are closed."""
        self._is_whole.set()

    def _relay(self) -> None:
        was_whole = True
        while not self._is_over.is_set():
            is_whole = self._is_whole.is_set()
            if is_whole and not was_whole:
                self._close_all()
            was_whole = is_whole
            for key, _ in self._selector.select(_TICK_S):
                found = key.fileobj
                assert isinstance(found, socket.socket)
                if found is self._listener:
                    self._accept(is_whole=is_whole)
                elif found in self._peers:
                    self._pass_on(found, is_whole=is_whole)
        self._close_all()
        self._listener.close()
        self._selector.close()

    def _accept(self, *, is_whole: bool) -> None:
        client, _ = self._listener.accept()
        # Without the other side yet, a connection in a partition is one of which nothing arrives.
        server = socket.socket()
        if is_whole:
            try:
                server.connect(self._target)
            except OSError:
                client.close()
                server.close()
                return
        for one, other in ((client, server), (server, client)):
            one.settimeout(_TICK_S * 50)
            self._peers[one] = other
            if one is client or is_whole:
                self._selector.register(one, selectors.EVENT_READ)

    def _pass_on(self, source: socket.socket, *, is_whole: bool) -> None:
        try:
            data = source.recv(_CHUNK)
            if data and is_whole:
                self._peers[source].sendall(data)
        except OSError:
            data = b""
        if not data:
            self._close(source)

    def _close(self, one: socket.socket) -> None:
        other = self._peers.pop(one)
        self._peers.pop(other, None)
        for each in (one, other):
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()

    def _close_all(self) -> None:
        while self._peers:
            self._close(next(iter(self._peers)))
