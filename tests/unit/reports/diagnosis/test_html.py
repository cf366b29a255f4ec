"""The report as one page."""

import json
import re
from functools import cache
from html.parser import HTMLParser
from importlib.resources import files

import msgspec
import pytest
import vl_convert

from plimsoll.model.metric import Metric
from plimsoll.model.snapshot import EventKind
from plimsoll.reports.diagnosis import html
from unit.reports.fixture_diagnosis import CASES, pressed
from unit.reports.fixture_parts import DAY_S, START_S, snapshot, wobble

VOID = {"meta", "link", "br", "img", "hr", "input"}


@cache
def page(case):
    """A fixture rendered once."""
    return html.render_html(*CASES[case]())


def without_library(text):
    """The page without the bundled library, which is not ours to hold."""
    return text.replace(html.vega_script(), "")


class Reader(HTMLParser):
    """What a browser would see: tags in balance, ids, headings, references, text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.headings, self.references = [], [], [], []
        self.attributes, self.text, self.wrong = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [given["id"]] if "id" in given else []
        self.headings += [int(tag[1])] if re.fullmatch(r"h[1-6]", tag) else []
        self.references += [v for k, v in attrs if k in ("href", "src", "srcset", "action", "data")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("script", "style"):
            self.text.append(data)


def read(case):
    """A fixture's page as a browser would see it."""
    return Reader(without_library(page(case)))


def leaving(found):
    """References to anything but a place on the same page that exists."""
    return [r for r in found.references if r[:1] != "#" or r[1:] not in found.ids]


@pytest.mark.parametrize("case", CASES)
def test_pages_are_well_formed(case):
    """Every tag is closed, every id is there once, headings start at one and skip no level."""
    found = read(case)
    steps = [b - a for a, b in zip(found.headings, found.headings[1:], strict=False)]

    assert [] == found.open
    assert [] == found.wrong
    assert len(set(found.ids)) == len(found.ids)
    assert 1 == found.headings.count(1) == found.headings[0]
    assert max(steps) <= 1


@pytest.mark.parametrize("case", CASES)
def test_pages_load_nothing(case):
    """No reference leaves the page, no style imports, and the page forbids itself the network."""
    text = without_library(page(case))
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    allowed = {
        *("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"),
        "https://vega.github.io/schema/vega-lite/v6.json",
    }

    assert ["data:,"] == leaving(read(case))
    assert addresses <= allowed
    assert "default-src 'none'" in text
    assert "@import" not in text
    assert [] == re.findall(r"url\((?!#clip-[0-9a-f]{8}-\d+\))", text)


@pytest.mark.parametrize("case", CASES)
def test_the_text_of_a_page_is_that_of_the_report(case):
    """Every sentence of the diagnosis stands in the page."""
    diagnosis, _ = CASES[case]()
    shown = " ".join(" ".join(read(case).text).split())
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
    text = without_library(html.render_html(evil, msgspec.structs.replace(shot, annotations=(note,))))
    found = Reader(text)

    assert "<script>alert" not in text
    assert "<img" not in text
    assert not [a for a in found.attributes if a[1].startswith("on")]
    assert text.count("<script") == without_library(page("pressed")).count("<script")
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
    assert "<noscript>" in text


def test_every_colour_of_the_chart_is_defined_in_light_and_dark():
    """Each CSS variable that is used has a value; those of the chart have one in every scheme."""
    text = without_library(page("pressed"))
    used = set(re.findall(r"var\((--[a-z-]+)\)", text))
    style = text[text.index("<style>") : text.index("</style>")]
    drawn = set(re.findall(r"var\((--[a-z-]+)\)", text[text.index('id="chart"') :]))

    assert [] == sorted(name for name in used if f"{name}:" not in style)
    assert [] == sorted(name for name in drawn if style.count(f"{name}: #") != 3)


def test_equal_reports_are_equal_pages():
    """Rendering again gives the same text: no clock, no dice, no counters."""
    assert page("pressed") == html.render_html(*pressed())


def test_a_long_window_stays_small():
    """Two weeks of minutes with every panel make a page below two megabytes."""
    n = 14 * 24 * 60
    columns = {
        metric: 1e8 * (1 + wobble(n, salt, 0.5)) for salt, metric in enumerate(Metric) if "ratio" not in metric.value
    }
    balance = {m: 0.5 + wobble(n, 9, 0.4) for m in Metric if "ratio" in m.value}
    diagnosis = msgspec.structs.replace(pressed()[0], window_s=(START_S, START_S + 14 * DAY_S))
    text = html.render_html(diagnosis, snapshot(columns | balance))

    assert "Reduced for drawing" in text
    assert len(text.encode()) < 2_000_000


def test_a_page_without_samples_has_no_chart():
    """Where nothing was measured there is no empty frame, and the library stays at home."""
    diagnosis, shot = CASES["unknown"]()
    text = html.render_html(diagnosis, msgspec.structs.replace(shot, series={}))

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
