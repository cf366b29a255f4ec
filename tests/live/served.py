"""`plimsoll lab servers --start`, seen from outside: its line, its processes, and what it leaves."""

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


class StartedCommand:
    """The command with one server, for as long as the block lasts; `lines` has what it printed first."""

    def __init__(self, name: str, environment: Mapping[str, str] | None = None) -> None:
        program = [sys.executable, "-m", "plimsoll", "lab", "servers", "--start", name]
        self._command = subprocess.Popen(
            program,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**clean_environment(), **(environment or {})},
        )

    def __enter__(self) -> Self:
        assert self._command.stdout is not None
        self.line = self._command.stdout.readline().rstrip("\n")
        if not self.line:
            raise AssertionError(self._command.communicate()[1])
        keepers = psutil.Process(self._command.pid).children()
        self.processes = [p for keeper in keepers for p in keeper.children(recursive=True)]
        self.folders = {Path(process.cwd()) for process in self.processes}
        self._all = [*keepers, *self.processes]
        return self

    def __exit__(self, *exception: object) -> None:
        self.end(signal.SIGINT)

    @property
    def address(self) -> str:
        """The end of its line."""
        return self.line.rpartition(" ")[2]

    def end(self, sent: signal.Signals) -> int:
        """Send a signal to the command; its exit status."""
        if self._command.poll() is None:
            self._command.send_signal(sent)
        self._command.communicate(timeout=60)
        return self._command.returncode

    def listening(self) -> set[str]:
        """Addresses on which its servers listen."""
        return listening(self.processes)

    def has_left_nothing(self) -> bool:
        """Whether its processes are gone, and their folders too; waited for."""

        def is_so() -> bool:
            return not any(p.is_running() for p in self._all) and not any(
                folder.exists() for folder in self.folders
            )

        return wait_for("the end of the servers", is_so)


def kept_log(error: PlimsollError) -> str:
    """The log that a failed start says is kept, which is removed."""
    place = Path(error.hint.removeprefix("Its log is in ").removesuffix("."))
    text = place.read_text()
    place.unlink()
    return text


def listening(processes: list[psutil.Process]) -> set[str]:
    """Addresses on which processes listen."""
    return {
        line.laddr.ip
        for process in processes
        for line in process.net_connections("inet")
        if line.status == psutil.CONN_LISTEN
    }


def accounts(processes: list[psutil.Process]) -> set[int]:
    """User ids with which processes run."""
    return {uid for process in processes for uid in process.uids()}
