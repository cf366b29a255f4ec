"""The incident of the claims pipeline on a real server: every verdict is right, and nothing is left behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live.left_behind import Ours, assert_an_end_leaves_nothing, wait_until_gone
from plimsoll.model.snapshot_file.codec import decode_snapshot
from quiet import void

# The window of a phase that is judged, and the servers' start and end, on a machine that others share.
PATIENCE_S = 900
COMMAND = [sys.executable, "-m", "plimsoll", "lab", "run", "claims-pipeline", "--quick"]


@pytest.mark.experiment
def test_every_phase_is_judged_right(ours: Ours, tmp_path: Path):
    """
    The instance's baseline and not the volume, the class with its price, and a pace that keeps the reserve.

    On a machine that is too slow its figures prove nothing: the report and the status say so.
    """
    page, report, kept = (tmp_path / name for name in ("page.html", "report.json", "kept"))
    done = subprocess.run(
        [*COMMAND, "--html", page, "-o", report, "--keep", kept],
        env=ours.environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert report.exists(), done.stderr
    found = json.loads(report.read_text())
    phases = {phase["name"]: phase for phase in found["phases"]}
    wrong = {
        name: [c for c in phase["checks"] if not c["is_right"]]
        for name, phase in phases.items()
        if not phase["is_right"]
    }

    assert 6 == len(phases)
    assert "scale 1:20" in page.read_text()
    wait_until_gone(set(), ours.left)
    if found["is_void"]:
        note = next(note for note in found["notes"] if " is void: " in note)
        assert 2 == done.returncode
        void(note)
    assert {} == wrong, found["notes"]
    assert 0 == done.returncode
    check_published_experience({name: phase["figures"] for name, phase in phases.items()})
    # What was kept is what was judged.
    snapshot = decode_snapshot((kept / "larger-class.json").read_bytes())
    assert "db.m6g.xlarge" == snapshot.instance.db_class


def check_published_experience(figures: dict[str, dict[str, float]]) -> None:
    """By ratios within this run."""
    quiet, old, new, jobs, larger, paced = figures.values()

    # One file by the new path is faster, and is so on credits.
    assert old["loading_minutes"] > 2 * new["loading_minutes"]
    assert 0 < new["byte_balance_min"] < new["byte_balance_start"]
    # Three at once use them up; then writes wait.
    assert 0 == jobs["byte_balance_min"]
    assert jobs["write_latency_s"] > 5 * old["write_latency_s"]
    assert jobs["queue_depth"] > 10 * quiet["queue_depth"]
    assert jobs["loading_minutes"] > 2 * new["loading_minutes"]
    # The larger class is sooner by at least what its baseline allows.
    assert larger["jobs_minutes"] < jobs["jobs_minutes"] * 86.875 / 148.5 * 1.05
    assert larger["write_latency_s"] < jobs["write_latency_s"]
    # The pace takes longer and leaves the application alone.
    assert paced["jobs_minutes"] > larger["jobs_minutes"]
    assert paced["response_s_p95"] < jobs["response_s_p95"] / 2


@pytest.mark.experiment
@pytest.mark.parametrize(
    ("moment", "sign"),
    [("filling the database", signal.SIGINT), ("phase 2 of 6", signal.SIGINT), ("phase 2 of 6", signal.SIGKILL)],
)
def test_an_end_in_the_middle_leaves_nothing(ours: Ours, tmp_path: Path, moment: str, sign: signal.Signals):
    assert_an_end_leaves_nothing(
        COMMAND,
        moment,
        sign,
        page=tmp_path / "page.html",
        place=tmp_path,
        found=ours.left,
        patience_s=PATIENCE_S,
        environment=ours.environment,
    )
