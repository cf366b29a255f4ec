"""The law and an independent simulation of it agree on every chain and every demand."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.kernel import Stage, replay
from reference.bucket import simulate

rates = st.floats(0, 3).map(lambda exponent: 10.0**exponent)
ratios = st.floats(0, 1)


@st.composite
def stages(draw):
    counts = draw(st.sampled_from(["bytes", "ops"]))
    # A byte ceiling is as tight as an operations ceiling at 16 bytes per operation.
    baseline = draw(rates) * (16 if counts == "bytes" else 1)
    has_credits = draw(st.booleans())
    capacity = baseline * draw(st.floats(1, 2000)) if has_credits else 0.0
    return Stage(
        name=str(draw(st.integers(0, 10**9))),
        counts=counts,
        baseline=baseline,
        burst=baseline * draw(st.floats(1.01, 8)) if has_credits else baseline,
        capacity=capacity,
        start_balance=capacity * draw(ratios),
        unit_bytes=draw(st.floats(1, 64)),
        stripes=draw(st.integers(1, 4)),
    )


chains = st.lists(stages(), min_size=1, max_size=4, unique_by=lambda stage: stage.name)
demands = st.lists(st.tuples(st.one_of(st.just(0.0), rates), st.floats(1, 64)), min_size=1, max_size=20)


@given(chain=chains, demand=demands, carry=st.booleans())
@settings(max_examples=300, deadline=None)
def test_the_core_agrees_with_a_simulation_by_events(chain, demand, carry):
    """Served operations and bytes, the queue, the throttled time and every balance are the same."""
    ops, size = np.array(demand).T
    buckets = [
        {
            "baseline": stage.baseline,
            "burst": stage.burst,
            "capacity": stage.capacity,
            "balance": stage.balance_at_start,
            "counts": stage.counts,
            "unit_bytes": stage.unit_bytes,
            "stripes": stage.stripes,
        }
        for stage in chain
    ]
    expected = np.array(list(simulate(ops, size, 60.0, buckets, carry=carry)))

    done = replay(ops, size, step_s=60.0, chain=chain, carry=carry)

    room = 1e-7 * (1 + 60 * float(ops.sum()))
    np.testing.assert_allclose(expected[:, 0], done.served_ops, atol=room)
    np.testing.assert_allclose(expected[:, 1], done.served_bytes, atol=64 * room)
    np.testing.assert_allclose(expected[:, 2], done.backlog_ops, atol=room)
    np.testing.assert_allclose(expected[:, 3] / 60, done.throttled_ratio, atol=1e-6)
    ends = [bucket["balance"] for bucket in buckets]
    scale = [1e-7 * (1 + stage.capacity) + 64 * room for stage in chain]
    assert np.all(np.abs(np.array(ends) - done.balance[:, -1]) <= scale)
