"""Counters of a host become rates; wraps are mended, restarts are gaps, devices are chosen."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.model.metric import Metric
from plimsoll.sources.prometheus.node import Counted, busiest, cpu_count, differing_labels, disks_of, latest, rates_of

START_MS = 1_615_161_600_000
WRAP_S = 2**32 / 1000


def counter(name: str, value, *, step_s: float = 15, at=None, **labels: str) -> Counted:
    values = np.asarray(value, dtype=float)
    times = step_s * np.arange(values.size) if at is None else np.asarray(at)
    return Counted(
        labels={"__name__": f"node_{name}", "instance": "db1:9100", **labels},
        time_ms=START_MS + 250 + np.round(1000 * times).astype(np.int64),
        value=values,
    )


def disk(device: str = "sda", **counters) -> list[Counted]:
    return [counter(f"disk_{n}_total", v, device=device) for n, v in counters.items()]


def rate(metric: Metric, series, devices=("sda",)) -> list[float]:
    (found,) = rates_of(series, devices)
    return found.columns[metric].tolist()


def test_rates_are_growth_per_second_and_stand_at_the_start_of_their_step():
    """Bytes and operations per second, time per operation, time of all per time passed."""
    series = disk(
        reads_completed=[0, 150, 150],
        read_bytes=[0, 1_500_000, 1_500_000],
        read_time_seconds=[0, 0.3, 0.3],
        io_time_weighted_seconds=[0, 30, 30],
    )
    (found,) = rates_of(series, ["sda"])

    assert 15 == found.step_s
    assert [1_615_161_600, 1_615_161_615] == found.time_s.tolist()
    assert [10, 0] == found.columns[Metric.READ_OPS_PER_S].tolist()
    assert [100_000, 0] == found.columns[Metric.READ_BYTES_PER_S].tolist()
    assert [2, 0] == found.columns[Metric.QUEUE_DEPTH].tolist()
    np.testing.assert_allclose([0.002, np.nan], found.columns[Metric.READ_LATENCY_S])
    assert Metric.WRITE_OPS_PER_S not in found.columns


AT_S = [0, 15, 30, 45, 105, 120, 1920, 1935]


@pytest.mark.parametrize(
    ("metric", "series", "expected"),
    [
        pytest.param(
            *(Metric.READ_OPS_PER_S, disk(reads_completed=[900, 1050, 5, 155]), [10, np.nan, 10]),
            id="after a restart it counts from zero; what it grew before is not known",
        ),
        # The kernel keeps milliseconds in 32 bits; at a queue depth of 100 they wrap twice a day.
        (Metric.READ_LATENCY_S, disk(reads_completed=[0, 1500], read_time_seconds=[WRAP_S - 1, 2.0]), [3 / 1500]),
        (Metric.QUEUE_DEPTH, disk(io_time_weighted_seconds=[WRAP_S - 10, 5.0]), [1.0]),
        pytest.param(
            Metric.READ_LATENCY_S,
            disk(reads_completed=[100, 1600], read_time_seconds=[5000.0, 1.0]),
            [np.nan],
            id="a time that begins anew is not taken for a wrap",
        ),
        pytest.param(
            Metric.READ_OPS_PER_S,
            [counter("disk_reads_completed_total", 10 * np.array(AT_S), at=AT_S, device="sda")],
            [10, 10, 10, 10, 10, np.nan, 10],
            id="the mean over a minute still tells the rate; over half an hour not",
        ),
    ],
)
def test_wraps_are_mended_and_restarts_are_gaps(metric, series, expected):
    """One scrape tells no rate."""
    assert expected == pytest.approx(rate(metric, series), nan_ok=True)
    assert [] == rates_of(disk(reads_completed=[5]), ["sda"])


@given(
    steps=st.lists(st.integers(0, 10_000), min_size=2, max_size=30), restarts=st.sets(st.integers(1, 29), max_size=3)
)
def test_no_rate_is_negative_and_none_is_too_high(steps, restarts):
    """Whatever the counter does, a rate is what it grew, or nothing."""
    counted, total = [], 0
    for index, grown in enumerate(steps):
        total = grown if index in restarts else total + grown
        counted.append(total)
    (found,) = rates_of(disk(reads_completed=counted), ["sda"])
    values = found.columns[Metric.READ_OPS_PER_S]
    known = values[np.isfinite(values)]

    assert (known >= 0).all()
    assert known.size == 0 or known.max() <= max(steps) / 15 + 1e-9


def test_disks_that_are_counted_together_add_up():
    """Operations and bytes add; latency is that of all operations; one missing makes a gap."""
    series = disk("a", reads_completed=[0, 100], read_time_seconds=[0, 0.1])
    series += disk("b", reads_completed=[0, 300], read_time_seconds=[0, 0.9])

    assert [400 / 15] == rate(Metric.READ_OPS_PER_S, series, ("a", "b"))
    assert [pytest.approx(1.0 / 400)] == rate(Metric.READ_LATENCY_S, series, ("a", "b"))
    (found,) = rates_of(series, ("a", "b", "c"))
    assert Metric.READ_OPS_PER_S not in found.columns


def test_waiting_for_a_disk_is_no_work_and_stolen_time_is():
    """Of two processors, half a second a second idles, a quarter waits: five eighths work."""
    series = [
        counter("cpu_seconds_total", [0, 7.5], cpu="0", mode="idle"),
        counter("cpu_seconds_total", [0, 0.0], cpu="1", mode="idle"),
        counter("cpu_seconds_total", [0, 3.75], cpu="1", mode="iowait"),
    ]

    assert [pytest.approx(0.625)] == rate(Metric.CPU_RATIO, series)
    assert 2 == cpu_count(series)


def test_memory_load_and_network_are_those_of_the_machine():
    """Levels are as found at the end of a step; bridges and loopback are not counted."""
    series = [
        counter("memory_MemAvailable_bytes", [1, 2]),
        counter("memory_SwapTotal_bytes", [9, 9]),
        counter("memory_SwapFree_bytes", [9, 4]),
        counter("load1", [0, 0.5]),
        *(
            counter("network_receive_bytes_total", [0, 150 * n], device=name)
            for n, name in enumerate(("lo", "ens5", "docker0", "eth1"))
        ),
    ]
    (found,) = rates_of(series, [])

    assert [2] == found.columns[Metric.FREEABLE_MEMORY_BYTES].tolist()
    assert [5] == found.columns[Metric.SWAP_BYTES].tolist()
    assert [0.5] == found.columns[Metric.LOAD_AVERAGE].tolist()
    assert [40] == found.columns[Metric.NETWORK_RECEIVE_BYTES_PER_S].tolist()
    assert 2 == latest(series, "node_memory_MemAvailable_bytes")
    assert None is latest(series, "node_absent")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("sda", "sda1", "sdb"), ["sda", "sdb"]),
        (("nvme0n1", "nvme0n1p1", "nvme1n1", "dm-0"), ["nvme0n1", "nvme1n1"]),
        (("dm-0", "dm-1"), ["dm-0", "dm-1"]),
        (("xvda1",), ["xvda1"]),
        (("mmcblk0", "mmcblk0p1"), ["mmcblk0"]),
        (("md0", "vda", "vda2"), ["vda"]),
        ((), []),
    ],
)
def test_disks_are_the_whole_ones(names, expected):
    """What lies on them or is made of them is counted with them."""
    series = [s for n in names for s in disk(n, read_bytes=[0, 1])]

    assert expected == disks_of(series)


def test_the_busiest_disk_moved_most_bytes_in_the_window():
    """Not most since boot; a restart counts what came after it."""
    series = disk("a", read_bytes=[1e12, 1e12 + 5], written_bytes=[0, 0])
    series += disk("b", read_bytes=[50, 10, 20], written_bytes=[0, 1])

    assert "b" == busiest(series, ["a", "b"])
    assert "a" == busiest(series, ["a"])
    assert "x" == busiest([], ["x", "y"])


def test_two_targets_of_a_host_are_not_mixed():
    """After a move the counters start anew under another label; no rate spans both."""
    before = disk(reads_completed=[0, 150])
    after = [
        Counted(labels={**s.labels, "pod": "other"}, time_ms=s.time_ms + 30_000, value=s.value + 1e6) for s in before
    ]
    found = rates_of([*before, *after], ["sda"])

    assert [[10.0], [10.0]] == [p.columns[Metric.READ_OPS_PER_S].tolist() for p in found]


def moved(series: list[Counted], shift_ms: int, more: float, **labels: str) -> list[Counted]:
    """The same counters by another scraper: later, further, with other labels."""
    return [Counted(labels={**s.labels, **labels}, time_ms=s.time_ms + shift_ms, value=s.value + more) for s in series]


def test_a_host_scraped_by_a_pair_of_servers_is_counted_once():
    """The longer history is used, the other one where that has ended; nothing is interleaved."""
    one = disk(reads_completed=150 * np.arange(20))
    two = moved(one[:], 7_000, 70, prometheus_replica="b")
    two = [Counted(labels=s.labels, time_ms=s.time_ms[:10], value=s.value[:10]) for s in two]
    later = moved(two, 15_000 * 30, 9e6, pod="c")
    found = rates_of([*two, *one, *later], ["sda"])

    assert [19, 9] == [p.time_s.size for p in found]
    assert {10.0} == {v for p in found for v in p.columns[Metric.READ_OPS_PER_S].tolist()}


def test_two_hosts_of_one_name_are_told_apart_by_their_idle_time():
    """Equal addresses in two networks are two hosts; two scrapers of one host are not."""
    one = [counter("cpu_seconds_total", 5e5 + 15 * np.arange(20), cpu="0", mode="idle")]
    same = moved(one, 7_000, 7, replica="b")
    other = moved(one, 7_000, 4e5, cluster="b")
    after = moved(one, 15_000 * 30, -4e5, cluster="c")

    assert {} == differing_labels([*one, *same, *after])
    assert {"cluster": ["", "b"]} == differing_labels([*one, *other])
