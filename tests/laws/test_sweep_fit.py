"""A fit of a simulated sweep finds the limits that the sweep was simulated with."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plimsoll.kernel import Stage
from plimsoll.model.ceiling import Phase
from plimsoll.units import kib
from plimsoll_lab.fit.fit import fit_sweep
from plimsoll_lab.model.sweep import Pattern
from simulated_sweeps import SIZES_KIB, UNIT_BYTES, delivered_ops_per_s, stage, sweep

COVERAGE_CHAINS = 400


def between(low: float, high: float) -> st.SearchStrategy[float]:
    """Any number of the range, its orders of magnitude equally likely."""
    return st.floats(np.log(low), np.log(high)).map(lambda power: float(np.exp(power)))


volumes = st.builds(
    lambda most, ops, stripes: [
        stage("volume_throughput", "bytes", most / stripes, stripes=stripes),
        stage("volume_iops", "ops", ops / stripes, unit_bytes=UNIT_BYTES, stripes=stripes),
    ],
    between(20e6, 2e9),
    between(100, 40_000),
    st.sampled_from([1, 4]),
)
instances = st.builds(
    lambda most, ops: [stage("throughput", "bytes", most), stage("iops", "ops", ops)],
    between(50e6, 2e9),
    between(2_000, 60_000),
)
chains = st.builds(lambda volume, instance: [*instance, *volume], volumes, st.just([]) | instances)
factors = st.lists(st.floats(0.99, 1.01), min_size=len(SIZES_KIB), max_size=len(SIZES_KIB))


def limits_of(chain: list[Stage]) -> tuple[float, float]:
    """The most operations of the smallest size, and the most bytes of the largest."""
    largest = kib(SIZES_KIB[-1])
    rate = delivered_ops_per_s(chain, largest, phase=Phase.BASELINE, pattern=Pattern.SCATTERED)
    return min(s.baseline * s.stripes for s in chain if s.counts == "ops"), rate * largest


@given(chain=chains, noise=factors)
@settings(max_examples=60, deadline=None)
def test_limits_are_recovered_in_spite_of_noise(chain, noise):
    """
    With points that are off by up to one percent, every limit that is told is right within two and
    a half; how seldom it is off by more than two is told below.
    """
    ops, most = limits_of(chain)

    (fit,) = fit_sweep(sweep(chain, noise=noise, depth=128)).phases

    assert fit.is_explained
    for known, found in ((ops, fit.ops_limit), (most, fit.bytes_limit)):
        if found is not None:
            np.testing.assert_allclose(found.value, known, rtol=0.025)


@given(chain=chains)
@settings(max_examples=60, deadline=None)
def test_without_noise_the_limits_are_all_but_exact(chain):
    """
    What was not disturbed is found to one percent, or to two and a half where the knee lies right
    beside a size: a point so little off the line is not taken for another limit.
    """
    ops, most = limits_of(chain)
    beside = min(abs(most / ops / kib(size) - 1) for size in SIZES_KIB)

    (fit,) = fit_sweep(sweep(chain, depth=128)).phases

    rtol = 0.025 if beside < 0.03 else 1e-2
    # Below the smallest size nothing was measured, and a knee there is not seen.
    if most / ops > kib(1.1 * SIZES_KIB[0]):
        np.testing.assert_allclose(fit.ops_limit.value, ops, rtol=rtol)
    np.testing.assert_allclose(fit.bytes_limit.value, most, rtol=rtol)


@given(chain=chains, noise=factors, scale=between(0.1, 10))
@settings(max_examples=30, deadline=None)
def test_a_faster_storage_is_the_same_experiment(chain, noise, scale):
    """Storage that is faster throughout has limits that are larger by as much, and the same knee."""
    from dataclasses import replace

    faster = [replace(s, baseline=s.baseline * scale, burst=s.burst * scale) for s in chain]

    (slow,) = fit_sweep(sweep(chain, noise=noise, depth=1e6)).phases
    (fast,) = fit_sweep(sweep(faster, noise=noise, depth=1e6)).phases

    for name in ("ops_limit", "bytes_limit"):
        one, other = getattr(slow, name), getattr(fast, name)
        assert (one is None) == (other is None)
        if one is not None:
            np.testing.assert_allclose(other.value, one.value * scale, rtol=1e-9)
    if slow.knee is not None:
        np.testing.assert_allclose(fast.knee.value, slow.knee.value, rtol=1e-9)


def test_error_bars_hold_what_they_promise():
    """
    With noise of 1 % (one standard deviation) the ranges hold the limit in nine of ten experiments
    at least, and hardly any number is off by more than two percent.
    """
    dice = np.random.default_rng(20261120)
    held, off = [], []
    for _ in range(COVERAGE_CHAINS):
        chain = [
            stage("volume_throughput", "bytes", np.exp(dice.uniform(np.log(20e6), np.log(2e9)))),
            stage("volume_iops", "ops", np.exp(dice.uniform(np.log(100), np.log(40_000))), unit_bytes=UNIT_BYTES),
        ]
        noise = dice.normal(1, 0.01, len(SIZES_KIB))
        (fit,) = fit_sweep(sweep(chain, noise=noise, depth=128)).phases
        for known, found in zip(limits_of(chain), (fit.ops_limit, fit.bytes_limit), strict=True):
            if found is not None:
                held.append(found.low <= known <= found.high)
                off.append(abs(found.value / known - 1))

    assert np.mean(held) >= 0.9
    assert np.mean(np.array(off) <= 0.02) >= 0.98
