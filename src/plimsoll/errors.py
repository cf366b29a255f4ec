"""
Errors in what the user or a source gave us. Our own mistakes are `assert`s, never these.

Missing data is not an error: the verdict is then *unknown*, and the report names the gap.
The message says the cause, in lower case and without a full stop; the hint is a sentence.
"""

import re


class PlimsollError(Exception):
    """Something the user can fix: one clear cause, then a hint; the command exits with status 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep `message` (cause, lower case, no full stop) and `hint` (a sentence, may be empty)."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PlimsollError):
    """The command line or a setting contradicts itself, or names something unknown."""


class NothingMatches(UsageError):
    """The source answered, and has nothing of the name or pattern that was asked for."""


class ExtraMissing(UsageError):
    """The request needs a library that a plain installation does not include."""

    @classmethod
    def naming(cls, what: str, extra: str, otherwise: str = "") -> "ExtraMissing":
        """Return the error that `what` needs `extra`, a key of optional dependencies; `otherwise` adds a hint."""
        return cls(
            f"{what} needs the extra '{extra}', which is not installed",
            f"Install it with: pip install 'plimsoll-db[{extra}]'. {otherwise}".rstrip(),
        )


class SourceError(PlimsollError):
    """A source could not be read."""


class AccessDenied(SourceError):
    """The source refused us; the hint names the permission."""


class Unreachable(SourceError):
    """The source did not answer; the hint names what to check."""


class ServerFull(Unreachable):
    """The source runs but accepts no more connections, which is an answer in itself."""


class Throttled(SourceError):
    """The source asked us to slow down and the retries ran out."""


class DataError(PlimsollError):
    """The data is not what it should be; the message names the file and the place."""


class CatalogError(PlimsollError):
    """The catalog does not have the requested entry, or one of its tables is wrong."""


# Of Plimsoll and of its parts, which are called `plimsoll_lab` and the like.
_OURS = re.compile(r".*\bplimsoll(?:_\w+)?/(.+)")
# Where internal errors are contained, not where they happen.
_CONTAINED = "model/contained.py"


def type_and_place(error: BaseException) -> str:
    """Return type and place of an internal error; its message may quote data, and is left out."""
    return f"{type(error).__name__}{place_of(error)}"


def place_of(error: BaseException) -> str:
    """Return the file and line of our own code in which an exception was raised: ` in kernel.py, line 7`."""
    place, trace = "", error.__traceback__
    while trace is not None:
        file = _OURS.match(trace.tb_frame.f_code.co_filename)
        if file and file[1] != _CONTAINED:
            place = f" in {file[1]}, line {trace.tb_lineno}"
        trace = trace.tb_next
    return place
