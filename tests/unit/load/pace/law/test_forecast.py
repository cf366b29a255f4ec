"""A balance that was measured minutes ago, rolled forward to now."""

import math

import pytest

from paced import MB, T3
from plimsoll.load.pace.law.forecast import DeviceRate, balance_now

BUCKET = T3[0]


def rate(start_s: float, end_s: float, bytes_per_s: float) -> DeviceRate:
    return DeviceRate(start_s=start_s, end_s=end_s, bytes_per_s=bytes_per_s, ops_per_s=1000)


UNMEASURED = DeviceRate(start_s=0, end_s=60, bytes_per_s=math.nan, ops_per_s=10_000)


@pytest.mark.parametrize(
    ("balance", "now_s", "rates", "change_mb"),
    [
        # Two minutes at 300 MB/s take 120 × (300 − 87) MB of credits.
        (0.9, 120, [rate(-60, 120, 300 * MB)], 120 * (87 - 300)),
        # Each interval counts for its time.
        (0.5, 120, [rate(0, 60, 300 * MB), rate(60, 120, 0)], 60 * (87 - 300) + 60 * 87),
        # Bytes that were not measured follow from operations: ten thousand of 16 KiB are 164 MB/s.
        (0.5, 60, [UNMEASURED], 60 * (87 - 163.84)),
        # A balance stays between empty and full.
        (1.0, 1e4, [rate(0, 1, 0)], 0),
        (0.0, 1e4, [rate(0, 1, 1e9)], 0),
        # That of this moment is itself, and without any rate nothing is assumed.
        (0.4, -10, [rate(0, 1, 1e8)], 0),
        (0.4, 0, [rate(0, 1, 1e8)], 0),
        (0.4, 100, [], 0),
    ],
)
def test_a_balance_is_rolled_forward_by_what_was_taken_since(balance, now_s, rates, change_mb):
    found = balance_now(BUCKET, balance, measured_s=0, now_s=now_s, rates=rates)

    assert balance + change_mb * MB / BUCKET.capacity == pytest.approx(found)
