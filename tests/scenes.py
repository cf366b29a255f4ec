"""A watch of one simulated instance on clocks that a test moves, with receivers that a test can break."""

from collections.abc import Callable, Iterator
from pathlib import Path

import watched
from plimsoll.errors import SourceError, Unreachable
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.overview import UnreadInstance
from plimsoll.model.snapshot import Snapshot
from plimsoll.watch.config import TargetSettings, WatchSettings
from plimsoll.watch.delivery import Delivery
from plimsoll.watch.law.message import Message
from plimsoll.watch.ledger import Ledger, LedgerError
from plimsoll.watch.loop import Watch
from plimsoll.watch.receivers.settings import WebhookSettings
from plimsoll.watch.targets import Computations, WatchClock, WatchTarget
from watched import HOUR_S, MINUTE

TARGET = "rds:*"
RECEIVER = "ops"
EPOCH_S = watched.START_S + 24 * HOUR_S
"""Minute 0 of every scene."""
METRIC_COUNT = 14
INCIDENT = "." * 20 + "b" * 40 + "." * 60
"""Bound from minute 20 to minute 60."""
PARTS = ("bound", "ok")
"""What INCIDENT is, in the words of its messages."""


class Book:
    """A receiver that keeps what it gets, unless it is told to fail."""

    repeat_s = 0
    repeat_resolved_s = 0

    def __init__(self, name: str = RECEIVER, write: Callable[[Message], None] | None = None) -> None:
        self.name, self.got, self.earlier = name, list[Message](), list[str]()
        self.error: Exception | None = None
        self.write = write

    def send(self, message: Message, earlier: str) -> str:
        """Keep a message; return a number for it."""
        if self.error is not None:
            raise self.error
        self.got.append(message)
        self.earlier.append(earlier)
        if self.write is not None:
            self.write(message)
        return f"m{len(self.got)}"

    @property
    def states(self) -> list[tuple[str, int]]:
        """State and number of each message, in the order in which they came."""
        return [(m.state.value, m.number) for m in self.got]


class Scene:
    """One instance with a letter for each minute: `.` calm, `b` at a ceiling, `?` AWS does not answer."""

    def __init__(self, folder: Path, letters: str = INCIDENT, *, settings: WatchSettings | None = None) -> None:
        self.path, self.letters = folder / "ledger.db", letters
        self.real_s, self.step_s = float(EPOCH_S), 0.0
        self.asked = 0
        self.is_listed = True
        self.lines: list[dict[str, object]] = []
        self.book = Book()
        self.settings = settings or settings_of()
        self.error: Exception = Unreachable("AWS did not answer", "Check the network.")
        self._spent = 0

    # --- what the loop is handed ------------------------------------------------------------------

    @property
    def clock(self) -> WatchClock:
        """A wall clock that is off by `step_s`, and a steady one that never is."""
        return WatchClock(now_s=lambda: self.real_s + self.step_s, steady_s=lambda: self.real_s)

    def log(self, event: str, **fields: object) -> None:
        """Keep a line of the log."""
        self.lines.append({"event": event, **fields})

    @property
    def target(self) -> WatchTarget:
        """The one target."""
        return WatchTarget(
            name=TARGET, account="", is_live=True, metric_count=METRIC_COUNT, read=self.read, spent=self.spent
        )

    def read(self, window_s: tuple[int, int], is_chosen: Callable[[str], bool]) -> Iterator[Snapshot | UnreadInstance]:
        """Yield the instance up to the last whole minute, or fail."""
        self.asked += 1
        if self.letter(int(self.real_s)) == "?":
            raise self.error
        if self.is_listed and is_chosen(watched.NAME):
            self._spent += METRIC_COUNT
            end_s = min(int(self.real_s), window_s[1]) // MINUTE * MINUTE
            start_s = window_s[0] // MINUTE * MINUTE
            if end_s > start_s:
                minutes = (end_s - start_s) // MINUTE
                yield watched.snapshot(start_s=start_s, minutes=minutes)

    def spent(self) -> int:
        """Metrics that were asked for since the last call."""
        spent, self._spent = self._spent, 0
        return spent

    def letter(self, time_s: int) -> str:
        """Of a minute; after the last letter all is calm, before the first one too."""
        minute = (time_s - EPOCH_S) // MINUTE
        return self.letters[minute] if 0 <= minute < len(self.letters) else "."

    def diagnose(self, snapshot: Snapshot) -> Diagnosis:
        """At a ceiling from the first `b` of a row that reaches the end of the window."""
        assert snapshot.window_s is not None
        end_s = start_s = snapshot.window_s[1]
        while self.letter(start_s - MINUTE) == "b":
            start_s -= MINUTE
        at = (
            [watched.interval(minutes=tuple((t - watched.START_S) // MINUTE for t in (start_s, end_s)))]
            if start_s < end_s
            else []
        )
        return watched.diagnosis(*at, window_s=snapshot.window_s)

    # --- what a test does -------------------------------------------------------------------------

    def open(self, owner: str = "first") -> Ledger:
        """Open the ledger."""
        return Ledger(self.path, owner=owner)

    def watch(self, ledger: Ledger, *, is_single: bool = False) -> Watch:
        """Return a watch as a process that has just begun has it."""
        return Watch(
            self.settings,
            [self.target],
            ledger,
            Computations(
                diagnose=self.diagnose,
                advise=lambda _diagnosis, _snapshot: ("Look at it",),
                draw=lambda _diagnosis, _snapshot: b"",
            ),
            clock=self.clock,
            log=self.log,
            usd_per_metric=0.01 / 1000,
            is_single=is_single,
        )

    def send(self, ledger: Ledger) -> None:
        """Send what is due."""
        Delivery(self.book, ledger, now_s=self.clock.now_s, log=self.log).send_due()

    def play(self, minutes: int, watch: Watch, ledger: Ledger) -> None:
        """Let so many minutes pass, with a turn of the loop in each."""
        for _ in range(minutes):
            self.real_s += MINUTE
            watch.round()
            self.send(ledger)

    def events(self, name: str) -> list[dict[str, object]]:
        """Lines of the log about one kind of event."""
        return [line for line in self.lines if line["event"] == name]


def settings_of(**more: object) -> WatchSettings:
    """One target, one receiver, polls each minute."""
    return WatchSettings(
        targets=(TargetSettings(target=TARGET),),
        receivers=(WebhookSettings(name=RECEIVER, url="http://127.0.0.1:1/"),),
        **more,  # type: ignore[arg-type]
    )


def full(*_: object, **__: object) -> None:
    """What a ledger says whose disk is full."""
    raise LedgerError("database or disk is full")


def broken(text: str = "the receiver does not answer") -> SourceError:
    """An error that passes."""
    return SourceError(text, "Wait.")
