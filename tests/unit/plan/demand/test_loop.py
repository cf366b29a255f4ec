"""Open or closed: simulated databases whose clients are known."""

import numpy as np
import pytest

import builders
from plimsoll.catalog.load import catalog
from plimsoll.diagnosis.diagnose import diagnose
from plimsoll.kernel import Stage
from plimsoll.model.metric import Metric
from plimsoll.model.plan import Judgement, LoadResponse
from plimsoll.model.series import FloatArray
from plimsoll.model.snapshot import Snapshot
from plimsoll.plan.demand.loop import loop_of
from plimsoll.plan.demand.recovery import Demand, recover
from plimsoll.plan.demand.throttled import seen_of, throttled_of
from plimsoll.plan.judge.effect import judge

SIZE = 16 * 1024
BASE_S = 0.0008
THINK_S = 0.004
CEILING_OPS = 6000.0
N = 12 * builders.HOUR


def clients(most: int, *, think_s: float = THINK_S) -> tuple[dict, FloatArray, FloatArray]:
    """
    Twelve simulated hours of clients who wait: 8 of them, and `most` in the middle four.

    X = N/(r0 + Z) while that is below the ceiling; at it R = N/X − Z.
    """
    rng = np.random.default_rng(4)
    count = np.full(N, 8.0) * builders.wander(rng, N, 0.1, memory=0.98)
    count[4 * builders.HOUR : 8 * builders.HOUR] = most
    free = count / (BASE_S + think_s)
    ops = np.minimum(free, CEILING_OPS * (1 + rng.normal(0, 0.001, N)))
    latency = np.where(ops < free, count / ops - think_s, BASE_S)
    return builders.storage(ops * SIZE, size_bytes=SIZE, latency_s=latency), count, ops


def fixed(bytes_per_s: float) -> tuple[Stage, ...]:
    return (Stage(name="a", baseline=bytes_per_s, burst=bytes_per_s, counts="bytes"),)


def recovered(*parts) -> Demand:
    snapshot: Snapshot = builders.snapshot(*parts)
    return recover(snapshot, diagnose(snapshot, catalog()))


def test_counted_clients_decide_what_rates_alone_cannot():
    """
    60 clients with 4 ms of their own and 0.8 ms of storage would ask 12,500 times a second: that passes a
    ceiling of 18,000, and not one of 7,200. Without connections the loop is unknown, and they are named.
    """
    storage, count, ops = clients(60)
    counted = recovered(
        storage,
        {
            Metric.CONNECTION_COUNT: 25 + count,
            Metric.TRANSACTIONS_PER_S: ops / 10,
            Metric.WAITING_WORK_COUNT: np.zeros(N),
        },
    )
    blind = recovered(storage)
    asked = counted.summary.peak_ops_per_s.high

    assert (counted.summary.loop, blind.summary.loop) == (LoadResponse.CLOSED, LoadResponse.UNKNOWN)
    assert "clients wait" in counted.summary.loop_reason
    assert "connections" in blind.summary.loop_reason
    assert asked == pytest.approx(60 / (BASE_S + THINK_S), rel=0.2)
    assert judge(counted, fixed(18_000 * SIZE)).judgement == Judgement.LIFTS
    assert judge(counted, fixed(7_200 * SIZE)).judgement == Judgement.DOES_NOT
    assert judge(blind, fixed(18_000 * SIZE)).judgement == Judgement.UNSURE
    assert judge(blind, fixed(7_200 * SIZE)).judgement == Judgement.UNSURE


def test_a_connection_for_each_request_does_not_tell_open_from_closed():
    """
    Requests from outside that open a connection each are explained by what is in flight, as clients
    are: nothing is reported, and the missing metric is named.
    """
    rng = np.random.default_rng(4)
    asked = 2500 * builders.wander(rng, N, 0.1, memory=0.98)
    asked[4 * builders.HOUR : 8 * builders.HOUR] = 1.5 * CEILING_OPS
    ops = np.minimum(asked, CEILING_OPS * (1 + rng.normal(0, 0.001, N)))
    latency = np.where(ops < asked, 0.006, BASE_S)
    storage = builders.storage(ops * SIZE, size_bytes=SIZE, latency_s=latency)
    summary = recovered(storage, {Metric.CONNECTION_COUNT: 20 + ops * latency}).summary

    assert summary.loop == LoadResponse.UNKNOWN
    assert "outside requests with one connection each" in summary.loop_reason
    assert "a counted queue outside the database, would decide" in summary.loop_reason


def test_sessions_that_pile_up_outside_storage_are_an_open_loop():
    """Fifty sessions at work beyond those in storage, only while the ceiling binds, come from outside."""
    storage, _, ops = clients(60)
    in_flight = ops * storage[Metric.READ_LATENCY_S]
    pressed = np.zeros(N)
    pressed[4 * builders.HOUR : 8 * builders.HOUR] = 50
    demand = recovered(storage, {Metric.ACTIVE_SESSION_COUNT: in_flight + pressed})

    assert demand.summary.loop == LoadResponse.OPEN
    assert "pile up" in demand.summary.loop_reason


def test_work_that_waits_outside_is_an_open_loop():
    """A queue of ten thousand jobs while the ceiling binds says that they came anyway."""
    storage, _, ops = clients(60)
    waiting = np.zeros(N)
    waiting[4 * builders.HOUR : 8 * builders.HOUR] = np.linspace(10_000, 0, 4 * builders.HOUR)
    demand = recovered(storage, {Metric.WAITING_WORK_COUNT: waiting, Metric.TRANSACTIONS_PER_S: ops / 10})

    assert demand.summary.loop == LoadResponse.OPEN
    assert "waited outside the database" in demand.summary.loop_reason


def test_a_queue_that_is_worked_off_keeps_what_came():
    """What leaves it is what is done; a queue that stands, or empties faster, loses some."""
    storage, _, ops = clients(60)
    done = ops / 10
    behind = slice(4 * builders.HOUR, 8 * builders.HOUR)
    kept = np.zeros(N)
    each_minute = np.cumsum(np.where(np.arange(4 * builders.HOUR) < 100, 0.3, -0.2143) * 60 * 600)
    kept[behind] = np.maximum(each_minute, 0)
    stands = np.zeros(N)
    stands[behind] = 50_000
    gives_up = np.zeros(N)
    gives_up[behind] = np.linspace(20_000_000, 0, 4 * builders.HOUR)

    def is_kept(waiting: FloatArray) -> bool:
        snapshot = builders.snapshot(storage, {Metric.WAITING_WORK_COUNT: waiting, Metric.TRANSACTIONS_PER_S: done})
        seen = seen_of(snapshot)
        return loop_of(snapshot, seen, throttled_of(seen, diagnose(snapshot, catalog()))).is_all_done

    assert is_kept(kept)
    assert not is_kept(stands)
    assert not is_kept(gives_up)
