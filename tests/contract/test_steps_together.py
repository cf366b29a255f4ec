"""Steps that run at the same time: .ci/together."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository that has only the two scripts."""
    (tmp_path / ".ci").mkdir()
    for name in ("step", "together"):
        (tmp_path / ".ci" / name).symlink_to(CI / name)
    return tmp_path


def test_a_failure_of_one_is_that_of_all(folder: Path):
    """The others end as they would alone, and each prints its own lines."""
    words = ["first", "sleep 0.5; echo 3 passed", "second", "echo broken; exit 3"]
    done = subprocess.run(
        [".ci/together", *words], cwd=folder, capture_output=True, text=True, check=False
    )

    assert 3 == done.returncode
    assert "  3 passed\n" in done.stdout
    assert "broken\n" in done.stdout
    assert "second: exit status 3; the whole log is build/log/second.log" in done.stdout


def test_all_that_pass_are_a_pass(folder: Path):
    done = subprocess.run([".ci/together", "one", "true", "two", "true"], cwd=folder, check=False)

    assert 0 == done.returncode


def test_each_waits_for_no_other(folder: Path):
    """Both write and read a pipe of the other, which they can only do at the same time."""
    os.mkfifo(folder / "pipe")
    words = ["writes", "echo 1 > pipe", "reads", "cat pipe"]
    done = subprocess.run([".ci/together", *words], cwd=folder, check=False, timeout=60)

    assert 0 == done.returncode
    assert "1\n" == (folder / "build/log/reads.log").read_text(encoding="utf-8")


def test_ctrl_c_ends_all(folder: Path):
    """Also what they have started."""
    words = [
        word for name in ("a", "b") for word in (name, f"echo $$ > {name}; sleep 600; echo late")
    ]
    with subprocess.Popen([".ci/together", *words], cwd=folder) as running:
        while not ((folder / "a").exists() and (folder / "b").exists()):
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        status = running.wait(60)

    assert 130 == status
    assert "late" not in (folder / "build/log/a.log").read_text(encoding="utf-8")
