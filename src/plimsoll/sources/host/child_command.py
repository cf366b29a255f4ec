"""Run a command while something else watches it."""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

from plimsoll.errors import UsageError

# Long enough for pgbench to print its summary and for psql to cancel a statement.
_PATIENCE_S = 5.0


class ChildCommand:
    """Start a command, report whether it has ended, and end it by its process id."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        output: IO[str] | None = None,
        errors: IO[str] | None = None,
        directory: Path | None = None,
    ) -> None:
        """
        Find the program; nothing runs yet.

        Args:
            argv: program and arguments, at least one.
            environment: variables to set in addition to ours.
            output: file for its standard output; None for ours.
            errors: file for its standard error; None for ours.
            directory: its working directory; None for ours.

        Raises:
            UsageError: the program was not found.
        """
        self._output, self._errors, self._directory = output, errors, directory
        self._environment = {**os.environ, **(environment or {})}
        path = shutil.which(argv[0], path=self._environment.get("PATH"))
        if path is None:
            raise UsageError(f"command '{argv[0]}' was not found", "Check the name after '--', and PATH.")
        self._argv = [path, *argv[1:]]
        self.name = Path(argv[0]).name
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """
        Start the command with our standard input.

        Raises:
            UsageError: the system cannot run it.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._argv, env=self._environment, stdout=self._output, stderr=self._errors, cwd=self._directory
            )
        except OSError as error:
            raise UsageError(
                f"unable to run command '{self.name}': {error.strerror}",
                "Give a program; use a shell for shell syntax: -- sh -c '…'.",
            ) from error

    def is_over(self) -> bool:
        """Return whether it has ended; False before the start."""
        return self._process is not None and self._process.poll() is not None

    def wait(self, patience_s: float | None = None) -> int | None:
        """
        Wait for its end, for at most `patience_s` seconds.

        Returns:
            Its exit status, negative for a signal; None if it never ran or still runs.
        """
        if self._process is None:
            return None
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> int | None:
        """Stop the command if it still runs, gently first; return its exit status as `wait` does."""
        if self._process is None:
            return None
        # SIGINT first, as from Ctrl-C: pgbench and psql then end cleanly.
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(sign)
                try:
                    self._process.wait(_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    continue
        return self._process.wait()
