"""
Entry of the program. It imports the rest inside functions, so that a failure has an exit status.

Ctrl-C may come during the imports. An exception in the middle of an import can surface anywhere or
nowhere. Nothing has started yet that must be undone, so the process then ends at once.
"""

import os
import signal
import sys
import warnings


def main() -> None:
    """
    Run the command line, and end with its exit status (docs/reference/exit-status.md).

    0 and 1 are the command's answers: 1 if a limit binds, or if the second side of a comparison is
    worse. 2 is bad input, no verdict, a crash or lost output; 130 is Ctrl-C.
    """
    is_program = sys.stdout is sys.__stdout__
    _exchange(signal.default_int_handler, _end_at_once)
    from plimsoll.cli.endings import run_to_end
    from plimsoll.cli.streams import guard_streams

    guard_streams()
    if is_program and not sys.warnoptions:
        # Warnings of libraries are for developers; the tests treat them as errors.
        warnings.simplefilter("ignore")
    status = run_to_end(_run)
    if is_program:
        # Only the interpreter's own exit is left, and its threads may still wait: Ctrl-C must end it.
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
    """Replace the handler of Ctrl-C, unless Ctrl-C is ignored, for example in a script's background job."""
    if signal.getsignal(signal.SIGINT) is old:
        signal.signal(signal.SIGINT, new)  # type: ignore[arg-type]
