"""Two processes of a watch on one ledger, and everything around them that can fail, on clocks that a test moves."""

import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from plimsoll.errors import AccessDenied, PlimsollError, SourceError, Throttled, Unreachable
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.delivery import Delivery
from plimsoll.watch.law.message import Message
from plimsoll.watch.ledger import InstanceOutcome, Ledger, LedgerError, QueuedMessage
from plimsoll.watch.loop import Watch
from plimsoll.watch.receivers.receiver import Receiver
from scenes import EPOCH_S, Scene, broken, settings_of
from watched import MINUTE

ERRORS: Mapping[str, Exception] = {
    "throttled": Throttled("AWS asked us to slow down"),
    "500": SourceError("AWS answered InternalFailure", "Try again."),
    "expired": AccessDenied("the security token has expired", "Log in again."),
    "away": Unreachable("AWS did not answer", "Check the network."),
}
"""Ways in which AWS fails, each with what the loop is raised."""
OWNERS = ("first", "second")
FOR_MINUTES = 10
# The receiver may wait ten minutes after an hour of failures, and a lease is one minute long.
SETTLED_MINUTES = 150


class Killed(BaseException):
    """The process is gone, at once and without any end."""


class FaultyLedger(Ledger):
    """A ledger on a disk that may be full, in a process that may be killed at each of its writes."""

    def __init__(self, world: "World", owner: str) -> None:
        self._world, self._is_storing = world, False
        super().__init__(world.path, owner=owner)
        # Processes end here, and power never does; waiting for the disk is most of the time otherwise.
        self._db.execute("PRAGMA synchronous = OFF")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with super()._writing():
            yield
            if self._world.is_full and (self._is_storing or not self._world.has_rest):
                raise sqlite3.OperationalError("database or disk is full")

    def store(self, outcome: InstanceOutcome, receivers: Any, *, now_s: float) -> None:
        self._world.passed()
        self._is_storing = True
        try:
            super().store(outcome, receivers, now_s=now_s)
        finally:
            self._is_storing = False
        if outcome.numbers is not None:
            self._world.judged.append(outcome.record.data_end_s)
        self._world.passed()

    def claim(self, queued: QueuedMessage, *, due_s: float) -> None:
        self._world.passed()
        super().claim(queued, due_s=due_s)
        self._world.passed()

    def mark_sent(self, queued: QueuedMessage, identity: str, *, now_s: float) -> None:
        self._world.passed()
        super().mark_sent(queued, identity, now_s=now_s)
        self._world.passed()


class WatchProcess:
    """One process: its own connection, its own memory."""

    def __init__(self, world: "World", owner: str) -> None:
        self.ledger = FaultyLedger(world, owner)
        self.watch: Watch = world.watch(self.ledger)
        self.delivery = Delivery(world.receiver, self.ledger, now_s=world.clock.now_s, log=world.log)

    def turn(self) -> None:
        """One turn of the loop, and of the sender beside it."""
        self.watch.round()
        if self.watch.is_owner:
            with suppress(LedgerError):
                self.delivery.send_due()

    def end(self) -> None:
        """Close the connection; what was not committed is gone."""
        self.ledger._db.close()


class World(Scene):
    """One instance whose letters are written as time passes, and the faults of now."""

    def __init__(self, folder: Path, receiver_of: "Callable[[World], Receiver] | None" = None) -> None:
        super().__init__(folder, "", settings=settings_of())
        self.receiver: Receiver = self.book if receiver_of is None else receiver_of(self)
        self.on_minute: Callable[[], None] = lambda: None
        self.book.write = lambda _message: self.passed()
        self.judged: list[int] = []
        """End of the data of each reading that was stored."""
        self.is_full = False
        self.has_rest = False
        """Whether a full disk has room for what is small, the lease and marks, and none for a reading."""
        self.fault = ""
        """How AWS fails now; empty while it answers."""
        self.kills = 0
        self._kill_in: int | None = None
        self.processes: dict[str, WatchProcess] = {}
        for owner in OWNERS:
            self.start(owner)

    def start(self, owner: str) -> None:
        """Start a process that does not run; on a full disk it cannot."""
        if owner not in self.processes:
            with suppress(PlimsollError):
                self.processes[owner] = WatchProcess(self, owner)

    def kill_at(self, point: int) -> None:
        """Kill the process that passes the point of this number from now, from 1."""
        self._kill_in = point

    def passed(self) -> None:
        """Pass a point at which a process may be killed."""
        if self._kill_in is None:
            return
        self._kill_in -= 1
        if self._kill_in <= 0:
            self._kill_in = None
            self.kills += 1
            raise Killed

    def pass_minute(self, letter: str) -> None:
        """Let a minute pass that has this letter, with a turn of every process."""
        self.letters += letter
        self.real_s += MINUTE
        for owner, process in list(self.processes.items()):
            try:
                process.turn()
            except Killed:
                process.end()
                del self.processes[owner]
        self.check_minute()
        self.on_minute()

    def set_receiver(self, *, is_down: bool) -> None:
        """Let the receiver fail, or answer again."""
        self.book.error = broken() if is_down else None

    def settle(self) -> None:
        """Let everything work again, and wait until nothing is left to do."""
        self.is_full, self.fault, self._kill_in = False, "", None
        self.set_receiver(is_down=False)
        for owner in OWNERS:
            self.start(owner)
        for _ in range(SETTLED_MINUTES):
            self.pass_minute(".")

    def close(self) -> None:
        """End all processes."""
        for process in self.processes.values():
            process.end()

    # --- what the loop is handed ------------------------------------------------------------------

    def read(self, window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        if self.fault:
            self.asked += 1
            raise ERRORS[self.fault]
        yield from super().read(window_s, is_chosen)

    def diagnose(self, snapshot: Snapshot) -> Diagnosis:
        self.passed()
        found = super().diagnose(snapshot)
        self.passed()
        return found

    # --- what must hold ---------------------------------------------------------------------------

    def stored(self) -> dict[tuple[str, int], Message]:
        """Every message that was queued for the receiver, by key and number."""
        with Ledger(self.path, owner="reader") as ledger:
            rows = ledger._db.execute(
                "SELECT o.key, o.number, t.message FROM outbox o JOIN transitions t "
                "ON t.key = o.key AND t.number = o.number"
            ).fetchall()
        return {(key, number): msgspec.json.decode(raw, type=Message) for key, number, raw in rows}

    def transitions(self) -> dict[str, list[int]]:
        """Numbers of all transitions by key, those that nobody is told of among them."""
        found: dict[str, list[int]] = {}
        with Ledger(self.path, owner="reader") as ledger:
            rows = ledger._db.execute("SELECT key, number FROM transitions ORDER BY key, number")
            for key, number in rows:
                found.setdefault(key, []).append(number)
        return found

    def check_minute(self) -> None:
        """Whoever believes the lease longer finds out before it writes; what a receiver got is what the ledger has."""
        assert sum(process.watch.is_owner for process in self.processes.values()) <= 1
        assert {(m.key, m.number) for m in self.book.got} <= set(self.stored())

    def check_delivery(self) -> None:
        """Nothing is lost, nothing is foreign, and only a kill makes a message come twice."""
        came = Counter((m.key, m.number) for m in self.book.got)
        assert set(came) == set(self.stored())
        assert came.total() - len(came) <= self.kills
        first: dict[str, list[int]] = {}
        for one in self.book.got:
            numbers = first.setdefault(one.key, [])
            if one.number not in numbers:
                numbers.append(one.number)
        assert all(numbers == sorted(numbers) for numbers in first.values())

    def check_episodes(self) -> None:
        """Each incident that was seen has an alert, each alert is of an incident, and all are over."""
        for numbers in self.transitions().values():
            assert numbers == list(range(1, len(numbers) + 1)), "a transition was lost"
        found: dict[str, list[Message]] = {}
        for message in self.stored().values():
            found.setdefault(message.key, []).append(message)
        spans = []
        for messages in found.values():
            ordered = sorted(messages, key=lambda m: m.number)
            assert ordered[-1].state.value == "ok"
            assert [m.state.value for m in ordered[:-1]].count("ok") == 0
            if ordered[0].rule == "bound":
                spans.append((ordered[0].since_s, ordered[-1].at_s))
        incidents = self.incidents()
        for start_s, end_s in incidents:
            is_seen = any(start_s + FOR_MINUTES * MINUTE <= at_s <= end_s for at_s in self.judged)
            is_told = any(s <= end_s and e >= start_s for s, e in spans)
            assert is_told or not is_seen, (start_s, end_s, spans)
        for start_s, end_s in spans:
            assert any(start_s < e and end_s > s for s, e in incidents), (start_s, end_s)

    def incidents(self) -> list[tuple[int, int]]:
        """Start and end of each row of `b`, epoch seconds."""
        found, start = [], None
        for minute, letter in enumerate(f"{self.letters}."):
            if letter == "b" and start is None:
                start = minute
            if letter != "b" and start is not None:
                found.append((EPOCH_S + start * MINUTE, EPOCH_S + minute * MINUTE))
                start = None
        return found


# Minutes between two faults of a kind, on average, and the longest that one lasts.
SPELLS = {"aws": (40, 30), "disk": (80, 15), "receiver": (120, 60)}
_STEP_EVERY, _KILL_EVERY = 120, 20
_POINTS_MAX = 12
_RESTART_MAX = 10


def incidents_of(rng: random.Random, count: int) -> str:
    """So many incidents with calm around each, a letter for each minute."""
    return "".join("." * rng.randint(45, 90) + "b" * rng.randint(5, 60) for _ in range(count))


def played(
    folder: Path,
    seed: int,
    *,
    incidents: int = 6,
    receiver_of: Callable[[World], Receiver] | None = None,
    on_minute: Callable[[], None] = lambda: None,
) -> World:
    """Play some incidents with faults by these dice, until all is calm; what must hold was checked."""
    rng = random.Random(seed)
    world = World(folder, receiver_of)
    world.on_minute = on_minute
    left = dict.fromkeys(SPELLS, 0)
    restarts: dict[str, int] = {}
    try:
        for letter in incidents_of(rng, incidents):
            for kind, (every, longest) in SPELLS.items():
                left[kind] = max(left[kind] - 1, 0)
                if not left[kind] and rng.random() < 1 / every:
                    left[kind] = rng.randint(1, longest)
                    if kind == "aws":
                        world.fault = rng.choice(sorted(ERRORS))
                    if kind == "disk":
                        world.has_rest = rng.random() < 0.5
            world.fault = world.fault if left["aws"] else ""
            world.is_full = left["disk"] > 0
            world.set_receiver(is_down=left["receiver"] > 0)
            if rng.random() < 1 / _STEP_EVERY:
                world.step_s = rng.choice([-3600.0, 0.0, 3600.0])
            if rng.random() < 1 / _KILL_EVERY:
                world.kill_at(rng.randint(1, _POINTS_MAX))
            world.pass_minute(letter)
            for owner in OWNERS:
                if owner not in world.processes:
                    restarts.setdefault(owner, rng.randint(0, _RESTART_MAX))
                    restarts[owner] -= 1
                    if restarts[owner] < 0:
                        del restarts[owner]
                        world.start(owner)
        world.settle()
        world.check_episodes()
        world.check_delivery()
        return world
    finally:
        world.close()
