"""A balance that was measured minutes ago, rolled forward to now."""

import math

import pytest

from paced import MB, T3
from plimsoll.load.pace.law.forecast import DeviceRate, balance_now

BUCKET = T3[0]


def rate(start_s: float, end_s: float, bytes_per_s: float) -> DeviceRate:
    return DeviceRate(start_s=start_s, end_s=end_s, bytes_per_s=bytes_per_s, ops_per_s=1000)


def test_what_was_taken_since_is_subtracted():
    """Two minutes at 300 MB/s take 120 × (300 − 87) MB of credits."""
    found = balance_now(BUCKET, 0.9, measured_s=0, now_s=120, rates=[rate(-60, 120, 300 * MB)])

    assert 0.9 - 120 * 213 * MB / BUCKET.capacity == pytest.approx(found)


def test_each_interval_counts_for_its_time():
    rates = [rate(0, 60, 300 * MB), rate(60, 120, 0)]
    found = balance_now(BUCKET, 0.5, measured_s=0, now_s=120, rates=rates)

    change = (60 * (87 - 300) + 60 * 87) * MB
    assert 0.5 + change / BUCKET.capacity == pytest.approx(found)


def test_bytes_that_were_not_measured_follow_from_operations():
    """Ten thousand operations of 16 KiB take 164 MB/s."""
    one = DeviceRate(start_s=0, end_s=60, bytes_per_s=math.nan, ops_per_s=10_000)
    found = balance_now(BUCKET, 0.5, measured_s=0, now_s=60, rates=[one])

    assert 0.5 - 60 * (163.84 - 87) * MB / BUCKET.capacity == pytest.approx(found)


def test_a_balance_stays_between_empty_and_full():
    full = balance_now(BUCKET, 1.0, measured_s=0, now_s=1e4, rates=[rate(0, 1, 0)])
    empty = balance_now(BUCKET, 0.0, measured_s=0, now_s=1e4, rates=[rate(0, 1, 1e9)])

    assert (0.0, 1.0) == (empty, full)


@pytest.mark.parametrize("now_s", [-10, 0])
def test_a_balance_of_this_moment_is_itself(now_s):
    assert 0.4 == balance_now(BUCKET, 0.4, measured_s=0, now_s=now_s, rates=[rate(0, 1, 1e8)])


def test_without_any_rate_nothing_is_assumed():
    assert 0.4 == balance_now(BUCKET, 0.4, measured_s=0, now_s=100, rates=[])
