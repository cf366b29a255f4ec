"""Leaks and storms, in simulated sessions: each where it must and must not be."""

import pytest

import databases as db
from crowds import crowd, found, observed


@pytest.mark.parametrize(
    ("counts", "is_leak"),
    [
        ([10] * 6, False),
        # Up and down.
        ([4, 20, 4, 20, 4, 22], False),
        # A pool opens.
        ([4, 22, 22, 22, 22, 22], False),
        # Less than half more, and only four more.
        ([20, 21, 22, 23, 24, 25], False),
        ([4, 5, 6, 7, 8, 8], False),
        # One fall in twenty steps is a restart; a fall in every third is a pool that breathes as it grows.
        ([4 + 2 * n - 3 * (n > 10) for n in range(21)], True),
        ([4 + 3 * (n // 3) + 2 * (n % 3) for n in range(21)], False),
        # Pools of a service that has just started, on a machine where each connection takes a while.
        ([8, 11, 14, 17, 20, 23, 26, 26, 26, 26, 26], False),
        ([8, 11, 14, 17, 20, 23, 24, 25, 26, 26, 26], False),
        ([8, 10, 11, 13, 15, 17, 19, 21, 23, 25, 26], True),
        # It is slower at the end, and still rises.
        ([8, 11, 14, 16, 18, 20, 22, 23, 24, 25, 26], True),
    ],
)
def test_a_rise_that_goes_on_is_a_leak(counts: list[int], is_leak: bool):
    """Swings, pools that open at once or fill and stop, and small growth are not called leaks."""
    assert is_leak is ("ConnectionLeak" in found(observed([crowd(n) for n in counts])))


def test_a_leak_of_a_service_at_work_is_one():
    """Some of its connections run a statement at the moment of a sample: then fewer are idle, and none is gone."""
    idle = [4, 4, 3, 5, 5, 4, 6, 8, 7, 9, 11, 10, 13]
    all_of_it = [4, 4, 5, 5, 6, 6, 7, 8, 9, 10, 11, 12, 13]
    rows = [
        crowd(n, application="leaky") + crowd(m - n, 5000, application="leaky", state="active")
        for n, m in zip(idle, all_of_it, strict=True)
    ]

    assert "ConnectionLeak" in found(observed(rows))


def test_a_leak_needs_time():
    """Ten glances within nine seconds show no steady rise."""
    rows = [crowd(4 + 2 * n) for n in range(10)]

    assert "ConnectionLeak" not in found(observed(rows, every_s=0.9))


def test_a_sudden_rise_is_a_storm():
    """1,000 to 2,500 in 12 seconds, as in the pooled cluster of 2021."""
    result = db.server(connection_max=8000)
    rows = [crowd(n, state="active") for n in (600, 1000, 1400, 1900, 2300, 2500, 2500)]
    cause = found(observed(rows, every_s=4.0, info=result))["ConnectionStorm"]

    assert cause.severity == "warning"
    assert cause.title == "Connections rose from 600 to 1,900 within 12 s"
    assert "600 to 1,900 active" in {piece.text for piece in cause.evidence}


@pytest.mark.parametrize(("rose_to", "severity"), [(77, "warning"), (78, "critical")])
def test_a_storm_is_critical_where_it_nearly_fills_the_server(rose_to: int, severity: str):
    """Four fifths of the 97 connections that others than superusers may take are 77.6."""
    storm = found(observed([crowd(10), crowd(rose_to)]))["ConnectionStorm"]

    assert severity == storm.severity


@pytest.mark.parametrize("counts", [(0, 8), (40, 59), (200, 219)])
def test_a_small_rise_is_no_storm(counts: tuple[int, int]):
    """Fewer than twenty more, or less than half as many again."""
    result = db.server(connection_max=500)

    assert "ConnectionStorm" not in found(observed([crowd(n) for n in counts], info=result))
