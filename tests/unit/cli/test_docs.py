"""`plimsoll docs`, as it is called."""

import re
import sys

import pytest
from typer.testing import CliRunner, Result

from contract.tree import ROOT
from plimsoll.app.documentation import documentation
from plimsoll.cli.commands import app
from unit.sources.files.test_standard_input import Terminal


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["docs", *arguments], catch_exceptions=False)


def test_all_pages_are_listed_by_section():
    """Each with its title; the list replaces the index."""
    text = run().stdout

    assert text.index("GUIDES") < text.index("CONCEPTS") < text.index("RUNBOOKS")
    for page in documentation():
        assert page.name == "index" or f"  {page.name} " in text


def test_a_page_in_a_pipe_is_the_file():
    """A program gets the Markdown, or the JSON, byte for byte."""
    for name, file in (("export-metrics", "guides/export-metrics.md"), ("iam-policy", "reference/iam-policy.json")):
        assert run(name).stdout == (ROOT / "docs" / file).read_text(encoding="utf-8")


def test_a_page_in_a_terminal_is_formatted(monkeypatch: pytest.MonkeyPatch):
    """Marks are gone, lines fit, and links are commands."""
    shown = Terminal()
    monkeypatch.setenv("COLUMNS", "72")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", shown)
    from plimsoll.cli.docs import DocsOptions, docs

    docs(DocsOptions(page="bound"))
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown.getvalue())
    assert "plimsoll docs pace-a-load" in text
    assert "](" not in text
    assert "*Nearing*" not in text
    assert max(len(line) for line in text.splitlines()) <= 72


def test_a_finding_is_a_name_too():
    """The code that a report in JSON has leads to the page that explains it."""
    assert run("EBSByteBalanceExhausted").stdout.startswith("# balance-empty")
    assert run("memory").stdout.startswith("# The ceilings")


def test_search_prints_pages_and_the_lines():
    """The line is cut around the words."""
    text = run("--search", "byte balance").stdout

    assert "\nbalance-empty\n    " in text
    assert text.endswith("Read one with: plimsoll docs PAGE\n")
    assert all(len(line) <= 100 for line in text.splitlines())
