"""A proxy of TCP in front of a server, which fails as it is told: connection by connection."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Self

PASS = ("pass", 0)
CHUNK_BYTES = 16 * 1024


class Between:
    """
    Listens while the `with` block lasts. `plan` says by number of a connection, from 1, what becomes of it:
    `pass`; `500` answers so without asking the server; `cut` ends after so many bytes of answers; `slow` lets so many
    bytes a second through; `hang` stops answering after so many bytes. `methods` are those of each connection's first
    request to the server.
    """

    def __init__(self, to: tuple[str, int], plan: Callable[[int], tuple[str, int]]) -> None:
        self._to, self._plan = to, plan
        self.count = 0
        self.methods: list[str] = []
        self.is_away = False

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.is_away = True
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End every connection."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.is_away:
                client.close()
                continue
            self.count += 1
            self._open.append(client)
            plan = self._plan(self.count)
            threading.Thread(target=self._serve, args=(client, plan), daemon=True).start()

    def _serve(self, client: socket.socket, plan: tuple[str, int]) -> None:
        kind, amount = plan
        with client, contextlib.suppress(OSError):
            if kind == "500":
                client.recv(65536)
                body = b"<Error><Code>InternalError</Code></Error>"
                head = f"HTTP/1.1 500 Broken\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                client.sendall(head.encode() + body)
                return
            with socket.create_connection(self._to) as server:
                self._open.append(server)
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                try:
                    self._answer(client, server, kind, amount)
                finally:
                    # Closing does not end a connection from which the other thread still reads.
                    for one in (server, client):
                        with contextlib.suppress(OSError):
                            one.shutdown(socket.SHUT_RDWR)

    def _answer(self, client: socket.socket, server: socket.socket, kind: str, amount: int) -> None:
        done = 0
        while chunk := server.recv(CHUNK_BYTES):
            if kind in ("cut", "hang") and done + len(chunk) >= amount:
                client.sendall(chunk[: amount - done])
                while kind == "hang" and not self.is_away:
                    time.sleep(0.05)
                return
            client.sendall(chunk)
            done += len(chunk)
            if kind == "slow":
                time.sleep(len(chunk) / amount)

    def _ask(self, source: socket.socket, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            first = source.recv(CHUNK_BYTES)
            # A part of a connection that broke may begin with any byte.
            self.methods.append(first.partition(b" ")[0].decode(errors="replace"))
            to.sendall(first)
            while chunk := source.recv(CHUNK_BYTES):
                to.sendall(chunk)
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_WR)
