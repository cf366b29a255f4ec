"""
One phase of an experiment: what it is, what it left, and what an experiment is handed to play it.

Rule 1: nothing here judges. Each phase gives what a user could read, and the gate's own record as the truth.
Rule 2: between two phases time is skipped: nothing is throttled then, and nothing is recorded.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from plimsoll.model.ceiling import Family
from plimsoll.model.database import Observation
from plimsoll.model.explain import CaptureFile
from plimsoll.model.instance import Instance
from plimsoll.model.snapshot import CreditClock, Snapshot
from plimsoll_lab.experiments.account import ExperimentAccount
from plimsoll_lab.experiments.timeline import moved
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.control import GateStatus
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import MINUTE_S, RecordLine, Truth, snapshot_of, truth_of
from plimsoll_lab.gate.scale import whole_lines, whole_status
from plimsoll_lab.model.experiment import ExperimentFigures, ExperimentProgress, PublishedPhase
from plimsoll_lab.sessions.session import PrintLine, lines_within, progress_of

CLOCK = 60.0
"""An emulated minute takes a second, the step in which the gate records."""
STEP_S = 1.0
"""The gate records a line each second."""
# A forecast from one second alone would jump with every checkpoint (see sessions/session.py).
_RATE_STEPS = 3
# The emulated phases end before now, as everything in an account does.
_BEFORE_NOW_MINUTES = 5


class ExperimentPhase(Struct, frozen=True, kw_only=True):
    """One phase: what changes at its beginning, and what is true of it."""

    name: str
    title: str
    action: str
    instance: Instance
    is_restart: bool = False
    """Whether it begins with a stop and a start, which gives an old instance the present limits."""
    binds: Literal["legacy baseline", "baseline", "none", "not the baseline", "as recorded"]
    """
    Which limit of the instance's throughput makes requests wait in it. In `not the baseline` credits last, so at most the
    burst does; `as recorded` leaves it to the gate's record.
    """
    published: tuple[PublishedPhase, ...] = ()


class PhaseRun(Struct, frozen=True, kw_only=True):
    """What one phase left."""

    phase: ExperimentPhase
    setup: GateSetup
    window_s: tuple[int, int]
    """In emulated time, epoch seconds; as the metrics in the account."""
    snapshot: Snapshot
    """What was written to the account."""
    lines: tuple[RecordLine, ...]
    """The gate's record, of the whole load."""
    truth: Truth
    figures: ExperimentFigures
    credit_clock: CreditClock
    observation: Observation | None = None
    captures: CaptureFile | None = None


class ExperimentEdges(Struct, frozen=True, kw_only=True):
    """What every experiment is handed: telling people, and who reads a phase back."""

    report_progress: Callable[[ExperimentProgress], None]
    print_line: PrintLine
    end_phase: Callable[[PhaseRun, ExperimentAccount], None]
    """Called after each phase, while the load goes on."""


class RecordedPhase(Struct, frozen=True, kw_only=True):
    """What the gate recorded of a phase."""

    lines: tuple[RecordLine, ...]
    truth: Truth
    snapshot: Snapshot
    credit_clock: CreditClock
    window_s: tuple[int, int]

    def balances_of(self, stage: str) -> list[float]:
        """Return the credits of a stage at the end of each step, 0–1."""
        found = (line.balance.get(stage) for line in self.lines)
        return [one for one in found if one is not None]


class PhaseStage:
    """The gate and the account on which phases are played, one after the other in emulated time."""

    def __init__(self, gate: Gate, account: ExperimentAccount, setup: GateSetup, version: str, minutes: int) -> None:
        """
        Keep what phases are played on.

        Args:
            gate: mounted.
            account: in which the instance was described.
            setup: of the gate now.
            version: of the database.
            minutes: that all phases take at most.
        """
        self._gate, self._account, self._version = gate, account, version
        self.setup = setup
        start_minute = int(time.time() // MINUTE_S) - _BEFORE_NOW_MINUTES - minutes
        self._next_s = start_minute * MINUTE_S

    def change(self, phase: ExperimentPhase) -> None:
        """Make the instance that of a phase, if it is another one."""
        before = self.setup.instance
        if phase.instance == before and not phase.is_restart:
            return
        self._gate.change(phase.instance, is_restart=phase.is_restart)
        self._account.describe(with_version(phase.instance, self._version))
        is_today = phase.is_restart or phase.instance.db_class != before.db_class
        legacy = False if is_today else self.setup.legacy
        self.setup = replace(self.setup, instance=phase.instance, legacy=legacy)

    def set_limited(self, *, is_limited: bool) -> None:
        """Enforce the limits, or skip time in which nothing is throttled."""
        self._gate.set_limited(is_limited=is_limited)

    def set_credits(self, ratio: float | None) -> None:
        """Set the credits of the instance's throughput, 0–1; None leaves what is there."""
        if ratio is not None:
            self._gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, ratio)

    def recorded(self, began_s: float, ended_s: float, minutes: int) -> RecordedPhase:
        """
        Return what the gate recorded in a phase, at its place in emulated time.

        Args:
            began_s: real epoch seconds.
            ended_s: the same.
            minutes: emulated minutes of the phase.

        Raises:
            DataError: less than one whole emulated minute was recorded.
        """
        lines = whole_lines(lines_within(self._gate.lines(), began_s, ended_s), self.setup.scale)
        snapshot, clock = moved(snapshot_of(lines, self.setup), self._next_s)
        window_s = (self._next_s, self._next_s + minutes * MINUTE_S)
        self._next_s = window_s[1]
        return RecordedPhase(
            lines=tuple(lines), truth=truth_of(lines), snapshot=snapshot, credit_clock=clock, window_s=window_s
        )

    def progress(self, duration_s: float) -> "PhaseProgress":
        """Return what tells the progress of a phase that takes so many real seconds at most."""
        return PhaseProgress(self._gate, self.setup.scale, duration_s)


class PhaseProgress:
    """Tells second by second how the storage is used in a phase."""

    def __init__(self, gate: Gate, scale: float, duration_s: float) -> None:
        """Keep the gate; it is asked at each look."""
        self._gate, self._scale, self._duration_s = gate, scale, duration_s
        self._recent = deque[GateStatus](maxlen=_RATE_STEPS)

    def look(
        self,
        elapsed_s: float,
        *,
        title: str,
        number: int,
        count: int,
        response_s: float | None,
        lag: float | None = None,
        work: str = "",
    ) -> ExperimentProgress:
        """
        Return the progress now.

        Args:
            elapsed_s: real seconds since the phase began.
            title: of the phase.
            number: which it is, from 1.
            count: of how many.
            response_s: the last response of the database.
            lag: events that wait; None without events.
            work: what the jobs have done, in words; empty without jobs.
        """
        status = whole_status(self._gate.status(), self._scale)
        self._recent.append(status)
        return ExperimentProgress(
            title=title,
            number=number,
            count=count,
            scale=self._scale,
            storage=progress_of(
                status, recent=self._recent, elapsed_s=elapsed_s, duration_s=self._duration_s, transactions_per_s=None
            ),
            lag=lag,
            response_s=response_s,
            work=work,
        )


def published(**named: str) -> tuple[PublishedPhase, ...]:
    """Return what was published of a phase, by name."""
    return tuple(PublishedPhase(name=k.replace("_", " "), text=v) for k, v in named.items())


def with_version(instance: Instance, version: str) -> Instance:
    """Return the instance with the version of the server that runs in its place."""
    return replace(instance, engine_version=version)
