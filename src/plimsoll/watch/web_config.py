"""
Decide who may ask the HTTP server of the watch, with a file that may change while it runs.

Rule 1: a file that cannot be used any more changes nothing; the old one goes on, and the log says so once.
Rule 2: an answer to a wrong name takes as long as one to a wrong password.
Rule 3: one password is checked at a time, so that guesses cannot take more than one processor. While eight wait,
        others are told to come again; a password that was right before does not wait.
"""

import base64
import binascii
import hashlib
import hmac
import os
import ssl
import threading
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import bcrypt

from plimsoll.errors import UsageError
from plimsoll.watch.access_file import WebConfig, files_of, read_web_config
from plimsoll.watch.delivery import Log

# bcrypt looks at no more bytes of a password, and its library refuses longer ones.
_PASSWORD_BYTES_MAX = 72
# One entry for each password that was right; a user has one.
_REMEMBERED_MAX = 1_000

# A judgement: more than the people and servers that ask for the first time at once, fewer than threads.
_WAITING_MAX = 8

# What changes when a file does: time, size and number of the file; None for one that is not there.
_Stamp = tuple[tuple[int, int, int] | None, ...]


class _RenewedContext(ssl.SSLContext):
    """
    Begins each connection with the certificates that the files have then.

    Server and event loop keep one context for as long as they listen. An exchange in OpenSSL's callback would
    keep the old versions and the old check of clients; so the whole connection is begun by the new context.
    """

    access: "AccessByFile"

    def wrap_bio(self, *arguments: object, **named: object) -> ssl.SSLObject:
        return self.access.context().wrap_bio(*arguments, **named)  # type: ignore[arg-type]

    def wrap_socket(self, *arguments: object, **named: object) -> ssl.SSLSocket:
        return self.access.context().wrap_socket(*arguments, **named)  # type: ignore[arg-type]


class AccessByFile:
    """TLS, users and headers of one file; every method may be called in any thread."""

    def __init__(self, path: Path | None, *, log: Log = lambda _event, **_fields: None) -> None:
        """
        Read the file.

        Args:
            path: of the file; None for no TLS, no passwords and no further headers.
            log: takes events: that a new file is used, or cannot be used.

        Raises:
            UsageError: the file cannot be used.
        """
        self._path, self._log = path, log
        self._reading, self._checking = threading.Lock(), threading.Lock()
        self._waiting = threading.BoundedSemaphore(_WAITING_MAX)
        self._remembered: set[bytes] = set()
        self._secret = os.urandom(32)
        self._files: list[Path] = []
        self._stamp: _Stamp = ()
        self._config = WebConfig(tls=None, headers={}, users={})
        self._tls: ssl.SSLContext | None = None
        if path is not None:
            self._files = files_of(path)
            self._stamp = self._stamp_now()
            self._config = read_web_config(path)
            if self._config.tls is not None:
                self._tls = _RenewedContext(ssl.PROTOCOL_TLS_SERVER)
                self._tls.access = self

    @property
    def tls(self) -> ssl.SSLContext | None:
        """Return the context to listen with; None without TLS. It follows the files by itself."""
        return self._tls

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers that every answer gets."""
        return self._current().headers

    @property
    def user_count(self) -> int:
        """Return how many users there are; 0 if nobody is asked for a password."""
        return len(self._current().users)

    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection, with the certificates of now."""
        tls = self._current().tls
        assert tls is not None
        return tls

    def refusal(self, authorization: str | None) -> HTTPStatus | None:
        """
        Return why a request may not be answered; None if it may.

        A wrong password takes as long as bcrypt needs, so call this in a thread.

        Args:
            authorization: header `Authorization`; None without one.

        Returns:
            `UNAUTHORIZED`, or `SERVICE_UNAVAILABLE` where too many passwords wait to be checked.
        """
        users = self._current().users
        if not users:
            return None
        name, password = _pair_of(authorization)
        if name is None:
            return HTTPStatus.UNAUTHORIZED
        known = users.get(name)
        digest = known or _hash_of_nobody(users)
        seen = hmac.digest(self._secret, b"\0".join((name.encode(), digest, password)), hashlib.sha256)
        if seen in self._remembered:
            return None
        # Otherwise guesses would take every thread, and who is known already would wait for them.
        if not self._waiting.acquire(blocking=False):
            return HTTPStatus.SERVICE_UNAVAILABLE
        try:
            with self._checking:
                is_right = bcrypt.checkpw(password[:_PASSWORD_BYTES_MAX], digest)
        finally:
            self._waiting.release()
        if not is_right or known is None:
            return HTTPStatus.UNAUTHORIZED
        if len(self._remembered) >= _REMEMBERED_MAX:
            self._remembered = set()
        self._remembered.add(seen)
        return None

    def _current(self) -> WebConfig:
        """Return what the file says now, or said when it could be used last."""
        if self._path is None:
            return self._config
        with self._reading:
            stamp = self._stamp_now()
            if stamp != self._stamp:
                # Before the reading: what changes during it is seen the next time.
                self._stamp = stamp
                self._read_again(self._path)
            return self._config

    def _read_again(self, path: Path) -> None:
        try:
            files, config = files_of(path), read_web_config(path)
        except UsageError as error:
            self._log("web config not changed", error=error.message, hint=error.hint)
            return
        if (config.tls is None) is not (self._config.tls is None):
            # The server listens with TLS or without it, until it ends.
            self._log(
                "web config not changed",
                error=f"'{path}' now has {'no TLS' if config.tls is None else 'TLS'}",
                hint="Restart plimsoll watch to switch TLS on or off.",
            )
            return
        if files != self._files:
            self._files, self._stamp = files, ()
        self._config, self._remembered = config, set()
        self._log("web config changed", file=str(path), users=len(config.users))

    def _stamp_now(self) -> _Stamp:
        found: list[tuple[int, int, int] | None] = []
        for file in self._files:
            try:
                seen = file.stat()
            except OSError:
                found.append(None)
            else:
                found.append((seen.st_mtime_ns, seen.st_size, seen.st_ino))
        return tuple(found)


def _pair_of(authorization: str | None) -> tuple[str | None, bytes]:
    """Return name and password of a header; None where it has none."""
    scheme, _, encoded = (authorization or "").partition(" ")
    if scheme.lower() != "basic":
        return None, b""
    try:
        name, colon, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
        return (name.decode(), password) if colon else (None, b"")
    except (binascii.Error, ValueError):
        return None, b""


def _hash_of_nobody(users: Mapping[str, bytes]) -> bytes:
    """Return a hash of no password, as costly to check as the costliest of the users."""
    cost = max(digest[4:6] for digest in users.values())
    return b"$2b$" + cost + b"$" + b"." * 53
