"""The timeline in block characters."""

import math

import msgspec
import numpy as np
import pytest

from plimsoll.model.metric import Metric
from plimsoll.reports.diagnosis.blocks import timeline_blocks
from unit.reports.fixture_diagnosis import pressed, quiet, unknown
from unit.reports.fixture_parts import BASELINE, DAY_S, HOUR_S, START_S, VOLUME_IOPS, snapshot


def drawn(read, *, write=None, window_s=(START_S, START_S + HOUR_S), width=70, **fields):
    """The quiet diagnosis over samples of one minute."""
    write = np.zeros(len(read)) if write is None else write
    shot = snapshot({Metric.READ_BYTES_PER_S: read, Metric.WRITE_BYTES_PER_S: write})
    diagnosis = msgspec.structs.replace(quiet()[0], window_s=window_s, **fields)
    return timeline_blocks(diagnosis, shot, width=width)


def rows_of(lines):
    """The ten rows of the picture, without the numbers at the left."""
    return [line.partition("┤")[2] for line in lines if "┤" in line]


def test_a_level_at_half_the_ceiling_fills_half_the_picture():
    """Reads and writes are stacked: 71.9 + 71.9 MB/s is half of 287.5 MB/s."""
    half = np.full(60, BASELINE.value / 4)
    rows = rows_of(drawn(half, write=half))
    filled = sum(row.startswith(("█", "▇", "▆", "▅", "▄", "▃", "▂", "▁")) for row in rows)

    assert 10 == len(rows)
    assert 5 == filled


def test_a_gap_is_a_dot_on_the_axis():
    """Where nothing was measured the axis is dotted, and the dots are explained."""
    read = np.full(60, 50e6)
    read[20:40] = math.nan
    lines = drawn(read)
    axis = next(line for line in lines if "└" in line)

    assert "····" in axis
    assert lines[-1].endswith("not measured")


def test_pegged_time_is_marked_under_the_axis():
    """The bar under the axis covers the pegged share of the window."""
    diagnosis, shot = pressed()
    bar = next(line for line in timeline_blocks(diagnosis, shot, width=80) if line.startswith(" ceiling"))
    main = msgspec.structs.replace(diagnosis, intervals=diagnosis.intervals[2:3])
    alone = next(line for line in timeline_blocks(main, shot, width=80) if line.startswith(" ceiling"))

    assert bar.count("▀") > alone.count("▀")
    assert 0.383 * 70 == pytest.approx(alone.count("▀"), abs=2)


@pytest.mark.parametrize(
    ("length_s", "label"),
    [(HOUR_S, "00:30"), (DAY_S, "12:00"), (3 * DAY_S, "03-09"), (60 * DAY_S, "03-"), (2, "00:00")],
)
def test_the_axis_has_round_moments(length_s, label):
    """Ticks are minutes, hours or days, whatever fits the window."""
    lines = drawn(np.full(60, 50e6), window_s=(START_S, START_S + length_s))
    axis = next(i for i, line in enumerate(lines) if "└" in line)

    assert label in lines[axis + 1]


def test_a_ceiling_beyond_the_picture_is_named():
    """A ceiling ten times above everything measured is named, not drawn."""
    lines = drawn(np.full(60, 1e3), ceilings=(BASELINE,), next_ceiling=None)

    assert "far above this chart: instance baseline 287.5 MB/s" in lines
    assert not any("┄" in line for line in lines)


def test_iops_are_drawn_when_there_is_no_throughput():
    """With operations only, they are what is shown."""
    shot = snapshot({Metric.READ_OPS_PER_S: np.full(60, 900.0), Metric.WRITE_OPS_PER_S: np.full(60, 100.0)})
    diagnosis = msgspec.structs.replace(quiet()[0], window_s=(START_S, START_S + HOUR_S), ceilings=(VOLUME_IOPS,))

    assert timeline_blocks(diagnosis, shot, width=70)[0].startswith("IOPS, reads + writes")


def test_nothing_to_draw_is_no_picture():
    """No samples, no room or no window: no lines."""
    diagnosis, shot = pressed()
    instant = msgspec.structs.replace(diagnosis, window_s=(START_S, START_S))

    assert [] == timeline_blocks(*unknown(), width=80)
    assert [] == timeline_blocks(diagnosis, shot, width=15)
    assert [] == timeline_blocks(instant, shot, width=80)
    assert [] == drawn(np.full(60, math.nan))


def test_an_idle_database_has_a_picture():
    """All zeros are measured zeros: an empty picture under the ceiling, no failure."""
    lines = drawn(np.zeros(60))

    assert 10 == len(rows_of(lines))
    assert not any("█" in line for line in lines)
