"""A few samples at a documented number among thousands: chance puts them there, waiting does not."""

from dataclasses import dataclass

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.model.diagnosis import Diagnosis, Verdict
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.metric import Metric
from plimsoll.units import KIB, mib_per_s

FORTNIGHT, STEP_S = 14 * 288, 300
FIRST, SIZE = 2000, 64 * KIB
NEAR = np.array([0.9975, 0.998, 0.9972])
"""What is enforced: a quarter of a percent below what is published."""


@dataclass(frozen=True, slots=True)
class Number:
    """A documented number of an instance, as bytes/s at 64 KiB a request."""

    db_class: str
    storage: Storage
    bytes_per_s: float


NUMBERS = {
    "volume throughput": Number("db.m5.2xlarge", Storage(kind="gp3", size_gib=200.0), mib_per_s(125)),
    "volume IOPS": Number(
        "db.m5.2xlarge",
        Storage(kind="gp3", size_gib=500.0, provisioned_ops_per_s=12_000.0),
        12_000.0 * 16 * KIB,
    ),
    "class throughput": Number(
        "db.r4.2xlarge", Storage(kind="io1", size_gib=2000.0, provisioned_ops_per_s=37_000.0), 212.5e6
    ),
    "baseline": Number("db.t3.xlarge", Storage(kind="gp3", size_gib=2000.0), 86.875e6),
}  # fmt: skip


def fortnight(number: Number, latency_s: list[float] | None, *, balance: float | None = None) -> Diagnosis:
    """Two weeks far below every limit but for three samples at a number, each with its latency."""
    rng = np.random.default_rng(1)
    size = 16 * KIB if number is NUMBERS["volume IOPS"] else SIZE
    rate = 15e6 * builders.wander(rng, FORTNIGHT, 0.3, memory=0.9)
    waits = 0.0008 * builders.wander(rng, FORTNIGHT, 0.08)
    at = slice(FIRST, FIRST + NEAR.size)
    rate[at] = number.bytes_per_s * NEAR
    waits[at] = latency_s or 0.0008
    values = builders.storage(rate, size_bytes=size, latency_s=waits)
    if latency_s is None:
        for metric in (*builders.LATENCIES, Metric.QUEUE_DEPTH):
            del values[metric]
    if balance is not None:
        values[Metric.BYTE_BALANCE_RATIO] = np.ones(FORTNIGHT)
        values[Metric.BYTE_BALANCE_RATIO][FIRST - 3 : at.stop] = balance
    instance = Instance(identifier="claims", db_class=number.db_class, engine="postgres", storage=number.storage)
    return diagnose(builders.snapshot(values, instance=instance, step_s=STEP_S), catalog())


@pytest.mark.parametrize(
    "latencies", [[0.0031, 0.0028, 0.00093], [0.00093] * 3, None], ids=["hardly waited", "at ease", "not measured"]
)
@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_the_number_alone_makes_no_ceiling_of_three_samples(number, latencies):
    """Three of four thousand samples lie at a documented number: chance, unless something tells of waiting."""
    diagnosis = fortnight(number, latencies)

    assert () == diagnosis.intervals
    assert diagnosis.verdict != Verdict.BINDS


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_each_sample_at_a_number_that_waited_is_evidence(number):
    """Two samples at the number took 20 times as long as their neighbours, and the one between them did not."""
    first, second = fortnight(number, [0.02, 0.00093, 0.02]).intervals

    assert (STEP_S, STEP_S) == (first.end_s - first.start_s, second.end_s - second.start_s)
    assert 2 * STEP_S == second.start_s - first.start_s
    assert first.ceiling is not None


@pytest.mark.parametrize("name", ["volume throughput", "volume IOPS", "class throughput"])
def test_three_samples_that_all_waited_are_a_ceiling(name):
    """A quarter of an hour at the number with 25 times the latency in each sample is the ceiling."""
    (interval,) = fortnight(NUMBERS[name], [0.02, 0.019, 0.021]).intervals

    assert builders.START_S + FIRST * STEP_S == interval.start_s
    assert 3 * STEP_S == interval.end_s - interval.start_s


@pytest.mark.parametrize("latencies", [[0.02, 0.019, 0.0008], None], ids=["measured", "not"])
def test_an_empty_balance_stands_in_for_waiting(latencies):
    """Three samples at the baseline with no credits left are the baseline, whoever waited."""
    (interval,) = fortnight(NUMBERS["baseline"], latencies, balance=0.0).intervals
    waiting = [e.text for e in interval.evidence if e.kind == "waiting"]

    assert 86.875e6 == interval.ceiling.value
    assert all("3 samples" in text for text in waiting if latencies)
