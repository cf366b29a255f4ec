"""`plimsoll lab run search-service` and `pooled-cluster`: a missing system, and how they end."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import experiments
import pooled_reports
from plimsoll.cli.commands import app
from plimsoll_lab.judges import search_service
from plimsoll_lab.judges.pooled import cluster

SEARCH, POOLED = (("lab", "run", name, "--quick", "--html", "x.html") for name in ("search-service", "pooled-cluster"))
WRONG = replace(experiments.RIGHT, is_right=False)
WRONG_POOLED = replace(pooled_reports.RIGHT, is_right=False)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file that stands for a build of the pooler."""
    (tmp_path / "pgpool").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("report", "status"),
    [
        (experiments.experiment(), 0),
        (experiments.experiment(experiments.phase(checks=(WRONG,))), 2),
        (experiments.experiment(is_void=True), 2),
        (experiments.experiment(is_interrupted=True), 130),
        (pooled_reports.report(), 0),
        (pooled_reports.report(phases=(pooled_reports.phase(checks=(WRONG_POOLED,)),)), 2),
        (pooled_reports.report(is_void=True, phase_count=8), 2),
        (pooled_reports.report(phase_count=7), 130),
    ],
)
def test_the_status_says_how_it_ended(monkeypatch: pytest.MonkeyPatch, report, status: int):
    """0 only if all that was said is right; the page is written whatever was."""
    monkeypatch.setattr(search_service, "play_search_service", lambda *_, **__: report)
    monkeypatch.setattr(cluster, "play_pooled_cluster", lambda *_, **__: report)
    is_pooled = isinstance(report, type(pooled_reports.report()))
    ended = CliRunner().invoke(app, POOLED if is_pooled else SEARCH)

    assert status == ended.exit_code
    assert ("Pooled cluster" if is_pooled else "Search service") in ended.stdout
    assert Path("x.html").read_text().startswith("<!doctype html>")
