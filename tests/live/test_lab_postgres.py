"""A real PostgreSQL behind a real gate: what binds is what the diagnosis says, and nothing is left."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import psycopg
import pytest

from live.lab_cases import CASES, Case, Rig
from live.machine import Run, clean_environment
from plimsoll.model.metric import Metric
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll_lab.gate.place import mounts

pytestmark = pytest.mark.realtime

# Three steps in a second: short enough that a case takes seconds, each six times the gate's slack.
CLOCK = 200
SECONDS = 4.0
SECONDS_MAX = 16.0


@pytest.fixture(scope="module")
def rig() -> Iterator[Rig]:
    """A server behind a gate whose limits each test sets for itself."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o711)
        with Rig(Path(name), clock=CLOCK) as made:
            yield made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
def test_the_ceiling_that_holds_is_the_one_that_is_named(rig: Rig, case: Case):
    """Whatever kind of ceiling an instance has; and where none holds, none is named."""
    answer = rig.answer(case, seconds=SECONDS, seconds_max=SECONDS_MAX)

    assert answer.is_right, str(answer)


def left_behind() -> set[str]:
    """Folders and mounts of labs on this machine."""
    folders = {str(path) for path in Path("/var/tmp").glob("plimsoll-lab-*")}
    return folders | {str(m.place) for m in mounts() if "plimsoll-lab-" in str(m.place)}


def held_rates(truth: dict, phase: str) -> list[float]:
    """Bytes per second of the seconds in which the instance's throughput held requests throughout."""
    held = ("instance_ebs_throughput", phase)
    return [
        moment["bytes_per_s"]
        for moment in truth["moments"]
        if (moment["binding"], moment["phase"]) == held and moment["bound_s"] >= 0.99 * moment["length_s"]
    ]


def test_a_burst_ends_at_the_baseline_and_the_report_says_so(run: Run, tmp_path: Path):
    """db.t3.xlarge with 1,000 GiB of gp2: 347.5 MB/s while credits last, then 86.875 MB/s with none left."""
    before = left_behind()
    # A machine that is busy with other tests may be too slow; the command says so itself, with 2.
    for _ in range(3):
        done = run(
            *("lab", "postgres", "--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000"),
            *("--workload", "scan", "--for", "16s", "--clock", "60", "--credits", "0.1"),
            *("--memory", "128MiB", "-o", "run.json", "--width", "120"),
        )
        if done.returncode != 2:
            break
    output = " ".join(done.stdout.split())
    snapshot = decode_snapshot((tmp_path / "run.json").read_bytes())
    served = snapshot.series[Metric.READ_BYTES_PER_S].value
    balance = snapshot.series[Metric.BYTE_BALANCE_RATIO].value
    truth = json.loads((tmp_path / "run.truth.json").read_bytes())
    burst, baseline = (held_rates(truth, phase) for phase in ("burst", "baseline"))

    assert 1 == done.returncode, done.stderr
    assert baseline
    assert 86.875e6 == pytest.approx(median(baseline), rel=0.01)
    # A machine that cannot scan at the burst's rate is not held to it, but has its credits.
    assert served[:4].max() > 1.5 * median(baseline)
    assert median(burst or [347.5e6]) == pytest.approx(347.5e6, rel=0.05)
    assert 0 == pytest.approx(balance[-1], abs=0.005)
    assert "instance EBS throughput, baseline, 86.875 MB/s" in output
    assert "GROUND TRUTH" in output
    assert "The diagnosis agrees with it." in output
    assert "credit clock 60" in output
    assert ["instance_ebs_throughput", "baseline"] == [truth["bound"][0]["stage"], truth["bound"][0]["phase"]]
    assert "emulated minute 10 of 16" in done.stderr
    assert left_behind() <= before


def test_ctrl_c_ends_the_work_and_reports_what_there_is(tmp_path: Path):
    """
    Nothing stays mounted and no server stays. Ten minutes or so are mostly too few to tell what binds,
    and then the status says that; the report is there all the same.
    """
    before = left_behind()
    lab = subprocess.Popen(
        [
            *(sys.executable, "-m", "plimsoll", "lab", "postgres", "--class", "db.m4.large"),
            *("--storage", "gp3", "--size-gib", "400", "--workload", "tpcb", "--for", "1h"),
            *("--clock", "600", "--memory", "64MiB", "--scale", "2", "--clients", "2"),
        ],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The first line of progress: the clients have worked for ten emulated minutes.
    for line in lab.stderr:
        if line.startswith("emulated minute"):
            break
    lab.send_signal(signal.SIGINT)
    report, rest = lab.communicate(timeout=60)

    assert lab.returncode in (0, 1, 2), rest
    assert "interrupted; reporting what was measured" in rest
    assert "GROUND TRUTH" in report
    assert left_behind() <= before


def test_a_lab_that_is_killed_leaves_nothing(tmp_path: Path):
    """The keepers end server and gate, and remove what was made."""
    before = left_behind()
    lab = subprocess.Popen(
        [
            *(sys.executable, "-m", "plimsoll", "lab", "postgres", "--class", "db.m4.large"),
            *("--storage", "gp3", "--size-gib", "400", "--workload", "select", "--for", "1h"),
            *("--clock", "600", "--memory", "64MiB", "--scale", "1", "--clients", "2"),
        ],
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with lab:
        for line in lab.stderr:
            if line.startswith("emulated minute"):
                break
        lab.kill()
        # Clients and keepers hold the pipe; it ends when the last of them has.
        lab.stderr.read()

    assert left_behind() <= before


def test_statements_that_fail_end_the_run_with_the_servers_words(run: Run, tmp_path: Path):
    """A report of a load that never was would mislead."""
    (tmp_path / "mine.sql").write_text("select no_such_column from pgbench_branches;\n")
    before = left_behind()
    done = run(
        *("lab", "postgres", "--class", "db.m4.large", "--storage", "gp3", "--size-gib", "400"),
        *("--workload", "mine.sql", "--for", "60s", "--memory", "64MiB", "--scale", "1"),
    )

    assert 2 == done.returncode
    assert 'column "no_such_column" does not exist' in done.stderr
    assert "Traceback" not in done.stderr
    assert left_behind() <= before


def test_a_kept_database_can_be_started_again(run: Run):
    """Its files lie where the last line says, owned by whom the server ran as."""
    done = run(
        *("lab", "postgres", "--class", "db.m4.large", "--storage", "gp3", "--size-gib", "400"),
        *("--workload", "tpcb", "--for", "2s", "--clock", "240", "--memory", "64MiB"),
        *("--scale", "1", "--clients", "2", "--keep"),
    )
    kept = Path(done.stderr.strip().splitlines()[-1].removeprefix("database kept in "))
    try:
        assert (kept / "PG_VERSION").is_file(), done.stderr
        state = (kept / "global" / "pg_control").stat()
        assert (os.geteuid() == 0) == (state.st_uid != os.geteuid())
        assert not (kept / "postmaster.pid").exists()
    finally:
        subprocess.run(["rm", "-rf", str(kept.parents[1])], check=True)


def test_the_servers_data_lies_behind_the_gate(rig: Rig):
    """With the buffers that were asked for, and as an account that is not root."""
    with psycopg.connect(rig.server.dsn) as connection:
        place, buffers = connection.execute(
            "select current_setting('data_directory'), current_setting('shared_buffers')"
        ).fetchone()

    assert str(rig.gate.mount / "data") == place
    assert "48MB" == buffers
    assert any(m.place == rig.gate.mount for m in mounts())
