"""
The senders' SFTP server: by key only, and only the one whose key we know.

Rule 1: a connection that breaks is made again with growing pauses; then it is one sentence.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self, TypeVar
from urllib.parse import unquote, urlsplit

import asyncssh

from claims_pipeline.errors import DataError, SettingsError, UnavailableError
from claims_pipeline.settings import Settings

CONNECT_S = 15.0
ANSWER_S = 60.0
"""A part that has not come after this time is asked for again, on a new connection."""
TRIES = 6
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 20.0
DEFAULT_PORT = 22

Found = TypeVar("Found")


class Source:
    """The folder of deliveries on the server."""

    def __init__(self, settings: Settings) -> None:
        """
        Read keys and address; nothing is connected yet.

        Raises:
            SettingsError: a key is missing or is none.
        """
        place = urlsplit(settings.sftp_url)
        self._host, self._port = place.hostname or "", place.port or DEFAULT_PORT
        self._user = unquote(place.username or "claims")
        self._folder = unquote(place.path).rstrip("/")
        if place.password:
            raise SettingsError("CLAIMS_SFTP_URL has a password", "Only keys are used: set CLAIMS_SFTP_KEY.")
        self._key, self._known = _keys(settings)
        self.where = f"{self._host}:{self._port}"
        self._connection: asyncssh.SSHClientConnection | None = None
        self._client: asyncssh.SFTPClient | None = None
        self._lock = asyncio.Lock()
        # A part is read with many requests under way, which fill the connection; two at a time only fill memory.
        self._reading = asyncio.Lock()

    async def __aenter__(self) -> Self:
        """Return the source; it connects when it is used."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connection."""
        await self._forget(self._client)

    async def names(self, folder: str) -> list[str]:
        """Return the names in a folder below the deliveries', in order; none if it does not exist."""

        async def ask(client: asyncssh.SFTPClient) -> list[str]:
            try:
                return sorted(str(name) for name in await client.listdir(self._path(folder)))
            except asyncssh.SFTPNoSuchFile:
                return []

        return await self._patiently(ask)

    async def content(self, name: str) -> bytes | None:
        """Return a small file; None if it does not exist."""

        async def ask(client: asyncssh.SFTPClient) -> bytes | None:
            try:
                async with client.open(self._path(name), "rb") as file:
                    return _raw(await file.read())
            except asyncssh.SFTPNoSuchFile:
                return None

        return await self._patiently(ask)

    async def size(self, name: str) -> int:
        """
        Return the length of a file in bytes.

        Raises:
            DataError: it does not exist.
        """

        async def ask(client: asyncssh.SFTPClient) -> int:
            return int((await client.stat(self._path(name))).size or 0)

        return await self._patiently(ask, name)

    async def part(self, name: str, start: int, length: int) -> bytes:
        """
        Return a part of a file.

        Raises:
            DataError: the file ends before, or does not exist.
        """

        async def ask(client: asyncssh.SFTPClient) -> bytes:
            # Opened for each part: an open file does not outlive its connection.
            async with client.open(self._path(name), "rb") as file:
                return _raw(await file.read(length, start))

        async with self._reading:
            found = await self._patiently(ask, name)
        if len(found) < length:
            raise DataError(
                f"'{name}' on {self.where} ends at byte {start + len(found)}", "Ask the sender for the whole file."
            )
        return found

    def _path(self, name: str) -> str:
        return f"{self._folder}/{name}".rstrip("/") or "/"

    async def _patiently(self, ask: Callable[[asyncssh.SFTPClient], Awaitable[Found]], name: str = "") -> Found:
        pause_s = FIRST_PAUSE_S
        for number in range(1, TRIES + 1):
            client = None
            try:
                client = await self._connected()
                async with asyncio.timeout(ANSWER_S):
                    return await ask(client)
            except asyncssh.HostKeyNotVerifiable as error:
                raise UnavailableError(
                    f"the SFTP server {self.where} is not the one whose key is in CLAIMS_SFTP_HOST_KEY",
                    "Ask its owner for the key; do not go on if it did not change.",
                ) from error
            except asyncssh.PermissionDenied as error:
                raise UnavailableError(
                    f"the SFTP server {self.where} does not accept the key of CLAIMS_SFTP_KEY",
                    "Ask its owner to authorise the public key.",
                ) from error
            except asyncssh.SFTPNoSuchFile as error:
                raise DataError(
                    f"'{name}' is in a manifest, and not on {self.where}", "Ask the sender for it."
                ) from error
            except (asyncssh.Error, OSError, TimeoutError) as error:
                await self._forget(client)
                if number == TRIES:
                    raise UnavailableError(
                        f"the SFTP server {self.where} does not answer: {_reason(error)}",
                        "Run the command again later; it goes on where it ended.",
                    ) from error
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
        raise AssertionError

    async def _connected(self) -> asyncssh.SFTPClient:
        async with self._lock:
            if self._client is None:
                async with asyncio.timeout(CONNECT_S):
                    self._connection = await asyncssh.connect(
                        self._host,
                        self._port,
                        username=self._user,
                        client_keys=[self._key],
                        known_hosts=([self._known], [], []),
                        preferred_auth="publickey",
                        agent_path=None,
                        config=None,
                        keepalive_interval=10,
                    )
                    self._client = await self._connection.start_sftp_client()
            return self._client

    async def _forget(self, client: asyncssh.SFTPClient | None) -> None:
        """Close the connection of a client that failed, unless another one did already."""
        async with self._lock:
            if self._connection is not None and client is self._client:
                self._connection.abort()
                self._connection = self._client = None


def _keys(settings: Settings) -> tuple[asyncssh.SSHKey, asyncssh.SSHKey]:
    if not settings.sftp_key or not settings.sftp_host_key:
        name = "CLAIMS_SFTP_HOST_KEY" if settings.sftp_key else "CLAIMS_SFTP_KEY"
        raise SettingsError(f"{name} is not set", "SFTP needs our private key and the server's key.")
    try:
        known = asyncssh.import_public_key(settings.sftp_host_key)
    except (asyncssh.KeyImportError, ValueError) as error:
        raise SettingsError(
            f"CLAIMS_SFTP_HOST_KEY is no public key: {error}",
            "Give a line as known_hosts has it after the host's name.",
        ) from error
    try:
        return asyncssh.read_private_key(Path(settings.sftp_key)), known
    except (OSError, asyncssh.KeyImportError) as error:
        raise SettingsError(
            f"'{settings.sftp_key}' is no private key: {_reason(error)}",
            "Give a file with a key that needs no passphrase.",
        ) from error


def _raw(content: bytes | str) -> bytes:
    assert isinstance(content, bytes), "opened as binary"
    return content


def _reason(error: BaseException) -> str:
    return str(error) or type(error).__name__
