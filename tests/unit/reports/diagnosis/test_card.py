"""The share card: its size, what stands on it, and what never does."""

import re
import struct
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

import plans
from contract.tree import ROOT
from plimsoll import __version__
from plimsoll.app.diagnose import diagnose_snapshot
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.model.diagnosis import Diagnosis
from plimsoll.model.snapshot import Snapshot
from plimsoll.reports.chart.drawing import write_svg_as_png
from plimsoll.reports.chart.labels import text_width
from plimsoll.reports.diagnosis.card import HEIGHT, WIDTH, card_svg, fitted_text
from unit.reports.diagnosis import test_waiting
from unit.reports.fixture_diagnosis import CASES, pressed

SVG = "{http://www.w3.org/2000/svg}"
LONG = "WMwarehouse-" * 20
ARN = f"arn:aws:rds:eu-central-1:123456789012:db:{LONG}"


def example(name: str) -> tuple[Diagnosis, Snapshot]:
    """An example with its diagnosis."""
    snapshot = read_target(str(ROOT / "examples" / name), InstanceOptions())
    return diagnose_snapshot(snapshot), snapshot


CARDS: dict[str, Callable[[], tuple[Diagnosis, Snapshot]]] = {
    **CASES,
    "waiting": lambda: (test_waiting.FOUND, test_waiting.SHOT),
    "claims-pipeline": lambda: example("claims-pipeline"),
}


def texts(svg: str) -> list[ET.Element]:
    """The texts of a card; it is well-formed."""
    return list(ET.fromstring(svg).iter(f"{SVG}text"))


def words_of(svg: str) -> str:
    """All texts of a card, a line each."""
    return "\n".join(text.text or "" for text in texts(svg))


def named(name: str) -> tuple[Diagnosis, Snapshot]:
    """The pressed diagnosis of an instance with another name."""
    diagnosis, snapshot = pressed()
    return replace(diagnosis, instance=replace(diagnosis.instance, identifier=name)), snapshot


@pytest.mark.parametrize("case", ["pressed", "quiet", "unknown", "waiting"])
def test_golden(case: str, golden: Callable[[str, str], None]):
    """The drawing is what was reviewed, whatever the version."""
    golden(f"card/{case}.svg", card_svg(*CARDS[case]()).replace(__version__, "VERSION"))


def test_the_price_is_that_of_the_plan_of_the_same_run():
    """Without a plan there is no price; with one, the recommended step has it."""
    diagnosis, snapshot = example("claims-pipeline")

    assert "$" not in words_of(card_svg(diagnosis, snapshot))
    assert "Way past: +$0.67 a day, db.m6g.xlarge, storage as it is" in words_of(
        card_svg(diagnosis, snapshot, plans.claims())
    )
    assert "$" not in words_of(card_svg(diagnosis, snapshot, plans.nothing()))


@pytest.mark.parametrize(
    "name",
    ["orders", LONG, ARN, "<svg onload='x'>&\x1b[31m", "数据库" * 40],
    ids=["short", "long", "ARN", "markup", "wide letters"],
)
def test_every_text_fits_and_none_overlaps(name: str):
    """Whatever an instance is called, its class stays, and no line leaves the card or meets the next."""
    svg = card_svg(*named(name), plans.claims())
    placed = [(float(t.get("y", "0")), float(t.get("font-size", "0"))) for t in texts(svg)]
    rows = sorted(dict(sorted(placed)).items())

    assert "\x1b" not in svg
    assert "(db.r5.2xlarge)" in words_of(svg)
    for (y, size), text in zip(placed, words_of(svg).split("\n"), strict=True):
        assert size * cell_len(text) * 0.5 <= WIDTH - 96
        assert text_width(text, size) <= WIDTH - 96
        assert size >= 20
        assert size < y < HEIGHT
    assert all(y - 0.8 * size >= above for (above, _), (y, size) in pairwise(rows))


def test_no_account_source_or_note_stands_on_it():
    """An ARN is cut to its name; where the samples came from is not told."""
    diagnosis, snapshot = named(ARN)
    found = words_of(card_svg(replace(diagnosis, source="prom:http://u:secret@db.internal", note="ann"), snapshot))

    assert not re.search("123456789012|arn:|secret|internal|ann", found)


@pytest.mark.parametrize("case", CARDS)
def test_the_picture_has_the_size_of_a_preview(case: str, tmp_path):
    """1,200 × 630 pixels, as the header of the PNG says."""
    file = tmp_path / "card.png"
    write_svg_as_png(file, card_svg(*CARDS[case]()))
    head = file.read_bytes()[:24]

    assert b"\x89PNG" == head[:4]
    assert (WIDTH, HEIGHT) == struct.unpack(">II", head[16:24]) == (1200, 630)


def test_a_text_is_cut_with_an_ellipsis():
    """What fits stays whole."""
    assert "orders" == fitted_text("orders", 20, 200)
    assert fitted_text("orders" * 20, 20, 200).endswith("…")
    assert text_width(fitted_text("orders" * 20, 20, 200), 20) <= 200
