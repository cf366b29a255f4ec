"""`plimsoll gate` as people use it: mount and Ctrl-C, ask and change, run a command, crash."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from live.gate_machine import BASELINE, T3, fill, quick_folder, rate_of, read_for
from live.machine import Run, clean_environment
from plimsoll.model.ceiling import Family
from plimsoll.model.snapshot_file.codec import decode_snapshot
from plimsoll.units import MIB
from plimsoll_lab.gate import block
from plimsoll_lab.gate.config import GateSetup
from plimsoll_lab.gate.gate import Gate
from plimsoll_lab.gate.place import is_gate_at, mounted_at

PATIENCE_S = 60
PLIMSOLL_GATE = (sys.executable, "-m", "plimsoll", "gate")
STORAGE = ("--storage", "gp2", "--size-gib", "1000", "--clock", "60")
# Four readers past the page cache for eight seconds, which are sixteen minutes at clock 120.
READER = """
import mmap, os, threading, time
handle, end = os.open('table', os.O_RDONLY | os.O_DIRECT), time.monotonic() + 8
def read(at):
    page = mmap.mmap(-1, 1 << 20)
    while time.monotonic() < end:
        at = (at + 4 * os.preadv(handle, [page], at)) % (64 << 20)
for which in range(4):
    threading.Thread(target=read, args=(which << 20,)).start()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A quick folder with data in it: a file of 64 MiB."""
    with quick_folder() as path:
        (path / "data").mkdir()
        fill(path / "data")
        yield path


def mounting(folder: Path, *arguments: str) -> subprocess.Popen:
    """`plimsoll gate mount` in the foreground; it has said where its socket is when this returns."""
    places = ["--backing", str(folder / "data"), str(folder / "disk")]
    process = subprocess.Popen(
        [*PLIMSOLL_GATE, "mount", "--class", "db.t3.xlarge", *arguments, *places],
        cwd=folder,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    for line in process.stderr:
        if "socket: " in line:
            process.socket = line.partition("socket: ")[2].split(" ")[0]
            return process
    raise AssertionError("it ended without saying where its socket is")


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_unmounts(folder: Path, sign: int):
    """The mount is gone, the data stays, and what was hit is said with the clock."""
    process = mounting(folder, *STORAGE)
    assert is_gate_at(folder / "disk")
    process.send_signal(sign)
    output = process.communicate(timeout=PATIENCE_S)[1]

    assert 0 == process.returncode, output
    assert not is_gate_at(folder / "disk")
    assert not (folder / "disk").exists()
    assert (folder / "data" / "table").exists()
    assert "credit clock 60: one emulated minute is 1 s" in output
    assert "no limit made requests wait" in output


def test_a_gate_is_asked_and_changed_from_another_process(folder: Path, run: Run):
    """Status and orders reach it through its socket; each answer says the clock."""
    process = mounting(folder, *STORAGE, "--metrics", str(folder / "gate.prom"))
    try:
        status = run("gate", "status", "--socket", process.socket, "--format", "json")
        drained = run("gate", "set", "--socket", process.socket, "--drain")
        larger = run("gate", "set", "--socket", process.socket, "--class", "m6g.xlarge")
        wrong = run("gate", "set", "--socket", process.socket, "--class", "db.m6g.huge")
        while not (folder / "gate.prom").exists():
            assert process.poll() is None
            signal.sigtimedwait([], 0.05)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    document = json.loads(status.stdout)

    assert (60.0, 1.0, str(folder / "disk")) == tuple(
        document[key] for key in ("credit_clock", "emulated_minute_s", "mount")
    )
    assert 1.0 == document["balance"]["instance_ebs_throughput"]
    assert "credit clock 60" in drained.stdout
    assert re.search(r"instance EBS throughput credits +0(\.0)? %", drained.stdout)
    assert larger.stdout.startswith("db.m6g.xlarge, gp2, 1,000 GiB at ")
    assert (2, "") == (wrong.returncode, wrong.stdout)
    assert "error: unknown instance class 'db.m6g.huge'" in wrong.stderr
    metrics = (folder / "gate.prom").read_text()
    assert "credit clock 60" in metrics
    assert metrics.endswith("# EOF\n")


@pytest.mark.realtime
def test_a_command_runs_at_the_limit_and_its_snapshot_names_it(folder: Path, run: Run):
    """Sixteen emulated minutes without credits: the diagnosis finds the instance's throughput baseline."""
    # A machine that is busy with other things may be too slow; the command says so itself, with 2.
    for _ in range(3):
        done = run(
            *("gate", "run", "--class", "db.t3.xlarge", "--storage", "gp2", "--size-gib", "1000"),
            *("--clock", "120", "--credits", "0"),
            *("--backing", str(folder / "data"), "-o", str(folder / "run.json")),
            *("--", sys.executable, "-c", READER),
        )
        if done.returncode != 2:
            break
    report = json.loads(run("diagnose", str(folder / "run.json"), "--format", "json").stdout)
    snapshot = decode_snapshot((folder / "run.json").read_bytes())
    truth = json.loads((folder / "run.truth.json").read_bytes())

    assert 0 == done.returncode, done.stderr
    assert "instance EBS throughput, baseline, made requests wait for" in done.stderr
    assert "at credit clock 120: one emulated minute is 0.5 s" in snapshot.note
    assert 120.0 == truth["credit_clock"]
    assert ("instance_ebs_throughput", "baseline") == (*(truth["bound"][0]["stage"], truth["bound"][0]["phase"]),)
    (held,) = report["time_at"]
    assert ("instance_ebs_throughput", "baseline") == (held["family"], held["phase"])
    assert BASELINE == pytest.approx(held["level"], rel=0.02)


@pytest.mark.parametrize(("code", "status"), [("exit 3", 3), ("kill -TERM $$", 143)])
def test_the_status_is_that_of_the_command(run: Run, code: str, status: int):
    """As a shell has it; the mount is its directory, and GATE_DIR names it."""
    place = 'test "$PWD" = "$GATE_DIR" && pwd && grep -q "$PWD fuse" /proc/mounts && '
    done = run("gate", "run", "--class", "db.t3.xlarge", "--", "sh", "-c", place + code)
    mount = Path(done.stdout.strip())

    assert status == done.returncode, done.stderr
    assert not mount.exists()
    assert not mount.with_name(f"{mount.name}.data").exists()


def test_progress_is_one_line_on_a_terminal():
    """Written anew each second, with real and emulated time; it never wraps."""
    ours, theirs = pty.openpty()
    arguments = ["--class", "db.t3.xlarge", "--clock", "60", "--", "sleep", "2.5"]
    process = subprocess.Popen([*PLIMSOLL_GATE, "run", *arguments], stderr=theirs)
    os.close(theirs)
    process.communicate(timeout=PATIENCE_S)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # The terminal has no more ends.
        pass
    finally:
        os.close(ours)

    # On a machine that is busy the first one may be of a later moment.
    line = rb"\r\x1b\[K(\d) s \(\1 min emulated\): 0 MB/s, 0 IOPS, queue 0\.0; byte 100 %"
    assert re.search(line, shown), shown
    assert b"no limit made requests wait" in shown


def test_kill_9_of_the_daemon_loses_nothing_and_a_new_mount_works(folder: Path):
    """What was brought to disk is there; the dead mount is taken away; the next one begins anew."""
    setup = GateSetup(instance=T3, clock=60.0)
    with Gate(setup, folder / "data", folder / "disk") as gate:
        with (gate.mount / "letter").open("wb") as file:
            file.write(b"kept")
            os.fsync(file.fileno())
        os.kill(gate.daemon_pid, signal.SIGKILL)
        assert gate.wait(PATIENCE_S)
        assert not is_gate_at(folder / "disk")

    with Gate(setup, folder / "data", folder / "disk") as again:
        assert b"kept" == (again.mount / "letter").read_bytes()


def test_events_are_followed_until_the_gate_ends(folder: Path):
    """Each change and each second, as lines of JSON with the clock."""
    setup = GateSetup(instance=T3, clock=60.0)
    with Gate(setup, folder / "data", folder / "disk") as gate:
        follower = subprocess.Popen(
            [*PLIMSOLL_GATE, "events", "--past", "--socket", str(gate.socket_path)],
            stdout=subprocess.PIPE,
            env=clean_environment(),
        )
        first = json.loads(follower.stdout.readline())
        gate.set_balance(Family.INSTANCE_EBS_THROUGHPUT, 0.0)
        read_for(gate.mount / "table", 0.3)
    rest = [json.loads(line) for line in follower.communicate(timeout=PATIENCE_S)[0].splitlines()]

    assert 0 == follower.returncode
    assert {60.0} == {document["credit_clock"] for document in [first, *rest]}
    assert "balance of instance ebs throughput set to 0 %" in [d.get("text") for d in rest]
    assert "instance_ebs_throughput" in [d.get("binding") for d in rest]


@pytest.mark.realtime
def test_block_mode_is_ext4_behind_the_limits_or_refused(folder: Path):
    """Root gets a file system on a loop device with the instance's rate; everyone else a sentence."""
    setup = GateSetup(instance=T3, clock=240.0, credits=0.0, mode="block")
    gate = Gate(setup, folder / "block", folder / "disk")
    if os.geteuid() != 0:
        with pytest.raises(Exception, match="which only root may"):
            gate.__enter__()
        return
    with gate:
        assert "ext4" == mounted_at(folder / "disk").kind
        fill(gate.mount, size_mib=16)
        os.sync()
        rate = rate_of(gate, gate.mount / "table")
        assert rate.is_of(BASELINE), rate
    loops = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=False).stdout

    assert mounted_at(folder / "disk") is None
    assert str(gate.folder) not in loops
    assert (folder / "block" / block.IMAGE).stat().st_size > MIB


def test_the_processors_of_a_class_are_given_or_refused_with_the_reason(folder: Path, run: Run):
    """Where cgroup v2 has no processors to give, one sentence says so and nothing runs; else the quota holds."""
    done = run("gate", "run", "--with-cpu", "--class", "db.t3.micro", "--", "touch", str(folder / "ran"))

    if done.returncode == 0:
        assert (folder / "ran").exists()
        return
    assert 2 == done.returncode
    assert "error: " in done.stderr
    assert "hint: " in done.stderr
    assert not (folder / "ran").exists()
