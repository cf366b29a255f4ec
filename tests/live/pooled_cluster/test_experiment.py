"""The storm of connections on real servers: every verdict is right, and nothing is left behind."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live.left_behind import Ours, assert_an_end_leaves_nothing, wait_until_gone
from plimsoll_lab.experiments.pooled_cluster.story import children_of
from plimsoll_lab.judges.pooled.cluster import default_unmended
from quiet import void

pytestmark = [pytest.mark.experiment, pytest.mark.alone]

ROOT = Path(__file__).parents[3]
PATIENCE_S = 1200
COMMAND = [sys.executable, "-m", "plimsoll", "lab", "run", "pooled-cluster", "--quick"]
# Few connections: what is left behind does not hang on how many there were.
FEW = ("--scale", "1:50")


def played(ours: Ours, tmp_path: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], dict, str]:
    """The command, its report and its page."""
    page, report = tmp_path / "page.html", tmp_path / "report.json"
    done = subprocess.run(
        [*COMMAND, *words, "--html", page, "-o", report],
        env=ours.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert report.exists(), done.stderr
    return done, json.loads(report.read_text()), page.read_text()


def wrong_of(found: dict) -> dict[str, list]:
    """What Plimsoll said that is not true, by phase."""
    wrong = {p["name"]: [c for c in p["checks"] if not c["is_right"]] for p in found["phases"]}
    return {name: checks for name, checks in wrong.items() if checks}


@pytest.mark.parametrize("ours", ["/var/tmp"], indirect=True)
def test_every_phase_is_judged_right(ours: Ours, tmp_path: Path):
    """
    The storm and not the disk, the pooler that never lets go and the one that does, and the pools that end it.

    On a machine that is too slow for the calm phase its figures prove nothing: the report and the status say so.
    """
    assert default_unmended().exists(), "run .ci/pgpool-unmended"
    done, found, page = played(ours, tmp_path)

    assert "scale 1:10" in page
    wait_until_gone(set(), ours.left)
    if found["is_void"]:
        note = next(note for note in found["notes"] if " is void: " in note)
        assert 2 == done.returncode
        void(note)
    assert {} == wrong_of(found), done.stderr
    assert 0 == done.returncode
    assert "phase 8 of 8" in done.stderr
    figures = {phase["name"]: phase["figures"] for phase in found["phases"]}
    # The published experience, by ratios within this run.
    assert figures["storm"]["connections_max"] > 2 * figures["calm"]["connections_max"]
    assert figures["pile-up"]["connections_max"] > 0.8 * children_of(10.0)
    assert figures["clients-leave"]["connections_end"] > 3 * figures["fixed-pooler"]["connections_end"]
    assert figures["sized-pools"]["done_per_s"] > figures["pile-up"]["done_per_s"]


@pytest.mark.parametrize("ours", ["/dev/shm"], indirect=True)
def test_in_the_twin_the_disk_is_named_and_no_storm(ours: Ours, tmp_path: Path):
    """The same services with few connections: the limit that held requests back, by the gate."""
    done, found, page = played(ours, tmp_path, "--disk")
    (phase,) = found["phases"]
    checks = {check["command"]: check["found"] for check in phase["checks"]}

    assert {} == wrong_of(found), done.stderr
    assert 0 == done.returncode
    assert "IOPS" in checks["diagnose"]
    assert "none of this" == checks["inspect"]
    assert "The disk binds" in page
    wait_until_gone(set(), ours.left)


@pytest.mark.parametrize("ours", ["/var/tmp"], indirect=True)
@pytest.mark.parametrize(
    ("moment", "sign"),
    [("filling the database", signal.SIGINT), ("phase 2 of 8", signal.SIGINT), ("phase 2 of 8", signal.SIGKILL)],
)
def test_an_end_in_the_middle_leaves_nothing(ours: Ours, tmp_path: Path, moment: str, sign: signal.Signals):
    """No server, no JVM, no folder; other labs on this machine do not count."""
    assert_an_end_leaves_nothing(
        [*COMMAND, *FEW],
        moment,
        sign,
        page=tmp_path / "page.html",
        place=ROOT,
        found=ours.left,
        patience_s=PATIENCE_S,
        environment=ours.environment,
    )
