"""Under a limit of memory the drawing engine ends, and not the command."""

import subprocess
import sys
from pathlib import Path

import pytest

from contract.tree import ROOT
from plimsoll.reports.chart import engine
from plimsoll.reports.chart.drawing import svg

TARGET = str(ROOT / "examples" / "quiet")
SPEC = {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"x": {"field": "a"}}}
# The engine reserves more, and everything else needs less.
LIMIT_KIB = 8 * 1024**2
LIMITED = f'ulimit -v {LIMIT_KIB}; exec "$@"'
FORMS = {
    "a page": ("diagnose", TARGET, "--html", "page.html"),
    "a picture of limits": ("limits", "db.r6g.large", "--chart", "limits.png"),
    "a picture of a report": ("diagnose", TARGET, "--png", "report.png"),
}


def limited(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command under the limit."""
    command = ["/bin/sh", "-c", LIMITED, "sh", sys.executable, "-m", "plimsoll", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.attack(
    "A page is made under a limit of memory in which the drawing engine cannot start",
    "one sentence, status 2; text and JSON work",
)
@pytest.mark.parametrize("form", FORMS)
def test_a_drawing_under_a_limit_of_memory_is_refused(tmp_path, form):
    """The engine ends by a signal, and no file is left."""
    ran = limited(tmp_path, *FORMS[form])
    lines = [line for line in ran.stderr.splitlines() if line.startswith(("error", "hint"))]

    assert (2, []) == (ran.returncode, list(tmp_path.iterdir()))
    assert "error: the drawing engine ended under the limit of memory of this process" == lines[0]


def test_a_report_without_drawings_works_under_the_limit(tmp_path):
    """Most of a batch of reports is text."""
    assert 0 == limited(tmp_path, "diagnose", TARGET, "--format", "json").returncode


def test_a_drawing_made_apart_is_the_same(monkeypatch):
    """A limit that is large enough changes nothing."""
    here = svg(SPEC)
    monkeypatch.setattr(engine.resource, "getrlimit", lambda _: (1, 1))

    assert here == svg(SPEC)
