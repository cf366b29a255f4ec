"""A pace in real time: waiting, workers, the answer to who asks, and failures of what is read."""

import os
import threading

import pytest

from paced import MB, T3, counted, slow_truth
from plimsoll.errors import SourceError, Unreachable
from plimsoll.load.pace.counters import ServerCounters, peer_of
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import PeerBatches, peers_told
from plimsoll.load.pace.pace import Pace
from plimsoll.load.pace.pipe import copy_paced


class Counters(ServerCounters):
    """A server whose counters are given."""

    def __init__(self, bytes_per_s: float = 20 * MB) -> None:
        super().__init__("")
        self.bytes_per_s = bytes_per_s
        self.answer: tuple | None = None
        self.told: list[float] = []

    def open(self) -> None:
        """Nothing is connected."""

    def counts(self, batch_bytes_per_s):
        self.told.append(batch_bytes_per_s)
        return self.answer or (counted(self.bytes_per_s), PeerBatches())


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def paced(clock: Clock, *, slow=None, counters=None) -> Pace:
    """A pace whose threads do not run: the test ticks."""
    made = Pace(
        PaceController(T3, PaceTerms()),
        read_slow=slow or (lambda: slow_truth(end_s=clock.now_s)),
        counters=counters,
        clock=clock,
    )
    made.refresh()
    made.tick()
    return made


def test_bytes_go_at_the_rate_of_the_allowance():
    """In each second what the allowance says, and no more than one piece ahead."""
    clock = Clock()
    pace = paced(clock)
    piece, allowed = 65_536, 0.0
    for _ in range(100):
        rate = pace.allowance().bytes_per_s
        clock.now_s += 0.1
        allowed += 0.1 * rate
        while pace.try_take(piece) is None:
            pass

    assert allowed - piece <= pace.sent_bytes <= allowed + 2 * piece


def test_a_share_is_taken_of_each_allowance():
    """At once, of every later one, and only once; a share of all gives it back."""
    clock = Clock()
    pace = paced(clock)
    whole = pace.allowance().bytes_per_s
    pace.set_share(0.25)

    assert pace.allowance().bytes_per_s == pytest.approx(whole / 4)
    pace.set_share(1.0)
    assert pace.allowance().bytes_per_s == pytest.approx(whole)


def test_who_may_not_go_learns_how_long():
    clock = Clock()
    pace = paced(clock)
    clock.now_s = 1.0
    assert None is pace.try_take(100_000_000)
    wait_s = pace.try_take(1)

    assert 100e6 / pace.allowance().bytes_per_s - 1 == pytest.approx(wait_s, rel=0.2)


@pytest.mark.parametrize("is_closed", [True, False])
def test_nobody_waits_for_ever(is_closed: bool):
    """For a pace that has ended; whoever is stopped is not counted, and the pace goes on for the others."""
    pace, stop = paced(Clock()), threading.Event()
    pace.try_take(10**12)
    waiting = threading.Thread(target=pace.wait, args=(1,), kwargs={"stop": stop})
    waiting.start()
    (pace.close if is_closed else stop.set)()
    waiting.join(timeout=10)

    assert not waiting.is_alive()
    assert is_closed or pace.sent_bytes in (0, 10**12)


def test_a_pace_whose_server_hangs_falls_back_by_itself():
    """No tick came for ten minutes: the metrics are old, and who waits gets the share of the baseline."""
    clock = Clock()
    pace = paced(clock)
    clock.now_s = 600.0
    pace.try_take(1)

    assert "baseline_share" == pace._allowance.basis


def fails() -> None:
    raise SourceError("CloudWatch does not answer")


def test_metrics_that_cannot_be_read_are_no_error():
    """The reason is kept, and the allowance falls back."""
    pace = paced(Clock(), slow=fails)

    assert "CloudWatch does not answer" == pace.failure
    assert "baseline_share" == pace.allowance().basis


def test_one_worker_is_enough_until_its_speed_is_known():
    assert 1 == paced(Clock()).concurrency()


def test_more_workers_where_one_is_slow():
    """A worker of 1 MB/s, and an allowance of 8.7 MB/s: nine, but no more than are allowed."""
    pace = paced(Clock())
    pace._speed_bytes_per_s = 1e6

    assert 9 == pace.concurrency(most=16)
    assert 4 == pace.concurrency(most=4)


def test_who_tells_no_bytes_waits_while_all_take_more_than_they_may():
    clock, counters = Clock(), Counters()
    pace = paced(clock, counters=counters)
    for rate, may_go in ((20 * MB, True), (400 * MB, False), (400 * MB, False)):
        counters.bytes_per_s = rate
        clock.now_s += 1
        pace.tick()

        assert may_go is pace.check().may_go
    counters.bytes_per_s = 0
    for _ in range(5):
        clock.now_s += 1
        pace.tick()
    assert pace.check().may_go


def test_without_metrics_and_counters_nobody_may_go():
    found = paced(Clock(), slow=fails).check()

    assert (False, False) == (found.may_go, found.is_known)


def test_peers_are_told_the_rate_of_the_batch():
    """In its own bytes: what one costs is learned by each."""
    clock, counters = Clock(), Counters()
    pace = paced(clock, counters=counters)
    clock.now_s += 1
    pace.try_take(1_000_000)
    clock.now_s += 1
    pace.tick()

    assert 1e6 / 2 == pytest.approx(counters.told[-1], rel=0.01)


def test_a_server_that_does_not_answer_tells_nothing_of_peers(monkeypatch):
    """Nothing is not the same as nobody."""

    def fails(_):
        raise Unreachable("statement timeout")

    monkeypatch.setattr(ServerCounters, "_read", fails)

    assert (None, None) == ServerCounters("").counts(0.0)


def test_peers_stay_through_a_tick_without_an_answer():
    """The next answer shows who is there."""
    clock, counters = Clock(), Counters()
    pace = paced(clock, counters=counters)
    for answer, batches in (
        ((counted(MB), peers_told([(1e6, 1, True), (2e6, 1, True)])), 3),
        ((None, None), 3),
        ((counted(MB), peers_told([(1e6, 1, True), (2e6, 1, True), (3e6, 2, False)])), 4),
    ):
        counters.answer = answer
        clock.now_s += 1
        pace.tick()

        assert batches == pace.allowance().peer_count


@pytest.mark.parametrize(
    ("name", "rate"),
    [
        ("plimsoll pace 12000000", 12e6),
        ("plimsoll pace 0", 0.0),
        ("plimsoll pace", None),
        ("plimsoll pace 12x", None),
        ("plimsoll pace -1", None),
        ("plimsoll pace " + "9" * 60, None),
    ],
)
def test_a_rate_is_read_from_a_name(name, rate):
    """Anybody can name a session: what is no rate is no peer."""
    assert rate == peer_of(name)


def test_bytes_come_out_as_they_went_in():
    """A paced pipe changes nothing: bytes of any value, in any pieces, with an end without a newline."""
    data = bytes(range(256)) * 3000 + b"the end"
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    pace = Pace(PaceController(T3, PaceTerms()), read_slow=lambda: slow_truth(end_s=0))
    received = bytearray()

    def feed() -> None:
        with os.fdopen(write_in, "wb") as file:
            file.write(data)

    def drain() -> None:
        with os.fdopen(read_out, "rb") as file:
            received.extend(file.read())

    threads = [threading.Thread(target=one) for one in (feed, drain)]
    for thread in threads:
        thread.start()
    with pace:
        copied = copy_paced(pace, from_fd=read_in, to_fd=write_out)
    os.close(write_out)
    os.close(read_in)
    for thread in threads:
        thread.join()

    assert len(data) == copied == pace.sent_bytes
    assert data == bytes(received)
