"""
End every command with an exit status of docs/reference/exit-status.md, whatever happens.

Rule 1: 0 and 1 are answers. A crash or lost output never ends with either.
Rule 2: the user reads a sentence; a traceback is printed only on request.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from plimsoll import __version__
from plimsoll.cli.streams import ReaderGone
from plimsoll.errors import PlimsollError, type_and_place
from plimsoll.model.visible import visible

_Found = TypeVar("_Found")

# 0 and 1 are verdicts; bad input, no verdict and crashes share one status (docs/reference/exit-status.md).
FAILED = 2
INTERRUPTED = 130
"""128 + SIGINT (2), the status that shells report for a program that Ctrl-C ended."""

# The system's calendar raises these for a time that no file, no space and no permission has to do with.
_OF_NUMBERS = (errno.EOVERFLOW, errno.ERANGE, errno.EDOM)

TRACEBACK = "PLIMSOLL_TRACEBACK"
"""Environment variable with which an internal error ends the command, and prints its traceback."""


def run_to_end(run: Callable[[], int]) -> int:
    """
    Run a command, and print what went wrong.

    Args:
        run: the command; returns its exit status.

    Returns:
        What `run` returned; 2 if anything went wrong, 130 for Ctrl-C.
    """
    if os.environ.get(TRACEBACK):
        from plimsoll.model.contained import Containment

        Containment.is_on = False
    status = _attempted(run)
    # Flush now: if buffered output failed when the interpreter ends, nothing could report it.
    return _attempted(_flush) or status


def _attempted(run: Callable[[], int]) -> int:
    try:
        return run()
    except ReaderGone:
        return FAILED
    except PlimsollError as error:
        _print_error(error.message, error.hint)
        return FAILED
    except KeyboardInterrupt:
        _print("interrupted")
        return INTERRUPTED
    # A panic in Rust, in our core or in a library, is a BaseException, but no Exception.
    except BaseException as error:  # noqa: BLE001
        _print_error(*_unforeseen(error))
        if os.environ.get(TRACEBACK):
            import traceback

            _print("".join(traceback.format_exception(error)))
        return FAILED


@dataclass(frozen=True, slots=True)
class Failed:
    """Why a part of a command failed, to be printed after the rest."""

    message: str
    hint: str
    is_crash: bool

    def print_error(self, what: str) -> None:
        """Print what is missing and why."""
        _print_error(f"{what}: {self.message}", self.hint)


def attempted(run: Callable[[], _Found]) -> _Found | Failed:
    """Run a part of a command whose failure must not stop the rest."""
    try:
        return run()
    except (ReaderGone, KeyboardInterrupt, SystemExit):
        raise
    except PlimsollError as error:
        return Failed(error.message, error.hint, is_crash=False)
    except BaseException as error:  # noqa: BLE001
        if os.environ.get(TRACEBACK):
            import traceback

            _print("".join(traceback.format_exception(error)))
        return Failed(*_unforeseen(error), is_crash=True)


def _flush() -> int:
    sys.stdout.flush()
    return 0


def _unforeseen(error: BaseException) -> tuple[str, str]:
    """Return cause and hint of an unexpected exception."""
    if isinstance(error, MemoryError):
        return "there is not enough memory", "Give a shorter window, or fewer instances."
    if isinstance(error, OSError) and error.strerror and error.errno not in _OF_NUMBERS:
        name = f" '{error.filename}'" if error.filename else ""
        return (
            f"the system refused{name or ' an operation'}: {error.strerror.lower()}",
            f"Check space, permissions and open files; {TRACEBACK}=1 adds a traceback.",
        )
    return (
        f"plimsoll {__version__} made a mistake: {type_and_place(error)}",
        f"This is a bug. Please report this line and your command; {TRACEBACK}=1 adds a traceback.",
    )


def _print_error(message: str, hint: str) -> None:
    """Print a line for the cause and one for the remedy."""
    _print(f"error: {' '.join(message.split())}")
    if hint:
        _print(f"hint: {hint}")


def _print(line: str) -> None:
    with suppress(OSError, ValueError):
        print(visible(line), file=sys.stderr, flush=True)  # noqa: T201


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """
    Treat SIGTERM and SIGHUP (the terminal was closed) as Ctrl-C inside the block.

    Otherwise a mount would stay, a recording would be lost, and child processes would continue.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {sign: signal.signal(sign, interrupt) for sign in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
