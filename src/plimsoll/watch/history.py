"""
What the ledger has of the past, for the page: transitions, whom they were sent to, and who knows of them.

Rule: it reads with connections of its own that cannot write, so that no reader holds up the loop.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.message import WatchState
from plimsoll.watch.ledger import Acknowledgement, LedgerError

# The page waits no longer than this for its turn; the loop's transactions take milliseconds.
_BUSY_S = 2.0


class DeliveryState(Struct, frozen=True, kw_only=True):
    """What became of one message at one receiver."""

    receiver: str
    sent_s: float | None
    """Epoch seconds; None while it waits."""
    attempts: int
    error: str
    """Why it was not sent the last time; empty if nothing failed."""


class PastTransition(Struct, frozen=True, kw_only=True):
    """A transition, as it was stored; without its picture."""

    key: str
    number: int
    state: WatchState
    rule: str
    ceiling: str
    """For people."""
    title: str
    at_s: int
    """End of the data that led to it, epoch seconds."""
    since_s: int
    facts: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    runbook: str = ""
    deliveries: tuple[DeliveryState, ...] = ()


class History:
    """Reads the ledger; safe in any thread."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet."""
        self._address = f"file:{quote(str(path.absolute()))}?mode=ro"

    def acknowledgements(self) -> dict[str, Acknowledgement]:
        """
        Return what was acknowledged, by the key of the episode.

        Raises:
            LedgerError: the file cannot be read.
        """
        with self._reading() as db:
            rows = db.execute("SELECT key, number, person, note, at_s FROM acknowledgements")
            return {
                key: Acknowledgement(key=key, number=number, person=person, note=note, at_s=at_s)
                for key, number, person, note, at_s in rows
            }

    def transitions(self, instance: WatchedInstance, *, count_max: int) -> list[PastTransition]:
        """
        Return the newest transitions of an instance, newest first.

        Raises:
            LedgerError: the file cannot be read.
        """
        with self._reading() as db:
            rows = db.execute(
                "SELECT key, number, message FROM transitions "
                "WHERE account = ? AND region = ? AND name = ? "
                "ORDER BY at_s DESC, number DESC LIMIT ?",
                (instance.account, instance.region, instance.name, count_max),
            ).fetchall()
            return [
                replace(msgspec.json.decode(message, type=PastTransition), deliveries=_deliveries(db, key, number))
                for key, number, message in rows
            ]

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._address, uri=True, timeout=_BUSY_S)) as db:
                yield db
        except sqlite3.Error as error:
            raise LedgerError(f"the ledger cannot be read: {error}", "Check its file.") from error


def _deliveries(db: sqlite3.Connection, key: str, number: int) -> tuple[DeliveryState, ...]:
    rows = db.execute(
        "SELECT receiver, sent_s, attempts, error FROM outbox WHERE key = ? AND number = ? ORDER BY receiver",
        (key, number),
    )
    return tuple(
        DeliveryState(receiver=receiver, sent_s=sent_s, attempts=attempts, error=error)
        for receiver, sent_s, attempts, error in rows
    )
