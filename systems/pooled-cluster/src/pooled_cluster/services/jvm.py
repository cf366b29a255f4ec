"""
One JVM that runs one service.

Rule 1: its configuration, with the password, goes to its standard input, not to its command line.
Rule 2: it ends when its standard input does: also if this process is killed.
"""

import json
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from pooled_cluster.services.errors import UnavailableError, UsageError

HOST = "127.0.0.1"
_ANSWER_S = 30.0
_END_S = 10.0
_OPTIONS = (
    # Many small JVMs on few cores: one thread collects, and one compiler of two makes code.
    *("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss256k", "-XX:+ExitOnOutOfMemoryError"),
    # HikariCP takes over changed settings each time it looks after its pool: every 30 s by default.
    "-Dcom.zaxxer.hikari.housekeeping.periodMs=1000",
)


class Jvm:
    """A service in a JVM of its own."""

    def __init__(self, config: Mapping[str, Any], command: list[str], log: Path) -> None:
        """Start the JVM; `wait` says when it serves."""
        self.name = str(config["name"])
        self.kind = str(config["kind"])
        self._log = log
        with log.open("ab") as errors:
            self._program = subprocess.Popen(  # noqa: S603 - the system's own program
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                # Ctrl-C in the terminal reaches us; we end it.
                start_new_session=True,
            )
        assert self._program.stdin is not None
        with suppress(BrokenPipeError):
            self._program.stdin.write(json.dumps(config) + "\n")
            self._program.stdin.flush()
        self.port = 0

    @property
    def pid(self) -> int:
        """Return the id of its process."""
        return self._program.pid

    def wait(self) -> None:
        """
        Wait until it serves.

        Raises:
            UnavailableError: it ended; the message has its reason.
        """
        assert self._program.stdout is not None
        line = self._program.stdout.readline()
        if not line.strip().isdigit():
            # What a JVM says that cannot start is on its standard output.
            with self._log.open("a") as log:
                log.write(line + self._program.stdout.read())
            self._program.wait()
            raise self._ended()
        self.port = int(line)

    def state(self) -> dict[str, Any]:
        """
        Return what it has counted, and what is so now.

        Raises:
            UnavailableError: it has ended, or does not answer.
        """
        found = json.loads(self._ask("state"))
        assert isinstance(found, dict)
        return found

    def metrics(self) -> str:
        """
        Return its metrics as Prometheus reads them.

        Raises:
            UnavailableError: it has ended, or does not answer.
        """
        return self._ask("metrics")

    def set(self, changes: Mapping[str, object]) -> None:
        """
        Change settings.

        Raises:
            UsageError: there is no such setting, or it cannot have the value.
            UnavailableError: it has ended, or does not answer.
        """
        self._ask("settings", json.dumps(changes).encode())

    def end(self) -> None:
        """Ask it to end."""
        if self._program.stdin is not None:
            # What is left in the pipe is for a program that has ended.
            with suppress(BrokenPipeError):
                self._program.stdin.close()

    def wait_for_end(self) -> None:
        """Wait until it has ended, by force if it takes too long."""
        try:
            self._program.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        if self._program.stdout is not None:
            self._program.stdout.close()

    def _ask(self, path: str, body: bytes | None = None) -> str:
        request = Request(f"http://{HOST}:{self.port}/{path}", data=body)
        try:
            with urlopen(request, timeout=_ANSWER_S) as answer:  # noqa: S310 - http, to loopback
                text: str = answer.read().decode()
        except HTTPError as error:
            with error:
                raise UsageError(
                    error.read().decode().strip(), "See the settings in the README of the system."
                ) from error
        except (URLError, OSError) as error:
            if self._program.poll() is not None:
                raise self._ended() from error
            raise UnavailableError(
                f"the service {self.name} does not answer", "It may need more processor time; try again."
            ) from error
        return text

    def _ended(self) -> UnavailableError:
        lines = [x for x in self._log.read_text(errors="replace").splitlines() if x.strip()]
        reasons = [line for line in lines if line.startswith(("error: ", "Caused by: ")) or "OutOfMemory" in line]
        last = (reasons or lines or ["it gave no reason"])[-1]
        return UnavailableError(
            f"the service {self.name} ended: {last.removeprefix('error: ')}",
            "Give the JVMs more memory with heap_mb." if "OutOfMemory" in last else "",
        )


def command_of(java: str, built: Path, heap_mb: int) -> list[str]:
    """Return the command of a JVM with a heap of `heap_mb` MiB."""
    path = f"{built / 'services.jar'}:{built / 'lib'}/*"
    return [java, f"-Xmx{heap_mb}m", *_OPTIONS, "-cp", path, "pooled.Main"]
