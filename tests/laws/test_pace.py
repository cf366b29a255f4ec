"""A paced batch keeps the reserve and leaves others what they take, whatever the load and its cost."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace as with_terms

from paced import MB, T3, THROUGHPUT, SimulatedStorage, counted, slow_truth
from plimsoll.kernel import Stage
from plimsoll.load.pace.law.allowance import stage_allowance
from plimsoll.load.pace.law.controller import PaceController
from plimsoll.load.pace.law.split import BYTES_BOUNDS, split_after, split_at_start
from plimsoll.load.pace.law.terms import PaceTerms
from plimsoll.load.pace.law.truths import FastTruth

ratios = st.floats(0, 1)
# A bucket that a load can empty within minutes.
SMALL = Stage(name=THROUGHPUT, baseline=87 * MB, burst=348 * MB, capacity=20_000 * MB, counts="bytes")
TERMS = PaceTerms()


@given(balance=ratios, reserve=st.floats(0, 0.9), time_left_s=st.floats(180, 1e5))
def test_the_allowance_of_a_bucket_is_the_formula(balance, reserve, time_left_s):
    """Baseline + (balance − reserve) ÷ time left, below the burst rate with its headroom."""
    terms = with_terms(TERMS, reserve_ratio=reserve)
    found = stage_allowance(SMALL, balance, terms=terms, io_size_bytes=32_768, time_left_s=time_left_s)

    expected = SMALL.baseline + (balance - reserve) * SMALL.capacity / time_left_s
    highest = 0.9 * (SMALL.burst if balance > 0 else SMALL.baseline)
    assert abs(found.total_per_s - min(max(expected, 0.0), highest)) < 1e-6 * SMALL.burst


@given(low=ratios, high=ratios, time_left_s=st.floats(180, 1e5))
def test_more_credits_never_allow_less(low, high, time_left_s):
    low, high = sorted((low, high))
    fewer, more = (
        stage_allowance(SMALL, b, terms=TERMS, io_size_bytes=8192, time_left_s=time_left_s) for b in (low, high)
    )

    assert fewer.total_per_s <= more.total_per_s + 1e-3


@given(totals=st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e8), st.floats(0.5, 300)), min_size=1, max_size=40))
def test_a_split_stays_within_its_bounds(totals):
    """Whatever was measured, others are not below zero and the ratio is one that loads have."""
    split = split_at_start(BYTES_BOUNDS)
    for total, batch, length_s in totals:
        split = split_after(split, total_per_s=total, batch_bytes_per_s=batch, length_s=length_s, noise_ratio=0.1)

    assert split.others_per_s >= 0
    assert BYTES_BOUNDS.low <= split.ratio <= BYTES_BOUNDS.high
    assert split.others_var >= 0
    assert split.ratio_var >= 0


@given(ratio=st.floats(1.5, 8), others=st.floats(1 * MB, 60 * MB))
@settings(max_examples=20)
def test_the_ratio_is_learned_while_the_batch_runs(ratio, others):
    """Within a minute, and to a tenth, if others stay as they were before it began."""
    storage = SimulatedStorage(SMALL, ratio=ratio, others=lambda _t: others, balance=1.0)
    controller = PaceController((SMALL,), TERMS)
    storage.run(controller, 60)

    assert abs(controller.allowance(60).ratio.bytes_per_byte / ratio - 1) < 0.1


@given(
    ratio=st.floats(1.5, 8),
    others=st.floats(1 * MB, 80 * MB),
    swing=st.floats(0, 0.3),
    balance=st.floats(0.3, 1),
    has_counters=st.booleans(),
)
@settings(max_examples=12)
def test_the_reserve_is_never_broken(ratio, others, swing, balance, has_counters):
    """
    With metrics two minutes late, with and without counters, and others that come and go.

    Without counters, a byte that makes more than is assumed at first shows two minutes later.
    """
    ratio = ratio if has_counters else min(ratio, BYTES_BOUNDS.start)

    def at(t: float) -> float:
        return others * (1 + (swing if t // 90 % 2 else -swing))

    storage = SimulatedStorage(SMALL, ratio=ratio, others=at, balance=balance, has_counters=has_counters)
    controller = PaceController((SMALL,), TERMS)
    storage.run(controller, 900)

    # Others alone stay below the baseline here, so only the batch spends credits. What is below the reserve is
    # less than a percent of the bucket, the resolution of the published balance.
    limit = min(0.2, balance)
    assert storage.lowest >= limit - (0.01 if at(100) < SMALL.baseline else 0.05)


@given(ratio=st.floats(1.5, 8), others=st.floats(1 * MB, 60 * MB), balance=st.floats(0.4, 1))
@settings(max_examples=6)
def test_credits_above_the_reserve_are_used_by_the_deadline(ratio, others, balance):
    """At the deadline little more than the reserve is left, and the batch sent what that paid for."""
    seconds = 900
    storage = SimulatedStorage(SMALL, ratio=ratio, others=lambda _t: others, balance=balance)
    controller = PaceController((SMALL,), with_terms(TERMS, deadline_s=float(seconds)))
    storage.run(controller, seconds)

    could = (balance - 0.2) * SMALL.capacity + (SMALL.baseline - others) * seconds
    assert storage.ratio * storage.sent_bytes >= 0.93 * could


@given(age_s=st.floats(301, 1e5), balance=ratios)
def test_stale_metrics_allow_the_share_of_the_baseline(age_s, balance):
    """Half of every baseline, whatever the balance was; never more."""
    controller = PaceController(T3, TERMS)
    controller.observe_slow(slow_truth(end_s=0, balance=balance))
    found = controller.allowance(age_s)

    assert "baseline_share" == found.basis
    for one in found.ceilings:
        assert one.total_per_s <= 0.5 * one.baseline_per_s + 1e-3


@given(ratio=st.floats(1.5, 8), others=st.floats(1 * MB, 60 * MB))
@settings(max_examples=8)
def test_two_batches_learn_the_same_ratio_and_share_fairly(ratio, others):
    """Each tells the other its rate; after a minute both have half of what others leave, within a tenth."""
    both = [PaceController((SMALL,), TERMS) for _ in range(2)]
    for one in both:
        one.observe_slow(slow_truth(end_s=0, bytes_per_s=others, ops_per_s=others / 32_768))
    rates = [0.0, 0.0]
    for t in range(90):
        taken = others + ratio * sum(rates)
        counts = counted(taken)
        for k, one in enumerate(both):
            one.observe_fast(
                FastTruth(
                    start_s=t, end_s=t + 1, batch_bytes=rates[k], server=counts, peers_bytes_per_s=(rates[1 - k],)
                )
            )
        rates = [one.allowance(t + 1).bytes_per_s for one in both]

    for one in both:
        assert abs(one.allowance(90).ratio.bytes_per_byte / ratio - 1) < 0.1
    assert abs(rates[0] / rates[1] - 1) < 0.1
