"""The incident of the search service on real servers: every verdict is right, and nothing is left behind."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from live.left_behind import Ours, assert_an_end_leaves_nothing, wait_until_gone
from live.machine import clean_environment
from plimsoll.model.snapshot_file.codec import decode_snapshot
from quiet import void

ROOT = Path(__file__).parents[2]
# The window of a phase that is judged, and the servers' start and end, on a machine that others share.
PATIENCE_S = 900
COMMAND = [sys.executable, "-m", "plimsoll", "lab", "run", "search-service", "--quick"]


@pytest.mark.experiment
def test_every_phase_is_judged_right(ours: Ours, tmp_path: Path):
    """
    What binds, legacy or not, and not IOPS; vacuum and rewrites; the free step first; no gain by IOPS.

    On a machine that is too slow its figures prove nothing: the report and the status say so.
    """
    page, report, kept = (tmp_path / name for name in ("page.html", "report.json", "kept"))
    done = subprocess.run(
        [*COMMAND, "--html", page, "-o", report, "--keep", kept],
        env=ours.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert report.exists(), done.stderr
    found = json.loads(report.read_text())
    wrong = {
        phase["name"]: [c for c in phase["checks"] if not c["is_right"]]
        for phase in found["phases"]
        if not phase["is_right"]
    }
    phases = {phase["name"]: phase for phase in found["phases"]}
    figures = {name: phase["figures"] for name, phase in phases.items()}

    assert 7 == len(phases)
    assert "scale 1:20" in page.read_text()
    assert "phase 7 of 7" in done.stderr
    wait_until_gone(set(), ours.left)
    if found["is_void"]:
        note = next(note for note in found["notes"] if " is void: " in note)
        assert 2 == done.returncode
        void(note)
    assert {} == wrong, found["notes"]
    assert 0 == done.returncode
    # The published experience, by ratios within this run: response and lag grow, a larger class ends it.
    healthy, slow, after = (figures[n] for n in ("healthy", "whole-documents", "larger-class"))
    assert slow["response_s_p95"] > 4 * healthy["response_s_p95"]
    assert slow["read_latency_s"] > 5 * after["read_latency_s"]
    assert slow["lag_end"] > healthy["lag_end"]
    # Whole documents leave five dead TOAST rows and one of the row itself; changed columns seldom do.
    assert pytest.approx(6.0, abs=0.3) == slow["dead_tuples_per_update"]
    assert figures["dirty-tracking"]["vacuum_due_minutes"] > slow["vacuum_due_minutes"]
    # Rates are of the whole load, and the database has a part of it.
    inspected = [c for p in phases.values() for c in p["checks"] if c["command"] == "inspect"]
    assert inspected
    assert not any("MB/s" in check["found"] for check in inspected)
    # What was kept is what was judged.
    snapshot = decode_snapshot((kept / "restarted.json").read_bytes())
    assert "db.r5.2xlarge" == snapshot.instance.db_class


@pytest.mark.experiment
@pytest.mark.parametrize(
    ("moment", "sign"),
    [
        ("starting PostgreSQL", signal.SIGINT),
        ("filling the database", signal.SIGINT),
        ("phase 2 of 7", signal.SIGINT),
        ("phase 2 of 7", signal.SIGKILL),
    ],
)
def test_an_end_in_the_middle_leaves_nothing(ours: Ours, tmp_path: Path, moment: str, sign: signal.Signals):
    assert_an_end_leaves_nothing(
        COMMAND,
        moment,
        sign,
        page=tmp_path / "page.html",
        place=ROOT,
        found=ours.left,
        patience_s=PATIENCE_S,
        environment=ours.environment,
    )


@pytest.mark.parametrize(
    ("missing", "says"), [("java", "this machine has no Java"), ("make", "this machine has no make")]
)
def test_what_is_missing_is_one_sentence(tmp_path: Path, missing: str, says: str):
    """Before a server is started; with the command that installs it."""
    system = tmp_path / "search-service"
    system.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / "systems/search-service" / name, system)
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for program in Path(folder).glob("*"):
            if program.name != missing and not (programs / program.name).exists():
                (programs / program.name).symlink_to(program)
    if missing == "java":
        (system / ".venv/bin").mkdir(parents=True)
        (system / ".venv/bin/python").touch()
        (system / ".venv/run").touch()
    environment = {k: v for k, v in clean_environment().items() if k != "JAVA_HOME"}
    done = subprocess.run(
        [*COMMAND, "--system", system, "--html", tmp_path / "page.html"],
        env=environment | {"PATH": str(programs)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    errors = [x for x in done.stderr.splitlines() if x.startswith(("error:", "hint:"))]

    assert 2 == done.returncode, done.stderr
    assert [f"error: {says}"] == [x[: len(says) + 7] for x in errors[:1]]
    assert "apt-get install" in errors[1]
    assert 2 == len(errors)
    assert "Traceback" not in done.stderr
