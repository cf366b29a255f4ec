"""The timeline as a specification, and its pictures."""

import struct
from xml.etree import ElementTree as ET

import altair as alt
import msgspec
import numpy as np
import pytest

from plimsoll.model.ceiling import Dimension
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import Annotation
from plimsoll.reports.chart.drawing import svg as drawing_of
from plimsoll.reports.chart.drawing import write_png
from plimsoll.reports.chart.look import DARK, LIGHT, page_look
from plimsoll.reports.diagnosis import chart as charts
from unit.reports.fixture_diagnosis import CASES, pressed, quiet, unknown
from unit.reports.fixture_parts import DAY_S, START_S, snapshot, wobble


def titles(spec):
    """The names of the panels, from top to bottom."""
    found = []
    for panel in spec["vconcat"]:
        layer = next(x for x in panel["layer"] if x.get("name") == "title")
        found.append(layer["encoding"]["text"]["value"])
    return [t["expr"] if isinstance(t, dict) else t for t in found]


def contrast(one, other):
    """Contrast of two colours after WCAG 2.1, 1 to 21."""

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("look", [LIGHT, page_look()])
def test_specifications_satisfy_the_schema_of_vega_lite(case, look):
    """Altair, which carries the Vega-Lite schema, accepts every specification."""
    spec = charts.timeline_spec(*CASES[case](), look=look)

    alt.VConcatChart.validate(spec)


def test_panels_are_those_that_were_measured():
    """Throughput, IOPS, latency, queue, balances and CPU, in this order; what is missing is left out."""
    names = ["Throughput", "IOPS", "Latency", "Queue", "Credits", "CPU"]
    full = titles(charts.timeline_spec(*pressed()))
    bare = titles(charts.timeline_spec(*unknown()))

    assert all(name in title for name, title in zip(names, full, strict=True))
    assert ["CPU, %"] == bare


def test_what_bound_comes_first():
    """When IOPS bound, their panel is the large one on top."""
    diagnosis, shot = pressed()
    at = msgspec.structs.replace(diagnosis.binding, dimension=Dimension.IOPS)
    spec = charts.timeline_spec(msgspec.structs.replace(diagnosis, binding=at), shot)

    assert "IOPS" in titles(spec)[0]
    assert spec["vconcat"][0]["height"] > spec["vconcat"][1]["height"]


def test_nothing_measured_is_reported():
    """Without any series there is one empty panel that says so, and it can be drawn."""
    diagnosis, _ = unknown()
    spec = charts.timeline_spec(diagnosis, snapshot({}))

    assert ["Nothing was measured"] == titles(spec)
    assert "Nothing was measured" in drawing_of(spec)


def test_a_long_window_is_reduced_and_says_so():
    """Two weeks of minutes become at most 1,500 points with a band of extremes; no spike is lost."""
    n = 14 * 24 * 60
    rate = 5e7 + wobble(n, 1, 1e7)
    rate[12_345] = 9e8
    shot = snapshot({Metric.READ_BYTES_PER_S: rate, Metric.WRITE_BYTES_PER_S: rate})
    diagnosis = msgspec.structs.replace(quiet()[0], window_s=(START_S, START_S + 14 * DAY_S))
    samples = charts.chart_samples(diagnosis, shot)
    rows = charts.timeline_spec(diagnosis, shot)["datasets"]["samples"]

    assert 14 * 24 * 4 == len(rows) <= charts.POINTS_MAX
    assert 1800.0 == max(row["rate_high"] for row in rows)
    assert "each point is the mean of 15 min" in charts.caption(samples)
    assert "smallest and largest" in charts.caption(samples)


def test_a_day_of_minutes_is_drawn_as_it_is():
    """What fits is not reduced, and has no band."""
    diagnosis, shot = pressed()
    rows = charts.timeline_spec(diagnosis, shot)["datasets"]["samples"]

    assert 1440 == len(rows)
    assert "rate_low" not in rows[0]
    assert charts.caption(charts.chart_samples(diagnosis, shot)).startswith("Each point")


def test_gaps_are_null_and_zero_latency_is_a_gap():
    """NaN is null in the table of samples; a logarithmic axis has no zero."""
    latency = np.array([0.0, 1e-3, np.nan, 2e-3])
    shot = snapshot({Metric.READ_LATENCY_S: latency})
    diagnosis = msgspec.structs.replace(unknown()[0], window_s=(START_S, START_S + 240))
    rows = charts.timeline_spec(diagnosis, shot)["datasets"]["samples"]

    assert [None, 1.0, None, 2.0] == [row["read_ms"] for row in rows]


@pytest.mark.parametrize("value", [0.0, 1e-9, 1e-3, 1e3])
def test_any_latency_has_an_axis(value):
    """One value, tiny or huge, still has whole decades around it; only zeros have no panel."""
    shot = snapshot({Metric.READ_LATENCY_S: np.full(60, value)})
    spec = charts.timeline_spec(unknown()[0], shot)

    assert ("Latency, ms" in titles(spec)) == (value > 0)
    assert "NaN" not in drawing_of(spec)


def test_simulated_data_is_called_so_in_the_drawing():
    """A picture that travels alone still says so, above its first panel and under its title."""
    drawing = drawing_of(charts.timeline_spec(*pressed()))

    assert "SIMULATED DATA" in drawing
    assert "Throughput, MB/s · simulated data" in drawing
    assert "imulated" not in drawing_of(charts.timeline_spec(*quiet()))


def test_notes_that_would_meet_stand_in_rows():
    """Three notes at once take three rows, a fourth keeps only its line, one elsewhere the first row."""
    diagnosis, shot = pressed()
    times = [START_S + 3600] * 4 + [START_S + 20 * 3600, START_S - 60]
    notes = tuple(Annotation(time_s=t, text=f"note number {n}") for n, t in enumerate(times))
    spec = charts.timeline_spec(diagnosis, msgspec.structs.replace(shot, annotations=notes))
    drawing = drawing_of(spec)
    rows = {
        layer["data"]["values"][0]["label"]: layer["encoding"]["y"]["value"]
        for layer in spec["vconcat"][0]["layer"]
        if "label" in str(layer["encoding"].get("text")) and "x" in layer["encoding"]
        if "t" in layer["data"]["values"][0]
    }

    assert {"note number 0": 6, "note number 1": 21, "note number 2": 36, "note number 4": 6} == rows
    assert "note number 3" not in drawing
    assert "note number 5" not in drawing


def test_hostile_text_stays_text():
    """Markup in an annotation or a name is escaped, and the drawing is still XML."""
    diagnosis, shot = pressed()
    note = Annotation(time_s=START_S + 60, text="<script>alert(1)</script> & 'clip3'")
    shot = msgspec.structs.replace(shot, annotations=(note,))
    drawing = drawing_of(charts.timeline_spec(diagnosis, shot))
    texts = [e.text for e in ET.fromstring(drawing).iter() if e.tag.endswith("}text")]

    assert "<script" not in drawing
    assert note.text in texts


def test_a_picture_is_written(tmp_path):
    """A PNG of about 1,600 pixels for the README."""
    spec = charts.timeline_spec(*pressed())
    write_png(tmp_path / "timeline.png", spec)
    png = (tmp_path / "timeline.png").read_bytes()

    assert b"\x89PNG\r\n\x1a\n" == png[:8]
    assert 1500 < struct.unpack(">I", png[16:20])[0] < 1800


@pytest.mark.parametrize("look", [LIGHT, DARK])
def test_colours_can_be_distinguished_from_the_page_and_from_each_other(look):
    """Text has a contrast of 4.5 : 1, what is drawn 3 : 1, and reads and writes differ in lightness."""
    text = [look.ink, look.quiet, look.bound]
    marks = [look.reads, look.writes]
    marks += [look.byte_balance, look.io_balance, look.volume_balance]

    assert 4.5 < min(contrast(color, look.surface) for color in text)
    assert 3.0 < min(contrast(color, look.surface) for color in marks)
    assert 2.2 < contrast(look.reads, look.writes)


def test_what_serverless_has_is_drawn():
    """Capacity in use and what is left of local storage have panels, where they were measured."""
    diagnosis, shot = quiet()
    n = DAY_S // 60
    more = snapshot({Metric.CAPACITY_RATIO: np.full(n, 0.5), Metric.FREE_LOCAL_STORAGE_BYTES: np.full(n, 2e10)})
    both = msgspec.structs.replace(shot, series={**shot.series, **more.series})
    without, drawn = (titles(charts.timeline_spec(diagnosis, s)) for s in (shot, both))

    assert [*without, "Capacity in use, %", "Local storage left, GiB"] == drawn
