"""A baseline needs an empty bucket and a burst needs credits: what was served tells which can be."""

import numpy as np
import pytest

import builders
from builders import HOUR, NOWHERE
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.credits import CreditBook, Credits
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric

BASE, MOST = 86.875e6, 347.5e6
EBS = Family.INSTANCE_EBS_THROUGHPUT


def row(phase: Phase, *, published: bool = False) -> Ceiling:
    """One number of a t3.xlarge: 30 minutes at the maximum, read in both ways; or a gp2 volume's."""
    if published:
        family, dimension, unit = Family.VOLUME_IOPS, Dimension.IOPS, "ops/s"
        value, metric = 3000.0 if phase == Phase.BURST else 600.0, Metric.VOLUME_BALANCE_RATIO
        low = high = 5.4e6
    else:
        family, dimension, unit = EBS, Dimension.THROUGHPUT, "bytes/s"
        value, metric = MOST if phase == Phase.BURST else BASE, Metric.BYTE_BALANCE_RATIO
        low, high = (MOST - BASE) * 1800, MOST * 1800
    return Ceiling(
        family=family, phase=phase, dimension=dimension, value=value, unit=unit, origin=NOWHERE,
        balance_metric=metric, capacity_low=low, capacity_high=high,
    )  # fmt: skip


def verdict_of(rate: np.ndarray, of: Ceiling, *runs: tuple[int, int], step_s: int = 60) -> Credits:
    values = builders.storage(rate if of.unit == "bytes/s" else rate * 16_384)
    frame = frame_of(builders.snapshot(values, step_s=step_s))
    assert frame is not None
    gp2 = (row(Phase.BASELINE, published=True), row(Phase.BURST, published=True))
    return CreditBook(frame, (of, *gp2)).account_of(of, np.array(runs)).credits


BASELINE, BURST = row(Phase.BASELINE), row(Phase.BURST)
GP2_BASELINE, GP2_BURST = row(Phase.BASELINE, published=True), row(Phase.BURST, published=True)


@pytest.mark.parametrize(
    ("of", "pieces", "runs", "verdict"),
    [
        # Twenty hours at an eighth of the baseline fill any documented bucket: it cannot bind for an hour.
        (BASELINE, [(20 * HOUR, BASE / 8), (HOUR, BASE)], [(20 * HOUR, 21 * HOUR)], Credits.REFUTED),
        (GP2_BASELINE, [(20 * HOUR, 75.0), (HOUR, 600.0)], [(20 * HOUR, 21 * HOUR)], Credits.REFUTED),
        # A window that begins at the baseline shows neither that credits were left nor that they were not.
        (BASELINE, [(HOUR, BASE)], [(0, HOUR)], Credits.FROM_START),
        # A minute of rest earns a sample of burst at most, and it is drawn within the next.
        (
            BASELINE,
            [(HOUR, BASE * 0.997), (1, BASE / 3), (HOUR - 1, BASE * 0.997)],
            [(0, HOUR), (HOUR + 1, 2 * HOUR)],
            Credits.FROM_START,
        ),
        # A hole of an hour may hide a burst.
        (BASELINE, [(20 * HOUR, 10e6), (HOUR, np.nan), (HOUR, BASE)], [(21 * HOUR, 22 * HOUR)], Credits.FROM_START),
        # After a burst that emptied the bucket an hour without samples may have filled it again.
        (BASELINE, [(31, MOST), (30, BASE)], [(31, 61)], Credits.SHOWN),
        (BASELINE, [(31, MOST), (60, np.nan), (30, BASE)], [(91, 121)], Credits.FROM_START),
        # Half an hour at the maximum is promised; more than three hours no reading of it allows.
        (BURST, [(30, MOST)], [(0, 30)], Credits.SILENT),
        (BURST, [(200, MOST)], [(0, 200)], Credits.REFUTED),
        # 5.4 million credits at 3,000 - 600 a second last for 37.5 minutes.
        (GP2_BURST, [(36, 3000.0)], [(0, 36)], Credits.SILENT),
        (GP2_BURST, [(40, 3000.0)], [(0, 40)], Credits.REFUTED),
    ],
)
def test_what_was_served_tells_what_the_credits_allow(of, pieces, runs, verdict):
    """As far as every minute before was measured."""
    rate = np.concatenate([np.full(minutes, value) for minutes, value in pieces])

    assert verdict == verdict_of(rate, of, *runs)


def test_hours_hide_what_a_bucket_did():
    """Within a sample of an hour a bucket can be filled and emptied: nothing is refuted by such samples."""
    assert Credits.REFUTED != verdict_of(np.repeat([10e6, BASE], 20), BASELINE, (20, 40), step_s=3600)


def test_what_refutes_a_burst_is_reported_with_its_arithmetic():
    """5.4 million credits, and 2,400 a second more spent than earned: 37 minutes of the 40."""
    of = row(Phase.BURST, published=True)
    frame = frame_of(builders.snapshot(builders.storage(np.full(40, 3000.0) * 16_384)))
    assert frame is not None
    gp2 = (row(Phase.BASELINE, published=True), of)
    account = CreditBook(frame, gp2).account_of(of, np.array([(0, 40)]))

    assert "lasted 40 min" in account.text
    assert "lasts 38 min" in account.text


T3 = Instance(
    identifier="claims",
    db_class="db.t3.xlarge",
    engine="postgres",
    storage=Storage(kind="gp3", size_gib=2000.0),
    launched_s=1_652_745_600,
)


def found(rate: np.ndarray, *, balance: np.ndarray | None = None) -> Diagnosis:
    rng = np.random.default_rng(5)
    waits = np.where(rate > 50e6, 0.012, 0.0008) * builders.wander(rng, rate.size, 0.15)
    size = 64 * 1024 * builders.wander(rng, rate.size, 0.05)
    values = builders.storage(rate, latency_s=waits, size_bytes=size)
    if balance is not None:
        values[Metric.BYTE_BALANCE_RATIO] = balance
    return diagnose(builders.snapshot(values, instance=T3), catalog())


def rest_then_level() -> np.ndarray:
    rng = np.random.default_rng(7)
    calm = 10e6 * builders.wander(rng, 20 * HOUR, 0.1)
    return np.concatenate((calm, 86.7e6 * builders.wander(rng, 40, 0.002)))


def test_no_baseline_is_named_that_its_bucket_refutes():
    """After twenty hours of rest forty minutes at the number of the baseline are not the baseline's doing."""
    diagnosis = found(rest_then_level())
    named = [i for i in diagnosis.intervals if i.ceiling and i.ceiling.bucket_phase == Phase.BASELINE]
    reasons = [r.reason for i in diagnosis.intervals for r in i.ruled_out if r.ceiling.value == BASE]

    assert [] == named
    assert all("it binds only at 0 % credits" in reason for reason in reasons)
    assert "EBSByteBalanceExhausted" not in {f.code for f in diagnosis.findings}


def test_a_balance_at_zero_is_believed_before_the_arithmetic():
    """Where the metric was read and says that no credits were left, the baseline is named."""
    rate = rest_then_level()
    balance = np.where(np.arange(rate.size) < 20 * HOUR - 30, 1.0, 0.0)
    diagnosis = found(rate, balance=balance)

    assert [BASE] == [i.ceiling.value for i in diagnosis.intervals if i.ceiling]
    assert "EBSByteBalanceExhausted" in {f.code for f in diagnosis.findings}


def test_a_balance_is_called_exhausted_only_where_that_is_known():
    """
    At the baseline from the first minute the bucket may have been empty: the limit is named, not its
    exhaustion; after a burst that used all credits both are.
    """
    rng = np.random.default_rng(9)
    level = BASE * 0.998 * builders.wander(rng, 3 * HOUR, 0.002)
    calm = 10e6 * builders.wander(rng, 5 * HOUR, 0.1)
    burst = MOST * 0.998 * builders.wander(rng, 31, 0.002)
    from_start = found(np.concatenate((level, calm)))
    shown = found(np.concatenate((calm, burst, level)))

    assert BASE in {i.ceiling.value for i in from_start.intervals if i.ceiling}
    assert "EBSThroughputUnderprovisioned" in {f.code for f in from_start.findings}
    assert "EBSByteBalanceExhausted" not in {f.code for f in from_start.findings}
    assert "EBSByteBalanceExhausted" in {f.code for f in shown.findings}
    assert any("not full when the window began" in e.text for e in from_start.intervals[0].evidence)
