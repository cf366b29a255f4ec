"""Say why a file of a lake or of its source cannot be used."""

from plimsoll.errors import SourceError


def failed(verb: str, what: str, error: Exception) -> SourceError:
    """Return the error that says that something cannot be read, written or deleted, and why."""
    reason = " ".join(str(error).split())[:300]
    return SourceError(f"unable to {verb} '{what}': {reason}", "Check the path and its permissions.")
