"""Set up the packages of a published system in its own folder, with its own Makefile."""

import fcntl
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from plimsoll.errors import SourceError, UsageError

_MADE = Path(".venv/run")
PYTHON = Path(".venv/bin/python")
"""Of a system that is set up, below its folder."""


def set_up_packages(folder: Path, name: str, print_line: Callable[[str], None]) -> None:
    """
    Install what a system needs to run, unless its Python is there; of several processes one does it, the others wait.

    Args:
        folder: of the system; it has a Makefile.
        name: of the system in a sentence: "the search service".
        print_line: called with a sentence before it begins.

    Raises:
        UsageError: there is no make.
        SourceError: it failed; the message has its last line.
    """
    with (folder / "Makefile").open("rb") as lock:
        # pip fails, or leaves half a package, if another pip works in the same folder.
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_made = (folder / _MADE).exists()
        if is_made and (folder / PYTHON).exists():
            return
        make = shutil.which("make")
        if make is None:
            raise UsageError(
                f"this machine has no make, which sets up {name}", "Install it: sudo apt-get install -y make."
            )
        print_line(f"setting up {name}, once")
        # A stamp outlives its Python in a copy of the folder, and when the machine gets another one. An environment
        # without the stamp is not ours: `--system` may name any folder.
        if is_made:
            shutil.rmtree(folder / _MADE.parent, ignore_errors=True)
        done = subprocess.run(  # noqa: S603 - the system's own Makefile
            [make, "-C", str(folder), str(_MADE)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
    if done.returncode:
        said = done.stderr.splitlines()
        lines = [line for line in said if not line.startswith("make")] or said or ["it gave no reason"]
        raise SourceError(f"{name} cannot be set up: {lines[-1]}", f"Try it by hand: make -C {folder} {_MADE}")
