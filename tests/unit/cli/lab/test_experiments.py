"""`plimsoll lab run` of each experiment: what its options mean, too little memory, and how it ends."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

import experiments
import pooled_reports
from plimsoll.cli.commands import app
from plimsoll.errors import UsageError
from plimsoll_lab.experiments import room
from plimsoll_lab.experiments.claims_pipeline import story
from plimsoll_lab.judges import claims_pipeline, search_service
from plimsoll_lab.judges.pooled import cluster

SEARCH, POOLED, CLAIMS = (
    ("lab", "run", name, "--html", "x.html") for name in ("search-service", "pooled-cluster", "claims-pipeline")
)
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
    ended = CliRunner().invoke(app, [*(POOLED if is_pooled else SEARCH), "--quick"])

    assert status == ended.exit_code
    assert ("Pooled cluster" if is_pooled else "Search service") in ended.stdout
    assert Path("x.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("options", "file_bytes", "scale", "status"),
    [(("--quick",), story.QUICK_FILE_BYTES, 20.0, 0), (("--scale", "1:10"), story.FILE_BYTES, 10.0, 130)],
)
def test_options_make_the_plan_of_the_claims_pipeline(monkeypatch, options, file_bytes, scale, status):
    """The page is written whatever was; the status says how it ended."""
    plans = []
    report = experiments.experiment(is_interrupted=status == 130)
    monkeypatch.setattr(claims_pipeline, "play_claims_pipeline", lambda plan, **_: plans.append(plan) or report)
    ended = CliRunner().invoke(app, [*CLAIMS, *options])
    (plan,) = plans

    assert status == ended.exit_code
    assert (file_bytes, scale) == (plan.file_bytes, plan.scale)
    assert Path("x.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("scale", ["10", "1:20"])
def test_a_scale_may_be_written_with_and_without_the_one(monkeypatch, scale: str):
    """The plan has the number, and the announcement says what it means."""
    played = []
    report = pooled_reports.report()
    monkeypatch.setattr(cluster, "play_pooled_cluster", lambda plan, **_: played.append(plan) or report)
    found = CliRunner().invoke(app, [*POOLED, "--quick", "--scale", scale])

    assert [float(scale.removeprefix("1:"))] == [plan.scale for plan in played]
    assert f"scale 1:{scale.removeprefix('1:')}: connections are divided" in found.stderr


def test_too_little_memory_is_refused_before_anything_starts(monkeypatch):
    """With how much there is, and how much it takes."""
    monkeypatch.setattr(room, "host_memory_bytes", lambda _name: 1 << 30)
    refused = CliRunner().invoke(app, [*POOLED, "--quick", "--with-defect", "pgpool"]).exception

    assert isinstance(refused, UsageError)
    assert refused.message.startswith("only 1 GiB of memory are available, and the servers of")
    assert "End other programs, or use a machine with more memory." == refused.hint
