"""The ceiling curve as a picture."""

import re
from pathlib import Path
from typing import Any

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.errors import UsageError
from plimsoll.limits.sheet import sheet_of
from plimsoll.model.instance import Instance, Storage
from plimsoll.model.sheet import LimitSheet
from plimsoll.reports.limits.chart import limits_spec, write_chart


def sheet(db_class: str = "db.r5.2xlarge", **storage: Any) -> LimitSheet:
    bought = Storage(**({"kind": "gp2", "size_gib": 1000} | storage))
    return sheet_of(Instance(db_class=db_class, engine="postgres", storage=bought), catalog())


def texts(spec: dict[str, Any]) -> list[str]:
    """Every label of the specification."""
    found: list[str] = []
    for layer in spec["layer"]:
        for row in layer["data"]["values"]:
            text = row.get("text", [])
            found += text if isinstance(text, list) else [text]
    return found


def test_every_limit_is_labelled_with_number_and_unit():
    """Throughput at the right margin, IOPS along their lines, knees at their places."""
    labels = texts(limits_spec(sheet()))

    for label in (
        "593.75 MB/s",
        "287.5 MB/s",
        "1,048.6 MB/s (1,000 MiB/s)",
        "3,000 IOPS, volume baseline",
        "12,000 IOPS, instance baseline and volume burst",
        "knee 93.6 KiB",
        "knee 48.3 KiB",
        "baseline: forever",
        "burst: while credits last",
    ):
        assert label in labels


def test_a_limit_far_above_the_curve_is_left_out():
    """16,000 MiB/s over a curve of some hundred MB/s would only flatten it."""
    spec = limits_spec(sheet("db.t3.large", kind="io2", provisioned_ops_per_s=100_000))

    assert not any("MiB/s" in label for label in texts(spec))


def test_a_chain_without_credits_has_one_curve():
    """Without a burst there is no second line, and no name is needed for the first."""
    labels = texts(limits_spec(sheet("db.m3.large", kind="gp3", size_gib=100)))

    assert "baseline: forever" not in labels
    assert "burst: while credits last" not in labels


def test_the_specification_is_valid():
    """It keeps to the schema of Vega-Lite that Altair brings along."""
    import altair as alt

    alt.LayerChart.from_dict(limits_spec(sheet()))


def test_svg_and_html_load_nothing(tmp_path: Path):
    """The files are complete: no script, style, font or picture comes over the network."""
    for name in ("curve.svg", "curve.html"):
        write_chart(tmp_path / name, sheet())
        text = (tmp_path / name).read_text(encoding="utf-8")

        assert "knee 93.6 KiB" in text
        assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=[\"']?https?:", text)
        assert "@import" not in text


def test_the_page_is_named_after_the_instance(tmp_path: Path):
    """The title of the page says which instance it is, and cannot break out of its element."""
    named = sheet()
    write_chart(tmp_path / "curve.html", named)
    text = (tmp_path / "curve.html").read_text(encoding="utf-8")

    title = "db.r5.2xlarge · postgres · gp2, 1,000 GiB on 4 volumes".replace(" GiB", "\u00a0GiB")
    assert f"<title>{title} · Plimsoll</title>" in text
    assert f"<h1>{title}</h1>" in text


def test_a_png_is_written_at_twice_the_size(tmp_path: Path):
    """A PNG has at least 1,400 pixels across, so that labels are sharp on any screen."""
    write_chart(tmp_path / "curve.PNG", sheet())
    raw = (tmp_path / "curve.PNG").read_bytes()

    assert raw.startswith(b"\x89PNG")
    assert int.from_bytes(raw[16:20]) >= 1400


def test_another_ending_is_refused(tmp_path: Path):
    """Only three endings are known; nothing is written."""
    with pytest.raises(UsageError):
        write_chart(tmp_path / "curve.pdf", sheet())

    assert list(tmp_path.iterdir()) == []
