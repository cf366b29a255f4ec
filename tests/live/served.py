"""`plimsoll lab servers --start`, seen from outside: its line, its processes, and what it leaves."""

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import psutil

from live.machine import clean_environment
from live.prometheus_server import wait_for
from plimsoll.errors import PlimsollError

ENDINGS = [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)]
"""How a command ends, with its exit status: Ctrl-C and kill -9."""


def offline(folder: Path) -> dict[str, str]:
    """Variables with which no registry client brings anything: each is there, and fails."""
    java = shutil.which("java")
    assert java is not None
    for name in ("mvn", "pip", "pip3", "apt-get", "apt-cache", "dpkg-deb"):
        (folder / name).write_text("#!/bin/sh\nexit 1\n")
        (folder / name).chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin", "JAVA_HOME": str(Path(java).resolve().parents[1]), "PIP_NO_INDEX": "1"}


class StartedCommand:
    """The command with some servers, for as long as the block lasts; `lines` says where they answer."""

    def __init__(self, *names: str, environment: Mapping[str, str] | None = None) -> None:
        options = [word for name in names for word in ("--start", name)]
        program = [sys.executable, "-m", "plimsoll", "lab", "servers", *options]
        self._names, self.lines = names, []
        self._command = subprocess.Popen(
            program,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean_environment(), **(environment or {})},
        )

    def __enter__(self) -> Self:
        try:
            self._look()
        except BaseException:
            self.end(signal.SIGINT)
            raise
        return self

    def _look(self) -> None:
        assert self._command.stdout is not None
        while len(self.lines) < len(self._names):
            line = self._command.stdout.readline()
            if not line:
                raise AssertionError(self._command.communicate()[1])
            if " answers at " in line:
                self.lines.append(line.rstrip("\n"))
        keepers = psutil.Process(self._command.pid).children()
        self.processes = [p for keeper in keepers for p in keeper.children(recursive=True)]
        self._all = [*keepers, *self.processes]
        self.folders = set()
        for process in self.processes:
            # One that was only asking something may have ended since.
            with contextlib.suppress(psutil.NoSuchProcess):
                self.folders.add(Path(process.cwd()))

    def __exit__(self, *exception: object) -> None:
        self.end(signal.SIGINT)

    def end(self, sent: signal.Signals) -> int:
        """Send a signal to the command; its exit status."""
        if self._command.poll() is None:
            self._command.send_signal(sent)
        self._command.communicate(timeout=60)
        return self._command.returncode

    def has_left_nothing(self) -> bool:
        """Whether its processes are gone, and their folders too; waited for."""

        def is_so() -> bool:
            return not any(p.is_running() for p in self._all) and not any(folder.exists() for folder in self.folders)

        return wait_for("the end of the servers", is_so)


def kept_log(error: PlimsollError) -> str:
    """The log that a failed start says is kept, which is removed."""
    place = Path(error.hint.removeprefix("Its log is in ").removesuffix("."))
    text = place.read_text()
    place.unlink()
    return text


def listening(processes: list[psutil.Process]) -> set[str]:
    """Addresses on which processes listen; one that has ended since does not."""
    found = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            lines = process.net_connections("inet")
            found |= {line.laddr.ip for line in lines if line.status == psutil.CONN_LISTEN}
    return found


def accounts(processes: list[psutil.Process]) -> set[int]:
    """User ids with which processes run."""
    found = set()
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            found |= set(process.uids())
    return found
