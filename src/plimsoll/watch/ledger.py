"""
What the watch remembers, in one SQLite file: states, transitions, messages to send, the lease, own requests.

Rule 1: everything that follows from one reading of an instance is written in one transaction, before anything
        is sent.
Rule 2: only the owner of the lease writes, and every transaction checks that.
Rule 3: a message is known by (key, number). It is queued once for each receiver and marked when it was sent.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.ceiling import Family
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.law.days import DAY_S, DaySummary, merged
from plimsoll.watch.law.evaluation import WatchedInstance
from plimsoll.watch.law.machine import Standing
from plimsoll.watch.law.message import Message
from plimsoll.watch.law.reading import InstanceNumbers
from plimsoll.watch.ledger_file import LeaseLostError, LedgerError, LedgerFile

__all__ = [
    "Acknowledgement",
    "InstanceOutcome",
    "LeaseLostError",
    "Ledger",
    "LedgerError",
    "QueuedMessage",
    "RememberedInstance",
]

# Incidents are looked up for a season; headroom needs a month at most.
_KEPT_DAYS = 90


class RememberedInstance(Struct, frozen=True, kw_only=True):
    """What is remembered of an instance as a whole."""

    instance: WatchedInstance
    target: str
    """Target that names it, as configured."""
    data_end_s: int
    """End of the newest complete minute that was read, epoch seconds; when it was first named without any."""
    silent_s: float = 0.0
    """For how long polls have brought nothing newer. Time in which no process watched does not count."""
    far_since_s: int = 0
    """From when it has been far from every ceiling; 0 if it is not."""
    unlisted_s: float = 0.0
    """For how long its target has answered without naming it. Time in which no process watched does not count."""
    reason: str = ""
    """Why the last poll brought nothing; empty if it did."""


class QueuedMessage(Struct, frozen=True, kw_only=True):
    """A message that waits for one receiver."""

    receiver: str
    message: Message
    attempts: int
    """Failed so far."""
    identity: str
    """What the receiver returned for the last message of the episode; empty for the first."""


class Acknowledgement(Struct, frozen=True, kw_only=True):
    """Somebody knows of an open alert; it counts until the state of the alert changes."""

    key: str
    """Of the episode."""
    number: int
    """Of the transition that was acknowledged."""
    person: str
    """Who, as they wrote it or as they signed in; empty if not known."""
    note: str
    at_s: int
    """Epoch seconds."""


class InstanceOutcome(Struct, frozen=True, kw_only=True):
    """What follows from one reading of one instance."""

    record: RememberedInstance
    standings: tuple[Standing, ...]
    days: tuple[DaySummary, ...] = ()
    """What this reading adds to days."""
    messages: tuple[Message, ...] = ()
    """One for each transition."""
    announced: frozenset[tuple[str, int]] = frozenset()
    """(key, number) of the messages that receivers get; the others are only stored."""
    numbers: InstanceNumbers | None = None
    """What is shown of the instance; it is not stored. None where the reading brought nothing new."""
    snapshot: Snapshot | None = None
    """What was judged; it is not stored either."""


class Ledger(LedgerFile):
    """One connection to the file; each thread opens its own."""

    # --- lease ------------------------------------------------------------------------------------

    def take_lease(self, now_s: float) -> bool:
        """Take or renew the lease; return whether this process owns it now."""
        with self._writing():
            return self._renew(now_s)

    def release_lease(self) -> None:
        """Give the lease up, so that a spare need not wait for its end."""
        with self._writing():
            self._db.execute("DELETE FROM lease WHERE owner = ?", (self.owner,))

    def _renew(self, now_s: float) -> bool:
        found = self._db.execute("SELECT owner, until_s FROM lease").fetchone()
        if found is not None and found[0] != self.owner:
            left_s = found[1] - now_s
            # A lease that ends later than any lease can was written before the clock was set back. We may have
            # looked at the clock some seconds before the owner renewed it, so twice its length is the mark.
            if 0 < left_s <= 2 * self._lease_s:
                return False
        self._db.execute(
            "INSERT OR REPLACE INTO lease (id, owner, until_s) VALUES (1, ?, ?)", (self.owner, now_s + self._lease_s)
        )
        return True

    def _check_owner(self) -> None:
        found = self._db.execute("SELECT owner FROM lease").fetchone()
        if found is None or found[0] != self.owner:
            raise LeaseLostError("another process watches with this ledger now")

    # --- states -----------------------------------------------------------------------------------

    def records(self) -> list[RememberedInstance]:
        """Return every instance that was ever read, in order of names."""
        with self._translated():
            rows = self._db.execute("SELECT record FROM instances ORDER BY account, region, name").fetchall()
        return [msgspec.json.decode(row[0], type=RememberedInstance) for row in rows]

    def standings(self, instance: WatchedInstance) -> list[Standing]:
        """Return what is remembered of the subjects of an instance."""
        with self._translated():
            rows = self._db.execute(
                "SELECT standing FROM standings WHERE account = ? AND region = ? AND name = ? ORDER BY rule, ceiling",
                _place(instance),
            ).fetchall()
        return [msgspec.json.decode(row[0], type=Standing) for row in rows]

    def days(self, instance: WatchedInstance, since_day: int) -> tuple[DaySummary, ...]:
        """Return the summaries of an instance's days from a day on."""
        with self._translated():
            rows = self._db.execute(
                "SELECT summary FROM days WHERE account = ? AND region = ? AND name = ? AND day >= ? "
                "ORDER BY family, day",
                (*_place(instance), since_day),
            ).fetchall()
        return tuple(msgspec.json.decode(row[0], type=DaySummary) for row in rows)

    def store(self, outcome: InstanceOutcome, receivers: Iterable[str], *, now_s: float) -> None:
        """
        Write all that follows from one reading, and queue its messages, in one transaction.

        Args:
            outcome: of one instance.
            receivers: names of those that get its messages.
            now_s: epoch seconds; the lease is renewed from there.

        Raises:
            LeaseLostError: another process owns the lease; nothing was written.
            LedgerError: the file cannot be written; nothing was.
        """
        place = _place(outcome.record.instance)
        with self._writing_as_owner(now_s):
            self._db.execute(
                "INSERT OR REPLACE INTO instances VALUES (?, ?, ?, ?)", (*place, msgspec.json.encode(outcome.record))
            )
            for standing in outcome.standings:
                self._db.execute(
                    "INSERT OR REPLACE INTO standings VALUES (?, ?, ?, ?, ?, ?)",
                    (*place, standing.subject.rule, standing.subject.ceiling, msgspec.json.encode(standing)),
                )
            for day in outcome.days:
                self._add_day(place, day)
            for message in outcome.messages:
                self._add_message(message, outcome, tuple(receivers))

    def remove(self, outcome: InstanceOutcome, receivers: Iterable[str], *, now_s: float) -> None:
        """
        Queue the last messages of an instance and forget it, in one transaction; its transitions are kept.

        Args:
            outcome: of one instance.
            receivers: names of those that get its messages.
            now_s: epoch seconds; the lease is renewed from there.

        Raises:
            LeaseLostError: another process owns the lease; nothing was written.
            LedgerError: the file cannot be written; nothing was.
        """
        place = _place(outcome.record.instance)
        with self._writing_as_owner(now_s):
            for message in outcome.messages:
                self._add_message(message, outcome, tuple(receivers))
            for table in ("days", "standings", "instances"):
                self._db.execute(
                    f"DELETE FROM {table} WHERE account = ? AND region = ? AND name = ?",  # noqa: S608
                    place,
                )

    @contextmanager
    def _writing_as_owner(self, now_s: float) -> Iterator[None]:
        """Write in one transaction if this process has the lease, and renew it."""
        with self._writing():
            self._check_owner()
            self._renew(now_s)
            yield

    def _add_day(self, place: tuple[str, str, str], more: DaySummary) -> None:
        found = self._db.execute(
            "SELECT summary FROM days WHERE account = ? AND region = ? AND name = ? AND family = ? AND day = ?",
            (*place, more.family.value, more.day),
        ).fetchone()
        day = merged(msgspec.json.decode(found[0], type=DaySummary), more) if found else more
        self._db.execute(
            "INSERT OR REPLACE INTO days VALUES (?, ?, ?, ?, ?, ?)",
            (*place, Family(more.family).value, more.day, msgspec.json.encode(day)),
        )

    def _add_message(self, message: Message, outcome: InstanceOutcome, receivers: tuple[str, ...]) -> None:
        is_sent = bool(receivers) and (message.key, message.number) in outcome.announced
        self._db.execute(
            "INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                message.key,
                message.number,
                *_place(outcome.record.instance),
                message.rule,
                message.state.value,
                message.at_s,
                msgspec.json.encode(message if is_sent else replace(message, picture_png=b"")),
            ),
        )
        for receiver in receivers if is_sent else ():
            self._db.execute(
                "INSERT INTO outbox (receiver, key, number) VALUES (?, ?, ?)", (receiver, message.key, message.number)
            )

    # --- messages to send -------------------------------------------------------------------------

    def due(self, receiver: str, *, now_s: float, longest_wait_s: float) -> QueuedMessage | None:
        """
        Return the oldest message that is to be sent to a receiver now; None if there is none.

        The messages of an episode are sent in order: a later one waits until the one before it is sent.

        Args:
            receiver: its name.
            now_s: epoch seconds.
            longest_wait_s: a message that is due later than that was delayed before the clock was set back.
        """
        with self._translated():
            found = self._db.execute(
                "SELECT o.key, o.number, o.attempts, t.message, h.identity FROM outbox o "
                "JOIN transitions t ON t.key = o.key AND t.number = o.number "
                "LEFT JOIN threads h ON h.receiver = o.receiver AND h.key = o.key "
                "WHERE o.receiver = ? AND o.sent_s IS NULL AND (o.due_s <= ? OR o.due_s > ?) "
                "AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.receiver = o.receiver "
                "AND e.key = o.key AND e.number < o.number AND e.sent_s IS NULL) "
                "ORDER BY o.id LIMIT 1",
                (receiver, now_s, now_s + longest_wait_s),
            ).fetchone()
        if found is None:
            return None
        return QueuedMessage(
            receiver=receiver,
            message=msgspec.json.decode(found[3], type=Message),
            attempts=found[2],
            identity=found[4] or "",
        )

    def repeat(self, receiver: str, *, now_s: float, every_s: float, resolved_for_s: float) -> QueuedMessage | None:
        """
        Return a message that was sent and is to be sent again, for receivers that forget what they do not hear.

        Args:
            receiver: its name.
            now_s: epoch seconds.
            every_s: the newest message of an episode is repeated after this time.
            resolved_for_s: the last message of an episode is repeated for this time.
        """
        with self._translated():
            found = self._db.execute(
                "SELECT o.attempts, t.message, h.identity FROM outbox o "
                "JOIN transitions t ON t.key = o.key AND t.number = o.number "
                "LEFT JOIN threads h ON h.receiver = o.receiver AND h.key = o.key "
                "WHERE o.receiver = ? AND o.sent_s IS NOT NULL "
                "AND (o.repeated_s <= ? OR o.repeated_s > ?) AND (t.state <> 'ok' OR o.sent_s > ?) "
                "AND NOT EXISTS (SELECT 1 FROM outbox l WHERE l.receiver = o.receiver "
                "AND l.key = o.key AND l.number > o.number) ORDER BY o.repeated_s LIMIT 1",
                (receiver, now_s - every_s, now_s, now_s - resolved_for_s),
            ).fetchone()
        if found is None:
            return None
        return QueuedMessage(
            receiver=receiver, message=msgspec.json.decode(found[1], type=Message), attempts=0, identity=found[2] or ""
        )

    def note_repeat(self, queued: QueuedMessage, *, now_s: float) -> None:
        """Note that a message was repeated, or that trying to failed."""
        with self._writing():
            self._check_owner()
            self._set(queued, "repeated_s = ?", now_s)

    def claim(self, queued: QueuedMessage, *, due_s: float) -> None:
        """
        Note that a message is about to be sent, and when to try again if nothing more is heard of it.

        A full disk is found here, before the message is sent, and not after.

        Raises:
            LeaseLostError: another process sends now.
            LedgerError: the file cannot be written.
        """
        with self._writing():
            self._check_owner()
            self._set(queued, "attempts = attempts + 1, due_s = ?", due_s)

    def mark_sent(self, queued: QueuedMessage, identity: str, *, now_s: float) -> None:
        """Note that a message was sent, and what the receiver returned for it."""
        with self._writing():
            self._set(queued, "error = '', sent_s = coalesce(sent_s, ?), repeated_s = ?", now_s, now_s)
            if identity:
                self._db.execute(
                    "INSERT OR REPLACE INTO threads VALUES (?, ?, ?)", (queued.receiver, queued.message.key, identity)
                )
            if queued.message.picture_png:
                self._drop_picture(queued.message)

    def _drop_picture(self, message: Message) -> None:
        """Forget the picture of a message that nobody waits for: it is nearly all of its size."""
        self._db.execute(
            "UPDATE transitions SET message = ? WHERE key = ? AND number = ? AND NOT EXISTS "
            "(SELECT 1 FROM outbox o WHERE o.key = ? AND o.number = ? AND o.sent_s IS NULL)",
            (msgspec.json.encode(replace(message, picture_png=b"")), *(message.key, message.number) * 2),
        )

    def mark_failed(self, queued: QueuedMessage, error: str, *, due_s: float) -> None:
        """Note why a message was not sent, and when to try again."""
        with self._writing():
            self._set(queued, "error = ?, due_s = ?", error, due_s)

    def _set(self, queued: QueuedMessage, assignments: str, *values: object) -> None:
        self._db.execute(
            f"UPDATE outbox SET {assignments} WHERE receiver = ? AND key = ? AND number = ?",  # noqa: S608
            (*values, queued.receiver, queued.message.key, queued.message.number),
        )

    def drop_receivers(self, kept: Iterable[str]) -> dict[str, int]:
        """
        Take messages out of the queue whose receivers are not among those that are kept.

        Returns:
            The number of messages that will not be sent, by receiver.

        Raises:
            LeaseLostError: another process owns the lease; nothing was written.
            LedgerError: the file cannot be written; nothing was.
        """
        with self._writing():
            self._check_owner()
            found: list[tuple[str, int]] = self._db.execute(
                "SELECT receiver, count(*) FROM outbox WHERE sent_s IS NULL GROUP BY receiver"
            ).fetchall()
            names = set(kept)
            dropped = {receiver: count for receiver, count in found if receiver not in names}
            for receiver in dropped:
                self._db.execute("DELETE FROM outbox WHERE receiver = ? AND sent_s IS NULL", (receiver,))
        return dropped

    def waiting_count(self) -> int:
        """Return the number of messages that are queued and not sent."""
        with self._translated():
            found = self._db.execute("SELECT count(*) FROM outbox WHERE sent_s IS NULL").fetchone()
        return int(found[0])

    def waiting_counts(self) -> dict[str, int]:
        """Return the number of messages that are queued and not sent, by receiver; none has no entry."""
        with self._translated():
            rows = self._db.execute(
                "SELECT receiver, count(*) FROM outbox WHERE sent_s IS NULL GROUP BY receiver"
            ).fetchall()
        return {row[0]: int(row[1]) for row in rows}

    def acknowledge(self, known: Acknowledgement, *, now_s: float) -> bool:
        """
        Note that somebody knows of an open alert, and drop what still waits to be sent about this state.

        Args:
            known: by whom, and of which transition.
            now_s: epoch seconds; the lease is renewed from there.

        Returns:
            Whether that transition is the newest of its episode, and no end of it; otherwise nothing is noted.

        Raises:
            LeaseLostError: another process owns the lease; nothing was written.
            LedgerError: the file cannot be written; nothing was.
        """
        with self._writing_as_owner(now_s):
            newest = self._db.execute(
                "SELECT number, state FROM transitions WHERE key = ? ORDER BY number DESC LIMIT 1", (known.key,)
            ).fetchone()
            if newest is None or newest[0] != known.number or newest[1] == "ok":
                return False
            self._db.execute(
                "INSERT OR REPLACE INTO acknowledgements VALUES (?, ?, ?, ?, ?)",
                (known.key, known.number, known.person, known.note, known.at_s),
            )
            self._db.execute("DELETE FROM outbox WHERE key = ? AND sent_s IS NULL", (known.key,))
        return True

    def withdraw(self, key: str, *, now_s: float) -> None:
        """
        Forget the acknowledgement of an episode.

        Raises:
            LeaseLostError: another process owns the lease; nothing was written.
            LedgerError: the file cannot be written; nothing was.
        """
        with self._writing_as_owner(now_s):
            self._db.execute("DELETE FROM acknowledgements WHERE key = ?", (key,))

    # --- own requests, and age --------------------------------------------------------------------

    def add_spending(self, month: str, metrics: int) -> None:
        """Add metrics that were asked for to a month, for example `2026-11`."""
        with self._writing():
            self._db.execute(
                "INSERT INTO spending VALUES (?, ?) "
                "ON CONFLICT (month) DO UPDATE SET metrics = metrics + excluded.metrics",
                (month, metrics),
            )

    def spent(self, month: str) -> int:
        """Return the metrics that were asked for in a month."""
        with self._translated():
            found = self._db.execute("SELECT metrics FROM spending WHERE month = ?", (month,)).fetchone()
        return int(found[0]) if found else 0

    def prune(self, now_s: float) -> None:
        """Forget transitions and days that are older than a season; never what is still to be sent."""
        before_s = int(now_s) - _KEPT_DAYS * DAY_S
        old = (
            "SELECT key FROM transitions GROUP BY key HAVING max(at_s) < ? "
            "AND max(CASE state WHEN 'ok' THEN 1 ELSE 0 END) = 1 "
            "AND key NOT IN (SELECT key FROM outbox WHERE sent_s IS NULL)"
        )
        with self._writing():
            self._check_owner()
            for table in ("acknowledgements", "threads", "outbox", "transitions"):
                self._db.execute(f"DELETE FROM {table} WHERE key IN ({old})", (before_s,))  # noqa: S608
            self._db.execute("DELETE FROM days WHERE day < ?", (before_s // DAY_S,))


def _place(instance: WatchedInstance) -> tuple[str, str, str]:
    return instance.account, instance.region, instance.name
