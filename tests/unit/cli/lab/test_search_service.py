"""`plimsoll lab run search-service`: what it refuses before anything is started, and how it ends."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from experiments import RIGHT, experiment, phase
from plimsoll.app.experiment import search_service as analysis
from plimsoll.cli.commands import app
from plimsoll.cli.endings import run_to_end

RUN = ("lab", "run", "search-service", "--quick")


def run(capsys, *words: str) -> tuple[int, str, str]:
    """Status, standard output and standard error of the command."""
    status = run_to_end(lambda: app([*RUN, *words], standalone_mode=False) or 0)
    out, err = capsys.readouterr()
    return status, out, err


def test_a_folder_without_the_system_is_refused(capsys, tmp_path: Path):
    """Before a server is started."""
    status, _, err = run(capsys, "--system", str(tmp_path), "--html", str(tmp_path / "x.html"))

    assert 2 == status
    assert "error: there is no search service in" in err
    assert [] == list(tmp_path.iterdir())


def test_a_folder_for_snapshots_that_cannot_be_made_is_refused(capsys, tmp_path: Path):
    """With the system's reason."""
    status, _, err = run(
        capsys, "--keep", str(tmp_path / "a/b"), "--html", str(tmp_path / "x.html")
    )

    assert 2 == status
    assert "unable to create" in err


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (experiment(), 0),
        (experiment(phase(checks=(replace(RIGHT, is_right=False),))), 2),
        (experiment(is_void=True), 2),
        (experiment(is_interrupted=True), 130),
    ],
)
def test_the_status_says_how_it_ended(monkeypatch, tmp_path: Path, report, status):
    """0 only if all that was said is right; the page is written whatever was."""
    monkeypatch.setattr(analysis, "play_search_service", lambda *_, **__: report)
    page = tmp_path / "x.html"
    found = CliRunner().invoke(app, [*RUN, "--html", str(page)])

    assert status == found.exit_code
    assert "Search service" in found.stdout
    assert page.read_text().startswith("<!doctype html>")
