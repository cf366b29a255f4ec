"""Conversions at the edges, and numbers as people read them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll import units
from plimsoll.units import (
    format_bytes,
    format_bytes_per_s,
    format_clock,
    format_duration,
    format_latency,
    format_ops_per_s,
    format_ratio,
    format_time,
    in_cases,
    number,
)

NAN = float("nan")


@pytest.mark.parametrize(
    ("converted", "si"),
    [
        (units.mb_per_s(212.5), 212_500_000),
        (units.mbit_per_s(2300), 287_500_000),
        (units.gbit_per_s(10), 1_250_000_000),
        (units.mib_per_s(128), 134_217_728),
        (units.gib(1), 1_073_741_824),
        (units.kib(256), 262_144),
        (units.ratio_of_percent(87.3), 0.873),
    ],
)
def test_what_is_published_becomes_si(converted, si):
    """Decimal MB/s and Mbit/s, binary MiB/s and GiB, and percentages become bytes, seconds and ratios."""
    assert si == pytest.approx(converted)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (18_750, 4, "18,750"),
        (86.875, 5, "86.875"),
        (86.875, 4, "86.88"),
        (212.5, 4, "212.5"),
        (0.24, 2, "0.24"),
        (0.0512, 3, "0.051"),
        (1234.56, 4, "1,235"),
        (0, 4, "0"),
        (-3.25, 3, "-3.25"),
        (1e9, 4, "1,000,000,000"),
        (99.999, 4, "100"),
        (NAN, 4, "unknown"),
        (float("inf"), 4, "unknown"),
    ],
)
def test_numbers_are_read_without_exponent(value, digits, text):
    """Thousands are separated, fractions keep their significant digits and lose trailing zeros."""
    assert text == number(value, digits)


@given(st.floats(1e-3, 1e12), st.integers(2, 6))
def test_a_number_reads_back_near_itself(value, digits):
    """What is printed is within its last digit of what was meant, and never an exponent."""
    text = number(value, digits)

    assert re.fullmatch(r"[\d,]+(\.\d+)?", text)
    assert value == pytest.approx(float(text.replace(",", "")), rel=10.0 ** (1 - digits), abs=10.0**-digits)


@pytest.mark.parametrize(("value", "text"), [(212.5e6, "212.5 MB/s"), (1e9, "1,000 MB/s"), (86.875e6, "86.88 MB/s")])
def test_throughput_is_read_in_decimal_megabytes(value, text):
    """Throughput is told in MB/s, as instance limits are sold."""
    assert text == format_bytes_per_s(value)


def test_operations_are_read_whole():
    """IOPS have no fraction and are unknown where they are not measured."""
    assert "18,750 IOPS" == format_ops_per_s(18_750.4)
    assert "unknown" == format_ops_per_s(NAN)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (512, "512 B"),
        (16_384, "16 KiB"),
        (14_540, "14.2 KiB"),
        (1024**2, "1 MiB"),
        (600e9, "559 GiB"),
        (3 * 1024**4, "3 TiB"),
        (NAN, "unknown"),
    ],
)
def test_bytes_are_read_in_the_largest_binary_unit(value, text):
    """The number stays at or above one."""
    assert text == format_bytes(value)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0062, "6.2 ms"), (0.1, "100 ms"), (2.5, "2,500 ms"), (45e-6, "45 µs"), (NAN, "unknown")]
)
def test_latency_is_read_in_milliseconds(seconds, text):
    """Below a tenth of a millisecond it is told in microseconds."""
    assert text == format_latency(seconds)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.873, "87 %"),
        (0.0512, "5.1 %"),
        (0.0995, "10 %"),
        (0, "0 %"),
        (1, "100 %"),
        (-0.05, "-5.0 %"),
        (NAN, "unknown"),
    ],
)
def test_ratios_are_read_as_percentages(ratio, text):
    """Below ten percent one decimal is told, zero has none."""
    assert text == format_ratio(ratio)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (45, "45 s"),
        (59.6, "1 min"),
        (300, "5 min"),
        (3599, "1 h"),
        (7500, "2 h 5 min"),
        (7200, "2 h"),
        (47 * 3600 + 1800, "47 h 30 min"),
        (48 * 3600, "2 d"),
        (273_600, "3 d 4 h"),
        (NAN, "unknown"),
    ],
)
def test_durations_are_read_in_their_two_largest_units(seconds, text):
    """Seconds below a minute, minutes below an hour, hours up to two days, then days."""
    assert text == format_duration(seconds)


def test_moments_are_utc():
    """A moment is told in UTC, to the second for machines, to the minute in sentences."""
    assert "2021-03-08T10:14:00Z" == format_time(1_615_198_440)
    assert "2021-03-08 10:14" == format_clock(1_615_198_440)


@pytest.mark.parametrize(
    ("chance", "expected"),
    [
        (0.0, "fewer than 1 of 100"),
        (0.0556, "6 of 100"),
        (0.33, "3 of 10"),
        (0.7, "7 of 10"),
        (0.94, "9 of 10"),
        (0.96, "96 of 100"),
        (1.0, "99 of 100"),
    ],
)
def test_a_chance_is_said_in_cases(chance: float, expected: str):
    """In tenths, near the ends in hundredths, and never none or all."""
    assert expected == in_cases(chance)
