"""`plimsoll lab run pooled-cluster`: what it refuses before anything is started, and how it ends."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from plimsoll.cli.commands import app
from plimsoll.cli.endings import run_to_end
from plimsoll_lab.experiments import room
from plimsoll_lab.judges.pooled import cluster as analysis
from pooled_reports import report

RUN = ("lab", "run", "pooled-cluster", "--quick")


def run(capsys, *words: str) -> tuple[int, str]:
    """Status and standard error of the command."""
    status = run_to_end(lambda: app([*RUN, *words], standalone_mode=False) or 0)
    return status, capsys.readouterr().err


@pytest.mark.parametrize("scale", ["10", "1:20"])
def test_a_scale_may_be_written_with_and_without_the_one(monkeypatch, tmp_path: Path, scale: str):
    """The plan has the number, and the announcement says what it means."""
    played = []

    def play(plan, **_):
        played.append(plan)
        return report()

    monkeypatch.setattr(analysis, "play_pooled_cluster", play)
    found = CliRunner().invoke(app, [*RUN, "--scale", scale, "--html", str(tmp_path / "x.html")])

    assert [float(scale.removeprefix("1:"))] == [plan.scale for plan in played]
    assert f"scale 1:{scale.removeprefix('1:')}: connections are divided" in found.stderr


def test_too_little_memory_is_refused_before_anything_starts(capsys, monkeypatch, tmp_path: Path):
    """With how much there is, and how much it takes."""
    build = tmp_path / "pgpool"
    build.touch()
    monkeypatch.setattr(room, "host_memory_bytes", lambda _name: 1 << 30)
    status, err = run(capsys, "--with-defect", str(build), "--html", str(tmp_path / "x.html"))
    lines = [line for line in err.splitlines() if line.startswith(("error:", "hint:"))]

    assert 2 == status
    assert lines[0].startswith("error: only 1 GiB of memory are available, and the servers of")
    assert "hint: End other programs, or use a machine with more memory." == lines[1]
