"""
Serve one folder over SFTP on loopback: `python sftp.py USER PORT FOLDER`.

This runs in the environment of the server store, which has asyncssh and not Plimsoll. It makes a host key, and a key
for clients if `client_key.pub` is not there, in the folder where it runs.
"""

import asyncio
import sys
from pathlib import Path

import asyncssh

HOST = "127.0.0.1"
ALGORITHM = "ssh-ed25519"
_AUTHORIZED = Path("client_key.pub")


class OneUser(asyncssh.SSHServer):  # type: ignore[misc]  # asyncssh is not in our environment
    """Let one user in, with one key."""

    def connection_made(self, connection: asyncssh.SSHServerConnection) -> None:
        """Keep the connection, to which the key belongs."""
        self._connection = connection

    def begin_auth(self, username: str) -> bool:
        """Ask everybody for a key; only the user has one that is known."""
        if username == sys.argv[1]:
            self._connection.set_authorized_keys(str(_AUTHORIZED))
        return True

    def public_key_auth_supported(self) -> bool:
        """Return that keys are the one way in."""
        return True


def make_key(name: str) -> asyncssh.SSHKey:
    """Make a key pair in two files."""
    key = asyncssh.generate_private_key(ALGORITHM, comment="plimsoll")
    private = Path(name)
    private.touch(mode=0o600)
    private.write_bytes(key.export_private_key())
    Path(f"{name}.pub").write_bytes(key.export_public_key())
    return key


def main() -> None:
    """Make the keys, and serve until the process is ended."""
    host_key = make_key("host_key")
    if not _AUTHORIZED.exists():
        make_key("client_key")
    asyncio.run(serve(host_key))


async def serve(host_key: asyncssh.SSHKey) -> None:
    """Serve the folder with SFTP, and nothing else."""
    server = await asyncssh.create_server(
        OneUser,
        HOST,
        int(sys.argv[2]),
        server_host_keys=[host_key],
        sftp_factory=lambda channel: asyncssh.SFTPServer(channel, chroot=sys.argv[3].encode()),
        allow_pty=False,
        agent_forwarding=False,
    )
    await server.wait_closed()


if __name__ == "__main__":
    main()
