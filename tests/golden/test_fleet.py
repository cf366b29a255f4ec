"""The report of a fleet in every form, with one of each kind of row. The rows are made by hand: simulated."""

from collections.abc import Callable

import pytest

import fleets
from plimsoll.app.render import render


@pytest.mark.parametrize("width", [60, 100])
def test_the_text_reads_as_reviewed(width: int, golden: Callable[[str, str], None]):
    golden(f"fleet/fleet-{width}.txt", render(fleets.fleet(), "text", width=width))


def test_the_markdown_reads_as_reviewed(golden: Callable[[str, str], None]):
    golden("fleet/fleet.md", render(fleets.fleet(), "markdown"))


def test_the_json_reads_as_reviewed(golden: Callable[[str, str], None]):
    golden("fleet/fleet.json", render(fleets.fleet(), "json"))
