"""The peers of the law compute the same law; otherwise their speed would mean nothing."""

import numpy as np
import pytest

from peers.replays import numpy_law, python_law
from plimsoll.kernel import Stage, replay_candidates


def chain(scale):
    limits = {"burst": 4e6 * scale, "baseline": 1e6 * scale}
    return [
        Stage(name="instance bytes", counts="bytes", capacity=4e8, **limits),
        Stage(name="instance ops", counts="ops", baseline=90 * scale, burst=900, capacity=9e4),
        Stage(name="volume bytes", counts="bytes", baseline=3e6, burst=3e6),
        Stage(name="volume ops", counts="ops", baseline=100, burst=300, capacity=2e4),
    ]


@pytest.mark.parametrize("law", [python_law, numpy_law])
def test_other_ways_obey_the_same_law(law):
    """Throttled steps and the backlog at the end agree, candidate by candidate."""
    step_s, size = 60.0, 16384.0
    ops = 100 + 90 * np.sin(np.arange(500) / 40)
    chains = [chain(scale) for scale in (0.5, 0.9, 1.3, 2.0)]
    limits = np.array(
        [[[s.baseline * step_s, s.burst * step_s, s.capacity, s.balance_at_start] for s in stages] for stages in chains]
    )

    trials = replay_candidates(ops, size, step_s=step_s, chains=chains)
    found = law(ops * size * step_s, ops * step_s, limits)

    assert trials.throttled_steps.tolist() == found[:, 0].tolist()
    assert trials.backlog_ops == pytest.approx(found[:, 1], rel=1e-9, abs=1e-6)
    assert len(set(trials.throttled_steps.tolist())) > 2
