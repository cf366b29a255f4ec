"""`plimsoll lab run claims-pipeline`: what it refuses before anything is started, and how it ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import experiment
from plimsoll.cli.commands import app
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.judges import claims_pipeline as analysis

RUN = ("lab", "run", "claims-pipeline")


@pytest.mark.parametrize(
    ("options", "file_bytes", "scale", "status"),
    [(("--quick",), story.QUICK_FILE_BYTES, 20.0, 0), (("--scale", "1:10"), story.FILE_BYTES, 10.0, 130)],
)
def test_options_make_the_plan(monkeypatch, tmp_path: Path, options, file_bytes, scale, status):
    """The page is written whatever was; the status says how it ended."""
    plans = []

    def play(plan, **_):
        plans.append(plan)
        return experiment(is_interrupted=status == 130)

    monkeypatch.setattr(analysis, "play_claims_pipeline", play)
    page = tmp_path / "x.html"
    found = CliRunner().invoke(app, [*RUN, *options, "--html", str(page)])
    (plan,) = plans

    assert status == found.exit_code
    assert (file_bytes, scale) == (plan.file_bytes, plan.scale)
    assert page.read_text().startswith("<!doctype html>")
