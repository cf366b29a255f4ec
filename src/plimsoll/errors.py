"""
What can be wrong with what we were given. Our own mistakes are `assert`s, never these.

What is merely missing is not an error: it is the verdict *unknown*, with the gap named.
Grammar: the message is lower case without full stop and says the cause; the hint is a sentence.
"""


class PlimsollError(Exception):
    """Something the user can mend: one clear cause, then a hint; the command exits with 2."""

    def __init__(self, message: str, hint: str = "") -> None:
        """Keep `message` (cause, lower case, no full stop) and `hint` (a sentence, may be empty)."""
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(PlimsollError):
    """The command line or a setting contradicts itself or names nothing we know."""


class ExtraMissing(UsageError):
    """What was asked for needs a library that a plain installation leaves out."""

    @classmethod
    def naming(cls, what: str, extra: str, otherwise: str = "") -> "ExtraMissing":
        """Say that `what` needs `extra`, a key of optional dependencies; and what helps `otherwise`."""
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
    """The source runs and takes no more connections: that is an answer, and may be all there is."""


class Throttled(SourceError):
    """The source asked us to slow down and the retries ran out."""


class DataError(PlimsollError):
    """What was read is not what it should be; the message names the file and the place."""


class CatalogError(PlimsollError):
    """The catalog does not hold what was asked for, or a table of it is wrong."""
