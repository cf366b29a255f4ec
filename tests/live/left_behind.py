"""What an experiment may leave behind: folders and mounts of labs, and whatever a test counts besides."""

import contextlib
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from live.machine import clean_environment
from plimsoll_lab.gate.place import mounts
from quiet import void

# Servers' data of an experiment, with room to spare.
IN_MEMORY_BYTES = 4 * 2**30


def place_of_data() -> Path:
    """Memory if there is enough of it, as for an experiment without TMPDIR, else the disk."""
    memory = Path("/dev/shm")
    has_room = memory.is_dir() and shutil.disk_usage(memory).free >= IN_MEMORY_BYTES
    return memory if has_room else Path("/var/tmp")


class Ours:
    """
    What programs leave that we started, apart from those of other labs on this machine.

    Args:
        place: a folder in which one is made that all of them know as TMPDIR.
    """

    def __init__(self, place: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="plimsoll-ours-", dir=place))
        # The servers' own account looks for its folders in it.
        self.folder.chmod(0o711)

    @property
    def environment(self) -> dict[str, str]:
        return clean_environment() | {"TMPDIR": str(self.folder)}

    def left(self) -> set[str]:
        """
        Folders, mounts, and programs that have the folder in their variables or in their command line.

        The folder in which this account has its gates stays, empty.
        """
        gates = set(self.folder.glob("plimsoll-gates-*"))
        return (
            {str(path) for path in set(self.folder.iterdir()) - gates}
            | {str(path) for folder in gates for path in folder.iterdir()}
            | {str(m.place) for m in mounts() if str(self.folder) in str(m.place)}
            | set(self._programs())
        )

    def _programs(self) -> Iterator[str]:
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes()
                if str(self.folder).encode() in words + (entry / "environ").read_bytes():
                    yield f"{entry.name} {words.decode(errors='replace').replace(chr(0), ' ')}"


def wait_until_gone(before: set[str], found: Callable[[], set[str]]) -> None:
    """The keepers of a killed command end its servers in their own time."""
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
    environment: Mapping[str, str],
) -> None:
    """
    Send a signal to an experiment when it says that a moment is reached.

    After Ctrl-C the phases that are over are reported, with status 130; after kill -9 servers still end.
    """
    before = found()
    with subprocess.Popen(
        [*command, "--html", page],
        env=environment,
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        said: list[str] = []
        for line in running.stderr:
            said.append(line)
            if line.startswith(moment):
                break
        running.send_signal(sign)
        output, errors = running.communicate(timeout=patience_s)
    wait_until_gone(before, found)
    is_over = moment.startswith("phase") and sign is signal.SIGINT
    if not said[-1:] or not said[-1].startswith(moment):
        whole = " ".join((*said, output, errors))
        # A machine that is too slow for the first phase sees no other.
        assert " is void: " in " ".join(whole.split()), whole
        void(f"'{moment}' was not reached: {' '.join(said[-1:]).strip()}")

    assert (130 if sign is signal.SIGINT else -sign) == running.returncode
    assert "Traceback" not in errors
    assert is_over is page.exists()
    assert is_over is ("interrupted after 1 phases" in output.replace("\n", " "))
    if sign is signal.SIGINT and not is_over:
        assert ["interrupted"] == errors.splitlines()[-1:]
