"""
Sample the host: one reading for each step, from the first whole second to the end.

Rule 1: clock and readers are arguments, so that a test runs an hour at once.
Rule 2: a step that was missed, because the machine was busy or asleep, is a gap. Its work is not spread
        over other steps, which would show a plateau that nobody measured.
Rule 3: the database is read in another thread. If it does not answer, the host's samples are not late;
        just then they matter most.
"""

from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from math import ceil
from typing import Protocol

import numpy as np

from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.sources.host import rates as host_rates
from plimsoll.sources.host.rates import HostReading
from plimsoll.sources.host.reader import Clock
from plimsoll.sources.postgres import pg_stat
from plimsoll.sources.postgres.pg_stat import DatabaseCounters, DatabaseSilence

# How often the loop checks for the end of the recording during a step; a judgement.
_GLANCE_S = 0.05

# How long to wait for the last answer of the database: its statement timeout and a margin.
_LAST_ANSWER_S = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingPlan:
    """Step and length of a recording."""

    step_s: int
    """Length of a step, ≥ 1."""
    duration_s: int | None
    """Length of the recording, rounded up to whole steps; None for until `is_over` is true."""


class StepSamples:
    """Samples of many metrics by step, in 16 bytes each."""

    def __init__(self) -> None:
        """Start without samples."""
        self._steps: dict[Metric, array[int]] = {}
        self._values: dict[Metric, array[float]] = {}

    def add(self, step: int, values: Mapping[Metric, float]) -> None:
        """Keep the values of a step; steps come in order."""
        for metric, value in values.items():
            self._steps.setdefault(metric, array("q")).append(step)
            self._values.setdefault(metric, array("d")).append(value)

    def series(self, start_s: int, step_s: int) -> dict[Metric, Series]:
        """Return every metric that was measured at least once, without its missing steps."""
        return {
            metric: Series(
                metric=metric,
                step_s=step_s,
                time_s=start_s + np.array(steps, dtype=np.int64) * step_s,
                value=np.array(self._values[metric], dtype=np.float64),
            )
            for metric, steps in self._steps.items()
        }

    def count(self, metric: Metric) -> int:
        """Return the number of steps in which a metric was measured."""
        return len(self._steps.get(metric, ()))


@dataclass(kw_only=True)
class Recording:
    """Result of the loop."""

    start_s: int
    """Epoch seconds of the first step's start."""
    step_s: int
    steps: int = 0
    """Whole steps that passed, measured or not."""
    steps_missed: int = 0
    """Steps without a reading at their end."""
    was_interrupted: bool = False
    """Whether Ctrl-C ended it early."""
    track: StepSamples = field(default_factory=StepSamples)
    silences: Counter[str] = field(default_factory=Counter)
    """Number of database readings without an answer, by reason."""


class ReadingTask(Protocol):
    """Runs a reading in another thread, or at once in tests."""

    def __call__(
        self, read: Callable[[], DatabaseCounters | DatabaseSilence], /
    ) -> "Future[DatabaseCounters | DatabaseSilence]":
        """Start the reading."""


class DatabaseReadings:
    """Readings of the database, started at each step and collected when they are done."""

    def __init__(
        self, read: Callable[[], DatabaseCounters | DatabaseSilence], submit: ReadingTask, recording: Recording
    ) -> None:
        """Run `read` by `submit`, and keep the answers in `recording`."""
        self._read = read
        self._submit = submit
        self._recording = recording
        self._pending: tuple[int, Future[DatabaseCounters | DatabaseSilence]] | None = None
        self._last: tuple[int, DatabaseCounters] | None = None

    def ask(self, tick: int) -> None:
        """Start the reading that ends step `tick` - 1, unless the previous one still runs."""
        self._take(wait_s=0)
        if self._pending is None:
            self._pending = (tick, self._submit(self._read))
        else:
            self._recording.silences["it had not answered when the next reading was due"] += 1

    def finish(self) -> None:
        """Wait a few seconds for the last answer."""
        self._take(wait_s=_LAST_ANSWER_S)

    def _take(self, wait_s: float) -> None:
        if self._pending is None:
            return
        tick, future = self._pending
        if not future.done() and not wait_s:
            return
        try:
            answer = future.result(timeout=wait_s)
        except TimeoutError:
            answer = DatabaseSilence(reason="it had not answered when the recording ended")
        self._pending = None
        if isinstance(answer, DatabaseSilence):
            self._recording.silences[answer.reason] += 1
            return
        self._keep(tick, answer)

    def _keep(self, tick: int, reading: DatabaseCounters) -> None:
        values = pg_stat.levels_of(reading)
        if self._last is not None and self._last[0] == tick - 1:
            values |= pg_stat.rates_between(self._last[1], reading)
        self._last = (tick, reading)
        if tick > 0:
            self._recording.track.add(tick - 1, values)


def record(
    plan: RecordingPlan,
    *,
    clock: Clock,
    read_host: Callable[[], HostReading],
    devices: tuple[str, ...],
    read_database: Callable[[], DatabaseCounters | DatabaseSilence] | None = None,
    submit: ReadingTask | None = None,
    on_start: Callable[[], None] = lambda: None,
    is_over: Callable[[], bool] | None = None,
    on_step: Callable[[int, Mapping[Metric, float]], None] = lambda _step, _values: None,
) -> Recording:
    """
    Sample until the plan's duration has passed, `is_over` is true, or Ctrl-C.

    The step in which `is_over` becomes true is finished, so that every sample covers a whole step;
    Ctrl-C drops the step it falls into.

    Args:
        plan: step and duration.
        clock: returns the time.
        read_host: reads the host's counters once.
        devices: names of the recorded devices.
        read_database: reads the database once; None without a database.
        submit: runs `read_database` in another thread; required with it.
        on_start: called once, right after the first reading, to start the command to record.
        is_over: returns whether the command has ended; None if only the duration ends the recording.
        on_step: called after each step with its number and its values.

    Raises:
        DataError: a counter file is not in its documented form.
    """
    wall_s = clock.wall_s()
    clock.sleep(ceil(wall_s) - wall_s)
    recording = Recording(start_s=round(clock.wall_s()), step_s=plan.step_s)
    aside = None
    if read_database is not None:
        assert submit is not None
        aside = DatabaseReadings(read_database, submit, recording)
    try:
        before = read_host()
        began_s, tick = before.moment_s, 0
        if aside is not None:
            aside.ask(0)
        on_start()
        last = None if plan.duration_s is None else ceil(plan.duration_s / plan.step_s)
        while last is None or tick < last:
            over = _wait_until(began_s + (tick + 1) * plan.step_s, clock, is_over)
            after = read_host()
            # The wall clock may be set during the recording, so count steps by the monotonic clock.
            now = max(round((after.moment_s - began_s) / plan.step_s), tick + 1)
            values: dict[Metric, float] = {}
            if now == tick + 1:
                values = host_rates.rates_between(before, after, devices)
                recording.track.add(tick, values)
            else:
                recording.steps_missed += now - tick
            recording.steps, before, tick = now, after, now
            if aside is not None:
                aside.ask(tick)
            on_step(tick, values)
            if over:
                break
    except KeyboardInterrupt:
        recording.was_interrupted = True
    if aside is not None:
        aside.finish()
    return recording


def _wait_until(due_s: float, clock: Clock, is_over: Callable[[], bool] | None) -> bool:
    """Wait until a time, and return whether the recording was over before."""
    over = is_over is not None and is_over()
    while (left_s := due_s - clock.moment_s()) > 0:
        clock.sleep(left_s if over or is_over is None else min(left_s, _GLANCE_S))
        over = over or (is_over is not None and is_over())
    return over
