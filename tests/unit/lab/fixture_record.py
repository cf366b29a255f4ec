"""
Simulate records of a gate: what its daemon would write under closed-loop readers. Nothing here ran.

The law itself decides what is served and what binds; Little's law gives the time of requests.
"""

from dataclasses import replace

import numpy as np

from plimsoll.catalog.load import catalog
from plimsoll.kernel import Stage, replay
from plimsoll.model.ceiling import Phase
from plimsoll.model.instance import Instance, Storage
from plimsoll_lab.gate.config import GateSetup, has_credits, stages_of
from plimsoll_lab.gate.record import Bound, RecordLine
from unit.gate.gate_lines import START_S, line

BEGAN_S = 1_763_640_000.0  # a whole minute
READERS = 16


def setup(
    db_class: str = "db.t3.xlarge",
    *,
    storage: str = "gp2",
    size_gib: float = 1000,
    clock: float = 60,
    balance: float = 1.0,
    iops: float | None = None,
    launched_s: int | None = None,
) -> GateSetup:
    """Return what is emulated."""
    return GateSetup(
        instance=Instance(
            identifier="lab",
            db_class=db_class,
            engine="postgres",
            storage=Storage(kind=storage, size_gib=size_gib, provisioned_ops_per_s=iops),
            launched_s=launched_s,
        ),
        clock=clock,
        credits=balance,
    )


def record(
    of: GateSetup,
    *,
    demand_ops_per_s: float = 6000,
    size_bytes: float = 131_072,
    seconds: int = 60,
    late_ratio: float = 0.0,
) -> list[RecordLine]:
    """Return one line for each second of this demand."""
    chain = stages_of(of, catalog())
    demand = demand_ops_per_s * (1 + 0.05 * np.random.default_rng(7).standard_normal(seconds))
    run = replay(
        np.maximum(demand, 0.0), size_bytes, step_s=1.0, chain=[_faster(stage, of) for stage in chain], carry=False
    )
    base_s = 0.0007
    lines = []
    for i in range(seconds):
        held_s = float(run.throttled_ratio[i])
        ops, moved = float(run.served_ops[i]), float(run.served_bytes[i])
        depth = held_s * READERS + (1 - held_s) * ops * base_s
        lines.append(
            line(
                BEGAN_S - START_S + i,
                read_bytes_per_s=moved,
                write_bytes_per_s=0.0,
                size_bytes=moved / ops,
                latency_s=depth / ops,
                balance={
                    stage.name: float(run.balance[k][i]) / stage.capacity * of.clock if has_credits(stage) else None
                    for k, stage in enumerate(chain)
                },
                binding=_binding(chain, int(run.binding[i]), bool(run.at_burst[i]), held_s),
                late_ops=ops * late_ratio,
                late_s_max=0.02 if late_ratio else 0.0,
                late_s_sum=0.02 * ops * late_ratio,
            )
        )
    return lines


def _faster(stage: Stage, of: GateSetup) -> Stage:
    capacity = stage.capacity / of.clock
    return replace(stage, capacity=capacity, start_balance=capacity * of.credits)


def _binding(chain: tuple[Stage, ...], index: int, at_burst: bool, held_s: float) -> dict[str, Bound]:
    if index < 0 or not held_s:
        return {}
    stage = chain[index]
    phase = Phase.BURST if at_burst else Phase.BASELINE
    return {stage.name: Bound(held_s, phase if has_credits(stage) else Phase.FIXED)}
