"""Cells with their units, in tables as Grafana draws and downloads them."""

import numpy as np
import pytest

from plimsoll.model.metric import BY_CLOUDWATCH_NAME, Metric
from plimsoll.sources.export.read import read_export

START_S = 1_795_176_000
COUNT = 30
NAMES = ("ReadIOPS", "WriteIOPS", "ReadThroughput", "WriteThroughput", "ReadLatency")
READ = (
    Metric.READ_OPS_PER_S,
    Metric.WRITE_OPS_PER_S,
    Metric.READ_BYTES_PER_S,
    Metric.WRITE_BYTES_PER_S,
    Metric.READ_LATENCY_S,
)
RAW = np.array([[1000.0 + 10 * n, 3830.0, 52.4e6 + 1e5 * n, 0.0, 0.00095 + 1e-5 * n] for n in range(COUNT)])
YACE = tuple(f"aws_rds_{n}_average" for n in ("read_iops", "write_iops", "read_throughput"))
YACE = (*YACE, "aws_rds_write_throughput_average", "aws_rds_read_latency_average")


def written(heads, cells):
    """A table with a column of times."""
    lines = [",".join(["Time", *heads])]
    lines += [",".join([f"{1000 * (START_S + 60 * n)}", *row]) for n, row in enumerate(cells)]
    return "\n".join(lines) + "\n"


def raw():
    return [[repr(float(v)) for v in row] for row in RAW]


def drawn(row):
    """A row as Grafana draws it."""
    reads, writes, read_bytes, _, latency = row
    return (
        f"{reads / 1000:.2f}K io/s" if reads >= 1000 else f"{reads:.0f} io/s",
        f"{writes / 1000:.2f}K io/s",
        f"{read_bytes / 1e6:.1f} MB/s",
        "0 B/s",
        f"{latency * 1000:.2f} ms",
    )


SHAPES = {
    "formatted values": written(NAMES, [drawn(row) for row in RAW]),
    "names in braces": written(
        [f'"{{__name__=""{n}"", dimension_DBInstanceIdentifier=""orders""}}"' for n in YACE], raw()
    ),
    "names before braces": written(
        [f'"{n}{{dimension_DBInstanceIdentifier=""orders"", job=""yace""}}"' for n in YACE], raw()
    ),
    "for Excel": "\ufeffsep=,\r\n" + written(NAMES, raw()),
    "panel titles": written(
        ("Read IOPS", "Write IOPS", "Read Throughput", "Write Throughput", "Read Latency"), [drawn(row) for row in RAW]
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_grafana_is_read(shape, tmp_path):
    """Each gives the numbers that are drawn, in our units."""
    file = tmp_path / "panel.csv"
    file.write_text(SHAPES[shape])
    snapshot = read_export(file)

    assert set(READ) == snapshot.series.keys()
    for metric, values in zip(READ, RAW.T, strict=True):
        np.testing.assert_allclose(snapshot.series[metric].value, values, rtol=0.006)
    if "braces" in shape:
        assert "orders" == snapshot.instance.identifier


def test_a_panel_of_one_metric_is_named_by_its_file(tmp_path):
    """Grafana calls the file after the panel and the column after the legend."""
    file = tmp_path / "Read IOPS-data-2026-11-20 10_12_13.csv"
    file.write_text(written(["orders-primary"], [[row[0]] for row in raw()]))
    snapshot = read_export(file)

    assert "orders-primary" == snapshot.instance.identifier
    assert RAW[:, 0].tolist() == snapshot.series[Metric.READ_OPS_PER_S].value.tolist()


@pytest.mark.parametrize(
    ("name", "cells", "expected"),
    [
        ("ReadIOPS", ["1.2 K", "512", "3 Mil"], [1200.0, 512.0, 3e6]),
        # A number without a unit beside others that have one is of an unknown size.
        ("ReadIOPS", ["1.5 Kil", "2 K"], [2000.0]),
        ("ReadIOPS", ["5 io/s", "7"], [5.0]),
        # Binary, decimal and bits are three things.
        ("ReadThroughput", ["50 MiB/s", "50 MiB/s"], [50 * 1024**2] * 2),
        ("ReadThroughput", ["1 GB/s", "1 GB/s"], [1e9] * 2),
        ("ReadThroughput", ["400 Mb/s", "400 Mb/s"], [50e6] * 2),
        ("ReadThroughput", ["12.5 kB/s", "12.5 kB/s"], [12_500.0] * 2),
    ],
)
def test_units_in_cells_are_what_they_say(name, cells, expected, tmp_path):
    """What cannot be a number is left out."""
    file = tmp_path / "panel.csv"
    file.write_text(written([name], [[c] for c in cells]))
    (series,) = read_export(file).series.values()

    assert (BY_CLOUDWATCH_NAME[name], expected) == (series.metric, series.value.tolist())
