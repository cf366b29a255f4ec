"""
Which part of the index work is this indexer's, so that several indexers do not index the same documents.

Rule 1: products are spread over slots by a hash of their ids. A slot is an advisory lock of the database; it belongs
        to a connection, and is free again when that ends in any way.
Rule 2: indexers that run have about the same number of slots; each second they look whether one came or went.
Rule 3: slots save work and guarantee nothing. Now and then an indexer takes work of any slot, for the owner may hang;
        a document that two of them index is the same document.
"""

import time
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, Engine, TextClause, text
from sqlalchemy.exc import InterfaceError, OperationalError

from search_service.database import unavailable

SLOTS = 16
LOOK_S = 1.0
ANYBODY_EVERY = 10
"""Of so many questions for slots, one is answered with all of them."""
_CLASS = 0x5EA4C4
"""First number of our advisory locks, a choice; the second is a slot or `_MEMBER`."""
_MEMBER = SLOTS
_COUNT = text(
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = :c AND objid = :m "
    "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_JOIN = text("SELECT pg_try_advisory_lock_shared(:c, :m)")
_TAKE = text("SELECT pg_try_advisory_lock(:c, :m)")
_GIVE = text("SELECT pg_advisory_unlock(:c, :m)")


class Share:
    """The slots of one indexer."""

    def __init__(self, database: Engine) -> None:
        """Keep the database; nothing is taken yet."""
        self._database = database
        self._connection: Connection | None = None
        self._mine: set[int] = set()
        self._looked = -LOOK_S
        self._asked = 0

    def __enter__(self) -> Self:
        """Return the share itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the slots back."""
        self._drop()

    def slots(self) -> frozenset[int]:
        """
        Return the slots whose work to do next.

        Raises:
            UnavailableError: the database does not answer; all slots are given back.
        """
        self._asked += 1
        if time.monotonic() - self._looked >= LOOK_S:
            try:
                self._look()
            except (OperationalError, InterfaceError) as error:
                self._drop()
                raise unavailable(error) from error
            self._looked = time.monotonic()
        if self._asked % ANYBODY_EVERY == 0:
            return frozenset(range(SLOTS))
        return frozenset(self._mine)

    def _look(self) -> None:
        """Take slots or give some back, so that each indexer that runs has its part."""
        if self._connection is None:
            opened = self._database.connect()
            self._connection = opened.execution_options(isolation_level="AUTOCOMMIT")
            self._ask(_JOIN, _MEMBER)
        members = self._ask(_COUNT, _MEMBER)
        part = -(-SLOTS // max(1, members))
        for slot in sorted(self._mine, reverse=True)[: max(0, len(self._mine) - part)]:
            self._ask(_GIVE, slot)
            self._mine.discard(slot)
        for slot in range(SLOTS):
            if len(self._mine) >= part:
                break
            if slot not in self._mine and self._ask(_TAKE, slot):
                self._mine.add(slot)

    def _ask(self, statement: TextClause, number: int) -> int:
        assert self._connection is not None
        answer = self._connection.execute(statement, {"c": _CLASS, "m": number})
        return int(answer.scalar() or 0)

    def _drop(self) -> None:
        self._mine.clear()
        if self._connection is not None:
            # The connection must not go back to the pool with its locks.
            self._connection.invalidate()
            self._connection.close()
            self._connection = None
