"""Have a Pgpool-II without the fix of 2020, which a script of the repository builds once."""

import subprocess
from pathlib import Path

from plimsoll.errors import SourceError, UsageError
from plimsoll_lab.sessions.session import PrintLine


def have_unmended(program: Path, script: Path | None, print_line: PrintLine) -> None:
    """
    Build the program unless it is there.

    Args:
        program: where it must be in the end.
        script: builds it there; None if it can only be there already.
        print_line: called with a sentence before it is built.

    Raises:
        UsageError: it is not there, and there is no script.
        SourceError: the build failed; the message is the script's own.
    """
    if program.is_file():
        return
    if script is None or not script.is_file():
        raise UsageError(
            f"there is no Pgpool-II without the fix of 2020 at '{program}'",
            "Build it in a clone of the repository, once: .ci/pgpool-unmended.",
        )
    print_line("building Pgpool-II without the fix of 2020, once; this takes about a minute")
    done = subprocess.run(  # noqa: S603 - the repository's own script
        [str(script)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode or not program.is_file():
        raise SourceError(*_reason(done.stderr, script))


def _reason(text: str, script: Path) -> tuple[str, str]:
    """Return why it failed, and what to do, from what the script says at its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    named = dict(line.split(": ", 1) for line in lines if line.startswith(("error: ", "hint: ")))
    reason = named.get("error") or (lines or ["it gave no reason"])[-1]
    return (
        f"unable to build Pgpool-II without the fix of 2020: {reason}",
        named.get("hint") or f"Try it by hand: {script}",
    )
