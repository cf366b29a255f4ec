"""Which of the levels found count as ceilings, and which number a level is reported as."""

import numpy as np
import pytest

import builders
from builders import ceiling
from plimsoll.diagnosis.frame import frame_of
from plimsoll.diagnosis.recognition.congestion import congestion_of, load_of
from plimsoll.diagnosis.recognition.plateau import Plateau
from plimsoll.diagnosis.recognition.search import plateaus_of
from plimsoll.model.ceiling import Ceiling, Dimension, Family, Phase

EBS = Family.INSTANCE_EBS_THROUGHPUT
IOPS = Family.INSTANCE_EBS_IOPS


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def found(values: dict, *rows: Ceiling) -> list[Plateau]:
    frame = frame_of(builders.snapshot(values))
    return plateaus_of(frame, congestion_of(frame, load_of(frame)), rows)


@pytest.mark.parametrize(
    ("family", "lowest", "waiting", "count"),
    [(EBS, 1000e6, 2.6, 1), (EBS, 2100e6, 2.6, 0), (EBS, 2100e6, 8.0, 1), (Family.VOLUME_THROUGHPUT, 2100e6, 2.6, 1)],
    ids=["near", "far", "far and sure", "a class that is not listed"],
)
def test_an_unknown_limit_far_below_all_that_is_documented_must_be_sure(family, lowest, waiting, count):
    """A class that may do 2.1 GB/s at the least is hardly limited to 100 MB/s by something undocumented."""
    demand = builders.working_day(rng(), 30e6, 200e6)
    values = builders.held_at(
        demand, 100e6, rng=rng(), size_bytes=16_384 * builders.wander(rng(), demand.size, 0.05), waiting=waiting
    )

    assert count == len(found(values, ceiling(family, Phase.BASELINE, lowest)))


def test_a_number_it_meets_exactly_is_likelier_than_one_of_the_past():
    """15,703 IOPS of 16 KiB are 257.3 MB/s as well: the burst of 15,700 IOPS, not the legacy 256 MB/s."""
    demand = np.full(60, 60_000.0)
    values = builders.held_at(demand, 15_703.0, rng=rng(), dimension=Dimension.IOPS, size_bytes=16_384)
    burst = ceiling(IOPS, Phase.BURST, 15_700.0)
    legacy = ceiling(EBS, Phase.LEGACY, 256e6)
    near = ceiling(EBS, Phase.BURST, 257e6)

    assert [burst] == [p.best.ceiling for p in found(values, burst, legacy)]
    # Of two numbers that fit alike, throughput is the one that nobody charts.
    assert [near] == [p.best.ceiling for p in found(values, burst, near)]


def test_two_short_stretches_at_a_documented_number_are_found():
    """Six minutes before a vacuum is cancelled and six after it begins again, within ± 1 %; free between."""
    busy = np.array([0.995, 1.004, 1.006, 0.99, 1.005, 0.996])
    rate = 212.5e6 * np.concatenate((busy, [0.4, 0.3, 0.2, 0.5, 0.3, 0.25, 0.4, 0.35], busy[::-1]))
    latency = np.concatenate((np.full(6, 0.02), np.full(8, 0.001), np.full(6, 0.02)))
    values = builders.storage(rate, latency_s=latency)
    (documented,) = found(values, ceiling(EBS, Phase.BASELINE, 212.5e6))

    assert [[0, 6], [14, 20]] == documented.runs.tolist()
    assert [] == found(values, ceiling(EBS, Phase.BASELINE, 287.5e6))
