"""
What holds of the real loop, the real ledger and the real sender, whatever fails and in whatever order.

Two processes watch one instance; AWS, the disk, the clock and the receiver fail, and processes are killed.
"""

import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

import faults
from faults import ERRORS, OWNERS, World


class Loop(RuleBasedStateMachine):
    """A world that is calm at first."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="plimsoll-loop-")
        self.world = World(Path(self.folder.name))

    @rule(letter=st.sampled_from(".b"), minutes=st.sampled_from([1, 5, 12, 35]))
    def pass_minutes(self, letter: str, minutes: int) -> None:
        """At a ceiling, or calm."""
        for _ in range(minutes):
            self.world.pass_minute(letter)

    @rule(fault=st.sampled_from(["", *sorted(ERRORS)]))
    def let_aws(self, fault: str) -> None:
        """AWS fails in some way, or answers."""
        self.world.fault = fault

    @rule(is_full=st.booleans(), has_rest=st.booleans())
    def fill_disk(self, is_full: bool, has_rest: bool) -> None:
        """Nothing can be written, or it can again."""
        self.world.is_full, self.world.has_rest = is_full, has_rest

    @rule(is_down=st.booleans())
    def let_receiver(self, is_down: bool) -> None:
        """It does not answer, or it does."""
        self.world.set_receiver(is_down=is_down)

    @rule(step_s=st.sampled_from([-3600.0, 0.0, 3600.0]))
    def set_clock(self, step_s: float) -> None:
        """By an hour, forwards or back."""
        self.world.step_s = step_s

    @rule(point=st.integers(1, 12))
    def kill(self, point: int) -> None:
        """At one of the next writes."""
        self.world.kill_at(point)

    @rule(owner=st.sampled_from(OWNERS))
    def start(self, owner: str) -> None:
        """Again, if it does not run."""
        self.world.start(owner)

    @invariant()
    def only_one_process_has_the_lease(self) -> None:
        """Whoever believes it longer finds out before it writes."""
        owners = [p for p in self.world.processes.values() if p.watch.is_owner]
        assert len(owners) <= 1

    @invariant()
    def no_message_comes_before_it_is_stored(self) -> None:
        """What a receiver got is what the ledger has."""
        came = {(m.key, m.number) for m in self.world.book.got}
        assert came <= set(self.world.stored())

    def teardown(self) -> None:
        try:
            self.world.settle()
            self.world.check_delivery()
            self.world.check_episodes()
        finally:
            self.world.close()
            self.folder.cleanup()


Loop.TestCase.settings = settings(max_examples=12, stateful_step_count=20, deadline=None, derandomize=True)
TestLoop = Loop.TestCase


@pytest.mark.parametrize("seed", range(4))
def test_faults_lose_nothing(tmp_path: Path, seed: int):
    """Six incidents with faults every few minutes; `bench/watch_faults.py` plays hundreds."""
    world = faults.played(tmp_path, seed)

    assert world.kills > 0
    assert world.book.got
