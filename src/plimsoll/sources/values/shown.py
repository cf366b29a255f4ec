"""Format text for messages: make text of files printable, write counts with nouns, and list names."""

from collections.abc import Sequence


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 sample`, `1,440 samples`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def listed(names: Sequence[str], most: int = 12) -> str:
    """List the first names and count the rest: `a, b and 3 more`; twelve are enough to see what kind they are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def shown(text: object, length: int = 60) -> str:
    """
    Return the text with everything that cannot be printed replaced, cut to `length` characters.

    Lone surrogates and control characters are legal in JSON but not on a terminal or in UTF-8.
    """
    raw = str(text)
    clean = "".join(c if c.isprintable() else "?" for c in raw[: length + 1])
    return clean if len(clean) <= length else clean[: length - 1] + "…"
