"""`plimsoll lab run claims-pipeline`: what it refuses before anything is started, and how it ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from experiments import experiment
from plimsoll.app.experiment import claims_pipeline as analysis
from plimsoll.cli.commands import app
from plimsoll.cli.endings import run_to_end
from plimsoll.lab.experiments.claims_pipeline import story

RUN = ("lab", "run", "claims-pipeline")


@pytest.mark.parametrize("scale", ["2:40", "1:1", "1:1000", "many", "1:nan"])
def test_a_scale_that_is_not_possible_is_refused(capsys, scale: str, tmp_path: Path):
    """With those that are."""
    words = (*RUN, "--scale", scale, "--html", str(tmp_path / "x.html"))
    status = run_to_end(lambda: app(words, standalone_mode=False) or 0)

    assert 2 == status
    assert (
        f"error: --scale '{scale}' is not possible\nhint: Give 1:5 to 1:40"
        in capsys.readouterr().err
    )
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "file_bytes", "scale", "status"),
    [
        (("--quick",), story.QUICK_FILE_BYTES, 20.0, 0),
        (("--scale", "1:10"), story.FILE_BYTES, 10.0, 130),
    ],
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
