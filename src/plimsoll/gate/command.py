"""A command that runs while something else watches."""

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
    """Starts a command, says whether it has ended, ends it by its own process id."""

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
        Look the program up; nothing runs yet.

        Args:
            argv: program and arguments, at least one.
            environment: variables that are set on top of ours.
            output: where its standard output goes; None for ours.
            errors: where its standard error goes; None for ours.
            directory: where it runs; None for here.

        Raises:
            UsageError: there is no such program.
        """
        self._output, self._errors, self._directory = output, errors, directory
        self._environment = {**os.environ, **(environment or {})}
        path = shutil.which(argv[0], path=self._environment.get("PATH"))
        if path is None:
            raise UsageError(
                f"command '{argv[0]}' was not found", "Check the name after '--', and PATH."
            )
        self._argv = [path, *argv[1:]]
        self.name = Path(argv[0]).name
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """
        Run it, with our standard input.

        Raises:
            UsageError: the system cannot run it.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the user's own command
                self._argv,
                env=self._environment,
                stdout=self._output,
                stderr=self._errors,
                cwd=self._directory,
            )
        except OSError as error:
            raise UsageError(
                f"command '{self.name}' cannot be run: {error.strerror}",
                "Give a program, and a shell for shell words: -- sh -c '…'.",
            ) from error

    def is_over(self) -> bool:
        """Return whether it has ended; false before the start."""
        return self._process is not None and self._process.poll() is not None

    def wait(self, patience_s: float | None = None) -> int | None:
        """
        Wait for its end, at most `patience_s` seconds.

        Returns:
            Its exit status, negative for a signal; None if it never ran, or still runs.
        """
        if self._process is None:
            return None
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None

    def stop(self) -> int | None:
        """End it if it still runs, gently first; its exit status as of `wait`."""
        if self._process is None:
            return None
        # As Ctrl-C first: pgbench and psql then end in good order.
        for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(sign)
                try:
                    self._process.wait(_PATIENCE_S)
                except subprocess.TimeoutExpired:
                    continue
        return self._process.wait()
