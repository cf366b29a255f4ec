"""
What holds of the states of a subject, whatever is observed and in whatever order.

The model keeps every observation and looks back over all of them; the machine keeps a few numbers.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from plimsoll.watch.law.condition import Condition
from plimsoll.watch.law.machine import Standing, Timing, Transition, step
from plimsoll.watch.law.message import WatchState
from watched import MINUTE, SUBJECT

TIMING = Timing(bound_for_s=3 * MINUTE, nearing_for_s=2 * MINUTE, clear_s=4 * MINUTE, gap_s=6 * MINUTE)
OK, NEARING, BOUND = WatchState.OK, WatchState.NEARING, WatchState.BOUND


class Alerts(RuleBasedStateMachine):
    """One subject, observed at growing times."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000_000
        self.standing = Standing(subject=SUBJECT)
        self.seen: list[tuple[int, int | None]] = []
        """Time, and rank of the level; None where unknown."""
        self.state = OK
        self.transitions: list[Transition] = []

    @rule(rank=st.one_of(st.none(), st.integers(0, 2)), minutes=st.sampled_from([1, 1, 1, 1, 2, 5, 6, 7, 60]))
    def observe(self, rank: int | None, minutes: int) -> None:
        """A condition that is newer than all before it."""
        self.now += minutes * MINUTE
        self.seen.append((self.now, rank))
        self._show(self.now, rank)
        if rank is not None:
            self.state = self._expected()

    @rule(rank=st.integers(0, 2), minutes=st.integers(0, 10))
    def observe_late(self, rank: int, minutes: int) -> None:
        """A condition that is no newer than the last one changes nothing."""
        before = self.standing
        if before.at_s:
            self._show(before.at_s - minutes * MINUTE, rank)
            assert self.standing == before

    @invariant()
    def state_is_that_of_the_model(self) -> None:
        """The few numbers give the same state as all observations."""
        assert self.standing.state is self.state

    @invariant()
    def transitions_are_numbered_without_a_hole(self) -> None:
        """Numbers of an episode are 1, 2, 3 …; it ends with ok, and no key is used by two episodes."""
        episodes: list[list[Transition]] = []
        for one in self.transitions:
            if not episodes or episodes[-1][-1].state is OK:
                episodes.append([])
            episodes[-1].append(one)
        for episode in episodes:
            assert [t.number for t in episode] == list(range(1, len(episode) + 1))
            assert len({t.key for t in episode}) == 1
        assert len({e[0].key for e in episodes}) == len(episodes)

    def _show(self, at_s: int, rank: int | None) -> None:
        found = Condition(
            ceiling=SUBJECT.ceiling,
            at_s=at_s,
            is_known=rank is not None,
            nearing_since_s=at_s if rank else None,
            bound_since_s=at_s if rank == 2 else None,
        )
        self.standing, changed = step(self.standing, found, TIMING)
        if changed is not None:
            assert changed.before is not changed.state
            self.transitions.append(changed)

    def _expected(self) -> WatchState:
        if self._spell(2, holds=True) >= TIMING.bound_for_s and self._holds(2):
            return BOUND
        is_bound_over = not self._holds(2) and self._spell(2, holds=False) >= TIMING.clear_s
        if self.state is BOUND and not is_bound_over:
            return BOUND
        if self._holds(1) and self._spell(1, holds=True) >= TIMING.nearing_for_s:
            return NEARING
        is_over = not self._holds(1) and self._spell(1, holds=False) >= TIMING.clear_s
        return OK if is_over else self.state

    def _holds(self, rank: int) -> bool:
        last = self.seen[-1][1]
        return last is not None and last >= rank

    def _spell(self, rank: int, *, holds: bool) -> int:
        """How long the last known observations agree, without a gap; unknown ones end a calm spell."""
        first, later = self.seen[-1][0], self.seen[-1][0]
        for time_s, level in reversed(self.seen):
            if level is None:
                if not holds:
                    break
                continue
            if (level >= rank) is not holds or later - time_s > TIMING.gap_s:
                break
            first = later = time_s
        return self.seen[-1][0] - first


Alerts.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=True)
TestAlerts = Alerts.TestCase
