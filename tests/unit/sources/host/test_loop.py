"""The sampling loop, run by a clock of our own."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pytest

from plimsoll.model.metric import Metric
from plimsoll.sources.host.counters import DiskCounters
from plimsoll.sources.host.loop import Recording, RecordingPlan, record
from plimsoll.sources.host.rates import HostReading
from plimsoll.sources.postgres.pg_stat import DatabaseCounters, DatabaseSilence


@dataclass
class FakeClock:
    """Time that passes only when somebody sleeps."""

    now_s: float = 1_000_000.25
    began_s: float = 50.0
    passed_s: float = 0.0
    wall_jump_s: float = 0.0

    def wall_s(self) -> float:
        return self.now_s + self.passed_s + self.wall_jump_s

    def moment_s(self) -> float:
        return self.began_s + self.passed_s

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.passed_s += seconds


@dataclass
class FakeHost:
    """A disk that reads 1,000 sectors per second; `moments` may do something as it is read."""

    clock: FakeClock
    events: dict[int, Callable[[], None]] = field(default_factory=dict)
    reads: int = 0
    is_away: bool = False

    def read(self) -> HostReading:
        self.events.get(self.reads, lambda: None)()
        self.reads += 1
        moment_s = self.clock.moment_s()
        sectors = round((moment_s - self.clock.began_s) * 1000)
        disk = DiskCounters(
            read_ops=sectors // 8,
            read_sectors=sectors,
            read_ms=0,
            write_ops=0,
            write_sectors=0,
            write_ms=0,
            weighted_ms=0,
        )
        return HostReading(moment_s=moment_s, disks={} if self.is_away else {"sda": disk})


def run(clock: FakeClock, host: FakeHost, plan: RecordingPlan, **others) -> Recording:
    return record(plan, clock=clock, read_host=host.read, devices=("sda",), **others)


def times_of(recording: Recording, metric: Metric = Metric.READ_BYTES_PER_S) -> list[int]:
    series = recording.track.series(recording.start_s, recording.step_s)
    return (series[metric].time_s - recording.start_s).tolist() if metric in series else []


@pytest.mark.parametrize(
    ("step_s", "duration_s", "events", "times", "missed"),
    [
        pytest.param(2, 6, {}, [0, 2, 4], 0, id="every step of the duration"),
        pytest.param(2, 5, {}, [0, 2, 4], 0, id="five seconds of two-second steps are three steps"),
        pytest.param(1, 4, {2: ("passed_s", 0.4)}, [0, 1, 2, 3], 0, id="late by less than half a step"),
        pytest.param(1, 7, {2: ("passed_s", 3.0)}, [0, 5, 6], 4, id="work of several is not that of one"),
        pytest.param(
            *(1, 4, {2: ("wall_jump_s", -3600)}, [0, 1, 2, 3], 0), id="steps are counted by the clock that never steps"
        ),
        pytest.param(
            *(1, 6, {2: ("is_away", 1), 4: ("is_away", -1)}, [0, 4, 5], 0),
            id="the steps in which a device went and came back are not measured",
        ),
    ],
)
def test_steps_are_whole_seconds_or_gaps(step_s, duration_s, events, times, missed):
    """A recording begun at a quarter past a second waits for the next and then takes every step."""
    clock = FakeClock()
    host = FakeHost(clock)

    def change(name: str, by: float) -> None:
        changed = host if name == "is_away" else clock
        setattr(changed, name, getattr(changed, name) + by)

    host.events = {at: partial(change, *event) for at, event in events.items()}
    recording = run(clock, host, RecordingPlan(step_s=step_s, duration_s=duration_s))

    series = recording.track.series(recording.start_s, step_s)[Metric.READ_BYTES_PER_S]
    assert 1_000_001 == recording.start_s
    assert times == times_of(recording)
    assert np.allclose(512_000, series.value)
    assert (-(-duration_s // step_s), missed) == (recording.steps, recording.steps_missed)


def test_the_step_in_which_it_ends_is_finished():
    """What is recorded ends after 2.3 steps; the third step is recorded whole."""
    clock = FakeClock()
    recording = run(
        clock, FakeHost(clock), RecordingPlan(step_s=1, duration_s=None), is_over=lambda: clock.passed_s > 0.75 + 2.3
    )

    assert [0, 1, 2] == times_of(recording)
    assert 3.75 == pytest.approx(clock.passed_s)


def test_every_step_is_told():
    """
    The progress line hears the number of steps passed and what they measured. What is recorded starts
    after the first reading: nothing of its work is missed.
    """
    clock = FakeClock()
    host = FakeHost(clock, events={2: lambda: clock.sleep(2.0)})
    texts: list[tuple[int, bool]] = []
    seen: list[int] = []

    def on_step(step: int, values: Mapping[Metric, float]) -> None:
        texts.append((step, Metric.READ_BYTES_PER_S in values))

    plan = RecordingPlan(step_s=1, duration_s=5)
    run(clock, host, plan, on_step=on_step, on_start=lambda: seen.append(host.reads))

    assert [(1, True), (4, False), (5, True)] == texts
    assert [1] == seen


def test_ctrl_c_keeps_what_was_recorded():
    """The step it falls into is dropped, those before are kept."""
    clock = FakeClock()

    def interrupt() -> None:
        raise KeyboardInterrupt

    host = FakeHost(clock, events={3: interrupt})
    recording = run(clock, host, RecordingPlan(step_s=1, duration_s=None))

    assert [0, 1] == times_of(recording)
    assert recording.was_interrupted


@dataclass
class FakeDatabase:
    """A server that ends 50 transactions per second, silent at the given readings."""

    clock: FakeClock
    silent: frozenset[int] = frozenset()
    reads: int = 0

    def read(self) -> DatabaseCounters | DatabaseSilence:
        self.reads += 1
        if self.reads - 1 in self.silent:
            return DatabaseSilence(reason="server closed the connection")
        moment_s = self.clock.moment_s()
        return DatabaseCounters(
            moment_s=moment_s,
            transaction_count=round((moment_s - self.clock.began_s) * 50),
            rollback_count=0,
            transaction_epoch="3",
            read_bytes=0,
            written_bytes=0,
            io_epoch="",
            connection_count=7,
            active_count=2,
            waiting_count=1,
        )


def at_once(read: Callable[[], DatabaseCounters | DatabaseSilence]) -> Future:
    future: Future = Future()
    future.set_result(read())
    return future


def test_the_database_is_sampled_beside_the_host():
    """Transactions are a rate between two readings, connections what the later one found."""
    clock = FakeClock()
    recording = run(
        clock,
        FakeHost(clock),
        RecordingPlan(step_s=1, duration_s=3),
        read_database=FakeDatabase(clock).read,
        submit=at_once,
    )

    series = recording.track.series(recording.start_s, 1)
    assert [0, 1, 2] == times_of(recording, Metric.TRANSACTIONS_PER_S)
    assert np.allclose(50, series[Metric.TRANSACTIONS_PER_S].value, atol=1)
    assert [7.0] * 3 == series[Metric.CONNECTION_COUNT].value.tolist()
    assert 0 == recording.silences.total()


def test_a_lost_connection_is_a_gap_and_recording_goes_on():
    """A silent reading loses the two differences it is part of, and the host loses nothing."""
    clock = FakeClock()
    database = FakeDatabase(clock, silent=frozenset({2}))
    recording = run(
        clock, FakeHost(clock), RecordingPlan(step_s=1, duration_s=5), read_database=database.read, submit=at_once
    )

    assert [0, 3, 4] == times_of(recording, Metric.TRANSACTIONS_PER_S)
    assert [0, 2, 3, 4] == times_of(recording, Metric.CONNECTION_COUNT)
    assert [0, 1, 2, 3, 4] == times_of(recording)
    assert {"server closed the connection": 1} == recording.silences


def test_a_database_that_does_not_answer_never_delays_the_host():
    """While a reading is pending no other is begun, and each one left out is counted."""
    clock = FakeClock()
    database = FakeDatabase(clock)
    slow: list[tuple[float, Future]] = []

    class Slow(Future):
        """Answers two and a half steps after it was asked."""

        def done(self) -> bool:
            return clock.passed_s >= slow[-1][0] + 2.5

    def submit(read: Callable[[], DatabaseCounters | DatabaseSilence]) -> Future:
        future = Slow()
        slow.append((clock.passed_s, future))
        future.set_result(read())
        return future

    recording = run(
        clock, FakeHost(clock), RecordingPlan(step_s=1, duration_s=6), read_database=database.read, submit=submit
    )

    assert [0, 1, 2, 3, 4, 5] == times_of(recording)
    assert [] == times_of(recording, Metric.TRANSACTIONS_PER_S)
    assert [2, 5] == times_of(recording, Metric.CONNECTION_COUNT)
    assert 4 == recording.silences.total()
