"""Two readings of a host become rates; wraps are corrected, new devices are gaps."""

from dataclasses import replace
from math import isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.model.metric import Metric
from plimsoll.sources.host.counters import CpuCounters, DiskCounters, MemoryBytes, NetworkCounters
from plimsoll.sources.host.rates import HostReading, disk_difference, rates_between

ZERO = DiskCounters(read_ops=0, read_sectors=0, read_ms=0, write_ops=0, write_sectors=0, write_ms=0, weighted_ms=0)
WORKED = DiskCounters(
    read_ops=200, read_sectors=3200, read_ms=1000, write_ops=100, write_sectors=25600, write_ms=4000, weighted_ms=5000
)


def reading(moment_s: float, **disks: DiskCounters) -> HostReading:
    return HostReading(moment_s=moment_s, disks=disks)


def test_rates_are_differences_per_second():
    """Sectors are 512 bytes; latency is time per operation; queue depth is time of all per time."""
    rates = rates_between(reading(10.0, sda=ZERO), reading(12.0, sda=WORKED), ("sda",))

    assert 3200 * 512 / 2 == rates[Metric.READ_BYTES_PER_S]
    assert 25600 * 512 / 2 == rates[Metric.WRITE_BYTES_PER_S]
    assert 100 == rates[Metric.READ_OPS_PER_S]
    assert 50 == rates[Metric.WRITE_OPS_PER_S]
    assert 0.005 == rates[Metric.READ_LATENCY_S]
    assert 0.040 == rates[Metric.WRITE_LATENCY_S]
    assert 2.5 == rates[Metric.QUEUE_DEPTH]


def test_devices_that_are_recorded_together_are_added_up():
    """Operations and bytes add; the latency is that of all operations, not the mean of two means."""
    slow = replace(WORKED, read_ops=100, read_ms=2000)

    rates = rates_between(reading(0, a=ZERO, b=ZERO), reading(1, a=WORKED, b=slow), devices=("a", "b"))

    assert 300 == rates[Metric.READ_OPS_PER_S]
    assert 2 * 25600 * 512 == rates[Metric.WRITE_BYTES_PER_S]
    assert 3.0 / 300 == rates[Metric.READ_LATENCY_S]
    assert 10.0 == rates[Metric.QUEUE_DEPTH]


def test_without_an_operation_there_is_no_latency():
    """An idle disk has rates of zero and a latency that says nothing."""
    rates = rates_between(reading(0, sda=WORKED), reading(1, sda=WORKED), ("sda",))

    assert 0 == rates[Metric.READ_OPS_PER_S]
    assert isnan(rates[Metric.READ_LATENCY_S])
    assert isnan(rates[Metric.WRITE_LATENCY_S])


def test_times_that_wrapped_at_32_bits_are_corrected():
    """The kernel keeps milliseconds in 32 bits: 700 before the wrap and 300 after it are a second."""
    before = replace(WORKED, read_ms=2**32 - 700, weighted_ms=2**32 - 700)
    after = replace(WORKED, read_ops=300, read_ms=300, weighted_ms=300)

    rates = rates_between(reading(0, sda=before), reading(2, sda=after), ("sda",))

    assert 0.010 == rates[Metric.READ_LATENCY_S]
    assert 0.5 == rates[Metric.QUEUE_DEPTH]
    longest = disk_difference(replace(WORKED, read_ms=1), replace(WORKED, read_ms=0))
    assert longest is not None
    assert 2**32 - 1 == longest.read_ms


@pytest.mark.parametrize(
    ("before", "after", "devices"),
    [
        # Counters of operations do not wrap; when one falls, the device is another one.
        (reading(0, a=WORKED), reading(1, a=ZERO), ("a",)),
        (reading(0, a=WORKED), reading(1, a=replace(WORKED, read_ops=3)), ("a",)),
        # A sum that lacks one of its devices would be too low, so it is not given.
        (reading(0, a=ZERO, b=ZERO), reading(1, a=WORKED), ("a", "b")),
        (reading(0, a=ZERO), reading(1, a=WORKED, b=WORKED), ("a", "b")),
    ],
)
def test_a_device_that_begins_again_or_is_away_is_a_gap(before, after, devices):
    assert {} == rates_between(before, after, devices)


def test_network_rates_stop_where_an_interface_was_reset():
    """
    Bytes per second in each direction; a counter that fell gives nothing. Memory, swap, load and free
    storage are not differences but those found at the end.
    """
    before = replace(reading(0), network=NetworkCounters(received_bytes=1000, sent_bytes=50))
    after = replace(
        reading(2),
        network=NetworkCounters(received_bytes=5000, sent_bytes=150),
        memory=MemoryBytes(total_bytes=8, available_bytes=5, swap_bytes=1),
        load_average=0.5,
        free_storage_bytes=7,
    )

    assert {
        Metric.NETWORK_RECEIVE_BYTES_PER_S: 2000,
        Metric.NETWORK_TRANSMIT_BYTES_PER_S: 50,
        Metric.FREEABLE_MEMORY_BYTES: 5,
        Metric.SWAP_BYTES: 1,
        Metric.LOAD_AVERAGE: 0.5,
        Metric.FREE_STORAGE_BYTES: 7,
    } == rates_between(before, after, ("gone",))
    assert {} == rates_between(replace(after, moment_s=0), replace(before, moment_s=1), ("gone",))


@pytest.mark.parametrize(
    ("busy", "idle", "ratio"),
    [
        pytest.param(400, 200, 0.75, id="three of four ticks, however long the step was"),
        pytest.param(150, 99, 1.0, id="the kernel documents that iowait may decrease"),
    ],
)
def test_processor_time_is_a_ratio_of_its_own_ticks(busy: int, idle: int, ratio: float):
    before, after = (
        replace(reading(at), cpu=CpuCounters(busy_ticks=b, idle_ticks=i, cpu_count=2))
        for at, b, i in ((0, 100, 100), (1, busy, idle))
    )

    assert ratio == rates_between(before, after, ("gone",))[Metric.CPU_RATIO]


counters = st.builds(
    DiskCounters,
    **{name: st.integers(0, 2**32 - 1 if name.endswith("_ms") else 2**62) for name in DiskCounters.__slots__},
)


@given(counters, counters, st.floats(0.5, 1e6))
def test_no_rate_is_ever_negative(before: DiskCounters, after: DiskCounters, elapsed_s: float):
    """Whatever two readings say, rates are not below zero, and either all are given or none."""
    rates = rates_between(reading(0, d=before), reading(elapsed_s, d=after), ("d",))

    assert len(rates) in {0, 7}
    assert all(isnan(value) or value >= 0 for value in rates.values())


def test_time_stands_still_only_by_our_mistake():
    """A difference over no time is refused."""
    with pytest.raises(AssertionError):
        rates_between(reading(1), reading(1), ("gone",))
