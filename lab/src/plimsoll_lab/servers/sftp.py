"""
Run a throwaway SFTP server (asyncssh) over one folder, from an environment of the server store.

asyncssh, because it confines clients to a folder and accepts them by key without root and without an account of
the system, which OpenSSH's server needs for both.

Rule 1: its port is on loopback; only the given key, or one made for this server, is let in. No password is.
Rule 2: the rules of `server.py` apply.
"""

import socket
from pathlib import Path
from typing import Any

from plimsoll_lab.servers.package import SFTP
from plimsoll_lab.servers.pip import PYTHON
from plimsoll_lab.servers.server import ANSWER_S, HOST, free_ports
from plimsoll_lab.servers.store import ServerStore
from plimsoll_lab.servers.stored import StoredServer

USER = "lab"

# What a server says first, before the client says anything (RFC 4253, 4.2).
_GREETING = b"SSH-2.0-"


class SftpServer(StoredServer):
    """Run an SFTP server of our own while the `with` block lasts; clients see its folder as `/`."""

    kind = "sftp"
    title = "the SFTP server"
    package = SFTP

    def __init__(
        self,
        *,
        data_directory: Path | None = None,
        public_key: str | None = None,
        store: ServerStore | None = None,
        also_remove: tuple[Path, ...] = (),
    ) -> None:
        """
        Find asyncssh, as `StoredServer` does; nothing is started yet.

        Args:
            data_directory: folder that clients see, which stays; created if it does not exist. None for a
                folder that is removed at the end.
            public_key: key of the clients, a line as in `authorized_keys`. None for a new key, which is in
                `private_key` while the server runs.
            store: where asyncssh is kept (default: this account's store).
            also_remove: folders to remove with their contents if this process is killed.
        """
        super().__init__(data_directory=data_directory, store=store, also_remove=also_remove)
        self._public_key = public_key

    @property
    def address(self) -> str:
        """Return the URL of the folder."""
        return f"sftp://{USER}@{HOST}:{self.port}"

    @property
    def data_directory(self) -> Path:
        """Return the folder that clients see."""
        return self._given_data or self._directory / "data"

    @property
    def private_key(self) -> Path | None:
        """Return the file of the clients' key; None if the caller gave a public key."""
        return self._directory / "client_key" if self._public_key is None else None

    @property
    def host_key(self) -> str:
        """Return the server's public key, a line as `known_hosts` has it after the host's name."""
        return (self._directory / "host_key.pub").read_text(encoding="ascii").strip()

    def _job(self) -> dict[str, Any]:
        (self.port,) = free_ports(1)
        program = self._write_program("plimsoll_lab.servers.programs.sftp")
        if self._public_key is not None:
            self._write("client_key.pub", f"{self._public_key.strip()}\n")
        data = self._own_folder(self._given_data, "data")
        return self._ended_by_signals(
            [*(str(self._home / PYTHON), "-I", str(program)), *(USER, str(self.port), str(data))]
        )

    def _takes_connections(self) -> bool:
        """Return whether it greets a client."""
        try:
            with socket.create_connection((HOST, self.port), ANSWER_S) as line:
                return line.recv(len(_GREETING)) == _GREETING
        except OSError:
            return False
