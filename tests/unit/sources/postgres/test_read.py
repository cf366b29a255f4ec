"""Glances come as often as asked, unless they would cost the server too much."""

import pytest

from databases import server
from plimsoll.model.database import DatabaseReading, Glance, ServerInfo
from plimsoll.sources.postgres import read
from plimsoll.sources.postgres.connect import NoAnswer
from plimsoll.sources.postgres.moment import ServerReading, ServerRun, counters_of
from plimsoll.sources.postgres.parts import EVERYTHING

SERVER = server()


class Server:
    """A server whose glances take their time; it is silent while `is_gone`."""

    def __init__(self, glance_s: float = 0.001) -> None:
        self.now_s = 0.0
        self.glance_s = glance_s
        self.glances_at: list[float] = []
        self.is_gone = False
        self.started_s = self.counted_from_s = 0.0
        self.server = SERVER
        self.missing: dict[str, str] = {}
        self.query_count = self.received_bytes = 0
        self.asked_s = 0.0

    def clock(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def meet(self) -> ServerInfo:
        return SERVER

    def run(self) -> ServerRun:
        return ServerRun(started_s=self.started_s, is_standby=False, counted_from_s=self.counted_from_s, databases={})

    def first(self) -> ServerReading:
        counters = counters_of((), None, None, None, block_bytes=8192)
        return ServerReading(databases={}, reading=DatabaseReading(time_s=self.now_s, counters=counters))

    def again(self) -> ServerReading:
        return self.first()

    def last(self) -> ServerReading:
        if self.is_gone:
            raise NoAnswer("no server", is_connection_lost=True)
        return self.first()

    def described(self, first: ServerReading, last: ServerReading) -> tuple[ServerReading, ServerReading]:
        return first, last

    def standing(self) -> None:
        return None

    def glance(self) -> Glance:
        if self.is_gone:
            raise NoAnswer("no server", is_connection_lost=True)
        self.glances_at.append(self.now_s)
        self.now_s += self.glance_s
        return Glance(time_s=self.now_s, sessions=(), transaction_count=9, active_s=self.now_s)

    def close(self) -> None:
        """Nothing is open."""


def watched(server: Server, monkeypatch: pytest.MonkeyPatch, duration_s: float = 30.0):
    monkeypatch.setattr(read, "ServerConnection", lambda *_: server)
    monkeypatch.setattr(read, "Reader", lambda *_: server)
    return read.observe("host=x", duration_s=duration_s, wants=EVERYTHING, clock=server.clock, sleep=server.sleep)


@pytest.mark.parametrize(("glance_s", "count"), [(0.001, 30), (0.010, 30), (0.0625, 6), (1.0, 4)])
def test_glances_take_a_hundredth_of_the_time_at_most(glance_s: float, count: int, monkeypatch: pytest.MonkeyPatch):
    """
    One a second; one in 6¼ seconds where each takes 62.5 ms; never fewer than one in ten.

    The second comes after a second in any case: the first one's time is no measure.
    """
    server = Server(glance_s)
    found = watched(server, monkeypatch)

    assert count == len(found.glances)
    assert 30.0 == found.seconds


def test_a_server_that_stays_away_is_waited_for_ten_seconds(monkeypatch: pytest.MonkeyPatch):
    """Then the first reading is the last, and the observation says why."""
    server = Server()

    def sleep(seconds: float) -> None:
        server.now_s += seconds
        server.is_gone = server.now_s > 20

    monkeypatch.setattr(server, "sleep", sleep)
    found = watched(server, monkeypatch)

    assert 0.0 == found.seconds
    assert 40.0 <= server.now_s <= 41.0
    assert "no server" in dict(found.missing)["last reading"]
    assert "did not come: no server" in dict(found.missing)["samples of sessions"]


def restarted_at(server: Server, monkeypatch: pytest.MonkeyPatch, *endings: tuple[float, bool]):
    """What is seen of a server that is away for two seconds from each moment on, and forgets or not."""
    waiting = list(endings)

    def sleep(seconds: float) -> None:
        server.now_s += seconds
        if waiting and server.now_s >= waiting[0][0]:
            server.is_gone = server.now_s < waiting[0][0] + 2
            if not server.is_gone:
                _, has_forgotten = waiting.pop(0)
                server.started_s = server.now_s
                if has_forgotten:
                    server.counted_from_s = server.now_s

    monkeypatch.setattr(server, "sleep", sleep)
    return watched(server, monkeypatch)


def test_after_a_crash_totals_of_before_are_not_compared_with_those_of_after(monkeypatch: pytest.MonkeyPatch):
    """Even where the new counters have outgrown the old ones: the date from which they count tells."""
    found = restarted_at(Server(), monkeypatch, (10.0, True))
    before, after = ([g for g in found.glances if (g.time_s < 10) == is_before] for is_before in (True, False))

    assert 12.0 <= found.first.time_s <= 13.0
    assert {(None, None)} == {(g.transaction_count, g.active_s) for g in before}
    assert None not in {g.active_s for g in after}
    assert len(before) >= 9
    assert len(after) >= 16


def test_an_orderly_restart_goes_on_and_is_told_beside_a_crash(monkeypatch: pytest.MonkeyPatch):
    """The first reading stays the first; each thing that happened is said once."""
    orderly = restarted_at(Server(), monkeypatch, (5.0, False), (10.0, False))
    both = restarted_at(Server(), monkeypatch, (5.0, True), (10.0, False))

    assert 0.0 == orderly.first.time_s
    assert "The server was restarted; its counters continued." == dict(orderly.missing)["window"]
    assert None not in {glance.active_s for glance in orderly.glances}
    assert 7.0 <= both.first.time_s <= 8.0
    assert (
        "The server was restarted and lost its counters: they cover the time since then. "
        "The server was restarted; its counters continued."
    ) == dict(both.missing)["window"]
