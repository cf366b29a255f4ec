"""What the curve of ceilings says is what a replay does."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.kernel import Stage, ceiling_curve, replay

rates = st.floats(1, 3).map(lambda exponent: 10.0**exponent)
SIZES = [4.0, 16.0, 64.0, 256.0]


@st.composite
def stages(draw):
    counts = draw(st.sampled_from(["bytes", "ops"]))
    baseline = draw(rates) * (16 if counts == "bytes" else 1)
    over = draw(st.sampled_from([1.0, 1.5, 4.0]))
    return Stage(
        name=str(draw(st.integers(0, 10**9))),
        counts=counts,
        baseline=baseline,
        burst=baseline * over,
        # Credits for an hour, so that no bucket is empty after the minute that is replayed.
        capacity=baseline * 3600 * over if over > 1 else 0.0,
        unit_bytes=draw(st.sampled_from([None, 64.0])) if counts == "ops" else None,
        stripes=draw(st.integers(1, 4)),
    )


chains = st.lists(stages(), min_size=1, max_size=4, unique_by=lambda stage: stage.name)


@given(chain=chains, burst=st.booleans())
@settings(max_examples=100, deadline=None)
def test_an_overload_is_served_at_the_ceiling(chain, burst):
    """Full buckets serve at the burst curve, empty ones at the baseline curve, whatever the size."""
    curve = ceiling_curve(chain, SIZES, burst=burst)
    for size, ops_per_s in zip(SIZES, curve.ops_per_s, strict=True):
        started = chain if burst else [_empty(stage) for stage in chain]

        done = replay([1e7], size, step_s=60.0, chain=started, carry=False)

        np.testing.assert_allclose(ops_per_s, done.served_ops[0] / 60, rtol=1e-9)


@given(chain=chains, burst=st.booleans())
@settings(max_examples=100, deadline=None)
def test_lifting_the_binding_stage_alone_leads_to_the_next(chain, burst):
    """Without the stage that binds, the curve is where it said the next ceiling is."""
    curve = ceiling_curve(chain, SIZES, burst=burst)
    for index, size in enumerate(SIZES):
        rest = [stage for k, stage in enumerate(chain) if k != curve.stage[index]]
        ceilings = [stage.ceiling_ops_per_s(size, burst=burst) for stage in chain]

        assert min(ceilings) == curve.ops_per_s[index]
        assert ceilings[curve.stage[index]] == curve.ops_per_s[index]
        assert curve.bytes_per_s[index] == curve.ops_per_s[index] * size
        if rest:
            assert ceiling_curve(rest, [size], burst=burst).ops_per_s[0] == curve.next_ops_per_s[index]
        else:
            assert (np.inf, -1) == (curve.next_ops_per_s[index], curve.next_stage[index])


def _empty(stage):
    fields = {name: getattr(stage, name) for name in stage.__dataclass_fields__}
    return Stage(**(fields | {"start_balance": 0.0}))
