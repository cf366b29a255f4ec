"""A sweep as text, JSON, page and picture."""

import json

import msgspec
import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from plimsoll.app.render import render
from plimsoll.errors import UsageError
from plimsoll_lab.model.sweep import Estimate, SweepReport
from plimsoll_lab.reports.drawn import drawn_sweeps
from plimsoll_lab.reports.sweep.chart import sweep_spec, write_sweep_picture
from plimsoll_lab.reports.sweep.json import render_sweep_json
from plimsoll_lab.reports.sweep.outline import estimate, sweep_outline
from unit.reports.fixture_sweep import report


def test_every_limit_stands_with_its_range():
    """Both phases, each with operations, throughput, knee, and the unit where it shows."""
    baseline, burst = sweep_outline(report()).groups

    assert dict(baseline.limits)["operations"].startswith("300 ± ")
    assert dict(baseline.limits)["accounting unit"].endswith("charged as the larger one")
    assert dict(burst.limits)["throughput"].startswith("134.2 ± ")
    assert "accounting unit" not in dict(burst.limits)
    assert "merged to 256 KiB" in baseline.merged


@pytest.mark.parametrize(
    ("found", "unit", "expected"),
    [
        (None, "ops/s", "not reached"),
        (Estimate(value=1000), "ops/s", "1,000 IOPS, range unknown"),
        (Estimate(value=1000, low=1, high=1e9), "ops/s", "1,000 IOPS, range unknown"),
        (Estimate(value=250e6, low=249.3e6, high=250.7e6), "bytes/s", "250 ± 0.7 MB/s"),
        (Estimate(value=262144, low=260096, high=264192), "bytes", "256 ± 2.0 KiB"),
        (Estimate(value=18750, low=18650, high=18850), "ops/s", "18,750 ± 100 IOPS"),
    ],
)
def test_a_number_is_never_reported_without_its_range(found, unit, expected):
    """Or that there is none."""
    assert expected == estimate(found, unit)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_its_width_and_says_everything(width):
    """Rates, limits, what is known, what was published, what cannot be reported."""
    text = render(drawn_sweeps((report(), report())), width=width)

    assert max(cell_len(line) for line in text.splitlines()) <= width
    for sentence in ("READS, BASELINE", "READS, BURST", "scattered", "256 KiB", "+2.2 %", "-0.3 %"):
        assert sentence in text
    assert 2 == text.count("COMPARED WITH PUBLISHED NUMBERS")
    assert "\x1b" not in text


def test_json_holds_all_points_and_comes_back():
    """The document names its schema; each configuration can be read again."""
    document = json.loads(render_sweep_json([report()]))

    assert "plimsoll.sweep/1" == document["schema"]
    (back,) = msgspec.convert(document["configurations"], type=list[SweepReport])
    assert report() == back


def test_the_page_has_the_charts():
    """One for each report, and one script."""
    page = render(drawn_sweeps((report(), report())), "html")

    assert (2, 1) == (page.count("<figure"), page.count("<script"))


def test_names_from_outside_are_escaped():
    """A path may hold anything."""
    odd = replace(report().sweep, subject="<b>\x1b[31m</b>")
    odd_report = replace(report(), sweep=odd)

    assert "<b>" not in render(drawn_sweeps((odd_report,)), "html")
    assert "\x1b" not in render(drawn_sweeps((odd_report,)), width=80)


def test_the_chart_is_a_valid_specification():
    """Altair's schema of Vega-Lite accepts it."""
    import altair as alt

    alt.VConcatChart.from_dict(sweep_spec([report()]), validate=True)


def test_the_model_line_bends_at_the_knee():
    """Level in operations up to the knee, falling from there on."""
    spec = sweep_spec([report()])
    operations = spec["vconcat"][0]["hconcat"][1]["layer"][0]["data"]["values"]
    baseline = [row for row in operations if "baseline" in row["group"]]

    assert [300, 300, 75] == [round(row["ops"]) for row in baseline]
    assert pytest.approx(256, rel=0.01) == baseline[1]["kib"]


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_pictures_are_written(kind, tmp_path):
    """Whole files of the kind that their name says."""
    path = tmp_path / f"chart.{kind}"

    write_sweep_picture(path, [report()])

    assert path.read_bytes().startswith(b"\x89PNG" if kind == "png" else b"<svg")


def test_other_pictures_are_refused(tmp_path):
    """One sentence."""
    with pytest.raises(UsageError, match="does not end in"):
        write_sweep_picture(tmp_path / "chart.gif", [report()])


def test_what_did_not_come_as_asked_is_shown():
    """A megabyte that came in pieces of 704,512 bytes."""
    first = report().sweep.points[-1]
    split = replace(first, ops_per_s=first.bytes_per_s / 704_512)
    sweep = replace(report().sweep, points=(*report().sweep.points[:-1], split))

    group = sweep_outline(replace(report(), sweep=sweep)).groups[-1]

    assert group.has_came_as
    assert "688 KiB" == group.rows[-1].came_as
