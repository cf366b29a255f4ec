"""The report names the statements and the caller's own events as reviewed; all of it is simulated."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from plimsoll.app.diagnose import diagnose_snapshot, read_events, with_own_events
from plimsoll.app.options import InstanceOptions
from plimsoll.app.read import read_target
from plimsoll.app.render import Form, Report, render
from plimsoll.diagnosis.stretches import stretches_of
from session_loads import session_load

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "who-does-it.md"


@cache
def report() -> Report:
    """The simulated claims pipeline with simulated statements and simulated runs of jobs."""
    snapshot = read_target(str(ROOT / "examples" / "claims-pipeline"), InstanceOptions())
    chosen = stretches_of(diagnose_snapshot(snapshot))
    assert chosen is not None
    snapshot = replace(snapshot, session_load=session_load(chosen.during, chosen.outside))
    events = read_events(ROOT / "examples" / "own-events" / "claims-pipeline.csv", None)
    diagnosis = with_own_events(diagnose_snapshot(snapshot), snapshot, events)
    return Report(diagnosis=diagnosis, snapshot=snapshot)


@pytest.mark.parametrize(
    ("form", "ending", "width"),
    [("text", "80.txt", 80), ("text", "120.txt", 120), ("markdown", "md", None), ("json", "json", None)],
)
def test_the_report_reads_as_reviewed(form: Form, ending: str, width: int | None, golden: Callable[[str, str], None]):
    """Statements, users and hosts by their waiting for I/O, and each event with its I/O."""
    golden(f"who-does-it/report.{ending}", render(report(), form, width=width))


def test_the_guide_shows_the_section_of_this_report():
    """What the guide prints of statements is what the program prints."""
    text = render(report(), "text", width=80)
    start = text.index("STATEMENTS THAT WAITED")
    section = text[start : text.index("\n\nTIMELINE", start)]

    assert section in GUIDE.read_text(encoding="utf-8")
