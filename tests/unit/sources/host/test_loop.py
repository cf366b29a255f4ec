"""The sampling loop, run by a clock of our own."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

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


def test_samples_begin_at_whole_seconds_and_cover_their_steps():
    """A recording begun at a quarter past a second waits for the next and then takes every step."""
    clock = FakeClock()
    recording = run(clock, FakeHost(clock), RecordingPlan(step_s=2, duration_s=6))

    series = recording.track.series(recording.start_s, 2)[Metric.READ_BYTES_PER_S]
    assert [1_000_001, 1_000_003, 1_000_005] == series.time_s.tolist()
    assert np.allclose(512_000, series.value)
    assert (3, 0) == (recording.steps, recording.steps_missed)


def test_a_duration_between_steps_is_filled():
    """Five seconds of two-second steps are three steps."""
    clock = FakeClock()

    assert [0, 2, 4] == times_of(run(clock, FakeHost(clock), RecordingPlan(step_s=2, duration_s=5)))


def test_a_late_reading_is_a_rate_over_its_own_time():
    """A reading that is late by less than half a step changes no rate."""
    clock = FakeClock()
    host = FakeHost(clock, events={2: lambda: clock.sleep(0.4)})
    recording = run(clock, host, RecordingPlan(step_s=1, duration_s=4))

    series = recording.track.series(recording.start_s, 1)[Metric.READ_BYTES_PER_S]
    assert [0, 1, 2, 3] == times_of(recording)
    assert np.allclose(512_000, series.value)


def test_steps_that_were_slept_through_are_gaps():
    """Work of several steps is not shown as the work of one."""
    clock = FakeClock()
    host = FakeHost(clock, events={2: lambda: clock.sleep(3.0)})
    recording = run(clock, host, RecordingPlan(step_s=1, duration_s=7))

    assert [0, 5, 6] == times_of(recording)
    assert (7, 4) == (recording.steps, recording.steps_missed)


def test_a_wall_clock_that_is_set_moves_no_sample():
    """Steps are counted by the clock that never steps."""
    clock = FakeClock()

    def set_back() -> None:
        clock.wall_jump_s = -3600

    host = FakeHost(clock, events={2: set_back})

    assert [0, 1, 2, 3] == times_of(run(clock, host, RecordingPlan(step_s=1, duration_s=4)))


def test_a_device_that_goes_and_comes_back_leaves_a_gap():
    """The step in which it went and the one in which it came back are not measured."""
    clock = FakeClock()
    host = FakeHost(clock)
    host.events = {
        2: lambda: setattr(host, "is_away", True),
        4: lambda: setattr(host, "is_away", False),
    }
    recording = run(clock, host, RecordingPlan(step_s=1, duration_s=6))

    assert [0, 4, 5] == times_of(recording)
    assert (6, 0) == (recording.steps, recording.steps_missed)


def test_the_step_in_which_it_ends_is_finished():
    """What is recorded ends after 2.3 steps; the third step is recorded whole."""
    clock = FakeClock()
    recording = run(
        clock,
        FakeHost(clock),
        RecordingPlan(step_s=1, duration_s=None),
        is_over=lambda: clock.passed_s > 0.75 + 2.3,
    )

    assert [0, 1, 2] == times_of(recording)
    assert 3.75 == pytest.approx(clock.passed_s)


def test_what_is_recorded_starts_after_the_first_reading():
    """Nothing of its work is missed."""
    clock = FakeClock()
    host = FakeHost(clock)
    seen: list[int] = []
    run(
        clock, host, RecordingPlan(step_s=1, duration_s=2), on_start=lambda: seen.append(host.reads)
    )

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


def test_every_step_is_told():
    """The progress line hears the number of steps passed and what they measured."""
    clock = FakeClock()
    host = FakeHost(clock, events={2: lambda: clock.sleep(2.0)})
    texts: list[tuple[int, bool]] = []

    def on_step(step: int, values: Mapping[Metric, float]) -> None:
        texts.append((step, Metric.READ_BYTES_PER_S in values))

    run(clock, host, RecordingPlan(step_s=1, duration_s=5), on_step=on_step)

    assert [(1, True), (4, False), (5, True)] == texts


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
        clock,
        FakeHost(clock),
        RecordingPlan(step_s=1, duration_s=5),
        read_database=database.read,
        submit=at_once,
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
        clock,
        FakeHost(clock),
        RecordingPlan(step_s=1, duration_s=6),
        read_database=database.read,
        submit=submit,
    )

    assert [0, 1, 2, 3, 4, 5] == times_of(recording)
    assert [] == times_of(recording, Metric.TRANSACTIONS_PER_S)
    assert [2, 5] == times_of(recording, Metric.CONNECTION_COUNT)
    assert 4 == recording.silences.total()
