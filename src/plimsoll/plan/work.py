"""
How long the work that was served would take behind other ceilings.

What was asked for behind a ceiling nobody saw; what was done was seen to the byte. So one question has
an answer without a guess: the same work, handed over at once where it was held back, takes how long?
It is the whole answer for jobs (loads, refreshes, vacuums), which are over when their work is done.
"""

from collections.abc import Sequence

import numpy as np

from plimsoll.diagnosis.frame import runs_of
from plimsoll.kernel import Stage, replay
from plimsoll.plan.demand import Demand, Path
from plimsoll.plan.effect import started


def same_work(demand: Demand) -> Path:
    """What was served, with what every stretch at a ceiling was served asked for at its beginning."""
    ops = demand.served_ops_per_s.copy()
    size = demand.io_size_bytes
    for start, end in runs_of(demand.is_held_back):
        # In bytes, so that a size that drifts within the stretch adds no work.
        whole = float((ops[start:end] * size[start:end]).sum())
        ops[start:end] = 0.0
        ops[start] = whole / size[start]
    return Path(ops_per_s=ops, is_carried=True, weight=1.0)


def work_minutes(demand: Demand, chain: Sequence[Stage], *, growth: float = 1.0) -> float | None:
    """
    Minutes at a ceiling in which the same work would be done; None where nothing was held back.

    Args:
        demand: as recovered.
        chain: ceilings in series; at least one.
        growth: times the work.
    """
    if not demand.is_held_back.any() or not chain:
        return None
    found = replay(
        same_work(demand).ops_per_s * growth,
        demand.io_size_bytes,
        step_s=demand.step_s,
        chain=started(demand, chain, is_generous=False),
        carry=True,
    )
    return float(np.sum(found.throttled_ratio)) * demand.step_s / 60
