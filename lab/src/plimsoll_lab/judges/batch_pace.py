"""
The pace of an experiment's jobs: Plimsoll's own, by the gate instead of CloudWatch, on the credit clock.

Rule 1: the law is that of every pace; only its times are those of a clock that runs faster.
Rule 2: what CloudWatch would not know yet, the pace is not told.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

from plimsoll.catalog.load import Catalog
from plimsoll.kernel import Stage
from plimsoll.load.pace.counters import ServerCounters
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.forecast import DeviceRate
from plimsoll.load.pace.law.terms import HORIZON_S, LAG_S, RESERVE_RATIO, STALE_S, PaceTerms
from plimsoll.load.pace.law.truths import Balance, SlowTruth
from plimsoll.load.pace.pace import SLOW_EVERY_S, TICK_S, Pace
from plimsoll_lab.gate.config import GateSetup, enforced_stages_of
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.record import RecordLine

RESERVE = RESERVE_RATIO
"""Share of the credits that stays, as for every pace without a `--reserve`."""
# CloudWatch's points are a minute late or more, and the newest one is incomplete.
_LATE_LINES = 1
# As many samples as the last half hour has minutes.
_LINES_MOST = 30
# How often a statement that waits looks at the credits, real seconds: a few times in an emulated minute.
_LOOK_S = 0.25
_NEARLY_ALL = 0.9


class GatePace:
    """Makes jobs wait, by the allowance of a pace that has started."""

    def __init__(self, pace: Pace, throughput: Stage) -> None:
        """
        Keep the pace; its owner closes it.

        Args:
            pace: started.
            throughput: the instance's limit of bytes/s, as it is enforced, on the clock of the pace.
        """
        self._pace, self._throughput = pace, throughput

    def wait(self, byte_count: int, stop: Event) -> None:
        """Wait until so many bytes of a file may go."""
        self._pace.wait(byte_count, stop=stop)

    def wait_for_storage(self, byte_count: float, stop: Event) -> None:
        """
        Wait until one statement may read or write so many bytes of storage, as fast as it can.

        It may when the credits above the reserve pay for it at the burst rate.
        """
        stage = self._throughput
        spent = byte_count * (1 - stage.baseline / stage.burst) / stage.capacity
        # More than nearly all of the credits never come back while others use the storage.
        needed = RESERVE + min(spent, _NEARLY_ALL * (1 - RESERVE))
        while not stop.wait(_LOOK_S):
            left = self._balance()
            if left is not None and left >= needed:
                return

    def _balance(self) -> float | None:
        ceilings = self._pace.allowance().ceilings
        return next((c.balance_ratio for c in ceilings if c.family == self._throughput.name), None)


@contextmanager
def gate_pace(facts: Catalog, gate: Gate, setup: GateSetup, dsn: str) -> Iterator[GatePace]:
    """
    Start a pace on the limits that a gate enforces, and end it.

    Args:
        facts: the documented limits.
        gate: mounted; its record takes the place of CloudWatch.
        setup: of the gate now.
        dsn: of the database behind it.
    """
    clock = setup.clock
    chain = [replace(stage, capacity=stage.capacity / clock) for stage in enforced_stages_of(setup, facts)]
    terms = PaceTerms(
        horizon_s=HORIZON_S / clock,
        lag_s=LAG_S / clock,
        # A line of the record is a minute; fewer than three of them could all be late.
        stale_s=max(STALE_S / clock, 3.0),
        # At most twice the rate in a second, which is an emulated minute.
        step_ratio=1.0,
        reserve_ratio=RESERVE,
    )
    pace = Pace(
        PaceController(chain, terms),
        read_slow=lambda: slow_truth_of_lines(gate.lines()),
        counters=ServerCounters(dsn),
        slow_every_s=SLOW_EVERY_S / clock,
        # PostgreSQL publishes its counters once a second; more readings would find nothing, and then a heap.
        tick_s=TICK_S,
        clock=time.time,
    )
    with pace:
        yield GatePace(pace, chain[0])


def slow_truth_of_lines(lines: list[RecordLine]) -> SlowTruth:
    """Return what CloudWatch would know of a record now, in real time: rates of each line, and the last credits."""
    known = lines[:-_LATE_LINES][-_LINES_MOST:]
    rates = tuple(
        DeviceRate(
            start_s=line.t - line.dt,
            end_s=line.t,
            bytes_per_s=(line.read_bytes + line.write_bytes) / line.dt,
            ops_per_s=(line.read_ops + line.write_ops) / line.dt,
            read_bytes_per_s=line.read_bytes / line.dt,
        )
        for line in known
    )
    last = known[-1:]
    return SlowTruth(
        rates=rates,
        balances={
            name: Balance(time_s=line.t, ratio=left)
            for line in last
            for name, left in line.balance.items()
            if left is not None
        },
    )
