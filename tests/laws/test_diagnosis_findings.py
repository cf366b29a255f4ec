"""What is found and what is not: ceilings are, steady demand is not, whatever the scale."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import situations
from builders import LATENCIES, RATES
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.ceiling import Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Snapshot

LAWFUL = settings(max_examples=80, deadline=None, derandomize=True)
CAPPED = situations.R5_2XLARGE
DOCUMENTED = tuple(
    c
    for c in diagnose(Snapshot(instance=CAPPED, series={}, source=""), catalog()).ceilings
    if c.dimension != Dimension.AMOUNT
)
BASELINE = next(c.value for c in DOCUMENTED if c.family == Family.INSTANCE_EBS_THROUGHPUT and c.phase == Phase.BASELINE)


def of(snapshot: Snapshot) -> Diagnosis:
    return diagnose(snapshot, catalog())


def without(snapshot: Snapshot, *metrics: Metric) -> Snapshot:
    return replace(snapshot, series={m: s for m, s in snapshot.series.items() if m not in metrics})


def is_undocumented(rates: dict[Dimension, float]) -> bool:
    """Whether both rates are a tenth or more away from every number documented for the class."""
    return all(abs(np.log(rates[c.dimension] / c.value)) > 0.1 for c in DOCUMENTED)


def scaled(snapshot: Snapshot, factor: float) -> Snapshot:
    """Rates times a factor; so is the queue, for latencies stay (Little's law)."""
    series = dict(snapshot.series)
    for metric in (*RATES, Metric.QUEUE_DEPTH):
        one = series[metric]
        series[metric] = Series(metric=metric, step_s=one.step_s, time_s=one.time_s, value=one.value * factor)
    return replace(snapshot, series=series)


@LAWFUL
@given(situations.pressed())
def test_a_ceiling_is_found(window):
    """Demand cut off at any number is called that number, within one percent, in its dimension."""
    diagnosis = of(window.snapshot)
    binding = diagnosis.binding

    assert Verdict.BINDS == diagnosis.verdict
    assert window.dimension == binding.dimension
    assert abs(binding.level / window.ceiling - 1) < 0.01
    # Minutes in which demand dipped below it for a moment belong to no one.
    assert 0.8 * window.pressed_s <= binding.seconds <= 1.2 * window.pressed_s + 600


@LAWFUL
@given(situations.pressed(instance=CAPPED, waiting_min=10))
def test_a_level_that_is_not_documented_is_called_unknown(window):
    """A class that documents no such number does not hide the level; it only leaves it without a name."""
    size_bytes = 16_384
    factor = size_bytes if window.dimension == Dimension.IOPS else 1
    throughput = window.ceiling * factor
    rates = {Dimension.THROUGHPUT: throughput, Dimension.IOPS: throughput / size_bytes}
    assume(is_undocumented(rates))
    binding = of(window.snapshot).binding

    assert Family.UNKNOWN == binding.family
    assert abs(binding.level / window.ceiling - 1) < 0.01


@LAWFUL
@given(st.floats(1e6, 2e9).flatmap(situations.flat))
def test_flat_demand_is_not_a_ceiling(window):
    """A demand that is steady within 0.1–3 % at any level, on storage that answers as usual, is not accused."""
    assert () == of(window.snapshot).intervals


@LAWFUL
@given(st.floats(1e6, 2e9), st.sampled_from([8192, 16384, 65536]), st.data())
def test_flat_demand_between_documented_numbers_is_not_a_ceiling(level, size_bytes, data):
    """Nor is it for a known class, a tenth or more away from what is documented for it."""
    rates = {Dimension.THROUGHPUT: level, Dimension.IOPS: level / size_bytes}
    assume(is_undocumented(rates))
    made = situations.flat(level, instance=CAPPED, size_bytes=size_bytes)
    window = data.draw(made, label="window")

    assert () == of(window.snapshot).intervals


@LAWFUL
@given(situations.flat(BASELINE, instance=CAPPED, size_bytes=32_768, latency_spread=0.08, has_calm_hours=True))
def test_flat_demand_at_a_documented_number_needs_waiting(window):
    """Nor is it at the very baseline of the class, if latency is what it is in calm hours."""
    assert () == of(window.snapshot).intervals


@LAWFUL
@given(situations.pressed(), st.sampled_from([2.0, 8.0, 1 / 4, 3.7]))
def test_levels_scale_with_the_rates(window, factor):
    """With no documented numbers there is no size of an instance: all rates times k, all levels times k."""
    # Queues are published in hundredths and compared with that; latency alone has no such grain.
    fine = without(window.snapshot, Metric.QUEUE_DEPTH)
    fine = replace(fine, series={**fine.series, Metric.QUEUE_DEPTH: _no_queue(fine)})
    one, other = of(fine).intervals, of(scaled(fine, factor)).intervals

    assert [(i.start_s, i.end_s) for i in one] == [(i.start_s, i.end_s) for i in other]
    np.testing.assert_allclose([i.level for i in other], [factor * i.level for i in one], rtol=1e-6)


def _no_queue(snapshot: Snapshot) -> Series:
    one = snapshot.series[RATES[0]]
    return Series(
        metric=Metric.QUEUE_DEPTH, step_s=one.step_s, time_s=one.time_s, value=np.full(one.time_s.size, np.nan)
    )


@LAWFUL
@given(situations.pressed(waiting_min=6.0), st.sampled_from([LATENCIES, (Metric.QUEUE_DEPTH,)]))
def test_latency_or_queue_is_enough(window, dropped):
    """Either of latency and queue depth tells waiting; the other may be missing."""
    # A queue of a tenth, published in hundredths, tells nothing.
    per_op = 1 if window.dimension == Dimension.IOPS else 16_384
    assume(window.ceiling / per_op > 1000)
    binding = of(without(window.snapshot, *dropped)).binding

    assert abs(binding.level / window.ceiling - 1) < 0.01


@LAWFUL
@given(situations.pressed(), st.sampled_from(RATES))
def test_half_a_total_is_no_total(window, dropped):
    """With reads or writes of one dimension missing, no level is named in that dimension."""
    diagnosis = of(without(window.snapshot, dropped))
    hidden = Dimension.THROUGHPUT if "bytes" in dropped else Dimension.IOPS

    assert hidden not in {i.dimension for i in diagnosis.intervals}
