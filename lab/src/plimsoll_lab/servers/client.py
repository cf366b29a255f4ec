"""Run the client of a package registry, and follow what it prints."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path


def run_client(command: Sequence[str], line: Callable[[str], None], *, folder: Path | None = None) -> tuple[int, str]:
    """
    Run a registry client to its end, and return its exit status and all that it printed.

    Args:
        command: the program and its arguments.
        line: is called with each line as soon as it is printed.
        folder: where it runs (default: here).
    """
    running = subprocess.Popen(  # noqa: S603 - the user's own client, with arguments of ours
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert running.stdout is not None
    lines = []
    with running:
        try:
            for text in running.stdout:
                lines.append(text)
                line(text)
        except BaseException:
            running.kill()
            raise
    return running.returncode, "".join(lines)
