"""What clients ask for behind a ceiling, by how many of their requests are in flight."""

import numpy as np
import pytest

from plimsoll.plan.demand.in_flight import asked_by_waiting, follow_waiting
from plimsoll.plan.demand.throttled import CeilingRun, Episode, MeasuredDemand, ThrottledSteps

STEP, N = 60.0, 240
SERVICE_S, THINK_S, CEILING = 0.001, 0.009, 1000.0
FREE = 2000.0


def seen_of(clients: np.ndarray) -> MeasuredDemand:
    """What N clients are served behind 1,000 a second: R = N/X - Z, at 1 ms when nothing waits."""
    ones = np.ones(N)
    latency = clients / CEILING - THINK_S
    return MeasuredDemand(
        time_s=60 * np.arange(N),
        step_s=STEP,
        is_measured=ones > 0,
        ops_per_s=CEILING * ones,
        io_size_bytes=1e4 * ones,
        base_latency_s=SERVICE_S * ones,
        latency_s=latency,
        log_excess=np.log(latency / SERVICE_S),
        has_size=True,
        is_reference_seen=True,
        counted_ratio=ones,
    )


def stretch() -> Episode:
    return Episode(
        runs=(CeilingRun(start=0, end=N, level_ops_per_s=CEILING, io_size_bytes=1e4),),
        floor_ops_per_s=CEILING,
        bound_ops_per_s=CEILING,
        mean_ops_per_s=CEILING,
        free_ops_per_s=np.full(30, FREE),
        length_s=N * STEP,
        pressed_count=0,
        waiting=11.0,
    )


def held() -> ThrottledSteps:
    ones = np.ones(N)
    return ThrottledSteps(
        is_held=ones > 0,
        full_log_rise=(0.0, 1.0),
        is_partly=ones < 0,
        unexplained_ratio=0.0,
        ceiling_ops_per_s=CEILING * ones,
        stretches=(stretch(),),
    )


def clients() -> np.ndarray:
    """Twenty, as many as ask for 2,000 a second of a storage that takes 1 ms; sixty in the last hour."""
    return np.where(np.arange(N) < 180, 20.0, 60.0)


def test_three_times_the_clients_ask_for_three_times_as_much_though_the_rate_is_flat():
    """N/(r + Z): 2,000 a second at first, as was seen before the ceiling bound, then 6,000."""
    asked = asked_by_waiting(seen_of(clients()), held(), stretch(), FREE)

    assert asked is not None
    assert (2000, 6000) == pytest.approx((asked[10], asked[-10]))


def test_a_rate_that_is_no_higher_than_the_ceiling_tells_nothing_of_pauses():
    """Then the demand stays what it is thought to be."""
    assert asked_by_waiting(seen_of(clients()), held(), stretch(), CEILING) is None
    ops = np.full(N, 1234.0)
    follow_waiting(ops, seen_of(clients()), held(), stretch(), CEILING)

    assert (1234.0 == ops).all()
