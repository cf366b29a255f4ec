"""The gate as a plain user has it: mounted through fusermount3, ended by a signal, nothing left."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534
PROGRAM = Path(sys.executable).parent / "plimsoll-gate"
PATIENCE_S = 60
# Whoever runs the tests may be the only one who may open /dev/fuse here; on people's machines everyone
# may. So the user gets such a machine: a mount namespace whose /dev/fuse is open to all.
OPENED = """
mknod -m 666 "$1/fuse" c 10 229
mount --bind "$1/fuse" /dev/fuse
shift
exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder of the user's own, with the program in it, which may lie where others cannot look."""
    with tempfile.TemporaryDirectory(prefix="plimsoll-test-", dir="/var/tmp") as name:
        place = Path(name)
        place.chmod(0o755)
        shutil.copy(PROGRAM, place / "gate")
        for part in ("back", "mount"):
            (place / part).mkdir()
            if os.geteuid() == 0:
                os.chown(place / part, NOBODY, NOBODY)
        if os.geteuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        yield place


def configuration(folder: Path) -> Path:
    """One ceiling that nothing here reaches."""
    stage = {"name": "volume_iops", "baseline": 3000.0, "burst": 3000.0, "counts": "operations"}
    path = folder / "gate.json"
    path.write_text(
        json.dumps(
            {
                "backing": str(folder / "back"),
                "mount": str(folder / "mount"),
                "mode": "fs",
                "socket": str(folder / "socket"),
                "record": str(folder / "record.jsonl"),
                "clock": 60.0,
                "slack_s": 0.05,
                "max_background": 16,
                "chain": [stage],
                "balance_ratio": [1.0],
                "latency_s": {"read": 0.0, "write": 0.0},
                "is_limited": True,
                "chunk_bytes": 65536,
            }
        )
    )
    path.chmod(0o644)
    return path


def as_user(folder: Path, *command: str) -> list[str]:
    """A command line as the user; ours where we are a plain user already."""
    if os.geteuid() != 0:
        return list(command)
    return ["unshare", "--mount", "bash", "-ec", OPENED, "user", str(folder), *command]


def beside(process: subprocess.Popen, script: str) -> str:
    """What a script of the user's prints that sees the mounts which the process sees."""
    command = ["sh", "-ec", script]
    if os.geteuid() == 0:
        user = ("--setuid", str(NOBODY), "--setgid", str(NOBODY))
        command = ["nsenter", "--target", str(process.pid), "--mount", *user, *command]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout


def test_a_plain_user_mounts_writes_and_ends(folder: Path):
    """What was written lies in the folder below, is the user's, and the mount is gone afterwards."""
    command = as_user(folder, str(folder / "gate"), str(configuration(folder)))
    gate = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        ready = gate.stdout.readline()
        mount = folder / "mount"
        read = beside(gate, f"printf held > {mount}/page; sync {mount}/page; cat {mount}/page")
        kind = beside(gate, f"stat --file-system --format %T {mount}")
    finally:
        gate.send_signal(signal.SIGTERM)
        output = gate.communicate(timeout=PATIENCE_S)[1]
    below = folder / "back" / "page"

    assert "ready" in ready, output
    assert ("held", "fuse") == (read, kind.strip().removesuffix("blk"))
    assert 0 == gate.returncode, output
    assert b"held" == below.read_bytes()
    assert (NOBODY if os.geteuid() == 0 else os.geteuid()) == below.stat().st_uid
    assert stat.S_ISREG(below.stat().st_mode)
    assert [] == list((folder / "mount").iterdir())
