"""The report as one page."""

import json
import re
from functools import cache
from importlib.resources import files

import msgspec
import pytest
import vl_convert

from pages import PageReader
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from unit.reports.fixture_diagnosis import CASES, page_of, pressed
from unit.reports.fixture_parts import DAY_S, START_S, snapshot, wobble


@cache
def page(case):
    """A fixture rendered once."""
    return page_of(*CASES[case]())


@pytest.mark.parametrize("case", CASES)
def test_the_text_of_a_page_is_that_of_the_report(case):
    """Every sentence of the diagnosis stands in the page."""
    diagnosis, _ = CASES[case]()
    shown = " ".join(" ".join(PageReader(page(case)).text).split())
    texts = [diagnosis.source, diagnosis.note]
    texts += [part for f in diagnosis.findings for part in (f.title, f.text, *f.moves)]
    texts += [part for m in diagnosis.missing for part in (m.name, m.hides, m.remedy)]
    texts += [part for r in diagnosis.resources for part in (r.name, r.note)]
    texts += [b.text for b in diagnosis.buckets] + [f.text for f in diagnosis.forecasts]
    if diagnosis.intervals:
        main = diagnosis.intervals[2]
        texts += [e.text for e in main.evidence] + [r.reason for r in main.ruled_out]
        texts += [main.refuted_by, main.context, "seen at 1 s", *diagnosis.instance.pending]
        texts += [a.text for a in diagnosis.annotations if a.kind is not EventKind.BACKUP]

    assert [] == [sentence for sentence in texts if sentence not in shown]


def test_a_hostile_name_stays_text():
    """Markup in any text of the diagnosis is shown, never run; it cannot end a script either."""
    diagnosis, shot = pressed()
    name = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'"
    evil = msgspec.structs.replace(
        diagnosis,
        instance=msgspec.structs.replace(diagnosis.instance, identifier=name, engine=name),
        source=name,
        note=name,
        missing=(msgspec.structs.replace(diagnosis.missing[0], name=name),),
        findings=(msgspec.structs.replace(diagnosis.findings[0], title=name, moves=(name,)),),
        intervals=(msgspec.structs.replace(diagnosis.intervals[2], context=name),),
        annotations=(msgspec.structs.replace(diagnosis.annotations[0], text=name),),
    )
    note = msgspec.structs.replace(shot.annotations[0], text=name)
    text = page_of(evil, msgspec.structs.replace(shot, annotations=(note,)))
    found = PageReader(text)

    assert "<script>alert" not in text
    assert "<img" not in text
    assert not [a for a in found.attributes if a[1].startswith("on")]
    assert text.count("<script") == page("pressed").count("<script")
    assert name in " ".join(found.text)


def test_the_document_for_the_script_is_json():
    """What the script reads is JSON that holds the specification and every sample."""
    found = re.search(r'<script type="application/json" id="document">(.*?)</script>', page("pressed"))
    document = json.loads(found[1])

    assert {1440} == {len(column) for column in document["columns"].values()}
    assert [] == document["spec"]["datasets"]["samples"]
    assert [1000 * START_S, 1000 * (START_S + DAY_S)] == document["window_ms"]
    assert {name for name, *_ in document["readout"]} <= document["columns"].keys()


def test_the_drawing_is_there_without_scripts():
    """The static drawing stands in the page itself, with the labels of its ceilings."""
    text = page("pressed")
    drawing = text[text.index('id="chart"') : text.index("<figcaption>")]

    assert "<svg" in drawing
    assert "instance legacy baseline 212.5 MB/s" in drawing
    assert "instance burst 593.75 MB/s" in drawing
    assert "<noscript>" in text


def test_every_colour_of_the_chart_is_defined_in_light_and_dark():
    """Those of the chart have a value in every scheme."""
    text = page("pressed")
    style = text[text.index("<style>") : text.index("</style>")]
    drawn = set(re.findall(r"var\((--[a-z-]+)\)", text[text.index('id="chart"') :]))

    assert [] == sorted(name for name in drawn if style.count(f"{name}: #") != 3)


def test_a_long_window_stays_small():
    """Two weeks of minutes with every panel make a page below two megabytes."""
    n = 14 * 24 * 60
    columns = {
        metric: 1e8 * (1 + wobble(n, salt, 0.5)) for salt, metric in enumerate(Metric) if "ratio" not in metric.value
    }
    balance = {m: 0.5 + wobble(n, 9, 0.4) for m in Metric if "ratio" in m.value}
    diagnosis = msgspec.structs.replace(pressed()[0], window_s=(START_S, START_S + 14 * DAY_S))
    text = page_of(diagnosis, snapshot(columns | balance))

    assert "Reduced for drawing" in text
    assert len(text.encode()) < 2_000_000


def test_a_page_without_samples_has_no_chart():
    """Where nothing was measured there is no empty frame, and the library stays at home."""
    diagnosis, shot = CASES["unknown"]()
    text = page_of(diagnosis, msgspec.structs.replace(shot, series={}))

    assert 'id="chart"' not in text
    assert len(text) < 60_000


def test_the_banner_of_simulated_data_comes_first():
    """It stands above everything; a measured report has none."""
    assert page("pressed").index("Simulated data</strong>") < page("pressed").index("<h1>")
    assert "imulated data" not in page("quiet")


def test_the_script_is_javascript():
    """The bundler, which parses what it is given, accepts the script of the page."""
    script = (files("plimsoll.reports") / "templates" / "report.js").read_text(encoding="utf-8")

    assert "ResizeObserver" in vl_convert.javascript_bundle(script)
    with pytest.raises(RuntimeError, match="bundl"):
        vl_convert.javascript_bundle(script + "}")
