"""A page's content security policy lets just the page's own texts run."""

import hashlib
import re
from base64 import b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace

from plimsoll.app.render import Report, render
from plimsoll.model.snapshot import Annotation
from plimsoll.reports.limits import chart as limits_chart
from plimsoll.reports.render.page import template_text
from plimsoll.reports.render.page_policy import POLICY, closed
from unit.reports.fixture_diagnosis import CASES
from unit.reports.limits.test_chart import sheet


def hashed(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy_of(page: str) -> dict[str, list[str]]:
    """Each directive's sources."""
    (policy,) = re.findall(r'"Content-Security-Policy" content="([^"]*)"', page)
    return {words[0]: words[1:] for words in map(str.split, policy.split(";"))}


@pytest.mark.attack(
    "Somebody inserts a script or a style into a report page",
    "the content security policy allows only the page's own, by hash, and no evaluation of text",
)
@pytest.mark.parametrize("case", CASES)
def test_a_report_allows_its_own_scripts_and_styles_by_hash(case: str):
    """Nothing is allowed for standing in the page, and no text is evaluated."""
    diagnosis, snapshot = CASES[case]()
    page = render(Report(diagnosis=diagnosis, snapshot=snapshot), "html")
    policy = policy_of(page)
    markup = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)

    assert "unsafe" not in str(policy)
    assert ["'none'"] == policy["default-src"]
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert policy["script-src"] == [hashed(text) for text in scripts]
    styles = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    assert policy["style-src"] == [hashed(text) for text in styles]
    assert not re.search(r"<[^>]*\s(?:style|on\w+)=", markup)
    assert "ast: true, defaultStyle: false" in page


def test_styles_of_elements_become_classes():
    """Equal ones share a class, and an element keeps those it had."""
    page = closed(
        f'<meta content="{POLICY}"><style>p {{}}</style><p class="a" style="width: 3%">'
        '<i style=\'color:red; top:1px;\'/><b style="width: 3%">style="x"</b>'
    )

    assert '<p class="a own-1">' in page
    assert '<i class="own-2"/>' in page
    assert '<b class="own-1">style="x"</b>' in page
    assert ".own-1 { width: 3% !important }" in page
    assert ".own-2 { color:red !important; top:1px !important }" in page


def test_a_page_without_scripts_allows_none():
    """Data in a script element is no script."""
    page = closed(f'<meta content="{POLICY}"><script type="application/json">1</script>')

    assert "script-src 'none'; " in page
    assert "style-src 'none'; " in page


@pytest.mark.attack("A name contains `</script>`", "it remains text and does not end the script")
def test_a_name_cannot_end_the_script_of_a_report():
    """The chart's specification holds names of events, and stands in a script."""
    evil = "</script><script>alert(1)</script>"
    diagnosis, snapshot = CASES["pressed"]()
    event = Annotation(time_s=diagnosis.window_s[0] + 60, text=evil)
    page = render(Report(diagnosis=replace(diagnosis, annotations=(event,)), snapshot=snapshot), "html")

    assert "<script>alert" not in page
    assert "alert(1)" in page
    assert 3 == len(policy_of(page)["script-src"])


def test_the_page_of_a_chart_runs_only_what_copies_commands(tmp_path: Path):
    """Its drawing is static, and no text is evaluated."""
    named = sheet()
    limits_chart.write_chart(tmp_path / "curve.html", named)
    page = (tmp_path / "curve.html").read_text(encoding="utf-8")

    assert "unsafe" not in str(policy_of(page))
    assert [hashed(f"\n{template_text('copy.js')}\n")] == policy_of(page)["script-src"]
