"""
The entry of the program: it imports the rest inside, where a failure has an exit status.

Ctrl-C may come while it does. An exception in the middle of an import can surface anywhere, or
nowhere; nothing was begun yet that would have to be undone, so the process then ends where it is.
"""

import os
import signal
import sys
import warnings


def main() -> None:
    """
    Run the command line, and end with its exit status (docs/reference/exit-status.md).

    0 and 1 are what the command says: 1 where something binds, or where the later side of a
    comparison is the worse one. 2 is bad input, no verdict, a crash or lost output; 130 is Ctrl-C.
    """
    is_program = sys.stdout is sys.__stdout__
    _exchange(signal.default_int_handler, _end_at_once)
    from plimsoll.cli.endings import ended
    from plimsoll.cli.streams import guard_streams

    guard_streams()
    if is_program and not sys.warnoptions:
        # What a library warns of is for us, who test with warnings as errors.
        warnings.simplefilter("ignore")
    status = ended(_run)
    if is_program:
        # What is left to do is the interpreter's, whose threads may still wait for somebody.
        _exchange(signal.default_int_handler, _end_at_once)
    sys.exit(status)


def _run() -> int:
    try:
        from plimsoll.cli.commands import run
    finally:
        _exchange(_end_at_once, signal.default_int_handler)
    return run(sys.argv[1:])


def _end_at_once(*_: object) -> None:
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(130)


def _exchange(old: object, new: object) -> None:
    """Answer Ctrl-C in a new way; where it is ignored, as in the background of a script, it stays so."""
    if signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)  # type: ignore[arg-type]
