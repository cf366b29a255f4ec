"""What an experiment may leave behind: folders and mounts of labs, and whatever a test counts besides."""

import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from live.machine import clean_environment
from plimsoll.gate.place import mounts


def folders_and_mounts() -> set[str]:
    """
    Folders of labs, in memory and on the disk, and mounts of gates.
    """
    places = (Path("/var/tmp"), Path("/dev/shm"))
    folders = {str(p) for place in places for p in place.glob("plimsoll-*")}
    return folders | {str(m.place) for m in mounts() if "plimsoll-" in str(m.place)}


def wait_until_gone(before: set[str], found: Callable[[], set[str]]) -> None:
    """
    The keepers of a killed command end its servers in their own time.
    """
    end = time.monotonic() + 120
    while (left := found() - before) and time.monotonic() < end:
        time.sleep(0.2)
    assert set() == left


def assert_an_end_leaves_nothing(
    command: Sequence[str],
    moment: str,
    sign: signal.Signals,
    *,
    page: Path,
    place: Path,
    found: Callable[[], set[str]],
    patience_s: float,
) -> None:
    """
    Send a signal to an experiment when it says that a moment is reached.

    After Ctrl-C the phases that are over are reported, with status 130; after kill -9 servers still end.
    """
    before = found()
    with subprocess.Popen(
        [*command, "--html", page],
        env=clean_environment(),
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        is_reached = any(line.startswith(moment) for line in running.stderr)
        running.send_signal(sign)
        output, errors = running.communicate(timeout=patience_s)
    wait_until_gone(before, found)
    is_over = moment.startswith("phase") and sign is signal.SIGINT

    assert is_reached
    assert (130 if sign is signal.SIGINT else -sign) == running.returncode
    assert "Traceback" not in errors
    assert is_over is page.exists()
    assert is_over is ("interrupted after 1 phases" in output.replace("\n", " "))
    if sign is signal.SIGINT and not is_over:
        assert ["interrupted"] == errors.splitlines()[-1:]
