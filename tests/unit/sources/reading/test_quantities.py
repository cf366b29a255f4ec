import pytest

from plimsoll.model.metric import METRICS, Metric
from plimsoll.sources.reading.quantities import factor_of, is_unit
from plimsoll.units import KIB, MIB


@pytest.mark.parametrize(
    ("unit", "metric", "factor"),
    [
        ("Bytes/Second", Metric.READ_BYTES_PER_S, 1),
        ("Kilobytes/Second", Metric.READ_BYTES_PER_S, 1e3),
        ("Megabytes/Second", Metric.READ_BYTES_PER_S, 1e6),
        ("MB/s", Metric.READ_BYTES_PER_S, 1e6),
        ("MiB/s", Metric.READ_BYTES_PER_S, MIB),
        ("KiB/s", Metric.READ_BYTES_PER_S, KIB),
        ("Megabits/Second", Metric.READ_BYTES_PER_S, 125_000),
        ("Mb/s", Metric.READ_BYTES_PER_S, 125_000),
        ("By/s", Metric.READ_BYTES_PER_S, 1),
        ("Count/Second", Metric.READ_OPS_PER_S, 1),
        ("{Count}/s", Metric.READ_OPS_PER_S, 1),
        ("IOPS", Metric.READ_OPS_PER_S, 1),
        ("Seconds", Metric.READ_LATENCY_S, 1),
        ("Milliseconds", Metric.READ_LATENCY_S, 1e-3),
        ("us", Metric.READ_LATENCY_S, 1e-6),
        ("Percent", Metric.CPU_RATIO, 0.01),
        ("%", Metric.BYTE_BALANCE_RATIO, 0.01),
        ("ratio", Metric.CPU_RATIO, 1),
        ("Bytes", Metric.FREEABLE_MEMORY_BYTES, 1),
        ("GiB", Metric.FREE_STORAGE_BYTES, 2**30),
        ("Count", Metric.CONNECTION_COUNT, 1),
        ("Credits (vCPU-minutes)", Metric.CPU_CREDITS, 1),
    ],
)
def test_a_written_unit_is_honoured(unit, metric, factor):
    assert factor_of(unit, metric) == pytest.approx(factor, rel=1e-15)


@pytest.mark.parametrize("metric", Metric)
def test_without_a_unit_it_is_cloudwatchs_own(metric):
    for unit in (None, "", "None", "1"):
        assert factor_of(unit, metric) == METRICS[metric].scale


@pytest.mark.parametrize(
    ("unit", "metric"),
    [
        ("Percent", Metric.READ_OPS_PER_S),
        ("Seconds", Metric.READ_BYTES_PER_S),
        ("Bytes", Metric.READ_BYTES_PER_S),
        ("Bytes/Second", Metric.FREE_STORAGE_BYTES),
        ("Megabytes/Second", Metric.CPU_RATIO),
        ("Parsec", Metric.READ_LATENCY_S),
        ("IOPS", Metric.READ_LATENCY_S),
    ],
)
def test_a_unit_of_another_quantity_is_refused(unit, metric):
    """Better no series than one that is wrong by a factor of a million."""
    assert factor_of(unit, metric) is None


def test_what_is_a_unit():
    assert is_unit("MB/s")
    assert is_unit("%")
    assert not is_unit("orders")
    assert not is_unit("1")
