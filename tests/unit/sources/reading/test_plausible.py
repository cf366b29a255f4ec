"""Numbers that cannot be in the unit they are taken for."""

import numpy as np
import pytest

from plimsoll.model.instance import Instance
from plimsoll.model.metric import Metric
from plimsoll.model.series import Series
from plimsoll.model.snapshot import Gap
from plimsoll.sources.export.read import read_export
from plimsoll.sources.reading.plausible import in_their_units

TIMES = np.arange(1_000_000_020, 1_000_000_020 + 60 * 100, 60, dtype=np.int64)
NAMED = Instance()


def measured(**scales: float) -> dict[Metric, Series]:
    """A hundred minutes of 2,000 reads/s of 8 KiB at a millisecond, each metric times its scale."""
    wander = 1 + 0.1 * np.sin(np.arange(100))
    usual = {
        Metric.READ_OPS_PER_S: 2_000 * wander,
        Metric.READ_BYTES_PER_S: 2_000 * 8_192 * wander,
        Metric.READ_LATENCY_S: 1e-3 * wander,
        Metric.QUEUE_DEPTH: 2.0 * wander**2,
    }
    scaled = {m: values * scales.get(m.value, 1.0) for m, values in usual.items()}
    return {m: Series(metric=m, step_s=60, time_s=TIMES, value=values) for m, values in scaled.items()}


def checked(series: dict[Metric, Series], instance: Instance = NAMED) -> tuple[set[Metric], list[Gap]]:
    kept, gaps = in_their_units(series, instance)
    return set(kept), gaps


@pytest.mark.parametrize(
    ("scales", "instance"),
    [
        pytest.param({}, NAMED, id="8 KiB an operation and a millisecond each need no word"),
        # Aurora's WriteIOPS are log records, so its quotient is no size.
        ({"read_bytes_per_s": 1 / 1024}, Instance(engine="aurora-postgresql")),
        # 2,000 requests a second that take a second each are a queue of 2,000 (Little's law).
        ({"read_latency_s": 1e3, "queue_depth": 1e3}, NAMED),
        # Below one operation a second a mean size is that of a handful of requests.
        ({"read_ops_per_s": 1e-4, "read_bytes_per_s": 1e-8}, NAMED),
    ],
)
def test_what_storage_can_do_is_left_as_it_is(scales, instance):
    series = measured(**scales)

    assert (series, []) == in_their_units(series, instance)


@pytest.mark.parametrize(("scale", "size"), [(1e-6, "0.01 bytes"), (1 / 1024, "8 bytes"), (1e3, "7.81 MiB")])
def test_bytes_in_another_unit_are_left_out_with_their_operations(scale, size):
    """0.008 bytes an operation: MB/s or MiB/s, nobody knows, and a level is told to a percent."""
    kept, (gap,) = checked(measured(read_bytes_per_s=scale))

    assert {Metric.READ_LATENCY_S, Metric.QUEUE_DEPTH} == kept
    assert "ReadThroughput and ReadIOPS" == gap.metric
    assert f"together they give {size} per operation" in gap.reason
    assert "'ReadThroughput (MB/s)'" in gap.remedy


def test_operations_of_a_whole_minute_are_noticed_too():
    """A sum over a minute exported as a rate makes operations of 136 bytes: below a sector."""
    kept, _ = checked(measured(read_ops_per_s=60))

    assert Metric.READ_OPS_PER_S not in kept


@pytest.mark.parametrize("queue", [1.0, 0.0])
def test_milliseconds_are_understood_where_seconds_cannot_be(queue):
    """A second at best over the whole window, of a queue of two: that is a millisecond."""
    series = measured(read_latency_s=1e3, queue_depth=queue)
    kept, (gap,) = in_their_units(series, NAMED)

    assert kept[Metric.READ_LATENCY_S].value == pytest.approx(measured()[Metric.READ_LATENCY_S].value)
    assert "taken for milliseconds: as seconds, storage took 0.9" in gap.reason


def test_a_latency_that_fits_no_unit_is_left_out():
    """Microseconds read as seconds are a quarter of an hour; as milliseconds they would be slow storage."""
    kept, (gap,) = checked(measured(read_latency_s=1e6, queue_depth=0))

    assert Metric.READ_LATENCY_S not in kept
    assert "ReadLatency is not in seconds" in gap.reason


def test_an_export_in_megabytes_is_not_told_as_a_tiny_limit(tmp_path):
    """A wide table without units: its throughput is left out, and the report can say why."""
    rows = ["timestamp,ReadIOPS,WriteIOPS,ReadThroughput,WriteThroughput"]
    rows += [f"{int(t)},2000,1000,16.4,8.2" for t in TIMES]
    (tmp_path / "m.csv").write_text("\n".join(rows))

    with pytest.raises(Exception, match="per operation, which no storage does"):
        read_export(tmp_path / "m.csv")
