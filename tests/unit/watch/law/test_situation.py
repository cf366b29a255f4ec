"""What the rules judge: use minute by minute, and runs of samples."""

import numpy as np

import builders
import watched
from plimsoll.model.ceiling import Family
from plimsoll.model.metric import Metric
from plimsoll.watch.law.situation import Readings, balance_families, situation_of
from watched import END_S, MINUTE, START_S

TIMES = START_S + MINUTE * np.arange(6)
VALUES = np.array([1.0, 0.0, 1.0, np.nan, 1.0, 1.0])
READINGS = Readings(time_s=TIMES, value=VALUES, step_s=MINUTE)
AT_S = START_S + 6 * MINUTE


def test_a_run_ends_with_a_sample_and_not_with_a_missing_one():
    """The last run of ones begins after the zero; the sample without a value does not end it."""
    assert READINGS.held_since(VALUES > 0, AT_S) == START_S + 2 * MINUTE
    assert READINGS.held_since(VALUES > 1, AT_S) is None
    assert READINGS.held_since(np.ones(6, dtype=bool), AT_S) == START_S


def test_what_is_not_fresh_is_missing():
    """Fifteen minutes after the last sample its value counts no more."""
    assert READINGS.newest(AT_S + 900) == 1.0
    assert READINGS.newest(AT_S + 901) is None
    assert READINGS.held_since(VALUES > 0, AT_S + 901) is None


def test_a_run_does_not_cross_a_hole():
    """An hour without samples may hide anything, so the run begins after it."""
    times = np.array([START_S, START_S + 3600, START_S + 3660])
    holed = Readings(time_s=times, value=np.ones(3), step_s=MINUTE)

    assert holed.held_since(np.ones(3, dtype=bool), START_S + 3720) == START_S + 3600


def test_reads_and_writes_are_added():
    """The use of a storage ceiling is both together; where one is missing, it is not known."""
    both = watched.situation(served=80e6)
    only_reads = situation_of(
        builders.snapshot({Metric.READ_BYTES_PER_S: np.ones(10)}), watched.diagnosis(), at_s=START_S + 600
    )

    assert both.uses[Family.INSTANCE_EBS_THROUGHPUT].ratio_now(END_S) == 0.8
    assert only_reads.uses[Family.INSTANCE_EBS_THROUGHPUT].used is None


def test_an_instance_has_the_families_that_bound_it():
    """Families without a ceiling and without a row are not watched; only a bucket has a balance."""
    one = watched.situation()

    assert set(one.uses) == {Family.INSTANCE_EBS_THROUGHPUT, Family.VOLUME_THROUGHPUT}
    assert balance_families(one) == (Family.INSTANCE_EBS_THROUGHPUT,)
