"""
Watch a pooler as a new client sees it: connect again and again, and ask which nodes it knows.

Rule: the time from one attempt to the next counts as what the attempt found: an answer, a refusal, or a long wait.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

import psycopg
from msgspec import Struct

from plimsoll_lab.experiments.failover.database import pool_nodes
from plimsoll_lab.model.failover import PoolerView

NodeStates = dict[str, tuple[str, str]]
"""Status and role of each node, by its name."""
HUNG_S = 1.0
"""A judgement: clients that wait longer for a connection on loopback hang."""
_PAUSE_S = 0.2
_PATIENCE_S = 3.0
_UP, _PRIMARY = "up", "primary"


class ConnectOutcome(Enum):
    """What an attempt to connect found."""

    ANSWERED = 1
    REFUSED = 2
    HUNG = 3


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt to connect."""

    begin_s: float
    """By the monotonic clock."""
    end_s: float
    states: NodeStates | None
    """None without an answer."""

    @property
    def outcome(self) -> ConnectOutcome:
        """Return what it found; an answer that comes late is a wait, and so is a refusal that comes late."""
        if self.end_s - self.begin_s > HUNG_S:
            return ConnectOutcome.HUNG
        return ConnectOutcome.REFUSED if self.states is None else ConnectOutcome.ANSWERED


class PoolerWatch:
    """Connects again and again while the `with` block lasts."""

    def __init__(self, address: str, names: Mapping[int, str]) -> None:
        """
        Keep whom to ask.

        Args:
            address: URL of the pooler.
            names: of the nodes, by their ports.
        """
        self._address, self._names = address, dict(names)
        self._lock, self._is_over = Lock(), Event()
        self._attempts: list[Attempt] = []
        self._thread = Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End watching."""
        self._is_over.set()
        self._thread.join()

    @property
    def states(self) -> NodeStates:
        """Return status and role of each node by the last attempt; empty without an answer."""
        with self._lock:
            last = self._attempts[-1] if self._attempts else None
        return {} if last is None or last.states is None else last.states

    def view(self, begin_s: float, end_s: float, leader: str | None) -> PoolerView:
        """
        Return what was seen between two moments, and forget what was before.

        Args:
            begin_s: the fault, by the monotonic clock.
            end_s: the end of the round.
            leader: which node takes writes at the end; None for none.
        """
        with self._lock:
            before = [one for one in self._attempts if one.end_s < begin_s and one.states]
            # What it knew before the fault, and the attempt during which the fault happened.
            self._attempts = before[-1:] + [one for one in self._attempts if one.end_s >= begin_s]
            attempts = [one for one in self._attempts if one.begin_s <= end_s]
        return view_of(attempts, begin_s, end_s, leader)

    def _watch(self) -> None:
        while not self._is_over.is_set():
            begin_s = time.monotonic()
            states = self._ask()
            one = Attempt(begin_s=begin_s, end_s=time.monotonic(), states=states)
            with self._lock:
                self._attempts.append(one)
            self._is_over.wait(_PAUSE_S)

    def _ask(self) -> NodeStates | None:
        try:
            found = pool_nodes(self._address, _PATIENCE_S)
        except psycopg.Error:
            return None
        return {self._names[port]: state for port, state in found.items()}


def view_of(attempts: Sequence[Attempt], begin_s: float, end_s: float, leader: str | None) -> PoolerView:
    """
    Return what attempts saw between two moments.

    Args:
        attempts: in order; one that ended before the first moment only says what the pooler knew then.
        begin_s: by the monotonic clock.
        end_s: by the same.
        leader: which node takes writes at the end; None for none.
    """
    during = [one for one in attempts if one.end_s >= begin_s]
    times = dict.fromkeys(ConnectOutcome, 0.0)
    edges = [*(max(one.begin_s, begin_s) for one in during), end_s]
    for one, (first, last) in zip(during, pairwise(edges), strict=True):
        times[one.outcome] += max(last - first, 0.0)
    answered = [(one.end_s - begin_s, one.states) for one in attempts if one.states is not None]
    last_states = during[-1].states if during else None
    found = (
        after_s for after_s, states in answered if after_s >= 0 and leader and states.get(leader) == (_UP, _PRIMARY)
    )
    return PoolerView(
        changes=tuple(changes_of(answered)),
        states={name: ", ".join(state) for name, state in (last_states or {}).items()},
        primary_found_s=next(found, None),
        refused_s=times[ConnectOutcome.REFUSED],
        hung_s=times[ConnectOutcome.HUNG],
    )


def changes_of(answered: Iterable[tuple[float, NodeStates]]) -> Iterable[str]:
    """Yield a line for each node whose state changed, from states with their times."""
    last: NodeStates = {}
    for after_s, now in answered:
        for name, state in now.items():
            if state != last.get(name, state):
                status, role = state
                yield f"{name} {role if status == _UP else status} after {after_s:.1f} s"
        last |= now
