"""
The file of the ledger: its tables, its version, and transactions.

Rule: a file that is not a ledger is refused before anything is written to it.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from plimsoll.errors import SourceError, UsageError

# Raised with every change of the tables; an older file is refused, a newer one too.
_VERSION = 2
# Longer than any of our transactions; another process waits that long for its turn.
_BUSY_S = 10.0
_TABLES = """
CREATE TABLE IF NOT EXISTS instances (
  account TEXT, region TEXT, name TEXT, record BLOB NOT NULL, PRIMARY KEY (account, region, name));
CREATE TABLE IF NOT EXISTS standings (
  account TEXT, region TEXT, name TEXT, rule TEXT, ceiling TEXT, standing BLOB NOT NULL,
  PRIMARY KEY (account, region, name, rule, ceiling));
CREATE TABLE IF NOT EXISTS days (
  account TEXT, region TEXT, name TEXT, family TEXT, day INTEGER, summary BLOB NOT NULL,
  PRIMARY KEY (account, region, name, family, day));
CREATE TABLE IF NOT EXISTS transitions (
  key TEXT, number INTEGER, account TEXT, region TEXT, name TEXT, rule TEXT, state TEXT,
  at_s INTEGER NOT NULL, message BLOB NOT NULL, PRIMARY KEY (key, number));
CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0, due_s REAL NOT NULL DEFAULT 0, sent_s REAL, repeated_s REAL, error TEXT NOT NULL DEFAULT '',
  UNIQUE (receiver, key, number));
CREATE INDEX IF NOT EXISTS waiting ON outbox (receiver, key, number) WHERE sent_s IS NULL;
CREATE TABLE IF NOT EXISTS threads (
  receiver TEXT, key TEXT, identity TEXT NOT NULL, PRIMARY KEY (receiver, key));
CREATE TABLE IF NOT EXISTS acknowledgements (
  key TEXT PRIMARY KEY, number INTEGER NOT NULL, person TEXT NOT NULL, note TEXT NOT NULL, at_s INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS lease (id INTEGER PRIMARY KEY CHECK (id = 1), owner TEXT, until_s REAL);
CREATE TABLE IF NOT EXISTS spending (month TEXT PRIMARY KEY, metrics INTEGER NOT NULL);
"""


class LedgerError(SourceError):
    """The ledger could not be read or written, for example because the disk is full."""


class LeaseLostError(LedgerError):
    """Another process owns the lease now; nothing was written."""


class LedgerFile:
    """One connection to the file."""

    def __init__(self, path: Path, *, owner: str, lease_s: float = 60.0) -> None:
        """
        Open the file, and create it if it does not exist.

        Args:
            path: of the file.
            owner: name of this process in the lease.
            lease_s: for how long a lease is valid after the last sign of life.

        Raises:
            UsageError: the file is not a ledger, or of another version.
            LedgerError: it cannot be opened.
        """
        self.path, self.owner, self._lease_s = path, owner, lease_s
        _check_place(path)
        _make_private(path)
        try:
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
            with self._translated():
                self._prepare()
        except sqlite3.DatabaseError as error:
            raise LedgerError(
                f"unable to open the ledger '{path}': {error}",
                "Give a file in a folder that this user may write to with --ledger.",
            ) from error

    def _prepare(self) -> None:
        version = self._checked_version()
        self._db.execute("PRAGMA journal_mode = WAL")
        # A transition must survive a power cut, not only the end of the process.
        self._db.execute("PRAGMA synchronous = FULL")
        if version not in (0, _VERSION):
            raise UsageError(
                f"the ledger '{self.path}' has version {version}, and this program writes {_VERSION}",
                "Give another file with --ledger; open alerts are then found again.",
            )
        with self._writing():
            for statement in _TABLES.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {_VERSION}")

    def _checked_version(self) -> int:
        """
        Return the version of the file, 0 for a new one; nothing is written.

        Raises:
            UsageError: it belongs to another program.
        """
        foreign = UsageError(
            f"the file '{self.path}' is not a ledger of plimsoll watch",
            "Give another file with --ledger; it is created if it does not exist.",
        )
        try:
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            rows = self._db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            tables = {str(name) for (name,) in rows}
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_NOTADB:
                raise foreign from error
            raise
        if tables and not {"instances", "outbox", "lease"} <= tables:
            raise foreign
        return int(version)

    def __enter__(self) -> Self:
        """Return the open ledger."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._db.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._translated():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # A full disk may have ended the transaction already.
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(
                f"the ledger '{self.path}' cannot be used: {error}",
                "Check the disk, and the permissions of the file and its folder.",
            ) from error


def _make_private(path: Path) -> None:
    """
    Create the file for its owner alone, whatever the umask allows, if it is not there; SQLite gives its log the same.

    What cannot be created, SQLite says.
    """
    with suppress(OSError):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)


def _check_place(path: Path) -> None:
    """
    Refuse a path at which no file can be, with a better reason than SQLite gives.

    Raises:
        UsageError: it is a folder, or in none.
    """
    if path.is_dir():
        raise UsageError(f"the ledger '{path}' is a folder", "Give a file with --ledger.")
    if not path.parent.is_dir():
        raise UsageError(f"the folder of the ledger '{path}' does not exist", "Create it, or give another file.")
