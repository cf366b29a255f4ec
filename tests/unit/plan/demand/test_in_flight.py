"""What clients ask for behind a ceiling, by how many of their requests are in flight."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll.plan.demand.in_flight import asked_by_waiting, follow_waiting
from plimsoll.plan.demand.throttled import Episode, MeasuredDemand, ThrottledSteps
from unit.plan.demand import test_overload as overload

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
    """Four hours at the ceiling, before which 2,000 a second were seen."""
    return replace(overload.stretch(CEILING, free=(FREE,) * 30, hours=4), waiting=11.0)


def held() -> ThrottledSteps:
    ones = np.ones(N)
    return replace(
        overload.throttled_of(stretch()), is_held=ones > 0, is_partly=ones < 0, ceiling_ops_per_s=CEILING * ones
    )


def clients() -> np.ndarray:
    """Twenty, as many as ask for 2,000 a second of a storage that takes 1 ms; sixty in the last hour."""
    return np.where(np.arange(N) < 180, 20.0, 60.0)


def test_three_times_the_clients_ask_for_three_times_as_much_though_the_rate_is_flat():
    """N/(r + Z): 2,000 a second at first, as was seen before the ceiling bound, then 6,000."""
    asked = asked_by_waiting(seen_of(clients()), held(), stretch(), FREE)

    assert (2000, 6000) == pytest.approx((asked[10], asked[-10]))


def test_a_rate_that_is_no_higher_than_the_ceiling_tells_nothing_of_pauses():
    """Then the demand stays what it is thought to be."""
    assert asked_by_waiting(seen_of(clients()), held(), stretch(), CEILING) is None
    ops = np.full(N, 1234.0)
    follow_waiting(ops, seen_of(clients()), held(), stretch(), CEILING)

    assert (1234.0 == ops).all()
